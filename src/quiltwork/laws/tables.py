"""The tables behind ``laws/exact.py``, compiled: sums of masses as logarithms, so that no tail underflows."""

import numpy as np

from quiltwork.compiled import njit
from quiltwork.types import Flags, Floats, Integers

NEGLIGIBLE = 45.0  # terms smaller than the largest by more than exp(45) are left out of a sum


@njit(cache=True)
def add_logs(a: float, b: float) -> float:
    """log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + np.log1p(np.exp(b - a))


@njit(cache=True)
def forward(log_p: Floats, log_start: Floats, moves: Integers, allowed: Flags, width: int) -> Floats:
    """log P(X_t = x, what is known up to t, sums up to t = s) as [t, x, s]."""
    length, k = allowed.shape
    table = np.full((length, k, width), -np.inf)
    for x in range(k):
        if allowed[0, x]:
            table[0, x, moves[0, x]] = log_start[x]
    for t in range(1, length):
        for x in range(k):
            for z in range(k):
                if allowed[t, x] and log_p[z, x] > -np.inf:
                    _shift_in(table[t, x], table[t - 1, z], moves[t, x], log_p[z, x])
    return table


@njit(cache=True)
def backward(log_p: Floats, moves: Integers, allowed: Flags, width: int) -> Floats:
    """log P(what is known after t, sums after t = s | X_t = x) as [t, x, s]."""
    length, k = allowed.shape
    table = np.full((length, k, width), -np.inf)
    table[length - 1, :, 0] = 0.0
    for t in range(length - 2, -1, -1):
        for x in range(k):
            for y in range(k):
                if allowed[t + 1, y] and log_p[x, y] > -np.inf:
                    _shift_in(table[t, x], table[t + 1, y], moves[t + 1, y], log_p[x, y])
    return table


@njit(cache=True)
def _shift_in(target: Floats, source: Floats, move: int, weight: float) -> None:
    """target[s + move] += source[s] * weight, in logarithms."""
    for s in range(len(source) - move):
        if source[s] > -np.inf:
            target[s + move] = add_logs(target[s + move], source[s] + weight)


@njit(cache=True, nogil=True)
def join(before: Floats, after: Floats, out: Floats) -> None:
    """out[t, x] = law of the two partial sums' total given X_t = x, normalised."""
    nodes, k, width = before.shape
    for t in range(nodes):
        for x in range(k):
            convolve(before[t, x], after[t, x], out[t, x])
            largest = out[t, x].max()
            if largest > -np.inf:
                total = 0.0
                for s in range(width):
                    total += np.exp(out[t, x, s] - largest)
                out[t, x] -= largest + np.log(total)


def join_some(before: Floats, after: Floats, out: Floats, nodes: slice) -> None:
    """The same for some of the nodes."""
    join(before[nodes], after[nodes], out[nodes])


@njit(cache=True)
def convolve(a: Floats, b: Floats, out: Floats) -> None:
    """out[w] = log of the sum over s of exp(a[s] + b[w - s]): the largest term first, then all that matter."""
    width = len(a)
    first_a, last_a = _span(a)
    first_b, last_b = _span(b)
    out[:] = -np.inf
    if last_a < 0 or last_b < 0:
        return
    flipped = b[::-1].copy()  # b[w - s] = flipped[width - 1 - w + s]
    for w in range(first_a + first_b, min(last_a + last_b, width - 1) + 1):
        begin, stop = max(first_a, w - last_b), min(last_a, w - first_b) + 1
        shift = width - 1 - w
        largest = _largest_sum(a[begin:stop], flipped[shift + begin : shift + stop])
        if largest == -np.inf:
            continue
        total = 0.0
        for s in range(begin, stop):
            term = a[s] + flipped[shift + s] - largest
            if term > -NEGLIGIBLE:
                total += np.exp(term)
        out[w] = largest + np.log(total)


@njit(cache=True, fastmath={"nnan", "nsz", "reassoc"})
def _largest_sum(a: Floats, b: Floats) -> float:
    largest = -np.inf
    for s in range(len(a)):
        largest = max(largest, a[s] + b[s])
    return largest


@njit(cache=True)
def _span(a: Floats) -> tuple[int, int]:
    """First and last index with a finite entry; (0, -1) if there is none."""
    first, last = 0, -1
    for s in range(len(a)):
        if a[s] > -np.inf:
            if last < 0:
                first = s
            last = s
    return first, last
