"""The one-number recursion along time, compiled: D = λ + R with the largest λ and R over all pairs.

Nodes are walked away from one end of the series. At each, R is the smallest over skips m of what the m - 1 nodes in
between cost plus the step from the D found m nodes ago. Long stretches are cut short: where D* is not raised by any
step inside the stretch, every later R is at most the larger of D* - λ and the last ones found.
"""

import numpy as np

from quiltwork.compiled import njit
from quiltwork.types import Floats, Integers

LARGEST = 300.0
SMALLEST = 1e-120  # beyond LARGEST, less than this counts as 0
MARGIN = 1e-13
ROUNDING = 2.0**-52  # of each addition to a sum, relative to the sum: more than it is
EXPLICIT = 512  # nodes of a stretch that are followed one by one
LOOK_BACK = 128  # the longest skip within a stretch
SAME = 1e-6  # neighbouring nodes whose bounds differ by less share a block

Arrays = tuple[Integers, Floats, Floats, Integers, Floats, Floats]  # skips, above, below, points, log_cross, errors


@njit(steps=lambda _, __, arrays: arrays[1].shape[1], cache=True, nogil=True)
def frontier_step(number: int, difference: float, arrays: Arrays) -> float:
    """The largest entry of one step, at most the difference itself."""
    _, above, below, points, log_cross, errors = arrays
    if difference == 0.0:
        return 0.0
    d = min(difference, LARGEST)
    if points[number] > 0:
        gain = np.expm1(d)
        best = 1.0
        for n in range(points[number]):
            p, q = above[number, n], below[number, n]
            bottom = 1.0 + q * gain
            if bottom <= 0.0 or (difference > LARGEST and (q < 0.0 or (q < SMALLEST and p > 0.0))):
                return difference
            if difference > LARGEST:
                best = max(best, p / q if p > 0.0 else 1.0)
            else:
                best = max(best, (1.0 + p * gain) / bottom)  # Statement 10
        step = np.log(best)
    else:
        r = log_cross[number]
        if r > LARGEST:
            return difference
        if difference > LARGEST:
            step = r
        else:
            step = 2.0 * (_softplus((r + d) / 2.0) - max(r, d) / 2.0 - _softplus(-abs(r - d) / 2.0))  # Statement 13
    return min(difference, step * (1.0 + MARGIN) + MARGIN + errors[number])


@njit(cache=True, nogil=True)
def _softplus(x: float) -> float:
    return np.log1p(np.exp(x)) if x < 30.0 else x + np.exp(-x)


@njit(cache=True, nogil=True)
def _steady(most: float, difference: float, arrays: Arrays) -> float:
    """R after one step from D, within a stretch of constant λ."""
    skips = arrays[0]
    best = difference
    for n in range(len(skips)):
        cost = (skips[n] - 1) * most
        if cost >= best or skips[n] > LOOK_BACK:
            break
        best = min(best, cost + frontier_step(n, difference, arrays))  # Statement 12
    return best


@njit(steps=lambda _, arrays: 40 * arrays[1].size, cache=True, nogil=True)
def steady_bound(most: float, arrays: Arrays) -> float:
    """A small R that no step inside a stretch of constant λ raises; infinite if there is none."""
    valid = most + _steady(most, np.inf, arrays)
    if not np.isfinite(valid):
        return np.inf
    raised = most
    while valid - raised > 1e-9 * valid:
        middle = np.sqrt(valid) * np.sqrt(raised)  # their product may be too small for a float
        if not raised < middle < valid:
            break
        if most + _steady(most, middle, arrays) <= middle:  # Statement 14
            valid = middle
        else:
            raised = middle
    return (valid - most) * (1.0 + 1e-12)


@njit(
    steps=lambda _, lengths, arrays, *__: int(np.minimum(lengths, EXPLICIT).sum()) * arrays[1].size,
    cache=True,
    nogil=True,
)
def walk(lambdas: Floats, lengths: Integers, arrays: Arrays, firsts: Integers, bounds: Floats) -> int:  # noqa: C901 - compiled: one loop
    """Bounds on R along time, away from the end; fills (firsts, bounds) block by block and returns their number.

    ``lambdas`` and ``lengths`` describe the stretches in the order of the walk. A block holds from its first node
    (counted from 1 along the walk) up to the next block's.
    """
    skips = arrays[0]
    size = LOOK_BACK + 1
    ring, costs = np.zeros(size), np.zeros(size)  # D, and the cost of all nodes so far
    node, blocks, cost = 0, 0, 0.0
    for s in range(len(lambdas)):
        most, length = lambdas[s], lengths[s]
        if most == 0.0:
            # nothing is asked here: R only falls, by powers of the kernel
            before = ring[node % size] if node > 0 else 0.0
            best, n = before, 0
            while n < len(skips) and skips[n] <= length:
                m = skips[n]
                while n < len(skips) and skips[n] == m:
                    best = min(best, frontier_step(n, before, arrays))  # Statement 12: skips cost nothing
                    n += 1
                firsts[blocks], bounds[blocks] = node + m, best
                blocks += 1
                if best == 0.0:
                    break
            best, n = before, 0
            for step in range(max(1, length - size + 1), length + 1):  # what later skips look back to
                while n < len(skips) and skips[n] <= step:
                    best = min(best, frontier_step(n, before, arrays))  # Statement 12: skips cost nothing
                    n += 1
                ring[(node + step) % size], costs[(node + step) % size] = best, cost
            node += length
            continue
        steady, opened = -1.0, 0.0
        for step in range(1, length + 1):
            node += 1
            best = ring[(node - 1) % size] if node > 1 else 0.0
            for n in range(len(skips)):
                m = skips[n]
                if m >= node or m > LOOK_BACK:
                    break
                between = costs[(node - 1) % size] - costs[(node - m) % size]
                between += ROUNDING * (m + 2) * costs[(node - 1) % size]  # each node's cost was rounded in the sum
                if between >= best:
                    break
                best = min(best, between + frontier_step(n, ring[(node - m) % size], arrays))  # Statement 12
            if step > 1 and abs(best - opened) <= SAME * opened:
                bounds[blocks - 1] = max(bounds[blocks - 1], best)
            else:
                firsts[blocks], bounds[blocks], opened = node, best, best
                blocks += 1
            cost += most
            ring[node % size], costs[node % size] = most + best, cost
            settled = step >= 8 and abs(best + most - ring[(node - 1) % size]) <= SAME * best
            if (settled or step == EXPLICIT) and length > step + LOOK_BACK:
                if steady < 0.0:
                    steady = steady_bound(most, arrays)
                # one skip proves the steady bound, and it costs no more than that: look back that far
                window = 1
                for n in range(len(skips)):
                    if skips[n] <= LOOK_BACK and (skips[n] - 1) * most <= steady:
                        window = skips[n]
                if window >= step:
                    continue
                largest = 0.0
                for n in range(window):
                    largest = max(largest, ring[(node - n) % size] - most)
                rest = length - step
                tail = min(max(steady, largest * (1.0 + 1e-12)), best + rest * most * (1.0 + 1e-12))  # Statement 38
                firsts[blocks], bounds[blocks] = node + 1, tail
                blocks += 1
                cost += rest * most
                node += rest
                for n in range(size):
                    ring[(node - n) % size] = most + tail
                    costs[(node - n) % size] = cost - n * most
                break
    return blocks


@njit(steps=lambda numbers, _, __, arrays, *___: LOOK_BACK * len(numbers) * arrays[1].shape[1], cache=True, nogil=True)
def walk_steady(
    numbers: Integers,
    lengths: Integers,
    beyond: Floats,
    arrays: Arrays,
    log_cross: float,
    error: float,
    blocks: tuple[Integers, Integers, Floats],
) -> int:
    """Bounds of the form R* + c along time; fills (first node, number of R*, c) block by block.

    ``numbers[s]`` is R* of each stretch, 0 where nothing was asked (there R* is 0). ``beyond[m, n]`` is the largest
    entry of R*_m - R*_n.
    """
    skips, above, below, _, _, _ = arrays
    firsts, bases, extras = blocks
    single = (skips[:1], above[:1], below[:1], np.zeros(1, np.int64), np.full(1, log_cross), np.full(1, error))
    node, count = 1, 0
    base, extra = 0, 0.0
    for s in range(len(numbers)):
        length = lengths[s]
        if numbers[s] == 0:
            # the first node sees what comes from outside; further on one number is enough
            firsts[count], bases[count], extras[count] = node, base, extra
            count += 1
            before = max(0.0, beyond[base, 0] + extra)
            base, extra = 0, before
            n = 0
            while n < len(skips) and skips[n] <= length and before > 0.0:
                m = skips[n]
                while n < len(skips) and skips[n] == m:
                    extra = min(extra, frontier_step(n, before, arrays))
                    n += 1
                if m < length:  # R at the first node has already crossed one transition
                    firsts[count], bases[count], extras[count] = node + m, 0, extra
                    count += 1
        else:
            excess = beyond[base, numbers[s]] + extra
            base, extra = numbers[s], max(0.0, excess)
            for step in range(min(length, LOOK_BACK)):
                if step == 0 or extra < 0.99 * extras[count - 1] or step == LOOK_BACK - 1:
                    firsts[count], bases[count], extras[count] = node + step, base, extra
                    count += 1
                if extra < 1e-9:
                    break
                extra = frontier_step(0, extra, single)  # Statement 37
            extra = extras[count - 1]
        node += length
    return count
