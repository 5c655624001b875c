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


def slow_band(states: int) -> NDArray[np.float64]:
    """Stay .8, else to the two neighbours on each side alike, 1e-4 spread evenly."""
    distance = np.abs(np.subtract.outer(np.arange(states), np.arange(states)))
    near = ((distance > 0) & (distance <= 2)).astype(float)
    band = 0.8 * np.eye(states) + 0.2 * near / near.sum(axis=1, keepdims=True)
    return np.asarray((1 - 1e-4) * band + 1e-4 / states)


def slow_rows(states: int, speed: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Stays, but for a part ``speed`` that goes by random rows."""
    return (1 - speed) * np.eye(states) + speed * rng.dirichlet(np.ones(states), size=states)
