"""How far off answers are that were made consistent: measured on noise that is drawn for the purpose.

Nothing that is released has this noise: it is drawn with a known seed, so that the same answer has the same error.
"""

import numpy as np

from quiltwork.queries import Limits
from quiltwork.types import Floats, Noise

SEED = 23


def errors_within(
    limits: Limits,
    truth: Floats,
    scale: float,
    *,
    free: int,
    draws: int,
    noise: Noise = "laplace",
    confidence: float = 0.95,
) -> tuple[float, ...]:
    """How far the nearest answer within the limits is from this truth, for each number, with this probability.

    ``free`` is how many of the numbers have noise of their own; with fewer than there are, the last is what the others
    leave of the whole.

    >>> even = Limits((0.0,) * 2, (100.0,) * 2, 100.0)
    >>> [round(error, -1) for error in errors_within(even, np.array([50.0, 50.0]), 5.0, free=1, draws=2000)]
    [10.0, 10.0]
    """
    rng = np.random.default_rng(SEED)
    drawn = (rng.laplace if noise == "laplace" else rng.normal)(scale=scale, size=(draws, free))
    if free < len(truth):
        drawn = np.hstack([drawn, -drawn.sum(axis=1, keepdims=True)])
    off = np.abs(limits.nearest(truth + drawn) - truth)
    return tuple(float(error) for error in np.quantile(off, confidence, axis=0))
