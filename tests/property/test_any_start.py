"""Any start: bounds by bridges against enumeration, and exact losses against the starts that they stand for."""

import itertools

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import distributions, epsilons, transitions

from quiltwork import Count, MarkovChain, Noisy, NotCoveredError, Sum, audit, calibrate
from quiltwork.influence.curve.any_start import AnyStart
from quiltwork.influence.curve.bridges import Bridge
from quiltwork.influence.curve.constant import InfluenceCurve
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
from quiltwork.laws.tables import worst_odds


@st.composite
def starts(draw: st.DrawFn, states: int) -> np.ndarray:
    """Laws of the first value: anywhere, on two states with odds of any size, or certain."""
    kind = draw(st.sampled_from(["law", "two", "certain"]))
    if kind == "law":
        return draw(distributions(states))
    first, second = draw(st.integers(0, states - 1)), draw(st.integers(0, states - 1))
    share = 1 / (1 + np.exp(draw(st.floats(-12, 12)))) if kind == "two" else 0.0
    law = np.zeros(states)
    law[first] += 1 - share
    law[second] += share
    return law


@st.composite
def profiles(draw: st.DrawFn, states: int) -> np.ndarray:
    """What one value changes: by count or for all pairs, at several sizes."""
    size = draw(st.sampled_from([0.02, 0.1, 0.5, 2.0]))
    if draw(st.booleans()):
        return size * (1 - np.eye(states))
    hit = np.arange(states) == draw(st.integers(0, states - 1))
    return np.asarray(size * np.not_equal.outer(hit, hit))


def told_by_the_past(P: np.ndarray, start: np.ndarray, steps: int, profile: np.ndarray, seed: int) -> np.ndarray:
    """log E[g | X_{n+1} = a] / E[g | X_{n+1} = b] for a random g of the n values before, by enumeration."""
    rng, k = np.random.default_rng(seed), len(P)
    paths = np.array(list(itertools.product(range(k), repeat=steps)))
    distance = sum(profile[paths[:, t][:, None], paths[:, t][None, :]] for t in range(steps))
    heights = rng.choice([1.0, 5.0, 30.0]) * rng.random(len(paths)) * rng.integers(0, 2, len(paths))
    g = np.exp(np.min(heights[None, :] + distance, axis=1))
    mass = start[paths[:, 0]]
    for t in range(steps - 1):
        mass = mass * P[paths[:, t], paths[:, t + 1]]
    joint = mass[:, None] * P[paths[:, -1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.log(g @ joint) - np.log(joint.sum(axis=0))
        ratios = means[:, None] - means[None, :]
    return np.where(np.isfinite(ratios), ratios, -np.inf)


@settings(max_examples=examples(14), deadline=None)
@given(transitions(max_states=3), st.data())
def test_every_node_is_covered_whatever_the_start(P: np.ndarray, data: st.DataObject) -> None:
    k = len(P)
    profile, start = data.draw(profiles(k)), data.draw(starts(k))
    nodes = AnyStart(P).by_node(profile)
    for steps in range(1, 6):
        bound = [node.values for node in nodes if node.steps <= steps][-1]
        for seed in range(8):
            assert np.all(told_by_the_past(P, start, steps, profile, seed) <= bound + 1e-9)


@settings(max_examples=examples(14), deadline=None)
@given(transitions(max_states=3), st.integers(1, 3), st.data())
def test_the_bound_for_later_nodes_does_not_need_the_first_ones(P: np.ndarray, few: int, data: st.DataObject) -> None:
    """Stopped after few steps, what holds at all nodes must hold further on too."""
    k = len(P)
    side, profile = AnyStart(P), data.draw(profiles(k))
    every = side.cross_bound(profile).values
    walk = list(itertools.islice(side._walk(profile, np.zeros((k, k))), few))
    largest = np.max([between.bound(profile, np.zeros((k, k))) for between in walk], axis=0)
    later = side._kept(walk[-1], profile, largest, every)
    start = data.draw(starts(k))
    for steps in range(1, 6):
        for seed in range(5):
            assert np.all(told_by_the_past(P, start, steps, profile, seed) <= later + 1e-9)


@settings(max_examples=examples(14), deadline=None)
@given(transitions(min_states=3, max_states=4), st.data())
def test_groups_of_starts_and_of_values_are_no_smaller(P: np.ndarray, data: st.DataObject) -> None:
    """Ends taken together, values in between taken together, and several steps at once: all are bounds."""
    k = len(P)
    profile = data.draw(profiles(k))
    alone = tuple(np.array([z]) for z in range(k))
    together = (np.array([0]), np.arange(1, k))
    fine, coarse = Bridge.shortest(P, alone, np.arange(k)), Bridge.shortest(P, together, np.minimum(np.arange(k), 1))
    for _ in range(3):
        fine = fine.longer(profile, P, steps=1, precision=1e-6)
        coarse = coarse.longer(profile, P, steps=1, precision=1e-6)
        possible = fine.support[:, :, None] & fine.support[:, None, :]
        assert np.all((fine.by_end() <= coarse.by_end() * (1 + 1e-5) + 1e-9)[possible])


@settings(max_examples=examples(12), deadline=None)
@given(transitions(max_states=3), st.integers(1, 6), st.floats(0.3, 6.0), st.data())
def test_no_start_is_worse_than_the_exact_loss_of_any_start(
    P: np.ndarray, length: int, scale: float, data: st.DataObject
) -> None:
    chain, asked = MarkovChain(P), [Noisy(Count("0"), scale)]
    every = audit(chain, asked, length=length)
    for _ in range(4):
        start = data.draw(starts(len(P)))
        assert audit(chain.with_start(start / start.sum()), asked, length=length).epsilon <= every.epsilon + 1e-7
    if every.start is not None and (P > 0).all():
        law = dict(every.start)
        attained = audit(chain.with_start([law.get(s, 0.0) for s in chain.states]), asked, length=length)
        assert attained.epsilon == pytest.approx(every.epsilon, rel=1e-4, abs=1e-6)


@settings(max_examples=examples(10), deadline=None)
@given(transitions(max_states=3), st.integers(1, 8), epsilons)
def test_the_curve_is_never_below_the_exact_loss(P: np.ndarray, length: int, epsilon: float) -> None:
    """The noise of the curve, of Wasserstein and of the audit itself: within ε for every start, in this order."""
    chain, scales = MarkovChain(P), {}
    for mechanism in ("curve", "wasserstein", "audited"):
        scales[mechanism] = calibrate(
            Count("0"), belief=chain, epsilon=epsilon, length=length, mechanism=mechanism
        ).noise_scale
        assert audit(chain, [Noisy(Count("0"), scales[mechanism])], length=length).epsilon <= epsilon * (1 + 1e-7)
    assert scales["audited"] <= min(scales["curve"], scales["wasserstein"]) * (1 + 1e-7)


@settings(max_examples=examples(72), deadline=None)
@given(st.lists(st.floats(-30, 5), min_size=8, max_size=8), st.lists(st.integers(0, 9), min_size=8, max_size=8))
def test_the_best_odds_are_found(numbers: list[float], impossible: list[int]) -> None:
    """Against a grid of odds; some of the eight numbers are 0."""
    logs = np.where(np.array(impossible) == 0, -np.inf, np.array(numbers))
    above, below, to_above, to_below = logs.reshape(4, 2)
    best, _ = worst_odds(above, below, to_above, to_below)
    with np.errstate(invalid="ignore", divide="ignore"):
        for odds in np.linspace(-60, 60, 481):
            up, down = (
                np.logaddexp.reduce(weights + values + np.array([0, odds]))
                - np.logaddexp.reduce(weights + np.array([0, odds]))
                for values, weights in ((above, to_above), (below, to_below))
            )
            if not np.isnan(up - down):
                assert up - down <= best + 1e-7


def test_any_start_costs_little_where_the_series_mixes() -> None:
    P = np.array([[0.99, 0.01, 0.0], [0.02, 0.96, 0.02], [0.0, 0.03, 0.97]])
    scales = [
        calibrate("histogram", belief=MarkovChain(P, initial=start), epsilon=1.0, mechanism="curve").noise_scale
        for start in ("stationary", "any")
    ]
    assert scales[0] <= scales[1] <= 1.1 * scales[0]


def test_what_is_calibrated_adds_up_along_time() -> None:
    """One release is within its ε when it is added up again, with gaps too, and more of them cost more."""
    chain = MarkovChain([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.3, 0.7]])
    scale = calibrate("histogram", belief=chain, epsilon=1.0, mechanism="curve").noise_scale
    asked = 2 * (1 - np.eye(3)) / scale
    assert loss_along_time(chain, Profile.of([(asked, None)], length=1000)).epsilon <= 1.0
    assert loss_along_time(chain, Profile.of([(asked, (500, 600)), (asked, (700, 800))], length=1000)).epsilon <= 1.0
    twice = loss_along_time(chain, Profile.of([(asked, None), (asked, (300, 400))], length=1000)).epsilon
    assert 1.0 < twice <= 2.0


def test_many_states_take_starts_together() -> None:
    rng = np.random.default_rng(0)
    P = 0.5 * np.eye(20) + 0.5 * rng.dirichlet(np.full(20, 0.5), size=20)
    chain, count = MarkovChain(P), np.not_equal.outer(np.arange(20) == 0, np.arange(20) == 0) / 4.0
    stationary = InfluenceCurve(chain.with_start("stationary")).at(count).epsilon
    found = InfluenceCurve(chain).at(count)
    assert stationary <= found.epsilon
    assert found.past.bridges is None
    assert np.all(found.past.values <= AnyStart(P).cross_bound(count).values)


def test_wasserstein_with_a_delta_needs_a_start() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    with pytest.raises(NotCoveredError, match="needs a start"):
        calibrate("count:1", belief=chain, epsilon=1.0, length=5, mechanism="wasserstein", delta=0.01)


def test_odds_far_from_even_are_found() -> None:
    """A start that hardly leads to a state decides about it, however small its share."""
    P = np.zeros((5, 5))
    P[0, 2], P[0, 3], P[1, 2], P[1, 3], P[1, 4] = 1, 1e-48, 1e-200, 1e-200, 1
    P[2, 1] = P[4, 1] = P[3, 4] = 1
    chain, asked = MarkovChain(P, states=["1.0", "0.0", "1.00", "0.00", "1.000"]), [Noisy(Sum(), 1.0)]
    nearly = chain.with_start([1e-176, 1, 0, 0, 0])
    assert audit(chain, asked, length=2).epsilon >= audit(nearly, asked, length=2).epsilon


def test_a_circle_of_many_states_is_followed_without_groups() -> None:
    circle = MarkovChain(np.roll(np.eye(34), 1, axis=1))
    asked = 0.01 * (1 - np.eye(34))
    assert loss_along_time(circle, Profile.of([(asked, None)], length=50)).epsilon == pytest.approx(0.5)
