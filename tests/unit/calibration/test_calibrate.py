"""Calibration: what is refused, and why."""

import math

import pytest
from examples import CHAIN, DATA

from quiltwork import Count, InputError, IntervalChain, MarkovChain, NotCoveredError, calibrate, release


def test_refusals() -> None:
    with pytest.raises(NotCoveredError, match="comparison only"):
        release(DATA, Count("0"), belief=CHAIN, epsilon=1.0, mechanism="entry")
    bounds = IntervalChain([[0.8, 0.1], [0.3, 0.5]], [[0.9, 0.2], [0.5, 0.7]])
    with pytest.raises(NotCoveredError, match="needs chains"):
        calibrate(Count("0"), belief=bounds, epsilon=1.0, length=10, mechanism="quilt-exact")
    with pytest.raises(NotCoveredError, match="mixing class"):
        calibrate(Count("0"), belief=bounds, epsilon=1.0, length=10, mechanism="quilt-approx")
    with pytest.raises(NotCoveredError, match="two states"):
        calibrate(Count("0"), belief=bounds, epsilon=1.0, length=10, mechanism="gk16")
    stuck = MarkovChain([[1, 0], [0.5, 0.5]])
    with pytest.raises(NotCoveredError, match="reducible"):
        calibrate(Count("0"), belief=stuck, epsilon=1.0, length=10, mechanism="quilt-approx")
    for epsilon in (0, -1, math.nan, math.inf, True, "1"):
        with pytest.raises(InputError, match="epsilon must be a positive"):
            calibrate(Count("0"), belief=CHAIN, epsilon=epsilon, length=10)  # type: ignore[arg-type]
    for length in (0, -5, 10**16, 2.5, True):
        with pytest.raises(InputError, match="length must be a whole number"):
            calibrate(Count("0"), belief=CHAIN, epsilon=1.0, length=length)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Known: curve, quilt-exact"):
        calibrate(Count("0"), belief=CHAIN, epsilon=1.0, length=10, mechanism="magic")
