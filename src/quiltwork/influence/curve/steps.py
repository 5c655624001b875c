"""One step of the influence curve (Statements 10 to 13): how much of a difference survives one transition.

Let v be any positive function of the next state with v[y] / v[y'] ≤ exp(D[y,y']). The step bounds

    step[a,b] = max over v of  log (P[a]·v) / (P[b]·v)

Each function below is an upper bound, from cheap to tight, rounded up. With D = ∞ the step is F_1 of the quilts.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from quiltwork.compiled import njit
from quiltwork.influence.curve.transport import LARGEST_DIFFERENCE, MARGIN, Shipments, shortest
from quiltwork.numeric import in_threads
from quiltwork.types import Floats

PARALLEL_FROM = 100  # states: with fewer, starting a thread takes longer than the work
SMALLEST = 1e-120  # with an unbounded difference, less than this counts as 0


@dataclass(frozen=True)
class Kernel:
    """What bounds the probability of a set S of next states.

    P[a,S] ≤ most[a] + Σ above[a,y] and P[b,S] ≥ least[b] + Σ below[b,y], y in S. For a transition matrix (forward or
    backward) both are its rows, and nothing comes on top.
    """

    above: Floats
    below: Floats
    most: Floats
    least: Floats

    @classmethod
    def of(cls, rows: Floats) -> "Kernel":
        """The kernel of one transition matrix."""
        held, nothing = np.ascontiguousarray(rows), np.zeros(len(rows))
        return cls(held, held, nothing, nothing)

    def best_sets(self) -> tuple[Floats, Floats]:
        """The outermost points (P[a,S], P[b,S]) of all pairs: what the largest step can be made of."""
        points = [outermost(*self._sets(a), enlarged=1e-10) for a in range(len(self.above))]
        return outermost(np.concatenate([p for p, _ in points]), np.concatenate([q for _, q in points]))

    def _sets(self, a: int) -> tuple[Floats, Floats]:
        """Prefix sums in the order of the ratios above[a] / below[b], largest first, for each b; with the empty set."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.above[a] / self.below
        ratio[np.isnan(ratio)] = -1.0  # 0/0: y occurs in neither row
        order = np.argsort(-ratio, axis=1)  # Statement 10
        empty = np.zeros((len(self.below), 1))
        above = np.cumsum(np.hstack([empty, self.above[a][order]]), axis=1)
        below = np.cumsum(np.hstack([empty, np.take_along_axis(self.below, order, axis=1)]), axis=1)
        return above + self.most[a], below + self.least[:, None]


def scalar_step(kernel: Kernel, difference: float) -> Floats:
    """The step with one bound D for all pairs: v is e^D on a set S and 1 elsewhere.

    >>> scalar_step(Kernel.of(np.array([[0.9, 0.1], [0.4, 0.6]])), 1.0).round(6).tolist()
    [[0.0, 0.411565], [0.549948, 0.0]]
    """
    unbounded = difference > LARGEST_DIFFERENCE  # v may then be anything: infinite where some y occurs in row a only
    own, gain = (0.0, 1.0) if unbounded else (1.0, math.expm1(difference))
    bounds = np.empty((len(kernel.above), len(kernel.below)))

    def some_rows(some: slice) -> None:
        first, above, most = some.start or 0, kernel.above[some], kernel.most[some]
        _best_ratios(first, above, kernel.below, most, kernel.least, own, gain, difference, bounds[some])

    if len(bounds) < PARALLEL_FROM:
        some_rows(slice(None))
    else:
        in_threads(some_rows, len(bounds), pieces=8)
    return bounds  # Statement 10


@njit(steps=lambda _, above, below, *__: 3 * len(below) * above.size, cache=True, nogil=True)
def _best_ratios(
    first: int,
    above: Floats,
    below: Floats,
    most: Floats,
    least: Floats,
    own: float,
    gain: float,
    largest: float,
    bounds: Floats,
) -> None:
    """log of the largest (own + gain P[a,S]) / (own + gain P[b,S]), rounded up, for rows from the first one on.

    The S with above > r below for the last ratio r gives a larger one, until none does (Dinkelbach's method).
    """
    for a in range(len(above)):
        for b in range(len(below)):
            ratio = 0.0
            while True:
                over, under = own + gain * most[a], own + gain * least[b]
                for y in range(above.shape[1]):
                    if above[a, y] > ratio * below[b, y]:
                        over += gain * above[a, y]
                        under += gain * below[b, y]
                if under < SMALLEST:
                    # nothing over nothing says nothing; a bound below 0 holds for the sets that it leaves out, too
                    ratio = np.inf if over > 0.0 or under < 0.0 else ratio
                    break
                if over / under <= ratio * (1.0 + 1e-15):
                    break
                ratio = over / under
            step = min(math.log(max(ratio, 1.0)), largest)  # no step makes a difference larger
            bounds[a, b] = 0.0 if first + a == b else step * (1.0 + MARGIN) + MARGIN


def attainable(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """The bounds as far as a row of probabilities can reach them: what one entry leaves, the others must take.

    >>> low, high = attainable(np.array([[0.8, 0.1], [0.3, 0.6]]), np.array([[0.9, 0.4], [0.5, 0.6]]))
    >>> low.round(9).tolist(), high.round(9).tolist()
    ([[0.8, 0.1], [0.4, 0.6]], [[0.9, 0.2], [0.4, 0.6]])
    """
    slack = 16 * len(lower) * 2.0**-53  # the differences cancel
    rest_lower, rest_upper = (table.sum(axis=1, keepdims=True) - table for table in (lower, upper))
    return np.maximum(lower, 1 - rest_upper - slack), np.minimum(upper, 1 - rest_lower + slack)  # Statement 35


def interval_kernels(lower: Floats, upper: Floats) -> list[Kernel]:
    """Kernels for rows known up to bounds; the smallest of their scalar steps bounds the step of every such chain.

    P[a,S] is at most Σ_S upper and at most 1 - Σ_rest lower, so at most every mixture of the two, which is a sum over S
    plus a constant; P[b,S] from below likewise.
    """
    kernels = []
    for up, down in itertools.product((1.0, 0.5, 0.0), repeat=2):
        above, below = up * upper + (1 - up) * lower, down * lower + (1 - down) * upper  # Statement 35
        slack = 16 * len(lower) * 2.0**-53  # the differences cancel
        most = (1 - up) * (1 - lower.sum(axis=1) + slack)
        least = (1 - down) * (1 - upper.sum(axis=1) - slack)
        kernels.append(Kernel(above, below, most, least))
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
    bounds = np.empty(cross_ratio.shape)
    _projective(cross_ratio, float(difference), bounds)
    return bounds


@njit(steps=lambda cross_ratio, *_: 3 * cross_ratio.size, cache=True, nogil=True)
def _projective(cross_ratio: Floats, difference: float, bounds: Floats) -> None:
    for a in range(len(cross_ratio)):
        for b in range(cross_ratio.shape[1]):
            if a == b:
                bounds[a, b] = 0.0
                continue
            step = cross_ratio[a, b]
            if step > LARGEST_DIFFERENCE:
                step = difference
            elif difference <= LARGEST_DIFFERENCE:  # Statement 13
                r, d = step / 2, difference / 2
                both = r + d + math.log1p(math.exp(-r - d))  # log (1 + e^(r + d))
                step = 2 * (both - max(r, d) - math.log1p(math.exp(-abs(r - d))))
            bounds[a, b] = max(step, 0.0) * (1.0 + MARGIN) + MARGIN


def cross_ratios(P: Floats) -> Floats:
    """log of the largest cross-ratio of each pair of rows, infinite where their supports differ.

    An empty row stands for a state that cannot occur any more: its pairs are no secrets, and have 0.

    >>> cross_ratios(np.array([[0.9, 0.1], [0.4, 0.6]])).round(6).tolist()
    [[0.0, 2.60269], [2.60269, 0.0]]
    """
    largest = np.empty((len(P), len(P)))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(P)
        for a, row in enumerate(logs):
            ratios = row - logs
            largest[a] = np.where(np.isnan(ratios), -np.inf, ratios).max(axis=1)  # 0/0 says nothing
        both = largest + largest.T
    empty = ~(P > 0).any(axis=1)
    both[empty, :] = both[:, empty] = 0.0
    return both


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


def without_detours(profile: Floats, bound: Floats) -> Floats:
    """R with λ + R as short as its own detours.

    What a change from y to z costs is at most that of going there by way of others, for λ and for the true R alike;
    and only between such distances does a function within D + c split into one within D and one within c, so that
    step(D + c) ≤ step(D) + c.
    """
    shortened = shortest(profile)
    return np.asarray(np.maximum(shortest(shortened + bound) - shortened, 0.0))  # Statement 37


def pairwise_step(rows: Floats, difference: Floats, *, known: Floats, precision: float = 1e-9) -> Floats:
    """The step with a bound D for each pair, never above what is ``known``.

    >>> P = np.array([[0.9, 0.1], [0.4, 0.6]])
    >>> D = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> pairwise_step(P, D, known=np.full((2, 2), 1.0)).round(6).tolist()       # as the scalar step: two states
    [[0.0, 0.411565], [0.549948, 0.0]]
    """
    return Shipments.of(rows, shortest(difference)).smallest(known, near=known / 2, precision=precision)


def outermost(above: Floats, below: Floats, *, enlarged: float = 8e-10) -> tuple[Floats, Floats]:
    """The points (p, q) that can be the largest log (1 + p g) / (1 + q g): the upper left part of the convex hull."""
    p, q = above.ravel(), below.ravel()
    order = np.lexsort((-p, q))
    p, q = p[order], q[order]
    rising = p > np.maximum.accumulate(np.concatenate([[-np.inf], p[:-1]]))
    hull: list[tuple[float, float]] = []
    for point in zip(q[rising], p[rising], strict=True):
        while len(hull) > 1 and _below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    # enlarged by more than all that was cut off
    return np.array([y for _, y in hull]) * (1 + enlarged), np.array([x for x, _ in hull])


def _below(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    """Whether the middle point lies below the line through the others, or above it by rounding only."""
    (left, low), (between, height), (right, high) = first, middle, last
    run, rise = right - left, high - low
    return (height * (1 - 1e-14) - low) * run <= rise * (between - left)
