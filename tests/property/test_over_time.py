"""Records over time, against enumeration and the exact audit: unrolled into a network, and as a chain of steps."""

import itertools
from typing import Any

import numpy as np
import oracle
import pytest
import reference
from effort import examples
from hypothesis import assume, given, settings, strategies as st
from strategies import distributions, epsilons

from quiltwork import (
    Accountant,
    BayesianNetwork,
    DynamicNetwork,
    Noisy,
    ReleaseRecord,
    audit,
    bayesian_leakage,
    calibrate,
    parse_query,
)
from quiltwork.beliefs import dynamic
from quiltwork.errors import BeliefError
from quiltwork.influence.curve.cliques import CliqueCurve
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time

STATES = ("well", "ill")
VARIABLES = {"ann": STATES, "bob": STATES}
QUERIES = ("count:ill", "count:ill over bob", "tally:ann=ill,bob=well", "count:ill over ann=2,bob=-1")


@st.composite
def dynamic_networks(draw: st.DrawFn, *, zeros: bool = True) -> DynamicNetwork:
    """Two binary variables; parents in the same step and the one before, tables with zeros if allowed."""

    def table(parents: list[str]) -> Any:
        rows = [draw(distributions(2, zeros=zeros)) for _ in range(2 ** len(parents))]
        return np.array(rows).reshape((2,) * (len(parents) + 1))

    before = ["ann@before", "bob@before"]
    parents = {
        "ann": draw(st.lists(st.sampled_from(before), unique=True)),
        "bob": draw(st.lists(st.sampled_from([*before, "ann"]), unique=True)),
    }
    first = {"bob": draw(st.sampled_from([[], ["ann"]]))}
    return DynamicNetwork(
        VARIABLES,
        parents=parents,
        tables={name: table(parents[name]) for name in VARIABLES},
        initial=BayesianNetwork(VARIABLES, parents=first, tables={"ann": table([]), "bob": table(first["bob"])}),
    )


def trajectories(belief: DynamicNetwork, length: int) -> list[tuple[tuple[int, ...], float]]:
    """Every series of values, ann and bob in turn, with its probability: by the tables themselves."""
    first = belief.unrolled(1)
    law = []
    for values in itertools.product((0, 1), repeat=2 * length):
        p = 1.0
        for place, value in enumerate(values):
            name, time = list(VARIABLES)[place % 2], place // 2
            parents = first.parents[f"{name}@1"] if time == 0 else belief.parents[name]
            at = []
            for parent in parents:
                earlier = time - parent.endswith("@before")
                at.append(values[2 * earlier + list(VARIABLES).index(parent.split("@")[0])])
            p *= float((first.tables[f"{name}@1"] if time == 0 else belief.tables[name])[(*at, value)])
        if p > 0:
            law.append((values, p))
    return law


@settings(max_examples=examples(12), deadline=None)
@given(dynamic_networks(), st.integers(1, 3))
def test_unrolled_and_chain_have_the_law_of_the_tables(belief: DynamicNetwork, length: int) -> None:
    expected = dict(trajectories(belief, length))
    outcomes = belief.unrolled(length).all_outcomes
    unrolled = {tuple(map(int, c)): float(np.exp(log)) for c, log in zip(outcomes.codes, outcomes.logs, strict=True)}
    assert unrolled == pytest.approx(expected)
    chain = belief.as_chain_of_steps()
    assert chain.initial is not None
    for values, p in expected.items():
        states = [2 * a + b for a, b in zip(values[::2], values[1::2], strict=True)]
        steps = (chain.transition[x, y] for x, y in itertools.pairwise(states))
        assert float(chain.initial[states[0]]) * np.prod(list(steps)) == pytest.approx(p)


@settings(max_examples=examples(7), deadline=None)
@given(dynamic_networks(), st.integers(1, 4), st.sampled_from(QUERIES), epsilons)
def test_both_ways_are_enough_by_enumeration(belief: DynamicNetwork, length: int, text: str, epsilon: float) -> None:
    wanted: dict[str, Any] = {"belief": belief, "epsilon": epsilon, "length": length}
    ways = [calibrate(text, **wanted), oracle.by_curve(text, **wanted)]
    assert [ways[0].steps, ways[1].steps] == ["unrolled", None]
    law = trajectories(belief, length)
    for found in ways:
        if found.noise_scale == 0:
            continue
        steps = np.array(oracle.by_variable(parse_query(text), VARIABLES).only.steps)[:, 0, :]  # variables x states
        answers = np.array([sum(steps[n % 2][value] for n, value in enumerate(values)) for values, _ in law])
        outputs = np.exp(-np.abs(answers[:, None] - np.unique(answers)[None, :]) / found.noise_scale)
        assert reference.output_loss(law, outputs) <= epsilon * (1 + 1e-9)
        assert audit(belief, [Noisy(parse_query(text), found.noise_scale)], length=length).epsilon <= epsilon * (
            1 + 1e-6
        )


@settings(max_examples=examples(10), deadline=None)
@given(dynamic_networks(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_profiles_between_steps_are_split_to_the_safe_side(belief: DynamicNetwork, length: int, seed: int) -> None:
    """λ of the variables together is at least λ between whole steps, and what they lead to at least the exact loss."""
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(0, 1, size=(4, 4)) * (1 - np.eye(4))
    matrix += matrix.T
    split = belief.by_variable(matrix)
    codes = np.array(list(itertools.product((0, 1), repeat=2)))
    together = sum(own[np.ix_(column, column)] for own, column in zip(split, codes.T, strict=True))
    assert np.all(together >= matrix * (1 - 1e-12))
    law = trajectories(belief, length)
    states = np.array([[2 * a + b for a, b in zip(v[::2], v[1::2], strict=True)] for v, _ in law])
    apart = matrix[states[:, None, :], states[None, :, :]].sum(axis=2)
    for _ in range(4):  # a distance only if shortest ways are taken
        apart = (apart[:, :, None] + apart[None, :, :]).min(axis=1)
    outputs = np.exp(-apart[:, rng.choice(len(law), size=min(len(law), 6), replace=False)])
    network, profile = belief.unrolled(length), split * length
    assert reference.output_loss(law, outputs) <= CliqueCurve(network).at(profile).epsilon + 1e-9
    along = loss_along_time(belief.as_chain_of_steps(), Profile.constant(matrix, length=length))
    assert reference.output_loss(law, outputs) <= along.epsilon + 1e-9


@settings(max_examples=examples(12), deadline=None)
@given(dynamic_networks(), st.integers(1, 3), st.data())
def test_releases_together_are_within_what_the_accountant_says(
    belief: DynamicNetwork, length: int, data: st.DataObject
) -> None:
    records = []
    for _ in range(2):
        first = data.draw(st.integers(1, length))
        segment = data.draw(st.sampled_from([None, (first, data.draw(st.integers(first, length)))]))
        query = data.draw(st.sampled_from(["count:ill", "count:ill over bob", "tally:ann=ill,bob=well"]))
        scale = data.draw(st.sampled_from([0.7, 2.0, 6.0]))
        records.append(ReleaseRecord(noise_scale=scale, query=query, segment=segment))
    told = Accountant(belief, length=length, releases=records).composed()
    noisy = [Noisy(parse_query(str(r.query.text)), r.noise_scale or 0.0, r.segment) for r in records]  # type: ignore[union-attr]
    assert audit(belief, noisy, length=length).epsilon <= told.epsilon * (1 + 1e-6) + 1e-9


@settings(max_examples=examples(10), deadline=None)
@given(dynamic_networks(zeros=False), st.integers(1, 2), st.sampled_from(QUERIES), epsilons)
def test_adversaries_may_know_any_other_variables(
    belief: DynamicNetwork, length: int, text: str, epsilon: float
) -> None:
    """Of the same step too: by enumeration of all that can be known."""
    found = calibrate(text, belief=belief, epsilon=epsilon, length=length, guarantee="bayesian")
    assert found.steps == "chain"
    leaked = bayesian_leakage(belief, text, noise_scale=found.noise_scale, length=length, method="enumeration")
    assert leaked.complete
    assert leaked.epsilon <= epsilon * (1 + 1e-6)


@settings(max_examples=examples(10), deadline=None)
@given(dynamic_networks(), st.integers(1, 4), st.sampled_from(QUERIES), epsilons)
def test_one_variable_of_a_stationary_chain_is_hidden(
    belief: DynamicNetwork, length: int, text: str, epsilon: float
) -> None:
    """By the chain, as if nothing could be unrolled; and so says the accountant."""
    try:
        stationary = belief.with_start("stationary")
    except BeliefError:
        assume(False)
    assert isinstance(stationary, DynamicNetwork)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dynamic, "MOST_UNROLLED", 0)
        found = calibrate(text, belief=stationary, epsilon=epsilon, length=length)
        assert found.steps == "chain"
        if found.noise_scale == 0:
            return
        record = ReleaseRecord(noise_scale=found.noise_scale, query=text)
        assert Accountant(stationary, length=length, releases=[record]).composed().epsilon <= epsilon * (1 + 1e-6)
    law = trajectories(stationary, length)
    steps = np.array(oracle.by_variable(parse_query(text), VARIABLES).only.steps)[:, 0, :]
    answers = np.array([sum(steps[n % 2][value] for n, value in enumerate(values)) for values, _ in law])
    outputs = np.exp(-np.abs(answers[:, None] - np.unique(answers)[None, :]) / found.noise_scale)
    assert reference.output_loss(law, outputs) <= epsilon * (1 + 1e-9)
