"""After the noise: values that are consistent with public facts, and what would make answers precise."""

import itertools
from fractions import Fraction

import numpy as np
import oracle
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st

from quiltwork import (
    Count,
    Frequencies,
    Histogram,
    MarkovChain,
    Mean,
    Noisy,
    Query,
    Series,
    Transitions,
    audit,
    calibrate,
    plan,
    release,
)
from quiltwork.calibration.target import epsilon_for
from quiltwork.question import Limits, query_from_dict

CHAIN = MarkovChain([[0.8, 0.15, 0.05], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6]], initial="stationary", states=["a", "b", "c"])


@settings(max_examples=examples(14))
@given(st.lists(st.floats(-50, 150), min_size=2, max_size=6), st.integers(0, 100), st.integers(0, 10**6))
def test_the_nearest_answer_is_within_the_limits_and_never_further_from_the_truth(
    noisy: list[float], size: int, seed: int
) -> None:
    limits = oracle.between(Histogram(), [str(n) for n in range(len(noisy))], size)
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
def test_limits_hold_for_all_data(query: Query) -> None:
    for codes in itertools.product(range(3), repeat=4):
        series = Series.from_codes([np.array(codes)], states=CHAIN.states)
        limits = oracle.between(query, CHAIN.states, 4, int(series.transitions().sum()))
        assert limits is not None
        unit, divisor = oracle.in_units(query, CHAIN.states, 4)
        answer = oracle.answer_to(query, series) * float(unit) / divisor
        assert np.all(answer >= np.array(limits.low) - 1e-12)
        assert np.all(answer <= np.array(limits.high) + 1e-12)
        assert limits.total is None or answer.sum() == pytest.approx(limits.total)


def test_consistent_values_are_in_the_result() -> None:
    result = release(["a"] * 400 + ["b"] * 100, "histogram", belief=CHAIN, epsilon=0.5, anyway=True)
    told = result.to_dict()
    assert sum(told["consistent"].values()) == 500
    assert min(told["consistent"].values()) >= 0
    assert told["value"] == result.value
    shares = release(["a"] * 400 + ["b"] * 100, "frequencies", belief=CHAIN, epsilon=0.5, window=100, anyway=True)
    for part in shares.to_dict()["parts"]:
        assert sum(part["consistent"].values()) == pytest.approx(1)


@settings(max_examples=examples(6))
@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.3, 2.0), st.integers(1, 6))
def test_a_histogram_of_two_states_is_one_count(p: float, q: float, epsilon: float, length: int) -> None:
    chain = MarkovChain([[1 - p, p], [q, 1 - q]], initial="stationary", states=["sit", "walk"])
    found = calibrate("histogram", belief=chain, epsilon=epsilon, length=length)
    count = calibrate("count:sit", belief=chain, epsilon=epsilon, length=length)
    # two numbers that keep their total have the noise of one, of half the scale
    assert found.noise == "laplace-total"
    assert found.noise_scale == pytest.approx(2 * count.noise_scale)
    kept = audit(chain, [Noisy(found.query, found.noise_scale, noise="laplace-total")], length=length).epsilon
    assert kept == pytest.approx(audit(chain, [Noisy(count.query, found.noise_scale / 2)], length=length).epsilon)
    assert kept <= epsilon * (1 + 1e-9)
    assert query_from_dict(found.query.to_dict()) == found.query
    assert audit(chain, [Noisy(found.query, found.noise_scale)], length=length).epsilon <= epsilon * (1 + 1e-9)


def test_the_two_numbers_of_a_two_state_histogram_add_up() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])
    result = release(["sit", "walk"] * 50, "histogram", belief=chain, epsilon=1.0, anyway=True)
    assert sum(result.numbers) == 100
    assert result.error() == result.error(simultaneous=True) == 10


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
    ready = oracle.prepared(series, "frequencies", belief=CHAIN, epsilon=0.2, window=10, anyway=True)
    (warning,) = ready.warnings(ready.answers())
    assert "for 12 of 12 parts" in warning
    fine = oracle.prepared(series, "count:a", belief=CHAIN, epsilon=5.0, anyway=True)
    assert fine.warnings(fine.answers()) == ()
    assert Limits((0.0,), (1.0,)).width == Fraction(1)
