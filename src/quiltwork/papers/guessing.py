"""An adversary who knows the chain and guesses values from noisy counts: exact posteriors, exact rates of success.

Plain computations of their own: nothing here is used by a release.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quiltwork.beliefs import MarkovChain
from quiltwork.laws.exact import Statistic, chain_laws
from quiltwork.question import Count, bind
from quiltwork.types import Codes, Floats


def best_success(epsilon: float) -> float:
    """The most that an ε-private release lets anybody guess one of two values that are equally likely beforehand.

    Posterior odds are at most e^ε whatever is released, so the likelier value has a probability of at most
    e^ε / (1 + e^ε), and a guess is right with the probability of what is guessed.

    >>> round(best_success(1.0), 4), best_success(0.0)
    (0.7311, 0.5)
    """
    return 1 / (1 + math.exp(-epsilon))


def success_from_count(chain: MarkovChain, length: int, noise_scale: float) -> Floats:
    """How often the best guess of each value is right, from one count of state 1 with Laplace noise: exact.

    For equally likely values it is 1/2 plus half the total variation distance between the laws of the noisy count
    given each of them.

    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    >>> round(float(success_from_count(coin, 1, 1.0)[0]), 6) == round(1 - math.exp(-0.5) / 2, 6)
    True
    """
    laws = chain_laws(chain, [Statistic(bind(Count(chain.states[1]), chain).only)], length)
    sums, chances = laws.points[:, 0].astype(np.float64), np.exp(laws.logs)
    return np.array([0.5 + 0.5 * laplace_distance(sums, own[1] - own[0], noise_scale) for own in chances])


def laplace_distance(points: Floats, weights: Floats, noise_scale: float) -> float:
    """Half the integral of the absolute value of a signed mixture of Laplace densities around rising points.

    Between two points the mixture is a e^(w/s) + c e^(-w/s), which changes its sign once at most.

    >>> round(laplace_distance(np.array([0.0, 1.0]), np.array([-1.0, 1.0]), 2.0), 9) == round(1 - math.exp(-0.25), 9)
    True
    """
    steps = np.diff(points) / noise_scale
    left, right = np.zeros(len(points)), np.zeros(len(points))  # of points up to here, and from here on, decayed
    for n, weight in enumerate(weights):
        left[n] = weight + (left[n - 1] * math.exp(-steps[n - 1]) if n else 0.0)
    for n in range(len(points) - 1, -1, -1):
        right[n] = weights[n] + (right[n + 1] * math.exp(-steps[n]) if n < len(points) - 1 else 0.0)
    total = abs(left[-1]) + abs(right[0])  # the two tails
    for n, step in enumerate(steps):
        total += _between(float(left[n]), float(right[n + 1]), float(step))
    return float(total) / 4


def _between(a: float, c: float, step: float) -> float:
    """The integral of abs(a e^-u + c e^(u - step)) over u from 0 to step."""

    def up_to(u: float) -> float:
        return -a * math.expm1(-u) + c * (math.exp(u - step) - math.exp(-step))

    if a * c < 0:
        change = (math.log(-a / c) + step) / 2
        if 0 < change < step:
            return abs(up_to(change)) + abs(up_to(step) - up_to(change))
    return abs(up_to(step))


@dataclass(frozen=True)
class HourlyCounts:
    """A chain in its long-run law, of which one state is counted in windows of the same width, one after the other.

    >>> slow = MarkovChain([[0.9, 0.1], [0.1, 0.9]], initial="stationary")
    >>> counted = HourlyCounts(slow, width=4, state=1)
    >>> told = counted.posterior(np.array([[4.0, 0.0]]), noise_scale=0.1)
    >>> told.shape, bool((told[0, :4] > 0.9).all()), bool((told[0, 4:] < 0.1).all())
    ((1, 8), True, True)
    """

    chain: MarkovChain
    width: int
    state: int

    @cached_property
    def _joint(self) -> Floats:
        """P(X_i = x, X_last = b, count = s | value before the window = a), as [s, i, a, x, b]."""
        P, width, k, state = np.asarray(self.chain.transition), self.width, len(self.chain.states), self.state
        until = np.zeros((width, k, k, width + 1))  # [i, a, x, s]: of values up to i
        after = np.zeros((width, k, k, width + 1))  # [i, x, b, s]: of values after i
        until[0, :, :, 0] = P
        after[-1, :, :, 0] = np.eye(k)
        until[0, :, state] = np.roll(until[0, :, state], 1, axis=-1)
        for i in range(1, width):
            until[i] = np.einsum("axs,xy->ays", until[i - 1], P)
            until[i, :, state] = np.roll(until[i, :, state], 1, axis=-1)  # the last count is still 0
            counted = after[width - i].copy()
            counted[state] = np.roll(counted[state], 1, axis=-1)
            after[width - 1 - i] = np.einsum("xy,ybs->xbs", P, counted)
        joint = np.zeros((width + 1, width, k, k, k))
        for s in range(width + 1):
            joint[s] = np.einsum("iaxt,ixbt->iaxb", until[..., : s + 1], after[..., s::-1])
        return joint

    def posterior(self, noisy: Floats, *, noise_scale: float) -> Floats:
        """P(X_t = state | all noisy counts) for each series (row) and time."""
        (series, windows), k = noisy.shape, len(self.chain.states)
        apart = np.abs(noisy[..., None] - np.arange(self.width + 1)) / noise_scale
        likely = np.exp(apart.min(axis=2, keepdims=True) - apart)  # [n, h, s]
        told = np.tensordot(likely, self._joint, axes=1)  # [n, h, i, a, x, b]
        steps = told[:, :, 0].sum(axis=3)  # [n, h, a, b]
        before = np.ones((windows, series, k)) * np.asarray(self.chain.stationary)
        ahead = np.ones((windows, series, k))
        for h in range(1, windows):
            before[h] = _normalised(np.einsum("na,nab->nb", before[h - 1], steps[:, h - 1]))
            ahead[windows - 1 - h] = _normalised(np.einsum("nab,nb->na", steps[:, windows - h], ahead[windows - h]))
        weights = np.einsum("hna,nhiaxb,hnb->nhix", before, told, ahead)
        return np.asarray(weights[..., self.state] / weights.sum(axis=3)).reshape(series, windows * self.width)

    def counts(self, values: Codes) -> Floats:
        """The true count of each window, for each series."""
        counted = values == self.state
        return np.asarray(counted.reshape(len(values), -1, self.width).sum(axis=2, dtype=np.float64))


def _normalised(rows: Floats) -> Floats:
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
