"""Where floats and searches could go wrong: rare states, tiny entries, many states, tail phases, sparse distances."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import reference
from effort import examples
from hypothesis import HealthCheck, given, settings, strategies as st
from strategies import chains, epsilons

from quiltwork import (
    Accountant,
    Count,
    InputError,
    MarkovChain,
    MixingClass,
    NotCoveredError,
    ReleaseRecord,
    Series,
    calibrate,
    release,
)
from quiltwork.calibration.mechanisms.quilt import exact_quilt
from quiltwork.influence.curve.constant import InfluenceCurve
from quiltwork.influence.curve.given_start import GivenPast
from quiltwork.influence.curve.ratios import IntervalRatios
from quiltwork.influence.curve.sides import KernelSide
from quiltwork.influence.quilts import priors, tables
from quiltwork.influence.quilts.ends import Ends


@settings(max_examples=examples(36), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(chains(max_states=5), st.integers(1, 14), epsilons)
def test_tail_phases_and_sparse_distances_are_sound(
    monkeypatch: pytest.MonkeyPatch, chain: MarkovChain, length: int, epsilon: float
) -> None:
    """With no node followed exactly and hardly a distance tabulated, the answer may only be larger than the truth."""
    monkeypatch.setattr(priors, "EXACT_NODES", (0, 0))
    monkeypatch.setattr(tables, "dense_limit", lambda _: 2)
    monkeypatch.setattr(tables, "STEPS_PER_FOLD", 2)
    expected = reference.quilt_score(chain.transition, chain.initial, length, epsilon)
    assert exact_quilt(chain, epsilon, length).score >= expected * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("states", [9, 12])
def test_many_states_equal_the_plain_reference(seed: int, states: int) -> None:
    """More pairs than one block of the search."""
    rng = np.random.default_rng(seed)
    P = 0.3 * np.eye(states) + 0.7 * rng.dirichlet(np.ones(states) * 3, size=states)
    for start in (None, rng.dirichlet(np.ones(states)), np.eye(states)[0]):
        chain = MarkovChain(P) if start is None else MarkovChain(P, initial=start)
        expected = reference.quilt_score(chain.transition, start, 7, 4.0)
        assert exact_quilt(chain, 4.0, 7).score == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("length", [4, 5, 6, 7, 8, 9, 11])
def test_short_stationary_series_equal_the_plain_reference(length: int) -> None:
    """Lengths at which the middle node's best quilt has one side, so that it is not the worst node."""
    rng = np.random.default_rng(length)
    for _ in range(25):
        k = int(rng.integers(2, 5))
        chain = MarkovChain(rng.dirichlet(np.ones(k) * 2, size=k), initial="stationary")
        epsilon = float(rng.choice([0.5, 1.0, 2.0, 4.0]))
        expected = reference.quilt_score(chain.transition, chain.stationary, length, epsilon)
        assert exact_quilt(chain, epsilon, length).score == pytest.approx(expected, rel=1e-9)


def test_stationary_laws_too_small_for_floats_are_refused() -> None:
    """A walk that drifts up: low states have probabilities around 4^-600."""
    k = 600
    P = np.diag(np.full(k - 1, 0.4), 1) + np.diag(np.full(k - 1, 0.1), -1)
    P += np.diag(1 - P.sum(axis=1))
    with pytest.raises(InputError, match="representable"):
        MarkovChain(P, initial="stationary")
    with pytest.raises(InputError, match="representable"):
        MarkovChain(P[::-1, ::-1], initial="stationary")
    short = MarkovChain([[0.5, 0.5, 0], [1e-100, 0.5, 0.5], [0, 1e-100, 1]], initial="stationary")
    assert exact_quilt(short, 1.0, 50).score == pytest.approx(50)


def decimal_score(P: list[list[Decimal]], length: int, epsilon: Decimal) -> Decimal:
    """σ for any start with fifty digits; P without zeros."""
    k, states = len(P), range(len(P))
    powers = [[[Decimal(int(x == y)) for y in states] for x in states]]
    for _ in range(length):
        A = powers[-1]
        powers.append([[sum((A[x][z] * P[z][y] for z in states), Decimal(0)) for y in states] for x in states])
    worst = Decimal(0)
    for i in range(1, length + 1):
        best = length / epsilon
        for a, b in itertools.product([None, *range(1, i)], [None, *range(1, length - i + 1)]):
            card = (i if a is None else a) + (length + 1 - i if b is None else b) - 1
            e = Decimal(0)
            for x, y in itertools.permutations(states, 2):
                ratio = Decimal(1)
                if b is not None:
                    ratio *= max(powers[b][x][v] / powers[b][y][v] for v in states)
                if a is not None:
                    ratio *= max(powers[a][z][x] / powers[a][z][y] for z in states)
                    ratio *= max(powers[i - 1][s][y] / powers[i - 1][s][x] for s in states)
                e = max(e, ratio.ln()) if a is not None or b is not None else e
            if e < epsilon:
                best = min(best, card / (epsilon - e))
        worst = max(worst, best)
    assert k
    return worst


@settings(max_examples=examples(10))
@given(st.lists(st.floats(-130, -1), min_size=2, max_size=2), st.integers(2, 6), st.sampled_from([0.5, 1.0, 3.0]))
def test_tiny_entries_are_rounded_towards_more_noise(exponents: list[float], length: int, epsilon: float) -> None:
    P = np.array([[p, 1 - p] for p in (10**e for e in exponents)])
    with localcontext() as digits:
        digits.prec = 400
        exact = [[Decimal(float(p)), 1 - Decimal(float(p))] for p in P[:, 0]]
        expected = decimal_score(exact, length, Decimal(epsilon))
    chain = MarkovChain(P)
    found = calibrate(Count("0"), belief=chain, epsilon=epsilon, length=length, mechanism="quilt-exact").noise_scale
    assert Decimal(found) >= expected


@pytest.mark.parametrize(
    ("observed", "gaps"),
    [
        ([None, None, None, "3", "3", "3"], "dependent"),
        ([None, None, None, "3", "3", "3"], "independent"),
        (["0", "1", None, "3", "3", "3"], "dependent"),
        (["0", "1", None, "3", "3", "3"], "independent"),
    ],
)
def test_a_known_start_is_only_that_of_the_first_value(observed: list[str | None], gaps: str) -> None:
    """0 → 1 → 2 → 3 or 4 for good: the last three values are one fair secret, seen three times."""
    P: list[list[float]] = [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0.5, 0.5], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]
    chain = MarkovChain(P, initial=[1, 0, 0, 0, 0])
    held = Series.from_values(observed, states=chain.states, missing="split")
    found = release(held, Count("3"), belief=chain, epsilon=1.0, gaps=gaps, anyway=True)  # type: ignore[arg-type]
    assert found.noise_scale >= 3


@pytest.mark.parametrize("mask", list(itertools.product([True, False], repeat=4)))
def test_releases_with_any_pattern_of_gaps_keep_the_promise(mask: tuple[bool, ...]) -> None:
    """For recorded values and for those in the gaps."""
    if not any(mask):
        return
    rng = np.random.default_rng(sum(mask))
    for _ in range(6):
        P = rng.dirichlet(np.ones(2) * 0.5, size=2)
        start = rng.dirichlet(np.ones(2) * 0.5)
        for chain in (MarkovChain(P, initial=start), MarkovChain(P, initial="stationary"), MarkovChain(P)):
            law = chain.initial if chain.initial is not None else start
            values = ["0" if seen else None for seen in mask]
            held = Series.from_values(values, states=chain.states, missing="split")
            scale = release(held, Count("0"), belief=chain, epsilon=0.7, anyway=True).noise_scale
            seen = [t for t, there in enumerate(mask) if there]
            loss = reference.laplace_loss(reference.paths(P, law, 4), "count", scale, seen=seen)
            assert loss <= 0.7 * (1 + 1e-12)


def test_any_length_neither_crashes_nor_lies() -> None:
    stuck = MarkovChain([[0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]], initial=[1, 0, 0])
    for epsilon in (1.0, 2.0, 50.0):
        with pytest.raises(NotCoveredError, match="any length"):
            calibrate(Count("1"), belief=stuck, epsilon=epsilon)
    for g in (1e-3, 1e-5, 1e-7):
        slow = MarkovChain([[1 - g, g], [2 * g, 1 - 2 * g]], initial=[1, 0])
        found = calibrate(Count("1"), belief=slow, epsilon=1.0).noise_scale
        every = calibrate(Count("1"), belief=slow.with_start("any"), epsilon=1.0).noise_scale
        assert math.isfinite(found)
        assert found <= every * (1 + 1e-6)


def test_what_is_possible_stays_so_below_what_a_float_can_hold() -> None:
    """After 401 steps state 0 has probability 1e-401 from 0 and none from 1: its influence is infinite, not 0."""
    fading = np.array([[0.1, 0.9], [0.0, 1.0]])
    assert np.isinf(KernelSide(fading, error=0.0).step(401, np.inf)[0, 1])
    assert np.isinf(Ends.of(MarkovChain(fading, initial=[0.5, 0.5])).onward(1, 402))
    rare = np.array([[0.5, 0.5, 0, 1e-200], [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0.5, 0.5, 1e-200, 0]])
    assert np.isinf(IntervalRatios(rare, rare, rows=True).ratios(2)[0, 1])  # 0 leads to 2 by way of 3, 1 does not
    chain = MarkovChain([[0.5, 0.5, 1e-170], [0.5, 0.5, 0], [0.2, 0.3, 0.5]], initial=[1e-139, 1, 0])
    late = MarkovChain([[0.5, 0.5, 1e-190], [0.5, 0.5, 0], [0.2, 0.3, 0.5]], initial=[1e-139, 1, 0])
    for one in (chain, late):
        past = InfluenceCurve(one).past
        assert isinstance(past, GivenPast)
        assert past.by_node(0.1 * (1 - np.eye(3)))[-1].values[0, 2] > 0


def test_mechanisms_that_do_not_cover_a_belief_compose_nothing() -> None:
    """Exact quilts need a transition matrix: under a mixing class there is no such release."""
    record = ReleaseRecord(mechanism="quilt-exact", epsilon=1.0, noise_scale=100.0, lipschitz=1.0)
    composed = Accountant(MixingClass(2, pi_min=0.2, gap=0.5), length=3, releases=[record, record]).composed()
    assert "quilt-exact needs chains" in next(f.why or "" for f in composed.rules if f.rule == "sequential-quilt")


def test_a_larger_constant_than_the_querys_own_is_taken_at_its_word() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    found = [
        Accountant(chain, length=50, releases=[ReleaseRecord(noise_scale=9.0, lipschitz=n, query="count:1")]).composed()
        for n in (None, 1.0, 3.0)
    ]
    assert found[0].epsilon == found[1].epsilon < found[2].epsilon
