"""The only module that draws randomness: OpenDP's exact samplers.

Counts and sums get discrete Laplace or Gaussian noise on integers, so no floating-point artefact can leak (Statement
21); only real-valued custom queries get noise on floats. OpenDP is imported late: it is slow to load and calibration
needs none.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

from numpy.typing import NDArray

from quiltwork.errors import ParameterError
from quiltwork.numeric import float_above
from quiltwork.types import Noise


def add_noise(
    answer: NDArray[Any], *, scale: float, unit: Fraction = Fraction(1), noise: Noise = "laplace"
) -> list[Fraction] | list[float]:
    """The answer with independent noise of this scale on each number; of Gaussian noise it is the standard deviation.

    An integer answer is in units: it gets discrete noise and comes back as exact multiples of the unit; its
    integers may have any size. A float answer comes back as floats. A scale of 0, the right one for an answer that no
    value can change, adds nothing.

    >>> import numpy as np
    >>> add_noise(np.array([3]), scale=0.0)
    [Fraction(3, 1)]
    """
    if not (math.isfinite(scale) and scale >= 0):
        raise ParameterError("the noise scale must be finite and not negative", got=str(scale))
    if answer.dtype.kind in "iO":
        added = _noisy([0] * len(answer), "i64", _in_units(scale, unit), noise)
        return [(int(exact) + drawn) * unit for exact, drawn in zip(answer, added, strict=True)]
    return cast(list[float], _noisy([float(x) for x in answer], "f64", scale, noise))


@lru_cache(maxsize=64)
def _in_units(scale: float, unit: Fraction) -> float:
    return float_above(Fraction(scale) / unit)


def _noisy(values: list[Any], kind: str, scale: float, noise: Noise) -> list[Any]:
    return values if scale == 0 else cast(list[Any], _mechanism(kind, scale, noise)(values))


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
