"""(ε, δ) under every other kind of belief: bounds, phases, cycles, networks and joint tables, by enumeration."""

import itertools
from typing import Any

import numpy as np
import pytest
import reference
from effort import examples
from hypothesis import given, settings, strategies as st
from paths import cases, cycles, hidden, intervals
from reference import claimed_delta, given_secrets, largest_delta, mechanisms_near, noisy_outputs
from strategies import networks, trees

from quiltwork import (
    BayesianNetwork,
    Belief,
    ChainSet,
    Count,
    CycleChain,
    HiddenChain,
    IntervalChain,
    JointTable,
    Ledger,
    MarkovChain,
    MixingClass,
    NotCoveredError,
    QuiltworkError,
    ReleaseRecord,
    Session,
    calibrate,
)
from quiltwork.accounting.accountant import Accountant
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time

LAZY = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
SERIES: dict[str, Belief] = {
    "set": ChainSet([LAZY, MarkovChain([[0.7, 0.3], [0.2, 0.8]], initial="stationary")]),
    "interval": IntervalChain([[0.8, 0.05], [0.3, 0.5]], [[0.95, 0.2], [0.5, 0.7]]),
    "mixing": MixingClass(states=2, pi_min=0.2, gap=0.5, reversible=True),
    "cycle": CycleChain([[[0.9, 0.1], [0.4, 0.6]], [[0.6, 0.4], [0.1, 0.9]]], initial="stationary"),
    "hidden": HiddenChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]], shows=["0", "0", "1"]),
}


@settings(max_examples=examples(24))
@given(st.one_of(hidden(), cycles(), intervals()), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_any_mechanism_keeps_the_delta_of_the_curve(belief: Belief, length: int, seed: int) -> None:
    """Statement 77 for phases, cycles and chains that move within bounds."""
    rng, k = np.random.default_rng(seed), len(belief.states)
    matrix = rng.choice([0.05, 0.3, 1.0]) * rng.random((k, k)) * ~np.eye(k, dtype=bool)
    for y in range(k):  # as short as its detours
        matrix = np.minimum(matrix, matrix[:, [y]] + matrix[[y], :])
    epsilon = loss_along_time(belief, Profile.constant(matrix, length=length)).epsilon
    for seen, probability in cases(belief, length, rng):
        distance = matrix[seen[:, None, :], seen[None, :, :]].sum(axis=2)
        pairs = given_secrets(seen, probability)
        for outputs in mechanisms_near(distance, rng, 4):
            assert largest_delta(outputs, pairs, epsilon) <= claimed_delta(outputs, distance, epsilon) + 1e-12


@settings(max_examples=examples(16))
@given(
    st.one_of(hidden(), cycles(), intervals()),
    st.integers(1, 4),
    st.sampled_from([0.3, 0.02]),
    st.integers(0, 2**32 - 1),
)
def test_gaussian_noise_keeps_its_delta(belief: Belief, length: int, delta: float, seed: int) -> None:
    try:
        made = calibrate(
            Count(belief.states[0]), belief=belief, epsilon=0.4, delta=delta, noise="gaussian", length=length
        )
    except QuiltworkError:
        assert isinstance(belief, IntervalChain)  # bounds down to 0 in the past: only group privacy holds
        return
    if len(belief.states) == 1:
        return
    for seen, probability in cases(belief, length, np.random.default_rng(seed)):
        outputs = noisy_outputs((seen == 0).sum(axis=1), made.noise_scale, "gaussian", int(9 * made.noise_scale) + 9)
        assert largest_delta(outputs, given_secrets(seen, probability), 0.4) <= delta * (1 + 1e-9)


@settings(max_examples=examples(16))
@given(st.one_of(networks(max_variables=4), trees(max_variables=5)), st.sampled_from([0.3, 0.02]))
def test_records_keep_their_delta(network: BayesianNetwork, delta: float) -> None:
    """One count, and the same with another noise added up by the accountant."""
    law = reference.records(dict(network.variables), dict(network.parents), dict(network.tables))
    codes, probability = np.array([record for record, _ in law]), np.array([p for _, p in law])
    query = Count("s0")
    made = calibrate(query, belief=network, epsilon=0.4, delta=delta, noise="gaussian", mechanism="curve")
    if made.noise_scale == 0:
        return
    pairs, counts = given_secrets(codes, probability), (codes == 0).sum(axis=1)
    reach = int(9 * made.noise_scale) + 9
    assert largest_delta(noisy_outputs(counts, made.noise_scale, "gaussian", reach), pairs, 0.4) <= delta * (1 + 1e-9)
    records = [ReleaseRecord(query=query, noise="gaussian", noise_scale=scale) for scale in (2.0, 3.0)]
    told = Accountant(network, releases=records, delta=delta).composed()
    two = [noisy_outputs(counts, scale, "gaussian", 30) for scale in (2.0, 3.0)]
    joint = (two[0][:, :, None] * two[1][:, None, :]).reshape(len(codes), -1)
    assert largest_delta(joint, pairs, told.epsilon) <= delta * (1 + 1e-9)


def test_a_joint_table_keeps_its_delta() -> None:
    rows = [(("0", "0"), 0.45), (("1", "1"), 0.45), (("0", "1"), 0.1)]
    table = JointTable({"x": ["0", "1"], "y": ["0", "1"]}, rows)
    made = calibrate("count:1", belief=table, epsilon=0.5, delta=0.02, noise="gaussian", mechanism="group")
    codes, probability = np.array([list(map(int, row)) for row, _ in rows]), np.array([p for _, p in rows])
    outputs = noisy_outputs(codes.sum(axis=1), made.noise_scale, "gaussian", int(9 * made.noise_scale) + 9)
    assert largest_delta(outputs, given_secrets(codes, probability), 0.5) <= 0.02


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("guarantee", ["pufferfish", "bayesian"])
def test_a_ledger_with_a_delta_for_every_kind(name: str, guarantee: Any) -> None:
    """The room is what a single release of the whole budget needs, and many small ones add up by squares."""
    belief = SERIES[name]
    try:
        one = calibrate("histogram", belief=belief, epsilon=0.7, delta=1e-6, noise="gaussian", guarantee=guarantee)
    except NotCoveredError:
        assert guarantee == "bayesian"  # a class that no theorem covers against adversaries who know values
        with pytest.raises(NotCoveredError):
            Ledger.in_memory(belief=belief, budget=0.7, delta=1e-6, guarantee=guarantee)
        return
    ledger = Ledger.in_memory(belief=belief, budget=0.7, delta=1e-6, guarantee=guarantee)
    envelope = ledger.terms.envelope
    assert envelope is not None
    assert envelope.noise_scale >= one.noise_scale
    session = Session(["0", "1", "0", "0"] * 25, belief=belief, ledger=ledger, guarantee=guarantee)
    for _ in range(3):
        session.release("histogram", epsilon=0.07, noise="gaussian", anyway=True)
    now = ledger.statement()
    assert 0 < now.spent < 0.7
    assert now.used < 0.1
    spent = [now.spent]
    for share in (0.3, 0.8):
        record = ReleaseRecord(query=envelope.query, noise="gaussian", noise_scale=envelope.noise_scale / share**0.5)
        spent.append(ledger.preview(record)[0])
    assert all(a < b <= 0.7 * (1 + 1e-9) for a, b in itertools.pairwise(spent))
