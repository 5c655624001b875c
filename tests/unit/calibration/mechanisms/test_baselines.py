"""The baselines of the papers."""

import pytest
from examples import CHAIN

from quiltwork import Count, MarkovChain, NotCoveredError, calibrate


def test_gk16_by_hand() -> None:
    """γ = 0 for independent values; norms of 1 and more are refused; a long series takes the limit 1/(1-2γ)."""
    coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    assert calibrate(Count("0"), belief=coin, epsilon=1.0, length=50, mechanism="gk16").noise_scale == pytest.approx(2)
    weak = MarkovChain([[0.5, 0.5], [0.45, 0.55]], initial="stationary")
    scales = [
        calibrate(Count("0"), belief=weak, epsilon=1.0, length=n, mechanism="gk16").noise_scale
        for n in (1, 2, 10, 200, 201, None)
    ]
    assert scales == sorted(scales)
    assert scales[-1] == pytest.approx(scales[-3], rel=1e-9)
    with pytest.raises(NotCoveredError, match="spectral norm"):
        calibrate(Count("0"), belief=CHAIN, epsilon=1.0, length=None, mechanism="gk16")
    one_way = MarkovChain([[1, 0], [0.5, 0.5]])
    with pytest.raises(NotCoveredError, match="spectral norm"):
        calibrate(Count("0"), belief=one_way, epsilon=1.0, length=5, mechanism="gk16")
