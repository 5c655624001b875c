"""What is compiled behind ``laws/exact.py``: sums of masses as logarithms, and the worst start on two states."""

import numpy as np

from quiltwork.compiled import njit
from quiltwork.types import Flags, Floats, Integers

NEGLIGIBLE = 45.0  # terms smaller than the largest by more than exp(45) are left out of a sum
NEARLY_ALL = 40.0  # log odds of a start that is all but certain
LARGEST, GRID = 100.0, 2000  # logarithms in the equation; how many odds are tried where they are larger


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


@njit(cache=True, nogil=True)
def worst_odds(  # noqa: C901 - compiled: which of two starts is possible given a, given b, or both
    above: Floats, below: Floats, to_above: Floats, to_below: Floats
) -> tuple[float, float]:
    """log of the largest ratio of two averages, and log of the odds of the second start to the first for it.

    ``above`` has the logarithms of what is averaged given a, for two starts; ``below`` those given b. ``to_above`` and
    ``to_below`` are the logarithms of how likely the starts lead to a and to b. -inf where a start leads nowhere.
    """
    if to_above[0] == -np.inf or to_above[1] == -np.inf:
        # given a there is one start: the smallest average given b is that of one start too
        n = 1 if to_above[0] == -np.inf else 0
        if to_above[n] == -np.inf:
            return -np.inf, 0.0
        m = 0 if to_below[1] == -np.inf or (to_below[0] > -np.inf and below[0] < below[1]) else 1
        if to_below[m] == -np.inf or above[n] == -np.inf:
            return -np.inf, 0.0
        free = n == m or to_below[n] == -np.inf  # both averages are of one start each, whatever the odds
        return above[n] - below[m], 0.0 if free else (-NEARLY_ALL if m == 0 else NEARLY_ALL)
    if to_below[0] == -np.inf or to_below[1] == -np.inf:
        m = 1 if to_below[0] == -np.inf else 0
        if to_below[m] == -np.inf:
            return -np.inf, 0.0
        n = 0 if above[0] >= above[1] else 1
        return (above[n] - below[m] if above[n] > -np.inf else -np.inf), (-NEARLY_ALL if n == 0 else NEARLY_ALL)
    first = 0 if above[0] > -np.inf and below[0] > -np.inf else 1
    second = 1 - first
    if above[first] == -np.inf or below[first] == -np.inf:  # each start gives 0 on one side, or on both
        if max(above[0], above[1]) == -np.inf:
            return -np.inf, 0.0
        return np.inf, NEARLY_ALL if above[1] > -np.inf else -NEARLY_ALL
    sign = 1.0 if first == 0 else -1.0
    base, shift = above[first] - below[first], to_above[second] - to_above[first]
    log_g, log_h = above[second] - above[first], below[second] - below[first]
    log_kappa = to_below[second] - to_below[first] - shift
    best, odds = base, -np.inf
    unbounded = np.inf if log_g > -np.inf else log_kappa  # where given b the second start gives 0
    beyond = log_g - log_h if log_h > -np.inf else unbounded
    if beyond > 0.0:
        best, odds = base + beyond, np.inf
    if best == np.inf:
        return best, sign * NEARLY_ALL
    size = max(abs(log_kappa), abs(log_g) if log_g > -np.inf else 0.0, abs(log_h) if log_h > -np.inf else 0.0)
    if size > LARGEST:  # beyond what the equation can be solved for: odds of all sizes, and room for those in between
        grid = 3.0 * size / GRID
        for n in range(-GRID, GRID + 1):
            at = n * grid - shift
            ratio = _ratio(above, below, to_above, to_below, sign * at) + grid
            if ratio > best:
                best, odds = ratio, at
        return best, sign * min(max(odds, -NEARLY_ALL), NEARLY_ALL)
    g, h, kappa = np.exp(log_g), np.exp(log_h), np.exp(log_kappa)
    # with x the odds given a: (1 + g x)(1 + κ x) / ((1 + x)(1 + κ h x))
    c0, c1 = g + kappa - 1.0 - kappa * h, kappa * (g - h)
    c2 = g * kappa * (1.0 + kappa * h) - kappa * h * (g + kappa)
    inside = c1 * c1 - c0 * c2
    if inside >= 0.0:
        q = -(c1 + np.copysign(np.sqrt(inside), c1))
        for root in (q / c2 if c2 != 0.0 else -1.0, c0 / q if q != 0.0 else -1.0):
            if root > 0.0:
                at = np.log(root) - shift
                ratio = _ratio(above, below, to_above, to_below, sign * at)  # Statement 48
                if ratio > best:
                    best, odds = ratio, at
    return best, sign * min(max(odds, -NEARLY_ALL), NEARLY_ALL)


@njit(cache=True, nogil=True)
def _ratio(above: Floats, below: Floats, to_above: Floats, to_below: Floats, odds: float) -> float:
    return _average(above, to_above, odds) - _average(below, to_below, odds)


@njit(cache=True, nogil=True)
def _average(logs: Floats, weights: Floats, odds: float) -> float:
    second = weights[1] + odds
    total = add_logs(weights[0], second)
    return add_logs(weights[0] + logs[0], second + logs[1]) - total


@njit(cache=True, nogil=True)
def start_losses(density: Floats, leads: Floats, apart: Flags, found: Floats) -> None:
    """The worst pair of states, output and start: (loss, more, less, output, start, other start, log odds).

    ``density[z,x,w]`` is log p(w | X_1 = z, X_i = x), ``leads[z,x]`` log P(X_i = x | X_1 = z), with what is known.
    ``apart[x,y]`` says which are to be kept apart.
    """
    k, secrets = leads.shape
    found[:] = np.array([0.0, -1.0, -1.0, 0.0, 0.0, 0.0, 0.0])
    above, below, to_above, to_below = np.empty(2), np.empty(2), np.empty(2), np.empty(2)
    for x in range(secrets):
        for y in range(secrets):
            if x == y or not apart[x, y]:
                continue
            for z in range(k):
                for other in range(z, k):
                    to_above[0], to_above[1] = leads[z, x], leads[other, x]
                    to_below[0], to_below[1] = leads[z, y], leads[other, y]
                    if max(to_above[0], to_above[1]) == -np.inf or max(to_below[0], to_below[1]) == -np.inf:
                        continue
                    if z == other and (to_above[0] == -np.inf or to_below[0] == -np.inf):
                        continue
                    for w in range(density.shape[2]):
                        above[0], above[1] = density[z, x, w], density[other, x, w]
                        below[0], below[1] = density[z, y, w], density[other, y, w]
                        loss, odds = worst_odds(above, below, to_above, to_below)
                        if loss > found[0] or found[1] < 0.0:
                            found[0], found[1], found[2], found[3] = max(loss, 0.0), x, y, w
                            found[4], found[5], found[6] = z, other, odds


@njit(cache=True, nogil=True)
def start_distance(  # noqa: C901 - compiled: one loop over pairs of states and of starts
    values: Integers, laws: Floats, leads: Floats, apart: Flags, slack: float, furthest: Floats
) -> None:
    """The largest W_∞ between the laws given two states, over all starts: (distance, one state, the other).

    ``laws[z,x,v]`` is log P(values[v] | X_1 = z, X_i = x). cdf given x at s must be at most cdf given y at s + w.
    """
    k, secrets, count = laws.shape
    lower, upper = np.full(laws.shape, -np.inf), np.full(laws.shape, -np.inf)  # up to s, and beyond s
    for z in range(k):
        for x in range(secrets):
            total = -np.inf
            for v in range(count):
                total = add_logs(total, laws[z, x, v])
                lower[z, x, v] = total
            total = -np.inf
            for v in range(count - 1, -1, -1):
                upper[z, x, v] = total
                total = add_logs(total, laws[z, x, v])
    furthest[:] = 0.0
    one, two, to_one, to_two = np.empty(2), np.empty(2), np.empty(2), np.empty(2)
    for x in range(secrets):
        for y in range(secrets):
            if x == y or not apart[x, y]:
                continue
            for z in range(k):
                for other in range(z, k):
                    to_one[0], to_one[1] = leads[z, x], leads[other, x]
                    to_two[0], to_two[1] = leads[z, y], leads[other, y]
                    if max(to_one[0], to_one[1]) == -np.inf or max(to_two[0], to_two[1]) == -np.inf:
                        continue
                    if z == other and (to_one[0] == -np.inf or to_two[0] == -np.inf):
                        continue
                    reach = 0
                    for v in range(count):
                        small = max(lower[z, x, v], lower[other, x, v]) < -0.7
                        while reach < count - 1:
                            if small:
                                one[0], one[1] = lower[z, x, v], lower[other, x, v]
                                two[0], two[1] = lower[z, y, reach], lower[other, y, reach]
                                if max(one[0], one[1]) == -np.inf:
                                    break
                                behind = worst_odds(one, two, to_one, to_two)[0]
                            else:
                                one[0], one[1] = upper[z, y, reach], upper[other, y, reach]
                                two[0], two[1] = upper[z, x, v], upper[other, x, v]
                                if max(one[0], one[1]) == -np.inf:
                                    break
                                behind = worst_odds(one, two, to_two, to_one)[0]
                            if behind <= slack:  # Statement 6
                                break
                            reach += 1
                        moved = values[reach] - values[v]
                        if moved > furthest[0]:
                            furthest[0], furthest[1], furthest[2] = moved, x, y
