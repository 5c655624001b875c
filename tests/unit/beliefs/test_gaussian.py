"""Beliefs about real values: what they say, and what they refuse."""

from typing import Any

import numpy as np
import pytest

from quiltwork import GaussianBelief, InputError, NotCoveredError, calibrate
from quiltwork.beliefs import belief_from_dict
from quiltwork.beliefs.correlation import Correlation
from quiltwork.types import Duration

FILE: dict[str, Any] = {"kind": "gaussian", "distance": 1.0, "correlation": {"ar1": 0.9}}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"correlation": [1, 0.9, 0.1]}, "must be those of some series"),
        ({"correlation": [0.9, 0.5]}, "another first number"),
        ({"correlation": [1, 1.5]}, "not from -1 to 1"),
        ({"correlation": [1, float("nan")]}, "must hold numbers"),
        ({"correlation": []}, "0 numbers"),
        ({"correlation": [1, "high"]}, "must hold numbers, got str"),
        ({"correlation": "high"}, "correlation must be a list, or an object"),
        ({"correlation": {"ar2": 0.9}}, "got keys ar2"),
        ({"correlation": {"ar1": 1.1}}, "ar1 must be from -1 to 1"),
        ({"correlation": {"ar1": True}}, "ar1 must hold numbers, got bool"),
        ({"correlation": {"at_most": [1, -0.1]}}, "not from 0 to 1"),
        ({"correlation": {"at_most": 0.9}}, "at_most has an entry for each lag"),
        ({"correlation": {"decay": "30min"}}, "a decay in time needs a step in time, got decay 30min and no step"),
        ({"correlation": {"decay": True}}, "decay must be a duration"),
        ({"correlation": {"decay": "soon"}}, "decay must be a duration"),
        ({"distance": 0}, "distance must be a positive number"),
        ({"distance": -1.0}, "distance must be a positive number"),
        ({"distance": float("inf")}, "distance must be a positive number"),
        ({"distance": "1 kW"}, "distance must be a positive number, got '1 kW'"),
        ({"between": 0.3}, "subjects and between belong together"),
        ({"subjects": 2}, "subjects and between belong together"),
        ({"subjects": 0, "between": 0.3}, "subjects must be 1 to"),
        ({"subjects": ["a", "a"], "between": 0.3}, "different names"),
        ({"subjects": 3, "between": -0.9}, "contradicts itself"),
        ({"subjects": 2, "between": [[1, 0.2], [0.3, 1]]}, "not symmetric"),
        ({"subjects": 2, "between": [1, 0.2]}, "a table of 2 rows"),
        ({"subjects": 2, "between": "much"}, "between must be a number"),
        ({"subjects": 2, "between": 0.2, "deviation": [1]}, "a number for each subject"),
        ({"subjects": 2, "between": 0.2, "deviation": [1, 0]}, "deviation must be a positive number"),
        ({"colour": "red"}, "has no key 'colour'"),
    ],
)
def test_what_is_no_belief_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        belief_from_dict(FILE | changed)


def test_correlations_that_do_not_fade_are_for_known_lengths() -> None:
    belief = GaussianBelief({"ar1": 1.0}, distance=1.0)
    assert calibrate("sum", belief=belief, epsilon=1.0, length=50).noise_scale == pytest.approx(50, rel=1e-5)
    with pytest.raises(NotCoveredError, match="no noise is enough for series of any length"):
        calibrate("sum", belief=belief, epsilon=1.0, length="any")


def test_a_list_that_breaks_off_is_for_short_series() -> None:
    belief = GaussianBelief([1, 0.88, 0.85], distance=1.0)
    assert calibrate("sum", belief=belief, epsilon=1.0, length=3).noise_scale == pytest.approx(2.76, rel=1e-4)
    for length in (4, "any"):
        with pytest.raises(NotCoveredError, match="cannot belong to a longer series"):
            calibrate("sum", belief=belief, epsilon=1.0, length=length)


def test_sums_over_lags() -> None:
    for correlation in (
        Correlation((1.0,), ratio=0.7),
        Correlation((1.0,), ratio=-1.0),
        Correlation((1.0, 0.5, -0.25)),
        Correlation((1.0, 0.5, 0.3), ratio=0.6, at_most=True),
    ):
        for first, last in ((-4, 5), (-7, -2), (1, 6), (3, 2), (0, 0)):
            plain = sum(float(correlation.at(np.array([h]))[0]) for h in range(first, last + 1))
            assert float(correlation.between(np.array([first]), np.array([last]))[0]) == pytest.approx(plain, abs=1e-12)
        if abs(correlation.ratio) < 1:
            tail = sum(abs(float(correlation.at(np.array([h]))[0])) for h in range(3, 400))
            assert correlation.tail(2) == pytest.approx(tail, abs=1e-9)
            assert correlation.tail(correlation.reach(1e-9)) <= 1e-9


def test_every_nth_value_has_the_correlations_of_its_lags() -> None:
    for given in ({"ar1": 0.9}, [1, 0.5, 0.2], {"decay": "30min"}, {"at_most": [1, 0.8, 0.7], "decay": 12}):
        belief = GaussianBelief(given, distance=1.0, step="1min")
        third = belief.every(3)
        assert third.step == Duration.parse("3min")
        lags = np.arange(20)
        assert np.allclose(third.correlation.at(lags), belief.correlation.at(3 * lags), atol=1e-9)
        assert belief_from_dict(third.to_dict()) == third


def test_numbers_drawn_from_it_have_its_correlations() -> None:
    rng = np.random.default_rng(4)
    for given in ({"ar1": 0.8}, [1, 0.5]):
        belief = GaussianBelief(given, distance=1.0)
        drawn = belief.numbers(6, 40_000, rng)
        assert np.allclose(np.corrcoef(drawn.T), belief.law(6), atol=0.03)
    with pytest.raises(InputError, match="no law to draw from"):
        GaussianBelief({"decay": 3}, distance=1.0).numbers(3, 1, rng)
