"""Chance for experiments, with fixed seeds: a reversible chain, series of it, and noise. Not for releases."""

import numpy as np

from quiltwork.beliefs import MarkovChain
from quiltwork.types import Floats


def reversible_chain(states: int, *, pi_min: float, gap: float, seed: int) -> MarkovChain:
    """The first of random reversible chains whose rarest state and spectral gap are not below these.

    >>> chain = reversible_chain(5, pi_min=0.05, gap=0.1, seed=1)
    >>> chain.reversible, chain.pi_min >= 0.05, chain.gap >= 0.1
    (True, True, True)
    """
    chance = np.random.default_rng(seed)
    while True:
        weights = chance.gamma(0.4, size=(states, states))
        weights = weights + weights.T + 2 * np.diag(chance.gamma(2.0, size=states))
        chain = MarkovChain(weights / weights.sum(axis=1, keepdims=True), initial="stationary")
        if chain.pi_min >= pi_min and gap <= chain.gap <= 3 * gap:
            return chain


def laplace_error(scale: float, numbers: int, *, repetitions: int, seed: int) -> float:
    """The mean over repetitions of the sum of absolute values of several draws of noise.

    >>> round(laplace_error(1.0, 5, repetitions=2000, seed=1), 1)
    5.0
    """
    noise = laplace_noise(scale, repetitions * numbers, seed=seed).reshape(repetitions, numbers)
    return float(np.abs(noise).sum(axis=1).mean())


def laplace_noise(scale: float, count: int, *, seed: int) -> Floats:
    """So many numbers of Laplace noise, the same for the same seed: for pictures, never for a release."""
    return np.random.default_rng(seed).laplace(scale=scale, size=count)
