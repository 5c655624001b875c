"""How far off answers are that were made consistent: measured on noise that is drawn for the purpose.

Nothing that is released has this noise: it is drawn with a known seed, so that the same answer has the same error.
"""

import math

import numpy as np

from quiltwork.queries import Limits
from quiltwork.queries.base import Totals
from quiltwork.types import Floats, Noise

SEED = 23
FINE = 200.0  # steps to a scale from which on they no longer matter


def errors_within(
    limits: Limits,
    truth: Floats,
    scale: float,
    *,
    totals: Totals = (),
    step: float = 0.0,
    draws: int,
    noise: Noise = "laplace",
    confidence: float = 0.95,
) -> tuple[float, ...]:
    """How far the nearest answer within the limits is from this truth, for each number, with this probability.

    ``totals`` are groups of numbers whose noise adds up to 0, ``step`` is what noise is a multiple of (0: any number).
    Errors are rounded up to multiples of it.

    >>> even, truth = Limits((0.0,) * 2, (100.0,) * 2, 100.0), np.array([50.0, 50.0])
    >>> kept = errors_within(even, truth, 10.0, totals=((0, 1),), draws=2000, noise="laplace-total")
    >>> [round(error, -1) for error in kept]
    [10.0, 10.0]
    """
    rng = np.random.default_rng(SEED)
    shape = (draws, len(truth))
    drawn = rng.normal(scale=scale, size=shape) if noise == "gaussian" else _laplace(rng, scale, step, shape)
    for group in totals if scale > 0 else ():
        places = list(group)
        if noise == "gaussian":
            drawn[:, places] -= drawn[:, places].mean(axis=1, keepdims=True)
        else:
            drawn[:, places] = _adding_up(rng, scale, step, len(places), draws)
    off = np.abs(limits.nearest(truth + drawn) - truth)
    errors = np.quantile(off, confidence, axis=0)
    return tuple((np.maximum(0.0, np.ceil(errors / step - 1e-9)) * step if step else errors).tolist())


def _laplace(rng: np.random.Generator, scale: float, step: float, shape: tuple[int, int]) -> Floats:
    """Laplace noise on multiples of the step, while there are few of them to a scale."""
    if scale == 0 or scale > FINE * step:
        return rng.laplace(scale=scale, size=shape)
    ends = -math.expm1(-step / scale)
    return np.asarray(step * (rng.geometric(ends, shape) - rng.geometric(ends, shape)))


def _adding_up(rng: np.random.Generator, scale: float, step: float, size: int, draws: int) -> Floats:
    """Laplace noise given that it adds up to 0, by rejection (Statement 75)."""
    found = np.empty((0, size))
    while len(found) < draws:
        free = _laplace(rng, scale, step, (max(64, 2 * (draws - len(found))), size - 1))
        rest = -free.sum(axis=1)
        taken = rng.random(len(free)) < np.exp(-np.abs(rest) / scale)
        found = np.concatenate([found, np.column_stack([free, rest])[taken]])
    return found[:draws]
