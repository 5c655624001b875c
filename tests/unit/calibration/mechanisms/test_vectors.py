"""The Wasserstein distance between laws of several numbers."""

import numpy as np
import pytest

from quiltwork import MarkovChain, NotCoveredError, calibrate
from quiltwork.calibration.mechanisms.vectors import transport_distance
from quiltwork.calibration.mechanisms.wasserstein import line_distance

CHAIN = MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]], initial="stationary")


def test_on_a_line_it_is_the_distance_of_tails() -> None:
    rng = np.random.default_rng(5)
    values = np.arange(7)
    apart = np.abs(np.subtract.outer(values, values))
    for _ in range(40):
        mu, nu = (np.where(rng.random(7) < 0.3, 0.0, rng.random(7)) + 1e-3 for _ in range(2))
        mu, nu = mu / mu.sum(), nu / nu.sum()
        assert transport_distance(apart, mu, nu) == line_distance(values, np.log(mu), np.log(nu))


def test_histograms_lie_between_the_least_noise_and_group_privacy() -> None:
    scales = {
        name: calibrate("histogram", belief=CHAIN, epsilon=1.0, length=6, mechanism=name).noise_scale
        for name in ("audited", "wasserstein", "group")
    }
    assert scales["audited"] <= scales["wasserstein"] <= scales["group"] * (1 + 1e-8)
    one = calibrate("histogram", belief=CHAIN, epsilon=1.0, length=1, mechanism="wasserstein")
    assert one.noise_scale == pytest.approx(2.0)


def test_what_is_not_covered() -> None:
    with pytest.raises(NotCoveredError, match="needs a start"):
        calibrate("histogram", belief=CHAIN.with_start("any"), epsilon=1.0, length=4, mechanism="wasserstein")
    with pytest.raises(NotCoveredError, match="small cases"):
        calibrate("histogram", belief=CHAIN, epsilon=1.0, length=30, mechanism="wasserstein")
    with pytest.raises(NotCoveredError, match="single number"):
        calibrate("histogram", belief=CHAIN, epsilon=1.0, length=4, mechanism="wasserstein", delta=0.1)
