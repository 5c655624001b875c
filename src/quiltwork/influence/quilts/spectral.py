"""Approximate influence from the spectral gap (C Lemma 2.3, A Lemma 4.7), multiplicity counted.

    Δ_t = exp(-g t) / π_min      reversible,  g = 1 - |λ2(P)|
    Δ_t = exp(-g t / 2) / π_min  in general,  g = 1 - λ2(P P*)
    right side log((1+Δ_b)/(1-Δ_b)), left side twice log((1+Δ_a)/(1-Δ_a)), where Δ < 1

It holds for every pair of states and every initial distribution at once, so the tables have a single "pair".
"""

import numpy as np
from numpy.typing import NDArray

from quiltwork.influence.quilts.kernels import INFINITE
from quiltwork.influence.quilts.tables import dense_limit, next_distance
from quiltwork.types import Flags, Floats


def spectral_influence(distance: NDArray[np.int64], *, pi_min: float, gap: float, reversible: bool) -> Floats:
    """log((1+Δ)/(1-Δ)) at each distance, infinite (``INFINITE``) where Δ >= 1; rounded up.

    >>> [float(f"{e:.3g}") for e in spectral_influence(np.array([1, 40]), pi_min=0.2, gap=0.5, reversible=True)]
    [1e+300, 2.06e-08]
    """
    rate = gap if reversible else gap / 2
    # exp's error grows with its argument's size; the bound is in roundings
    delta = np.exp(-rate * distance) / pi_min * (1 + 2.0**-50 * (8 + rate * distance))  # Statement 5 (C Lemma 2.3)
    influence = np.full(len(delta), INFINITE)
    usable = delta < 1
    # log((1+Δ)/(1-Δ)) = 2 artanh Δ, accurate for small Δ
    influence[usable] = 2 * np.arctanh(delta[usable]) * (1 + 1e-14)
    return influence


class SpectralTables:
    """The approximate influence in the form of tables with one column."""

    def __init__(self, states: int, *, pi_min: float, gap: float, reversible: bool):
        self._dense = dense_limit(states)
        self._law = {"pi_min": pi_min, "gap": gap}
        self._reversible = reversible
        self.distances = np.array([1], dtype=np.int64)
        self._one_side = self._influence(self.distances)

    def _influence(self, distances: NDArray[np.int64]) -> Floats:
        return spectral_influence(distances, reversible=self._reversible, **self._law)[:, None]

    def extend(self, distance: int) -> None:
        """Tabulate up to the first distance that is not below this one."""
        grown = [int(self.distances[-1])]
        while grown[-1] < distance:
            grown.append(next_distance(grown[-1], self._dense))
        new = np.array(grown[1:], dtype=np.int64)
        self.distances = np.concatenate([self.distances, new])
        self._one_side = np.concatenate([self._one_side, self._influence(new)])

    def right(self, count: int) -> Floats:
        """The influence on the right node."""
        return self._one_side[:count]

    def left(self, count: int, sources: Flags | None = None) -> Floats:  # noqa: ARG002 - holds for all sources
        """The influence on the left node, whatever the initial distribution."""
        return np.minimum(2 * self._one_side[:count], INFINITE)  # Statement 5
