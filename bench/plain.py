"""The plain vectorised method of the papers: all pairs, all quilts in the window, all nodes. Only for comparison."""

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from quiltwork import BayesianNetwork
from quiltwork.influence.quilts.inference import Inference
from quiltwork.influence.quilts.separation import Separation

Array = NDArray[np.float64]


def plain_quilt_score(P: Array, epsilon: float, length: int, window: int) -> float:
    """σ of the Markov Quilt Mechanism for any start, quilts with distances up to ``window``; P without zeros."""
    k = len(P)
    powers = [np.eye(k)]
    for _ in range(max(length, window)):
        powers.append(powers[-1] @ P)
    right = [np.zeros((k, k))] + [np.log((A[:, None, :] / A[None, :, :]).max(axis=2)) for A in powers[1 : window + 1]]
    left = [np.zeros((k, k))] + [
        np.log((A.T[:, None, :] / A.T[None, :, :]).max(axis=2)) for A in powers[1 : max(length, window) + 1]
    ]
    worst = 0.0
    for i in range(1, length + 1):
        best = length / epsilon
        prior = left[i - 1].T
        for b in range(1, min(window, length - i) + 1):
            e = right[b].max()
            if e < epsilon:
                best = min(best, (i + b - 1) / (epsilon - e))
        for a in range(1, min(window, i - 1) + 1):
            behind = left[a] + prior
            e = behind.max()
            if e < epsilon:
                best = min(best, (length - i + a) / (epsilon - e))
            for b in range(1, min(window, length - i) + 1):
                e = (behind + right[b]).max()
                if e < epsilon:
                    best = min(best, (a + b - 1) / (epsilon - e))
        worst = max(worst, best)
    return worst


def plain_network_score(network: BayesianNetwork, weights: Array, score: Callable[[float, float], float]) -> float:
    """The largest of the variables' best scores, looking at every quilt of up to two variables."""
    inference, separation = Inference(network), Separation.of(network.graph)
    count, worst = len(network.variables), 0.0
    for node in range(count):
        others = [n for n in range(count) if n != node]
        sets = [(), *itertools.combinations(others, 1), *itertools.combinations(others, 2)]
        best = math.inf
        for quilt in sets:
            near = separation.near(node, np.array([quilt or (-1,)]))[0]
            best = min(best, score(float(near @ weights), inference.max_influence(node, quilt)))
        worst = max(worst, best)
    return worst
