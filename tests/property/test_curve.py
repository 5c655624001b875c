"""Steps and curve: against a plain linear programme, random log-Lipschitz functions, and the exact audit."""

import itertools

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog
from strategies import chains, distributions, epsilons, transitions, with_some_start

from quiltwork import ChainSet, Count, Histogram, JointTable, MarkovChain, Noisy, NotCoveredError, audit, calibrate
from quiltwork.influence.curve.constant import InfluenceCurve
from quiltwork.influence.curve.ratios import AnyPast, IntervalFuture, IntervalRatios
from quiltwork.influence.curve.sides import KernelSide
from quiltwork.influence.curve.steps import (
    Kernel,
    cross_ratios,
    pairwise_step,
    projective_step,
    ratio_step,
    scalar_step,
)
from quiltwork.influence.curve.transport import Shipments, shortest


@st.composite
def differences(draw: st.DrawFn, states: int) -> np.ndarray:
    entries = draw(st.lists(st.floats(0.0, 4.0), min_size=states**2, max_size=states**2))
    D = np.array(entries).reshape(states, states)
    np.fill_diagonal(D, 0.0)
    return D


def programme(P: np.ndarray, a: int, b: int, D: np.ndarray) -> float:
    """max P[a]·v with P[b]·v = 1 and v[y] ≤ exp(D[y,z]) v[z], by a plain linear programme."""
    k = len(P)
    rows = []
    for y, z in itertools.permutations(range(k), 2):
        row = np.zeros(k)
        row[y], row[z] = 1.0, -np.exp(D[y, z])
        rows.append(row)
    solved = linprog(-P[a], A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=P[[b]], b_eq=[1.0])
    assert solved.status == 0
    assert solved.fun is not None
    return float(np.log(-solved.fun))


SOLVER = 2e-7  # by which a linear programme may miss its constraints


@settings(max_examples=examples(14))
@given(transitions(max_states=4), st.data())
def test_steps_are_never_below_the_linear_programme(P: np.ndarray, data: st.DataObject) -> None:
    k = len(P)
    D = data.draw(differences(k))
    most = float(D.max())
    scalar = scalar_step(Kernel.of(P), most)
    pairwise = pairwise_step(P, D, known=np.maximum(scalar, 0))
    projective = projective_step(cross_ratios(P), most)
    for a, b in itertools.permutations(range(k), 2):
        exact = programme(P, a, b, D)
        assert pairwise[a, b] >= exact - SOLVER
        assert pairwise[a, b] <= scalar[a, b]
        assert projective[a, b] >= exact - SOLVER
        uniform = programme(P, a, b, np.where(np.eye(k, dtype=bool), 0.0, most))
        assert scalar[a, b] == pytest.approx(uniform, abs=1e-6)


@settings(max_examples=examples(14))
@given(transitions(max_states=5), st.data())
def test_steps_hold_for_every_log_lipschitz_function(P: np.ndarray, data: st.DataObject) -> None:
    k = len(P)
    D = shortest(data.draw(differences(k)))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    pairwise = pairwise_step(P, D, known=np.full((k, k), 5.0))
    for _ in range(50):
        # the largest function below random heights that obeys D
        u = np.min(rng.uniform(-4, 4, size=k)[None, :] + D, axis=1)
        assert np.all(u[:, None] - u[None, :] <= D + 1e-9)
        means = np.log(P @ np.exp(u))
        assert np.all(means[:, None] - means[None, :] <= pairwise + 1e-9)


@settings(max_examples=examples(10))
@given(transitions(max_states=4, zeros=False), st.data())
def test_projective_step_covers_every_start(P: np.ndarray, data: st.DataObject) -> None:
    """Backward kernels of any prior, and any function within D of them."""
    k = len(P)
    prior = 0.9 * data.draw(distributions(k)) + 0.1 / k
    difference = data.draw(st.floats(0.0, 4.0))
    backward = (prior[:, None] * P).T
    backward /= backward.sum(axis=1, keepdims=True)
    bound = projective_step(cross_ratios(np.ascontiguousarray(P.T)), difference)
    exact = scalar_step(Kernel.of(backward), difference)
    assert np.all(exact <= bound + 1e-9)


def test_a_claim_below_the_step_is_not_proved() -> None:
    P = np.array([[0.9, 0.1], [0.4, 0.6]])
    D = np.array([[0.0, 1.0], [1.0, 0.0]])
    exact = pairwise_step(P, D, known=np.full((2, 2), 1.0))
    shipments = Shipments.of(P, D)
    enough = exact * (1 + 1e-6)
    assert shipments.hold(enough)
    for pair in ((0, 1), (1, 0)):
        claim = enough.copy()
        claim[pair] = exact[pair] * (1 - 1e-6)
        assert not shipments.hold(claim)
        claim[pair] = np.nan
        assert not shipments.hold(claim)


def mechanism_loss(chain: MarkovChain, start: np.ndarray, length: int, profile: np.ndarray, seed: int) -> float:
    """The loss of a random output density that is log-Lipschitz by the profile at every time, by enumeration."""
    rng = np.random.default_rng(seed)
    k = len(chain.states)
    paths = list(itertools.product(range(k), repeat=length))
    distance = np.array([[sum(profile[x, y] for x, y in zip(p, q, strict=True)) for q in paths] for p in paths])
    heights = rng.uniform(0, rng.choice([1.0, 5.0, 20.0]), size=len(paths)) * rng.integers(0, 2, size=len(paths))
    output = np.exp(np.min(heights[None, :] + distance, axis=1))
    mass = np.array([start[p[0]] * np.prod([chain.transition[x, y] for x, y in itertools.pairwise(p)]) for p in paths])
    series = np.array(paths)
    worst = 0.0
    for i in range(length):
        means = []
        for x in range(k):
            here = series[:, i] == x
            if mass[here].sum() > 0:
                means.append(np.log(mass[here] @ output[here] / mass[here].sum()))
        worst = max(worst, max(means) - min(means))
    return worst


@settings(max_examples=examples(24))
@given(chains(max_states=3), st.integers(1, 4), st.data())
def test_the_curve_holds_for_random_outputs(chain: MarkovChain, length: int, data: st.DataObject) -> None:
    k = len(chain.states)
    profile = shortest(data.draw(differences(k))) / data.draw(st.sampled_from([1.0, 4.0, 16.0]))
    profile = np.maximum(profile, profile.T)
    start = chain.initial if chain.initial is not None else 0.99 * data.draw(distributions(k)) + 0.01 / k
    bound = InfluenceCurve(chain).at(profile).epsilon
    for seed in range(5):
        assert mechanism_loss(chain, start, length, profile, seed) <= bound * (1 + 1e-9) + 1e-9


@settings(max_examples=examples(18))
@given(chains(max_states=4), st.integers(1, 10), epsilons)
def test_audited_loss_of_the_curve_is_within_epsilon(chain: MarkovChain, length: int, epsilon: float) -> None:
    scale = calibrate(Count("0"), belief=chain, epsilon=epsilon, length=length, mechanism="curve").noise_scale
    known = with_some_start(chain)
    assert audit(known, [Noisy(Count("0"), scale)], length=length).epsilon <= epsilon * (1 + 1e-9)


@settings(max_examples=examples(14))
@given(chains(max_states=5), st.sampled_from([1, 5, 50, 10**6]), epsilons, st.sampled_from(["count:0", "histogram"]))
def test_the_curve_never_needs_more_than_exact_quilts(
    chain: MarkovChain, length: int, epsilon: float, query: str
) -> None:
    found = calibrate(query, belief=chain, epsilon=epsilon, length=length, mechanism="curve").noise_scale
    quilts = calibrate(query, belief=chain, epsilon=epsilon, length=length, mechanism="quilt-exact").noise_scale
    assert found <= quilts * (1 + 1e-12)


@pytest.mark.parametrize(
    ("transition", "scale", "tolerance"),
    [([[0.9, 0.1], [0.4, 0.6]], 3.33641, 1e-4), ([[0.99, 0.01], [0.02, 0.98]], 68.61, 0.03)],
)
def test_known_values(transition: list[list[float]], scale: float, tolerance: float) -> None:
    """Statement 9: ε = 1, count, stationary, every length."""
    chain = MarkovChain(transition, initial="stationary")
    for length in (None, 10**9):
        found = calibrate(Count("1"), belief=chain, epsilon=1.0, length=length, mechanism="curve")
        assert found.noise_scale == pytest.approx(scale, abs=tolerance)
    assert "the hardest to keep apart" in found.explain()
    assert {"pair", "own", "future", "past"} <= set(found.detail())


def test_sets_and_refusals() -> None:
    lazy = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    sticky = MarkovChain([[0.99, 0.01], [0.02, 0.98]], initial="stationary")
    both = calibrate(Count("1"), belief=ChainSet([lazy, sticky]), epsilon=1.0, mechanism="curve")
    alone = calibrate(Count("1"), belief=sticky, epsilon=1.0, mechanism="curve")
    assert both.noise_scale == alone.noise_scale
    assert both.detail()["member"] == 2
    pair = JointTable({"x": "01"}, [(("0",), 0.5), (("1",), 0.5)])
    with pytest.raises(NotCoveredError, match="chain, a set of chains"):
        calibrate(Histogram(), belief=pair, epsilon=1.0, mechanism="curve")
    single = MarkovChain([[1]])
    assert calibrate(Histogram(), belief=single, epsilon=1.0, length=5, mechanism="curve").noise_scale == 0


def test_powers_that_underflow_claim_nothing_about_the_past() -> None:
    """0 reaches 2 in two steps with probability 1e-200: too small to trust in further powers."""
    P = np.array([[1.0, 1e-100, 0.0], [0.5, 0.5, 1e-100], [0.2, 0.3, 0.5]])
    ratio = AnyPast(P).ratios(2)
    assert np.isinf(ratio[1, 2])
    assert np.isfinite(ratio[0, 1])


def log_lipschitz(rng: np.random.Generator, k: int, difference: float, count: int) -> np.ndarray:
    """Random functions with v[y] / v[y'] ≤ exp(D): many of them at the extremes."""
    u = difference * rng.random((count, k))
    u[::2] = difference * rng.integers(0, 2, size=(len(u[::2]), k))
    return np.asarray(np.exp(u))


@settings(max_examples=examples(14))
@given(transitions(max_states=4), st.floats(0.0, 4.0), st.integers(1, 5), st.integers(0, 10**6))
def test_skips_hold_for_outputs_in_between(P: np.ndarray, difference: float, skip: int, seed: int) -> None:
    """(m - 1) λ + step with P^m, for every function of the states skipped that is λ-Lipschitz in log."""
    rng, k, most = np.random.default_rng(seed), len(P), 0.3
    bound = (skip - 1) * most + KernelSide(P, error=0.0).step(skip, difference)
    for v in log_lipschitz(rng, k, difference, 20):
        for own in log_lipschitz(rng, k, most, 5):
            means = v
            for n in range(skip):
                means = P @ (means * (own if n else 1.0))
            logs = np.log(means)
            assert np.all(
                (logs[:, None] - logs[None, :])[~np.eye(k, dtype=bool)] <= bound[~np.eye(k, dtype=bool)] + 1e-9
            )


@settings(max_examples=examples(20))
@given(
    transitions(max_states=4), transitions(max_states=4), st.floats(0.0, 5.0), st.integers(1, 3), st.integers(0, 10**6)
)
def test_interval_steps_hold_for_every_chain_within_the_bounds(
    P: np.ndarray, Q: np.ndarray, difference: float, skip: int, seed: int
) -> None:
    """Rows of different kernels within the bounds, one or several steps, forward and backward from any start."""
    if P.shape != Q.shape:
        Q = np.full_like(P, 1 / len(P))
    rng, k = np.random.default_rng(seed), len(P)
    lower, upper = np.minimum(P, Q), np.maximum(P, Q)
    future = IntervalFuture(lower, upper).step(skip, difference)
    past = IntervalRatios(lower, upper, rows=False).step(skip, difference)
    off = ~np.eye(k, dtype=bool)
    for v in log_lipschitz(rng, k, difference, 30):
        product = np.eye(k)
        for _ in range(skip):
            weights = rng.integers(0, 2, size=(k, 1)) if rng.random() < 0.5 else rng.random((k, 1))
            product = product @ (weights * P + (1 - weights) * Q)
        logs = np.log(product @ v)
        assert np.all((logs[:, None] - logs[None, :])[off] <= future[off] + 1e-9)
        joint = (rng.dirichlet(np.ones(k)) + 1e-6)[:, None] * product
        seen = joint.sum(axis=0) > 0
        logs = np.log((joint[:, seen] / joint[:, seen].sum(axis=0)).T @ v)
        assert np.all((logs[:, None] - logs[None, :]) <= past[np.ix_(seen, seen)] + 1e-9)


@settings(max_examples=examples(10))
@given(transitions(max_states=4), st.floats(0.1, 4.0))
def test_a_point_interval_is_as_good_as_its_chain(P: np.ndarray, difference: float) -> None:
    exact = KernelSide(P, error=0.0).step(1, difference)
    assert IntervalFuture(P, P).step(1, difference) == pytest.approx(exact, abs=1e-6)


@settings(max_examples=examples(10))
@given(transitions(max_states=4, zeros=False), st.floats(0.0, 4.0), st.integers(0, 10**6))
def test_the_ratio_step_needs_only_the_largest_ratio(P: np.ndarray, difference: float, seed: int) -> None:
    largest = float(np.log(P[:, None, :] / P[None, :, :]).max())
    bound = ratio_step(largest, difference)
    for v in log_lipschitz(np.random.default_rng(seed), len(P), difference, 50):
        logs = np.log(P @ v)
        assert logs.max() - logs.min() <= bound + 1e-9


@settings(max_examples=examples(14))
@given(chains(max_states=4), st.floats(0.01, 1.0))
def test_steady_bounds_are_not_raised_by_a_single_step(chain: MarkovChain, most: float) -> None:
    """Also where zeros make skips of several steps the better bound."""
    curve = InfluenceCurve(chain)
    profile = curve.own(most * (1 - np.eye(len(chain.states))))
    for side in (curve.future, curve.past):
        bound = side.steady(profile).values
        if np.isfinite(bound).all() and len(profile) > 1:
            # the step is computed to a precision of 1e-4
            assert np.all(side.one(profile + bound).values <= bound * (1 + 2e-4) + 1e-6)
