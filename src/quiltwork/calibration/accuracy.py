"""How far noise may have moved a number."""

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from quiltwork.errors import ParameterError
from quiltwork.types import Noise

FINE = 200.0  # units to a standard deviation from which on steps no longer matter
FURTHEST = 40.0  # standard deviations


def noise_error(
    scale: float,
    confidence: float,
    *,
    unit: float = 1.0,
    integer: bool = True,
    numbers: int = 1,
    noise: Noise = "laplace",
) -> float:
    """The size that the noise on each of ``numbers`` numbers stays within, all at once, with this probability.

    For discrete noise it is the smallest multiple of the unit for which that is true.

    >>> noise_error(10.0, 0.95), round(noise_error(10.0, 0.95, integer=False), 3)
    (30.0, 29.957)
    >>> noise_error(10.0, 0.95, noise="gaussian"), round(noise_error(10.0, 0.95, integer=False, noise="gaussian"), 3)
    (20.0, 19.6)
    """
    if not 0 < confidence < 1:
        raise ParameterError("confidence must be above 0 and below 1", got=str(confidence), why="it is a probability")
    if scale == 0:
        return 0.0
    # 1 - confidence^(1/n), without losing digits
    outside = -math.expm1(math.log(confidence) / numbers)
    if noise == "gaussian":
        return _gaussian_error(scale / unit, outside) * unit if integer else _normal_error(scale, outside)
    if not integer:
        return -scale * math.log(outside)
    # P(|Z| > m) = 2 α^(m+1) / (1 + α) with α = exp(-1/s), s in units
    s = scale / unit
    alpha = math.exp(-1 / s)
    exact = -s * math.log(outside * (1 + alpha) / 2) - 1
    return max(0, math.ceil(exact - 1e-9)) * unit


def _normal_error(scale: float, outside: float) -> float:
    return -scale * NormalDist().inv_cdf(max(outside / 2, 1e-300))


@lru_cache(maxsize=1024)
def _gaussian_error(scale: float, outside: float) -> int:
    """The smallest whole number that discrete Gaussian noise stays within; all in units."""
    if scale > FINE:
        return math.ceil(_normal_error(scale, outside))
    weights = np.exp(-(np.arange(math.ceil(FURTHEST * scale) + 1) ** 2) / (2 * scale**2))
    beyond = 2 * np.append(np.cumsum(weights[:0:-1])[::-1], 0.0)  # P(|Z| > m), before it is normalised
    return int(np.argmax(beyond <= outside * (weights[0] + beyond[0])))
