"""Temporal privacy leakage: what releasing a value at every step reveals about one value of a Markov chain.

Recomputed plainly after Cao, Yoshikawa, Xiao and Xiong, "Quantifying Differential Privacy under Temporal Correlations"
(2017). Each step releases something with ε-differential privacy for that step's value. The leakage about the value of
one step is what all steps reveal about it together.
"""

import numpy as np
from numpy.typing import NDArray

from quiltwork import MarkovChain
from quiltwork.numeric import smallest_within

Array = NDArray[np.float64]


class Passing:
    """How much of a leakage about one step's value passes on to its neighbour, by the rows of a transition matrix."""

    def __init__(self, transition: Array):
        # of two rows q and d the worst set of states is a prefix of those sorted by q/d, whatever the leakage
        q, d = np.broadcast_arrays(transition[:, None, :], transition[None, :, :])
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(-np.where(q > 0, q / d, -1.0), axis=2, kind="stable")
        self.more = np.cumsum(np.take_along_axis(q, order, axis=2), axis=2)
        self.less = np.cumsum(np.take_along_axis(d, order, axis=2), axis=2)

    def __call__(self, leakage: float) -> float:
        """The largest log (1 + q(S) (e^α - 1)) / (1 + d(S) (e^α - 1)) over rows q, d and sets S, α the leakage."""
        grown = np.expm1(leakage)
        return max(0.0, float((np.log1p(self.more * grown) - np.log1p(self.less * grown)).max()))


def temporal_leakage(chain: MarkovChain, epsilon: float, length: int) -> Array:
    """The leakage about each of ``length`` values if every step is released with this ε.

    The leakage is the sum of what earlier steps reveal (backward) and what later steps reveal (forward), both with the
    step itself, which counts once.

    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    >>> temporal_leakage(coin, 1.0, 3).tolist()
    [1.0, 1.0, 1.0]
    >>> sticky = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> temporal_leakage(sticky, 1.0, 3).round(4).tolist()
    [1.8558, 2.0999, 1.8558]
    """
    backward, forward = np.full(length, epsilon), np.full(length, epsilon)
    past, future = Passing(chain.time_reversal().transition), Passing(chain.transition)
    for t in range(1, length):
        backward[t] += past(backward[t - 1])
        forward[-1 - t] += future(forward[-t])
    return np.asarray(backward + forward - epsilon)


def step_epsilon(chain: MarkovChain, leakage: float, length: int) -> float:
    """The largest ε for every step whose leakage stays within a limit."""

    def at_scale(scale: float) -> float:
        return float(temporal_leakage(chain, 1 / scale, length).max())

    return 1 / smallest_within(at_scale, leakage, length / leakage, precision=1e-6)
