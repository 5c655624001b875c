"""Paths of a chain, compiled."""

import numpy as np

from quiltwork.numeric import njit
from quiltwork.types import Codes, Floats


@njit(cache=True)
def walked(start: Floats, transition: Floats, chances: Floats) -> Codes:
    """For each row of numbers between 0 and 1 the path that they choose; sums of ``start`` and rows are cumulative."""
    count, length = chances.shape
    last = transition.shape[0] - 1
    paths = np.empty((count, length), dtype=np.int64)
    for n in range(count):
        state = -1
        for t in range(length):
            chance, following = chances[n, t], 0
            while following < last and chance >= (start[following] if state < 0 else transition[state, following]):
                following += 1
            state = following
            paths[n, t] = state
    return paths
