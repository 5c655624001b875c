"""The only module that draws randomness: OpenDP's exact samplers.

Counts and sums get discrete Laplace or Gaussian noise on integers, so no floating-point artefact can leak (Statement
21); only real-valued custom queries get noise on floats. Noise on numbers whose total is public keeps that total
(Statement 75). OpenDP is imported late: it is slow to load and calibration needs none.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

from numpy.typing import NDArray

from quiltwork.errors import ParameterError
from quiltwork.numeric import float_above
from quiltwork.types import Noise

TRIES = 4096  # draws of whole groups at once, at the most


def add_noise(
    answer: NDArray[Any],
    *,
    scale: float,
    unit: Fraction = Fraction(1),
    noise: Noise = "laplace",
    totals: Sequence[Sequence[int]] = (),
) -> list[Fraction] | list[float]:
    """The answer with noise of this scale on each number; of Gaussian noise it is the standard deviation.

    An integer answer is in units: it gets discrete noise and comes back as exact multiples of the unit; its
    integers may have any size. A float answer comes back as floats. A scale of 0, the right one for an answer that no
    value can change, adds nothing.

    ``totals`` are groups of places. Noise on the numbers of a group adds up to 0: Laplace noise is drawn given that it
    does, Gaussian noise is projected. All other noise is independent.

    >>> import numpy as np
    >>> add_noise(np.array([3]), scale=0.0)
    [Fraction(3, 1)]
    >>> sum(add_noise(np.array([70, 20, 10]), scale=25.0, noise="laplace-total", totals=[(0, 1, 2)]))
    Fraction(100, 1)
    """
    if not (math.isfinite(scale) and scale >= 0):
        raise ParameterError("the noise scale must be finite and not negative", got=str(scale))
    if noise == "laplace" and totals:
        raise ParameterError("noise that keeps totals must be laplace-total or gaussian", got=noise)
    if answer.dtype.kind not in "iO":
        return cast(list[float], _noisy([float(x) for x in answer], "f64", scale, noise))
    added = _added(len(answer), _in_units(scale, unit), noise, totals)
    return [(int(exact) + drawn) * unit for exact, drawn in zip(answer, added, strict=True)]


def _added(count: int, scale: float, noise: Noise, totals: Sequence[Sequence[int]]) -> list[Fraction]:
    """Noise in units, on so many numbers."""
    grouped = {place for group in totals for place in group}
    alone = [place for place in range(count) if noise != "laplace-total" or place not in grouped]
    added = [Fraction(0)] * count
    for place, drawn in zip(alone, _noisy([0] * len(alone), "i64", scale, noise), strict=True):
        added[place] = Fraction(drawn)
    if noise == "gaussian":
        for group in totals:
            mean = sum((added[place] for place in group), Fraction(0)) / len(group)
            for place in group:
                added[place] -= mean
        return added
    for size in sorted({len(group) for group in totals}):
        alike = [group for group in totals if len(group) == size]
        for group, numbers in zip(alike, _keeping_totals(len(alike), size, scale), strict=True):
            for place, drawn in zip(group, numbers, strict=True):
                added[place] = Fraction(drawn)
    return added


def _keeping_totals(groups: int, size: int, scale: float) -> list[list[int]]:
    """Discrete Laplace noise given that it adds up to 0, for each of some groups (Statement 75).

    All numbers but the last are drawn freely, the last is what they leave, z. A group is taken with probability
    exp(-|z| / scale), which is that of further Laplace noise being at least |z| where it is not negative.
    """
    if scale == 0 or size < 2:
        return [[0] * size for _ in range(groups)]
    found: list[list[int]] = []
    while len(found) < groups:
        tries = min(TRIES, math.ceil((groups - len(found)) * math.sqrt(math.pi * size)))
        drawn = _noisy([0] * (tries * (size - 1)), "i64", scale, "laplace")
        for begin, limit in zip(range(0, len(drawn), size - 1), _not_negative(tries, scale), strict=True):
            free = drawn[begin : begin + size - 1]
            rest = -sum(free)
            if limit >= abs(rest):
                found.append([*free, rest])
    return found[:groups]


def _not_negative(count: int, scale: float) -> list[int]:
    """Discrete Laplace noise given that it is not negative."""
    found: list[int] = []
    while len(found) < count:
        drawn = _noisy([0] * (2 * (count - len(found)) + 8), "i64", scale, "laplace")
        found += [number for number in drawn if number >= 0]
    return found[:count]


@lru_cache(maxsize=64)
def _in_units(scale: float, unit: Fraction) -> float:
    return float_above(Fraction(scale) / unit)


def _noisy(values: list[Any], kind: str, scale: float, noise: Noise) -> list[Any]:
    return values if scale == 0 or not values else cast(list[Any], _mechanism(kind, scale, noise)(values))


@lru_cache(maxsize=64)
def _mechanism(kind: str, scale: float, noise: Noise) -> Any:
    """OpenDP's mechanism of this scale; it draws anew every time it is called."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")  # the mechanisms, as proved in OpenDP's own documents
    atoms = atom_domain(T=kind, nan=False) if kind == "f64" else atom_domain(T=kind)
    if noise == "gaussian":
        return make_gaussian(vector_domain(atoms), l2_distance(T=kind), scale=scale)
    return make_laplace(vector_domain(atoms), l1_distance(T=kind), scale=scale)
