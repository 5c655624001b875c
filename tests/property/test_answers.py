"""After the noise: values that are consistent with public facts, estimates, and what would make answers precise."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quiltwork import (
    ChainSet,
    Count,
    CycleChain,
    Frequencies,
    HiddenChain,
    Histogram,
    MarkovChain,
    Mean,
    Noisy,
    Series,
    Transitions,
    audit,
    calibrate,
    plan,
    release,
)
from quiltwork.calibration.request import Request
from quiltwork.calibration.target import epsilon_for
from quiltwork.laws.moments import Moments, Run, moments_of
from quiltwork.queries import Limits, TwoCounts, query_from_dict
from quiltwork.releases.estimate import laplace_posterior
from quiltwork.releases.pipeline import prepare

CHAIN = MarkovChain([[0.8, 0.15, 0.05], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6]], initial="stationary", states=["a", "b", "c"])


@settings(max_examples=examples(14))
@given(st.lists(st.floats(-50, 150), min_size=2, max_size=6), st.integers(0, 100), st.integers(0, 10**6))
def test_the_nearest_answer_is_within_the_limits_and_never_further_from_the_truth(
    noisy: list[float], size: int, seed: int
) -> None:
    limits = Histogram().limits([str(n) for n in range(len(noisy))], size)
    assert limits is not None
    nearest = limits.nearest(np.array(noisy))
    assert nearest.min() >= 0
    assert nearest.max() <= size
    assert nearest.sum() == pytest.approx(size, abs=1e-6)
    rng = np.random.default_rng(seed)
    for truth in rng.multinomial(size, rng.dirichlet(np.ones(len(noisy)), size=5)):
        assert np.linalg.norm(nearest - truth) <= np.linalg.norm(np.array(noisy) - truth) + 1e-6
        # nothing within the limits is nearer to what was drawn
        assert np.linalg.norm(nearest - noisy) <= np.linalg.norm(truth - np.array(noisy)) + 1e-6
    whole = limits.whole(nearest)
    assert whole.sum() == size
    assert whole.min() >= 0
    assert np.abs(whole - nearest).max() <= 1


@pytest.mark.parametrize(
    "query", [Histogram(), Frequencies(), Count("b"), Mean({"a": 1, "b": -2.5, "c": 4}), Transitions()]
)
def test_limits_hold_for_all_data(query: Histogram) -> None:
    for codes in itertools.product(range(3), repeat=4):
        series = Series.from_codes([np.array(codes)], states=CHAIN.states)
        limits = query.limits(CHAIN.states, 4, int(series.transitions().sum()))
        assert limits is not None
        answer = query.evaluate(series) * float(query.unit(CHAIN.states)) / query.divisor(4)
        assert np.all(answer >= np.array(limits.low) - 1e-12)
        assert np.all(answer <= np.array(limits.high) + 1e-12)
        assert limits.total is None or answer.sum() == pytest.approx(limits.total)


def test_consistent_values_are_in_the_result() -> None:
    result = release(["a"] * 40 + ["b"] * 10, "histogram", belief=CHAIN, epsilon=0.5)
    told = result.to_dict()
    assert sum(told["consistent"].values()) == 50
    assert min(told["consistent"].values()) >= 0
    assert set(told["consistent_error_95"]) == set("abc")
    assert told["value"] == result.value
    shares = release(["a"] * 40 + ["b"] * 10, "frequencies", belief=CHAIN, epsilon=0.5, window=10)
    for part in shares.to_dict()["parts"]:
        assert sum(part["consistent"].values()) == pytest.approx(1)


def test_errors_of_consistent_values_are_those_that_are_seen() -> None:
    """The range that is told around a consistent number holds the truth about as often as it says."""
    values, held, draws = ["a"] * 300 + ["b"] * 150 + ["c"] * 50, 0, 60
    ready = prepare(
        Series.from_values(values, states=CHAIN.states),
        Request.of("histogram", belief=CHAIN, epsilon=0.5, alone=True),
    )
    answers = ready.answers()
    for _ in range(draws):
        answer = ready.draw(answers).answers[0]
        errors = answer.consistent_errors(draws=300)
        assert answer.consistent is not None
        assert errors is not None
        held += sum(abs(n - t) <= e for n, t, e in zip(answer.consistent, (300, 150, 50), errors, strict=True))
    assert held / (3 * draws) > 0.85


@settings(max_examples=examples(6))
@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.3, 2.0), st.integers(1, 6))
def test_a_histogram_of_two_states_is_one_count(p: float, q: float, epsilon: float, length: int) -> None:
    chain = MarkovChain([[1 - p, p], [q, 1 - q]], initial="stationary", states=["sit", "walk"])
    found = calibrate("histogram", belief=chain, epsilon=epsilon, length=length)
    count = calibrate("count:sit", belief=chain, epsilon=epsilon, length=length)
    assert isinstance(found.query, TwoCounts)
    assert found.noise_scale == pytest.approx(count.noise_scale)
    # what is published is the noisy count and what it leaves of the public number: nothing more than the count
    assert audit(chain, [Noisy(found.query, found.noise_scale)], length=length).epsilon <= epsilon * (1 + 1e-9)
    assert query_from_dict(found.query.to_dict()) == found.query
    # independent noise on both numbers is another query, and records of it stay what they were
    both = query_from_dict({"kind": "histogram"})
    assert audit(chain, [Noisy(both, 2 * found.noise_scale)], length=length).epsilon <= epsilon * (1 + 1e-9)


def test_the_two_numbers_of_a_two_state_histogram_add_up() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])
    result = release(["sit", "walk"] * 50, "histogram", belief=chain, epsilon=1.0)
    assert sum(result.numbers) == 100
    assert result.draws == 1
    assert "the other number is the rest" in str(plan("histogram", belief=chain, epsilon=1.0, length=9).note)


@settings(max_examples=examples(10))
@given(st.integers(0, 10**6), st.lists(st.integers(1, 3), min_size=1, max_size=3), st.booleans())
def test_moments_are_those_of_all_series(seed: int, lengths: list[int], uneven: bool) -> None:
    rng = np.random.default_rng(seed)
    k, total = 2, sum(lengths)
    tables = rng.dirichlet(np.ones(k), size=(total if uneven else 1, k))
    steps = rng.integers(-2, 4, size=(2, k)).astype(np.float64)
    initial = rng.dirichlet(np.ones(k))
    at = iter(range(total))
    runs = []
    for length in lengths:
        run = Run.nothing(k, 2)
        for _ in range(length):
            run = run + Run.single(tables[next(at) % len(tables)], steps)
        runs.append(run if uneven else Run.single(tables[0], steps).times(length))
    places = [n % 2 for n in range(len(lengths))]
    parts = max(places) + 1
    found = moments_of(runs, places, parts, initial)
    part_of = [place for place, length in zip(places, lengths, strict=True) for _ in range(length)]
    mean, squares = np.zeros(2 * parts), np.zeros((2 * parts, 2 * parts))
    for path in itertools.product(range(k), repeat=total):
        chance = initial[path[0]]
        for t, (x, y) in enumerate(itertools.pairwise(path)):
            chance *= tables[t % len(tables)][x, y]
        added = np.zeros((parts, 2))
        for t, x in enumerate(path):
            added[part_of[t]] += steps[:, x]
        mean += chance * added.ravel()
        squares += chance * np.outer(added.ravel(), added.ravel())
    assert found.mean == pytest.approx(mean, abs=1e-10)
    assert found.covariance == pytest.approx(squares - np.outer(mean, mean), abs=1e-9)


@settings(max_examples=examples(10))
@given(st.integers(0, 10**6))
def test_the_posterior_is_that_of_quadrature(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, 2)) + np.eye(2)
    covariance, mean = root @ root.T, rng.normal(size=2)
    scale = rng.uniform(0.3, 2.0, size=2)
    seen = mean + rng.normal(size=2) * 2
    grid = np.linspace(-12, 12, 481)
    x, y = np.meshgrid(grid, grid, indexing="ij")
    off = np.stack([x - mean[0], y - mean[1]], axis=-1)
    logs = -0.5 * np.einsum("...i,ij,...j", off, np.linalg.inv(covariance), off)
    logs -= np.abs(x - seen[0]) / scale[0] + np.abs(y - seen[1]) / scale[1]
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    exact = np.array([(weights * x).sum(), (weights * y).sum()])
    spread = np.sqrt(np.array([(weights * x * x).sum(), (weights * y * y).sum()]) - exact**2)
    found = laplace_posterior(Moments(mean, covariance), seen, scale)
    assert np.all(np.abs(found.mean - exact) <= 0.08 * spread + 0.01)
    assert np.sqrt(found.variance) == pytest.approx(spread, rel=0.08)


@pytest.mark.parametrize(("kind", "window"), [("chain", None), ("chain", 16), ("set", 16), ("hidden", 16)])
def test_estimates_are_nearer_and_their_ranges_hold(kind: str, window: int | None) -> None:
    """On series that the belief made, many times: nearer to the truth than what was drawn, and 95 % of ranges hold."""
    other = MarkovChain([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], initial="stationary", states=CHAIN.states)
    belief = {
        "chain": CHAIN,
        "set": ChainSet([CHAIN, other]),
        "hidden": HiddenChain(CHAIN.transition, shows=["a", "b", "c"], initial="stationary"),
    }[kind]
    rng, ends, starts = np.random.default_rng(7), np.cumsum(CHAIN.transition, axis=1), CHAIN.stationary
    off, before, held = [], [], []
    for _ in range(4):
        path = [int(rng.choice(3, p=starts))]
        for u in rng.random(191):
            path.append(int((u > ends[path[-1], :-1]).sum()))
        series = Series.from_codes([np.array(path)], states=belief.states)
        request = Request.of("frequencies", belief=belief, epsilon=0.5, window=window, mechanism="curve")
        ready = prepare(series, request)
        counted = ready.answers()
        drawn = [
            pair for _ in range(1 if window else 10) for pair in zip(ready.draw(counted).answers, counted, strict=True)
        ]
        for answer, true in drawn:
            truth = np.asarray(true.numbers, dtype=np.float64) / true.values
            assert answer.estimate is not None
            guess = np.array(answer.estimate.numbers)
            assert guess.sum() == pytest.approx(1)
            off.append(np.abs(guess - truth).mean())
            before.append(np.abs(np.array(answer.numbers) - truth).mean())
            held.append(np.mean((np.array(answer.estimate.low) <= truth) & (truth <= np.array(answer.estimate.high))))
    assert np.mean(off) < 0.8 * np.mean(before)
    assert np.mean(held) > 0.75


def test_windows_are_smoothed_along_time() -> None:
    """A window borrows from its neighbours: with joint estimates it is nearer to the truth than by itself."""
    slow = MarkovChain([[0.99, 0.01], [0.01, 0.99]], initial="stationary", states=["a", "b"])
    tables = np.tile(Run.single(slow.transition, np.array([[0.0, 1.0]])).times(10).mean, 1)
    assert tables.shape == (2, 1)
    runs = [Run.single(slow.transition, np.array([[0.0, 1.0]])).times(10)] * 5
    joint = moments_of(runs, range(5), 5, slow.stationary)
    seen, scale = np.array([10.0, 10.0, 0.0, 10.0, 10.0]), np.full(5, 6.0)
    together = laplace_posterior(joint, seen, scale)
    alone = laplace_posterior(Moments(joint.mean[2:3], joint.covariance[2:3, 2:3]), seen[2:3], scale[2:3])
    assert together.mean[2] > 6 > alone.mean[0]
    assert together.variance[2] < alone.variance[0]


def test_estimates_by_the_time_of_day() -> None:
    import polars as pl

    day = CycleChain(
        [[[0.9, 0.1], [0.9, 0.1]]] * 12 + [[[0.1, 0.9], [0.1, 0.9]]] * 12,
        states=["low", "high"],
        step="1h",
        initial="stationary",
    )
    times = pl.datetime_range(pl.datetime(2024, 3, 4, 6), pl.datetime(2024, 3, 9, 23), interval="1h", eager=True)
    hours = times.dt.hour().to_numpy()
    table = pl.DataFrame({"time": times, "level": np.where((hours >= 1) & (hours <= 12), "low", "high")})
    from quiltwork import read_series

    series = read_series(table, column="level", states=day.states, time="time")
    result = release(series, "frequencies", belief=day, epsilon=0.1, window="hour-of-day")
    guesses = {answer.window: answer.estimate.numbers[0] for answer in result.answers if answer.estimate is not None}
    assert len(guesses) == 24
    assert np.mean([guesses[f"{hour:02}:00"] for hour in range(2, 13)]) > 0.75
    assert np.mean([guesses[f"{hour:02}:00"] for hour in range(14, 24)]) < 0.25


def test_there_are_no_estimates_without_a_law() -> None:
    from quiltwork import GaussianBelief, MixingClass

    mixing = MixingClass(["a", "b"], pi_min=0.2, gap=0.5)
    assert release(["a", "b"] * 20, "histogram", belief=mixing, epsilon=1.0).answers[0].estimate is None
    reducible = MarkovChain([[1.0, 0.0], [0.0, 1.0]], states=["a", "b"])
    grouped = release(["a"] * 20, "histogram", belief=reducible, epsilon=1.0, mechanism="group")
    assert grouped.answers[0].estimate is None
    real = GaussianBelief({"ar1": 0.5}, distance=1.0)
    assert release([1.0, 2.0, 3.0], "mean", belief=real, epsilon=1.0).answers[0].estimate is None


@settings(max_examples=examples(12))
@given(st.floats(0.1, 3.0), st.floats(0.001, 2.0), st.floats(0.5, 1.5))
def test_the_epsilon_that_is_named_is_enough(size: float, wanted: float, power: float) -> None:
    def error(epsilon: float) -> float:
        return float(size / epsilon**power)

    found = epsilon_for(error, wanted, first=size / wanted)
    if found is not None:
        assert error(found) <= wanted
        assert error(found * 0.95) > wanted or found < 1e-3
    else:
        assert error(30.0) > wanted


def test_a_plan_says_what_would_be_noise_only() -> None:
    poor = plan("frequencies", belief=CHAIN, epsilon=0.1, length=50)
    (warning,) = poor.warnings
    assert "would be noise only" in warning
    assert "people" in warning
    assert poor.to_dict()["warnings"] == [warning]
    assert not plan("frequencies", belief=CHAIN, epsilon=1.0, length=5000).warnings
    asked = plan("frequencies", belief=CHAIN, epsilon=1.0, length=500, values=5000, target_error="1%")
    assert asked.remedy is not None
    assert asked.remedy.error == pytest.approx(0.01)
    assert asked.remedy.epsilon is not None
    enough = plan(
        "frequencies", belief=CHAIN, epsilon=asked.remedy.epsilon, length=500, values=5000, mechanisms=["curve"]
    )
    assert enough.best is not None
    assert enough.best.error_95 is not None
    assert enough.best.error_95 <= 0.01
    assert asked.remedy.values is not None
    more = plan("frequencies", belief=CHAIN, epsilon=1.0, length=500, values=asked.remedy.values, mechanisms=["curve"])
    assert more.best is not None
    assert more.best.error_95 is not None
    assert more.best.error_95 <= 0.0101


def test_a_release_says_what_would_be_noise_only_before_it_is_made() -> None:
    series = Series.from_values(["a", "b"] * 60, states=CHAIN.states)
    ready = prepare(series, Request.of("frequencies", belief=CHAIN, epsilon=0.2, window=10))
    (warning,) = ready.warnings(ready.answers())
    assert "for 12 of 12 parts" in warning
    fine = prepare(series, Request.of("count:a", belief=CHAIN, epsilon=5.0))
    assert fine.warnings(fine.answers()) == ()
    assert Limits((0.0,), (1.0,)).width == Fraction(1)
