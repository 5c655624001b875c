"""How far off answers are that were made consistent: measured on noise that is drawn for the purpose.

Nothing that is released has this noise: it is drawn with a known seed, so that the same answer has the same error.
"""

import numpy as np

from quiltwork.queries import Limits
from quiltwork.queries.base import Totals
from quiltwork.types import Floats, Noise

SEED = 23


def errors_within(
    limits: Limits,
    truth: Floats,
    scale: float,
    *,
    totals: Totals = (),
    draws: int,
    noise: Noise = "laplace",
    confidence: float = 0.95,
) -> tuple[float, ...]:
    """How far the nearest answer within the limits is from this truth, for each number, with this probability.

    ``totals`` are groups of numbers whose noise adds up to 0.

    >>> even, truth = Limits((0.0,) * 2, (100.0,) * 2, 100.0), np.array([50.0, 50.0])
    >>> kept = errors_within(even, truth, 10.0, totals=((0, 1),), draws=2000, noise="laplace-total")
    >>> [round(error, -1) for error in kept]
    [10.0, 10.0]
    """
    rng = np.random.default_rng(SEED)
    drawn = (rng.normal if noise == "gaussian" else rng.laplace)(scale=scale, size=(draws, len(truth)))
    for group in totals if scale > 0 else ():
        places = list(group)
        if noise == "gaussian":
            drawn[:, places] -= drawn[:, places].mean(axis=1, keepdims=True)
        else:
            drawn[:, places] = _adding_up(rng, scale, len(places), draws)
    off = np.abs(limits.nearest(truth + drawn) - truth)
    return tuple(float(error) for error in np.quantile(off, confidence, axis=0))


def _adding_up(rng: np.random.Generator, scale: float, size: int, draws: int) -> Floats:
    """Laplace noise given that it adds up to 0, by rejection (Statement 75)."""
    found = np.empty((0, size))
    while len(found) < draws:
        free = rng.laplace(scale=scale, size=(max(64, 2 * (draws - len(found))), size - 1))
        rest = -free.sum(axis=1)
        taken = rng.random(len(free)) < np.exp(-np.abs(rest) / scale)
        found = np.concatenate([found, np.column_stack([free, rest])[taken]])
    return found[:draws]
