"""One step of the influence curve (Statements 10 to 13): how much of a difference survives one transition.

Let v be any positive function of the next state with v[y] / v[y'] ≤ exp(D[y,y']). The step bounds

    step[a,b] = max over v of  log (P[a]·v) / (P[b]·v)

Each function below is an upper bound, from cheap to tight, rounded up. With D = ∞ the step is F_1 of the quilts.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from quiltwork.types import Floats, Integers

LARGEST_DIFFERENCE = 300.0  # beyond this a difference counts as unbounded
SMALLEST = 1e-120  # with an unbounded difference, less than this counts as 0
MARGIN = 1e-13  # more than the rounding error of one step
FURTHEST_GAIN = float(np.exp(LARGEST_DIFFERENCE))


@dataclass(frozen=True)
class Kernel:
    """A transition matrix (forward or backward), prepared for scalar steps with many D.

    ``above[a,b,n]`` and ``below[a,b,n]`` are the probabilities of the best set of n next states under row a and row b:
    those with the largest P[a,y] / P[b,y].
    """

    rows: Floats
    above: Floats
    below: Floats

    @classmethod
    def of(cls, rows: Floats) -> "Kernel":
        """The kernel of one transition matrix."""
        return cls(rows, *_best_sets(rows, rows))


def _best_sets(above: Floats, below: Floats) -> tuple[Floats, Floats]:
    """Prefix sums of each pair of rows in the order of their ratio, largest first; shape (a, b, size)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = above[:, None, :] / below[None, :, :]
    ratio[np.isnan(ratio)] = -1.0  # 0/0: y occurs in neither row
    order = np.argsort(-ratio, axis=2)  # Statement 10
    first, second = (
        np.cumsum(np.take_along_axis(np.broadcast_to(table, ratio.shape), order, axis=2), axis=2)
        for table in (above[:, None, :], below[None, :, :])
    )
    return first, second


def scalar_step(kernel: Kernel, difference: float) -> Floats:
    """The step with one bound D for all pairs: v is e^D on a set S and 1 elsewhere.

    >>> scalar_step(Kernel.of(np.array([[0.9, 0.1], [0.4, 0.6]])), 1.0).round(6).tolist()
    [[0.0, 0.411565], [0.549948, 0.0]]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if difference > LARGEST_DIFFERENCE:
            # v may then be anything: infinite where some y occurs in row a only
            ratio = np.where(kernel.below < SMALLEST, np.inf, kernel.above / kernel.below)
            step = np.log(np.where(kernel.above > 0, ratio, 1.0).max(axis=2))
        else:
            gain = np.expm1(difference)
            below = np.maximum(1 + kernel.below * gain, 0.0)  # an interval's bound may be below 0: says nothing
            step = np.log(((1 + kernel.above * gain) / below).max(axis=2))  # Statement 10
    return _rounded(np.minimum(step, difference))  # no step makes a difference larger


def interval_kernels(lower: Floats, upper: Floats) -> list[Kernel]:
    """Kernels for rows known up to bounds; the smallest of their scalar steps bounds the step of every such chain.

    P[a,S] is at most Σ_S upper and at most 1 - Σ_rest lower, so at most every mixture of the two, which is a sum over S
    plus a constant; P[b,S] from below likewise.
    """
    kernels = []
    for up, down in itertools.product((1.0, 0.5, 0.0), repeat=2):
        above, below = up * upper + (1 - up) * lower, down * lower + (1 - down) * upper  # Statement 35
        most = (1 - up) * (1 - lower.sum(axis=1))
        least = (1 - down) * (1 - upper.sum(axis=1))
        first, second = _best_sets(above, below)
        empty = np.zeros((*lower.shape, 1))  # the empty set
        slack = 16 * len(lower) * 2.0**-53  # the differences below cancel
        first = np.concatenate([empty, first], axis=2) + most[:, None, None] + (1 - up) * slack
        second = np.concatenate([empty, second], axis=2) + least[None, :, None] - (1 - down) * slack
        kernels.append(Kernel(above, first, second))
    return kernels


def interval_product(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Bounds on the product of two matrices that are known up to bounds."""
    (lower, upper), (below, above) = first, second
    # Statement 35
    return _extreme(lower, upper, below, largest=False), _extreme(lower, upper, above, largest=True)


def _extreme(lower: Floats, upper: Floats, values: Floats, *, largest: bool) -> Floats:
    """The extreme of p·values over the laws p within the bounds of each row: fill up the best entries first."""
    order = np.argsort(-values if largest else values, axis=0)  # (state, column)
    room = (upper - lower)[:, order]  # (row, rank, column)
    slack = 8 * len(values) * 2.0**-53
    left = (1 - lower.sum(axis=1) + (slack if largest else -slack))[:, None, None]
    before = np.cumsum(room, axis=1) - room
    filled = np.clip(left - before, 0.0, room)
    best = lower @ values + np.einsum("anc,nc->ac", filled, np.take_along_axis(values, order, axis=0))
    return np.asarray(np.minimum(best * (1 + slack), 1.0) if largest else best * (1 - slack))


def ratio_step(log_ratio: float, difference: float) -> float:
    """The step when all that is known is that P[a,y] / P[b,y] is at most exp(log_ratio) for all a, b and y.

    >>> round(ratio_step(1.0, 1.0), 6)
    0.433781
    """
    r, d = min(log_ratio, LARGEST_DIFFERENCE), min(difference, LARGEST_DIFFERENCE)
    step = float(np.logaddexp(0.0, r + d) - np.logaddexp(r, d))  # Statement 34
    if log_ratio > LARGEST_DIFFERENCE:
        step = difference
    elif difference > LARGEST_DIFFERENCE:
        step = log_ratio
    return max(step, 0.0) * (1 + MARGIN) + MARGIN


def projective_step(cross_ratio: Floats, difference: float) -> Floats:
    """The step from cross-ratios alone: it holds for backward kernels of every start, and under any conditioning.

    ``cross_ratio[a,b]`` is log of the largest P[a,y] P[b,y'] / (P[a,y'] P[b,y]).

    >>> projective_step(np.array([[0.0, 2.0], [2.0, 0.0]]), 1.0).round(6).tolist()
    [[0.0, 0.454673], [0.454673, 0.0]]
    """
    r = np.minimum(cross_ratio, LARGEST_DIFFERENCE) / 2
    d = min(difference, LARGEST_DIFFERENCE) / 2
    step = 2 * (np.logaddexp(0.0, r + d) - np.logaddexp(r, d))  # Statement 13
    if difference > LARGEST_DIFFERENCE:
        step = cross_ratio
    return _rounded(np.where(cross_ratio > LARGEST_DIFFERENCE, difference, step))


def cross_ratios(P: Floats) -> Floats:
    """log of the largest cross-ratio of each pair of rows, infinite where their supports differ.

    An empty row stands for a state that cannot occur any more: its pairs are no secrets, and have 0.

    >>> cross_ratios(np.array([[0.9, 0.1], [0.4, 0.6]])).round(6).tolist()
    [[0.0, 2.60269], [2.60269, 0.0]]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(P[:, None, :]) - np.log(P[None, :, :])
        both_zero = np.isnan(logs)
        ratios = np.where(both_zero, -np.inf, logs).max(axis=2) + np.where(both_zero, -np.inf, -logs).max(axis=2)
    empty = ~(P > 0).any(axis=1)
    ratios[empty, :] = ratios[:, empty] = 0.0
    return np.asarray(ratios)


def interval_cross_ratios(lower: Floats, upper: Floats) -> Floats:
    """The same for rows known up to bounds: upper·upper / (lower·lower), infinite where a lower bound is 0.

    Where an upper bound is 0 too the entry is 0 for certain, and is left out.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(upper[:, None, :]) - np.log(lower[None, :, :])
        ratios = np.where(np.isnan(logs), -np.inf, logs).max(axis=2)
    with np.errstate(invalid="ignore"):  # for rows that are empty, see below
        ratios = ratios + ratios.T
    empty = ~(upper > 0).any(axis=1)
    ratios[empty, :] = ratios[:, empty] = 0.0
    np.fill_diagonal(ratios, 0.0)
    return np.asarray(ratios)


def _rounded(step: Floats) -> Floats:
    rounded = np.maximum(step, 0.0) * (1 + MARGIN) + MARGIN
    np.fill_diagonal(rounded, 0.0)
    return np.asarray(rounded)


def shortest(difference: Floats) -> Floats:
    """The tightest D that says the same: v[y]/v[y''] is at most v[y]/v[y'] times v[y']/v[y'']."""
    lengths = difference.copy()
    for middle in range(len(lengths)):
        lengths = np.minimum(lengths, lengths[:, [middle]] + lengths[[middle], :])  # Statement 37
    return np.asarray(lengths * (1 + MARGIN))


def without_detours(profile: Floats, bound: Floats) -> Floats:
    """R with λ + R as short as its own detours.

    What a change from y to z costs is at most that of going there by way of others, for λ and for the true R alike;
    and only between such distances does a function within D + c split into one within D and one within c, so that
    step(D + c) ≤ step(D) + c.
    """
    shortened = shortest(profile)
    return np.asarray(np.maximum(shortest(shortened + bound) - shortened, 0.0))  # Statement 37


@dataclass(frozen=True)
class Shipments:
    """The dual of the pairwise step: which shipments are cheap.

    log r bounds step[a,b] if the excess (P[a,y] - r P[b,y])+ can be shipped to the deficits (r P[b,z] - P[a,z])+, a
    unit sent from y to z taking up exp(D[y,z]) there. Shipping nearest first finds such a plan quickly; any plan proves
    its r.
    """

    rows: Floats
    targets: Integers  # of each source, nearest first
    gains: Floats

    @classmethod
    def of(cls, rows: Floats, difference: Floats) -> "Shipments":
        """Plans for one D (per pair), nearest first."""
        targets = np.argsort(difference, axis=1, kind="stable")
        nearest = np.minimum(np.take_along_axis(difference, targets, axis=1), 2 * LARGEST_DIFFERENCE)
        return cls(np.ascontiguousarray(rows), targets.astype(np.int64), np.exp(nearest) * (1 + MARGIN))

    def prove(self, claim: Floats) -> NDArray[np.bool_]:
        """For which pairs a shipment proves that the step is at most the claim."""
        return _prove(self.rows, claim, self.targets, self.gains)  # Statement 11

    def smallest(self, known: Floats, *, near: Floats, precision: float) -> Floats:
        """The smallest claims that can be proved, to a relative precision, none above what is ``known`` already.

        They are looked for ``near`` a guess first, which need not be valid.
        """
        return _smallest(self.rows, known, near, self.targets, self.gains, precision)


def pairwise_step(rows: Floats, difference: Floats, *, known: Floats, precision: float = 1e-9) -> Floats:
    """The step with a bound D for each pair, never above what is ``known``.

    >>> P = np.array([[0.9, 0.1], [0.4, 0.6]])
    >>> D = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> pairwise_step(P, D, known=np.full((2, 2), 1.0)).round(6).tolist()       # as the scalar step: two states
    [[0.0, 0.411565], [0.549948, 0.0]]
    """
    return Shipments.of(rows, shortest(difference)).smallest(known, near=known / 2, precision=precision)


@njit(cache=True, nogil=True)
def _ship(
    a: Floats,
    b: Floats,
    ratio: float,
    targets: Integers,
    gains: Floats,
    space: tuple[Floats, Floats, Integers, Integers],
) -> bool:
    """Whether all excess can be shipped, nearest first; rounded so that a plan found is a plan."""
    excess, room, waiting, tried = space  # states with excess, and how many of its targets each has tried
    count = 0
    for y in range(len(a)):
        wanted = ratio * b[y]
        slack = MARGIN * (a[y] + wanted)
        excess[y] = max(0.0, a[y] - wanted + slack)  # Statement 11
        room[y] = max(0.0, wanted - a[y] - slack)
        if excess[y] > 0.0:
            waiting[count], tried[count] = y, 0
            count += 1
    while count > 0:
        best, gain = -1, FURTHEST_GAIN
        for n in range(count):  # the nearest target with room, of all that wait
            y = waiting[n]
            while tried[n] < len(a) and room[targets[y, tried[n]]] == 0.0:
                tried[n] += 1
            if tried[n] < len(a) and gains[y, tried[n]] < gain:
                best, gain = n, gains[y, tried[n]]
        if best < 0:
            return False
        y = waiting[best]
        z = targets[y, tried[best]]
        needed = excess[y] * gain
        if needed <= room[z]:
            room[z] -= needed
            count -= 1
            waiting[best], tried[best] = waiting[count], tried[count]
        else:
            excess[y] -= room[z] / gain * (1.0 - MARGIN)
            room[z] = 0.0
    return True


@njit(cache=True, nogil=True)
def _space(k: int) -> tuple[Floats, Floats, Integers, Integers]:
    return np.empty(k), np.empty(k), np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)


@njit(cache=True, nogil=True)
def _prove(rows: Floats, claim: Floats, targets: Integers, gains: Floats) -> NDArray[np.bool_]:
    k = len(rows)
    proved = np.ones((k, k), dtype=np.bool_)
    space = _space(rows.shape[1])
    for a in range(k):
        for b in range(k):
            if a != b and claim[a, b] < LARGEST_DIFFERENCE:
                ratio = np.exp(claim[a, b]) * (1.0 - MARGIN)
                proved[a, b] = _ship(rows[a], rows[b], ratio, targets, gains, space)
    return proved


@njit(cache=True, nogil=True)
def _smallest(rows: Floats, known: Floats, near: Floats, targets: Integers, gains: Floats, precision: float) -> Floats:
    k = len(rows)
    smallest = known.copy()
    space = _space(rows.shape[1])
    for a in range(k):
        smallest[a, a] = 0.0
        for b in range(k):
            if a == b or known[a, b] >= LARGEST_DIFFERENCE:
                continue
            # a bracket around the guess: low cannot be proved, high can
            low, high = 0.0, known[a, b]
            factor, middle = 1.0 + 8.0 * precision, min(max(near[a, b], 1e-9), high)
            while high - low > precision * high:
                ratio = np.exp(middle) * (1.0 - MARGIN)
                if _ship(rows[a], rows[b], ratio, targets, gains, space):
                    high = middle
                else:
                    low = middle
                if factor > 1e6 or (low > 0.0 and high < known[a, b]):
                    middle = 0.5 * (low + high)
                elif low == 0.0:
                    middle, factor = high / factor, factor**3
                else:
                    middle, factor = min(low * factor, 0.5 * (low + known[a, b])), factor**3
            smallest[a, b] = high
    return smallest
