"""Chains that the benchmarks and tests share."""

import numpy as np
from numpy.typing import NDArray


def band_chain(states: int = 51, seed: int = 7) -> NDArray[np.float64]:
    """Sticky and band-structured: half stays, two fifths go to neighbours within six states, the rest anywhere."""
    rng = np.random.default_rng(seed)
    distance = np.abs(np.subtract.outer(np.arange(states), np.arange(states)))
    near = (distance > 0) & (distance <= 6)
    weights = np.where(near, rng.random((states, states)) * np.exp(-distance / 2), 0)
    weights /= weights.sum(axis=1, keepdims=True)
    return 0.5 * np.eye(states) + 0.4 * weights + 0.1 / states
