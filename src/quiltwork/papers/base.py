"""What a reproduced result is made of, and chance with fixed seeds for experiments: not for releases."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from quiltwork.beliefs import MarkovChain
from quiltwork.types import Floats, Progress
from quiltwork.view.charts.style import Chart


@dataclass(frozen=True)
class Found:
    """A result: its table, what it shows, and its picture; ``brief`` is the table as it fits on a screen."""

    title: str
    rows: list[dict[str, Any]]
    remarks: list[str]
    chart: Chart
    brief: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Effort:
    """How thoroughly to compute: ``quick`` for a minute's version with fewer points; and whom to tell how far it is."""

    quick: bool = False
    progress: Progress | None = None

    def done(self, share: float) -> None:
        """Say how far the work is."""
        if self.progress is not None:
            self.progress(share)


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


def drawn_frequencies(chain: MarkovChain, length: int, *, repetitions: int, seed: int) -> Floats:
    """The shares of the states in series of a chain, each with a start drawn uniformly from all laws (A section 5).

    >>> chain = reversible_chain(5, pi_min=0.05, gap=0.1, seed=1)
    >>> shares = drawn_frequencies(chain, 2000, repetitions=20, seed=1)
    >>> shares.shape, bool(np.abs(shares.mean(axis=0) - chain.stationary).max() < 0.05)
    ((20, 5), True)
    """
    chance, k = np.random.default_rng(seed), len(chain.states)
    ends = np.cumsum(chain.transition, axis=1)[:, :-1]
    starts = np.cumsum(chance.dirichlet(np.ones(k), size=repetitions), axis=1)[:, :-1]
    here = (chance.random(repetitions)[:, None] > starts).sum(axis=1)
    counts = np.zeros((repetitions, k))
    for _ in range(length - 1):
        counts[np.arange(repetitions), here] += 1
        here = (chance.random(repetitions)[:, None] > ends[here]).sum(axis=1)
    counts[np.arange(repetitions), here] += 1
    return counts / length


def laplace_error(scale: float, shares: Floats, *, seed: int) -> float:
    """The mean L1 distance between true shares and the same with noise, over repetitions.

    >>> round(laplace_error(1.0, np.full((2000, 5), 0.2), seed=1), 1)
    5.0
    """
    noise = laplace_noise(scale, shares.size, seed=seed).reshape(shares.shape)
    return float(np.abs((shares + noise) - shares).sum(axis=1).mean())


def laplace_noise(scale: float, count: int, *, seed: int) -> Floats:
    """So many numbers of Laplace noise, the same for the same seed: for pictures, never for a release."""
    return np.random.default_rng(seed).laplace(scale=scale, size=count)
