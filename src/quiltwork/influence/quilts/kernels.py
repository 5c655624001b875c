"""The two inner loops, compiled. Everything around them is numpy.

Infinity is the finite number ``INFINITE`` here, so that sums of influences never become NaN and loops vectorise.
"""

import numpy as np
from numpy.typing import NDArray

from quiltwork.compiled import njit
from quiltwork.types import Flags, Floats

TINY = 1e-140  # an entry of a matrix power below this is not trusted
HUGE = 1e300  # stands for 1 / 0; a trusted ratio is at most 1 / TINY
INFINITE = 1e300
IMPOSSIBLE = -1e303  # stays negative whatever influence is added
BLOCK = 64
FAST = {"nnan", "ninf", "nsz", "reassoc"}  # no NaN and no infinity occurs


@njit(steps=lambda table, _: len(table) * table.size, cache=True, error_model="numpy", fastmath=FAST)
def largest_ratios(table: Floats, support: Flags) -> Floats:
    """out[x, x'] = max over y of table[x, y] / table[x', y], y with positive numerator; above 1e150 where infinite."""
    k, columns = table.shape
    above, below = np.zeros((k, columns)), np.full((k, columns), HUGE)
    for x in range(k):
        for y in range(columns):
            if support[x, y]:
                above[x, y] = max(table[x, y], TINY)
                if table[x, y] >= TINY:
                    below[x, y] = 1.0 / table[x, y]
    out = np.empty((k, k))
    for x in range(k):
        whole = k - k % 4
        for z in range(0, whole, 4):  # four at a time: a quarter of the loads
            first, second, third, fourth = TINY, TINY, TINY, TINY
            for y in range(columns):
                p = above[x, y]
                first = max(first, p * below[z, y])
                second = max(second, p * below[z + 1, y])
                third = max(third, p * below[z + 2, y])
                fourth = max(fourth, p * below[z + 3, y])
            out[x, z], out[x, z + 1], out[x, z + 2], out[x, z + 3] = first, second, third, fourth
        for z in range(whole, k):
            largest = TINY
            for y in range(columns):
                largest = max(largest, above[x, y] * below[z, y])
            out[x, z] = largest
    return out


@njit(steps=lambda table, _: table.size, cache=True, error_model="numpy", fastmath=FAST)
def row_peaks(table: Floats, added: Floats) -> Floats:
    """The largest entry of each row of table + added, at least 0."""
    out = np.zeros(len(table))
    for n in range(len(table)):
        largest = 0.0
        for p in range(table.shape[1]):
            largest = max(largest, table[n, p] + added[p])
        out[n] = largest
    return out


@njit(cache=True, error_model="numpy", fastmath=FAST)
def _largest_sum(first: Floats, second: Floats, limit: float, witness: int) -> tuple[float, int]:
    """max over p of first[p] + second[p], given up at the first block that reaches ``limit``.

    The pair that reached it last time (``witness``) is tried first, and is returned for next time.
    """
    if first[witness] + second[witness] >= limit:
        return first[witness] + second[witness], witness
    largest = 0.0
    for start in range(0, len(first), BLOCK):
        stop = min(start + BLOCK, len(first))
        for p in range(start, stop):
            largest = max(largest, first[p] + second[p])
        if largest >= limit:
            for p in range(start, stop):
                if first[p] + second[p] >= limit:
                    return largest, p
    return largest, witness


@njit(steps=lambda *given: given[3].size * len(given[6]), cache=True, error_model="numpy", fastmath=FAST)
def best_quilt(  # noqa: C901 - compiled: one loop
    epsilon: float,
    best: float,
    distances: NDArray[np.int64],
    left: Floats,
    prior: Floats,
    left_peaks: Floats,
    right: Floats,
    right_peaks: Floats,
    ends: tuple[float, float],
) -> tuple[float, int, int, float]:
    """The quilt with the smallest score card(N) / (ε - e) below ``best``, by rows ia, ib of the tables.

    ``left`` + ``prior`` and ``right`` are the two sides' influences by distance and pair (``prior`` is ``IMPOSSIBLE``
    for pairs that cannot occur), and the peaks their largest values at each distance. ``ends`` are the distances of the
    imaginary nodes just outside the series (A, B.2): row ``len(left)`` stands for "no left node" and row ``len(right)``
    for "no right node", so that card(N) = a + b - 1 in all four forms. Both sides' influences are at least 0 and fall
    with distance. Returns (score, ia, ib, e); ia = -1 if nothing beats ``best``.
    """
    na, nb = len(left), len(right)
    left_end, right_end = ends
    best_a, best_b, best_e = -1, -1, 0.0
    for ib in range(nb):  # quilts without a left node
        card = left_end + distances[ib] - 1.0
        if card >= best * epsilon:
            break
        if right_peaks[ib] < epsilon - card / best:
            best, best_a, best_b, best_e = card / (epsilon - right_peaks[ib]), na, ib, right_peaks[ib]
    row = np.empty(left.shape[1])
    witness, first = 0, 0
    for ia in range(na):
        a = float(distances[ia])
        if a >= best * epsilon:  # Statement 39: card(N) >= a, and e >= 0
            break
        while first < nb and right_peaks[first] >= epsilon - distances[first] / best:
            first += 1  # too telling by itself, and best only falls
        card = a + (float(distances[first]) if first < nb else right_end) - 1.0
        if left_peaks[ia] >= epsilon - card / best:
            continue
        for p in range(len(row)):
            row[p] = left[ia, p] + prior[p]
        for ib in range(first, nb + 1):
            card = a + (float(distances[ib]) if ib < nb else right_end) - 1.0
            if card >= best * epsilon:
                break
            limit = epsilon - card / best  # only an influence below this improves
            e = left_peaks[ia]
            if ib < nb:
                if right_peaks[ib] >= limit:
                    continue
                e, witness = _largest_sum(row, right[ib], limit, witness)
            if e < limit:
                best, best_a, best_b, best_e = card / (epsilon - e), ia, ib, e  # Statement 4
    return best, best_a, best_b, best_e
