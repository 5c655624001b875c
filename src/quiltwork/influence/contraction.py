"""One step of the influence curve (theory section 5): how much of a difference survives one transition.

Let v be any positive function of the next state with v[y] / v[y'] ≤ exp(D[y,y']). The step bounds

    step[a,b] = max over v of  log (P[a]·v) / (P[b]·v)

Each function below is an upper bound, from cheap to tight, rounded up. With D = ∞ the step is F_1 of the quilts.
"""

from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LARGEST_DIFFERENCE = 300.0  # beyond this a difference counts as unbounded
MARGIN = 1e-13  # more than the rounding error of one step


@dataclass(frozen=True)
class Kernel:
    """A transition matrix (forward or backward), prepared for steps with many D."""

    rows: Floats
    above: Floats = field(init=False)
    below: Floats = field(init=False)

    def __post_init__(self) -> None:
        P = self.rows
        # the best set S takes the y with the largest P[a,y] / P[b,y] first: prefix sums in that order, [a, b, size]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = P[:, None, :] / P[None, :, :]
        ratio[np.isnan(ratio)] = -1.0  # 0/0: y occurs in neither row
        order = np.argsort(-ratio, axis=2)
        for name, table in (("above", P[:, None, :]), ("below", P[None, :, :])):
            sums = np.cumsum(np.take_along_axis(np.broadcast_to(table, ratio.shape), order, axis=2), axis=2)
            object.__setattr__(self, name, sums)


def scalar_step(kernel: Kernel, difference: float) -> Floats:
    """The step with one bound D for all pairs: v is e^D on a set S and 1 elsewhere.

    >>> scalar_step(Kernel(np.array([[0.9, 0.1], [0.4, 0.6]])), 1.0).round(6).tolist()
    [[0.0, 0.411565], [0.549948, 0.0]]
    """
    gain = np.expm1(min(difference, LARGEST_DIFFERENCE))
    found = np.log(((1 + kernel.above * gain) / (1 + kernel.below * gain)).max(axis=2))
    if difference > LARGEST_DIFFERENCE:
        # v may then be anything: infinite where some y occurs in row a only
        unbounded = ((kernel.rows[:, None, :] > 0) & (kernel.rows[None, :, :] == 0)).any(axis=2)
        found = np.where(unbounded, difference, found)
    return _rounded(found)


def projective_step(cross_ratio: Floats, difference: float) -> Floats:
    """The step from cross-ratios alone: it holds for backward kernels of every start, and under any conditioning.

    ``cross_ratio[a,b]`` is log of the largest P[a,y] P[b,y'] / (P[a,y'] P[b,y]).

    >>> projective_step(np.array([[0.0, 2.0], [2.0, 0.0]]), 1.0).round(6).tolist()
    [[0.0, 0.454673], [0.454673, 0.0]]
    """
    r = np.minimum(cross_ratio, LARGEST_DIFFERENCE) / 2
    d = min(difference, LARGEST_DIFFERENCE) / 2
    found = 2 * (np.logaddexp(0.0, r + d) - np.logaddexp(r, d))
    if difference > LARGEST_DIFFERENCE:
        found = cross_ratio
    return _rounded(np.where(cross_ratio > LARGEST_DIFFERENCE, difference, found))


def cross_ratios(P: Floats) -> Floats:
    """log of the largest cross-ratio of each pair of rows, infinite where their supports differ.

    An empty row stands for a state that cannot occur any more: its pairs are no secrets, and have 0.

    >>> cross_ratios(np.array([[0.9, 0.1], [0.4, 0.6]])).round(6).tolist()
    [[0.0, 2.60269], [2.60269, 0.0]]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(P[:, None, :]) - np.log(P[None, :, :])
        both_zero = np.isnan(logs)
        found = np.where(both_zero, -np.inf, logs).max(axis=2) + np.where(both_zero, -np.inf, -logs).max(axis=2)
    empty = ~(P > 0).any(axis=1)
    found[empty, :] = found[:, empty] = 0.0
    return np.asarray(found)


def _rounded(step: Floats) -> Floats:
    found = np.maximum(step, 0.0) * (1 + MARGIN) + MARGIN
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def shortest(difference: Floats) -> Floats:
    """The tightest D that says the same: v[y]/v[y''] is at most v[y]/v[y'] times v[y']/v[y'']."""
    found = difference.copy()
    for middle in range(len(found)):
        found = np.minimum(found, found[:, [middle]] + found[[middle], :])
    return np.asarray(found * (1 + MARGIN))


@dataclass(frozen=True)
class Shipments:
    """The dual of the pairwise step: which shipments are cheap.

    log r bounds step[a,b] if the excess (P[a,y] - r P[b,y])+ can be shipped to the deficits (r P[b,z] - P[a,z])+, a
    unit sent from y to z taking up exp(D[y,z]) there. Shipping nearest first finds such a plan quickly; any plan proves
    its r.
    """

    rows: Floats
    sources: Integers
    targets: Integers
    gains: Floats

    @classmethod
    def of(cls, rows: Floats, difference: Floats) -> "Shipments":
        """Plans for one D (per pair), nearest first."""
        y, z = np.nonzero(~np.eye(len(rows), dtype=bool) & (difference < LARGEST_DIFFERENCE))
        order = np.argsort(difference[y, z], kind="stable")
        gains = np.exp(difference[y, z][order]) * (1 + MARGIN)
        return cls(np.ascontiguousarray(rows), y[order].astype(np.int64), z[order].astype(np.int64), gains)

    def prove(self, claim: Floats) -> NDArray[np.bool_]:
        """For which pairs a shipment proves that the step is at most the claim."""
        return _prove(self.rows, claim, self.sources, self.targets, self.gains)

    def smallest(self, known: Floats, *, near: Floats, precision: float) -> Floats:
        """The smallest claims that can be proved, to a relative precision, none above what is ``known`` already.

        They are looked for ``near`` a guess first, which need not be valid.
        """
        return _smallest(self.rows, known, near, self.sources, self.targets, self.gains, precision)


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
    sources: Integers,
    targets: Integers,
    gains: Floats,
    excess: Floats,
    room: Floats,
) -> bool:
    """Whether all excess can be shipped, nearest first; rounded so that a plan found is a plan."""
    waiting = 0
    for y in range(len(a)):
        wanted = ratio * b[y]
        slack = MARGIN * (a[y] + wanted)
        excess[y] = max(0.0, a[y] - wanted + slack)
        room[y] = max(0.0, wanted - a[y] - slack)
        if excess[y] > 0.0:
            waiting += 1
    if waiting == 0:
        return True
    for n in range(len(sources)):
        y, z = sources[n], targets[n]
        if excess[y] > 0.0 and room[z] > 0.0:
            needed = excess[y] * gains[n]
            if needed <= room[z]:
                room[z] -= needed
                excess[y] = 0.0
                waiting -= 1
                if waiting == 0:
                    return True
            else:
                excess[y] -= room[z] / gains[n] * (1.0 - MARGIN)
                room[z] = 0.0
    return False


@njit(cache=True, nogil=True)
def _prove(rows: Floats, claim: Floats, sources: Integers, targets: Integers, gains: Floats) -> NDArray[np.bool_]:
    k = len(rows)
    proved = np.ones((k, k), dtype=np.bool_)
    excess, room = np.empty(k), np.empty(k)
    for a in range(k):
        for b in range(k):
            if a != b and claim[a, b] < LARGEST_DIFFERENCE:
                ratio = np.exp(claim[a, b]) * (1.0 - MARGIN)
                proved[a, b] = _ship(rows[a], rows[b], ratio, sources, targets, gains, excess, room)
    return proved


@njit(cache=True, nogil=True)
def _smallest(
    rows: Floats,
    known: Floats,
    near: Floats,
    sources: Integers,
    targets: Integers,
    gains: Floats,
    precision: float,
) -> Floats:
    k = len(rows)
    found = known.copy()
    excess, room = np.empty(k), np.empty(k)
    for a in range(k):
        found[a, a] = 0.0
        for b in range(k):
            if a == b or known[a, b] >= LARGEST_DIFFERENCE:
                continue
            # a bracket around the guess: low cannot be proved, high can
            low, high = 0.0, known[a, b]
            factor, middle = 1.2, min(max(near[a, b], 1e-9), high)
            while high - low > precision * high:
                ratio = np.exp(middle) * (1.0 - MARGIN)
                if _ship(rows[a], rows[b], ratio, sources, targets, gains, excess, room):
                    high = middle
                else:
                    low = middle
                if factor > 1e6 or (low > 0.0 and high < known[a, b]):
                    middle = 0.5 * (low + high)
                elif low == 0.0:
                    middle, factor = high / factor, factor * factor
                else:
                    middle, factor = min(low * factor, 0.5 * (low + known[a, b])), factor * factor
            found[a, b] = high
    return found
