"""R and L of the influence curve for a profile that is the same at every time, one class for each kind of kernel.

A side knows ``step(m, D)``: how much of a difference D survives m transitions. For every m (the skips of
Statement 12) and under a profile λ,

    R ≤ (m - 1) max λ + step(m, max(λ + R)) .

Any R that satisfies this for some m in each of its entries is a bound for series of every length: the true one is 0 at
the last value, and the step is monotone. So bounds are approached from above, from D = ∞ (the quilts' bound), and a
guess below is kept only if a step proves it. ``Bound.skips`` says which m proves which entry.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from quiltwork.influence.curve.solve import MANY, Equation, Solution, alike
from quiltwork.influence.curve.steps import Kernel, cross_ratios, projective_step, scalar_step
from quiltwork.influence.curve.transport import LARGEST_DIFFERENCE, Shipments, shortest
from quiltwork.influence.quilts.tables import ChainTables
from quiltwork.types import Floats, Integers

SCALAR_UP_TO = 16  # states: with more, skips of one number for all pairs take longer than what they gain
MOST_PAIRWISE = 300  # states that are told apart; beyond, groups of states that the query treats alike
MOST_GROUPS = 6
CLOSE = 1e-6  # a relative change too small to matter
ROUGH, QUICK, THOROUGH = 0.1, 5e-4, 1e-5  # relative precision of a solution
QUICK_FOR_MANY, QUICK_IN_GROUPS = 2e-3, 1e-2  # the precision that is worth its time
STEPS_DOWN = 8
MOST_ROUNDS, NEAR_LEVEL = 6, 2e-2  # of an outline, and how near its level is found, relatively
NEAR_PART = 0.1  # of all differences: those that plans use most
FORGETS_SLOWLY = 2.6  # D / λ beyond which an outline is no use
USUAL_GAIN = 4.0  # over quilts
USUAL_SLOPE = 1.15  # of log ε against log λ
SHIPPED = 0  # in place of a skip: proved by one pairwise step
BRIDGED, UNCERTIFIED = -1, -2  # proved by bridges; or in a way that no certificate holds
LONGEST_SKIP = 2**21
POWER_ERROR = 1e-12  # of one step with a matrix power, for each transition skipped
THREADS_FROM = 12  # states: with fewer, starting a thread takes longer than the work
Given = TypeVar("Given")
Result = TypeVar("Result")


class Tables(NamedTuple):
    """What bridges of these numbers of steps tell about their later and their earlier end."""

    steps: Integers
    told: Floats
    ends: Floats


@dataclass(frozen=True)
class Bound:
    """A bound for every node, and the skip that proves each of its entries (0: a shipment, -1: bridges)."""

    values: Floats
    skips: Integers
    settled: bool = True
    """Whether the search for a smaller one came to its own end, and not to a limit."""
    bridges: Tables | None = None
    by_time: Floats | None = None
    """The bound of each time of a cycle, if the belief is one."""

    def improved(self, values: Floats, skip: int) -> "Bound":
        """The smaller of the two bounds in each entry."""
        better = values < self.values
        return Bound(np.where(better, values, self.values), np.where(better, skip, self.skips), self.settled)


@dataclass(frozen=True)
class Frontier:
    """The largest entry of a step with m transitions, as a function of D alone.

    It is the largest log (1 + p (e^D - 1)) / (1 + q (e^D - 1)) over a few points (p, q), or, without points, the
    projective step with the cross-ratio ``log_cross``.
    """

    skip: int
    above: Floats
    below: Floats
    log_cross: float
    error: float

    @property
    def largest(self) -> float:
        """The step with D = ∞."""
        if not len(self.above):
            return self.log_cross + self.error
        if np.any((self.below < 0) | ((self.below <= 0) & (self.above > 0))):
            return float(np.inf)
        possible = self.below > 0
        return float(np.log((self.above[possible] / self.below[possible]).max(initial=1.0))) + self.error


def skips() -> Iterator[int]:
    """1, 2, 3, 4, 6, 8, 12, ...: each a sum of two earlier ones."""
    yield 1
    m = 2
    while m <= LONGEST_SKIP:
        yield m
        yield 3 * m // 2
        m *= 2


class Side(ABC):
    """What lies on one side of a value, under one kind of belief."""

    error = 0.0
    """By how much a step may be off, for each transition; every step adds it."""

    def __init__(self, states: int):
        self.states = states
        self._steps: dict[int, Callable[[float], Floats]] = {}
        self._frontiers: dict[int, list[Frontier]] = {}
        self._cross: Floats | None = None

    @abstractmethod
    def prepare(self, skip: int) -> Callable[[float], Floats]:
        """D ↦ the step with that many transitions, by pair."""

    @abstractmethod
    def frontiers(self, skip: int) -> list[Frontier]:
        """The same for the largest entry; the smallest of them holds."""

    def frontiers_of(self, skip: int) -> list[Frontier]:
        """The same, kept once made."""
        if skip not in self._frontiers:
            self._frontiers[skip] = self.frontiers(skip)
        return self._frontiers[skip]

    @abstractmethod
    def cross_ratio(self) -> float:
        """log of the largest cross-ratio of one transition."""

    def forgets(self, extra: float) -> float:
        """How much of an additional difference is left after one transition, whatever the rest is.

        The rest multiplies the kernel's rows by a function that they share, which leaves cross-ratios as they are.
        """
        if self._cross is None:
            self._cross = np.array([[0.0, self.cross_ratio()], [0.0, 0.0]])
        return float(projective_step(self._cross, extra)[0, 1]) + self.error  # Statements 13 and 37

    def step(self, skip: int, difference: float) -> Floats:
        """How much of a difference survives that many transitions."""
        if skip not in self._steps:
            self._steps[skip] = self.prepare(skip)
        bounds = self._steps[skip](difference) + (POWER_ERROR + self.error) * skip
        np.fill_diagonal(bounds, 0.0)
        return np.asarray(bounds)

    def afresh(self, other: "Side | None" = None) -> "Side":  # noqa: ARG002 - few sides guess
        """The side without guesses from earlier questions; what it has prepared is shared. ``other`` is its other."""
        return copy(self)

    def linked(self, links: float) -> "Side":  # noqa: ARG002 - matters where an earlier value stands for the start
        """The side where any change of a value tells so much besides, through its transitions (Statement 49)."""
        return self

    def bound(self, profile: Floats, *, thorough: bool = False) -> Bound:
        """A bound for every length; infinite entries where the series never forgets.

        A ``thorough`` one takes longer, does not depend on what was asked before, and is smaller by some thousandths:
        so that what is calibrated quickly stays within its budget when it is added up.
        """
        most = float(profile.max())
        far = self.far(most)
        if most == 0 or not np.isfinite(far.values).all() or far.values.max() > LARGEST_DIFFERENCE:
            return far
        if self.states <= SCALAR_UP_TO:
            far = self._scalar(profile, far)
        return self.refined(profile, far, thorough=thorough)

    def steady(self, profile: Floats, *, thorough: bool = False) -> Bound:
        """A bound that a *single* step does not increase, whatever came before; infinite if none is found.

        ``bound`` may rest on skips of several steps, which near a change of the profile reach beyond it.
        """
        most = float(profile.max())
        ones = np.ones(profile.shape, dtype=np.int64)
        if most == 0:
            return Bound(np.zeros_like(profile), ones)
        valid = 2 * most
        while float((profile + self.step(1, valid)).max()) > valid:
            valid *= 1.5
            if valid > LARGEST_DIFFERENCE:
                return Bound(np.where(np.eye(self.states, dtype=bool), 0.0, np.inf), ones)
        difference = smallest_valid(lambda d: float((profile + self.step(1, d)).max()), most, valid)  # Statement 14
        return self.refined(profile, Bound(self.step(1, difference), ones), thorough=thorough)

    def far(self, most: float) -> Bound:
        """With D = ∞: what is m transitions away may be anything. The quilts' bound."""
        off = ~np.eye(self.states, dtype=bool)
        bound = Bound(np.where(off, np.inf, 0.0), np.ones(off.shape, dtype=np.int64))
        for m in skips():
            if (m - 1) * most >= bound.values.max() or self.hopeless(m):
                break
            bound = bound.improved((m - 1) * most + self.step(m, np.inf), m)  # Statement 12
            if most == 0 and bound.values.max() < 1e-9:
                break
        return bound

    def hopeless(self, skip: int) -> bool:
        """Whether longer skips cannot help any more."""
        return skip > LONGEST_SKIP // 2

    def _scalar(self, profile: Floats, far: Bound) -> Bound:
        """All skips with the one number D = max(λ + R): a D that they do not raise is valid; the smallest is sought."""
        most = float(profile.max())
        valid = float((profile + far.values).max())
        useful = [m for m in _until(skips(), lambda m: (m - 1) * most <= valid) if not self.hopeless(m)]

        def steps(difference: float) -> Bound:
            bound = far
            for m in useful:
                if (m - 1) * most < bound.values.max():
                    bound = bound.improved((m - 1) * most + self.step(m, difference), m)  # Statement 12
            return bound

        return steps(smallest_valid(lambda d: float((profile + steps(d).values).max()), most, valid))  # Statement 14

    def refined(self, profile: Floats, bound: Bound, *, thorough: bool = False) -> Bound:  # noqa: ARG002 - for kernels
        """A smaller bound from a D for each pair, where the kernel allows it."""
        return bound

    def estimate(self, profile: Floats) -> Floats:
        """About what ``bound`` would find, without a proof where that is quicker."""
        return self.bound(profile).values

    def one(self, difference: Floats, node: int | None = None, near: Floats | None = None) -> Bound:  # noqa: ARG002 - a given start needs them
        """One transition with a D for each pair, into this node (counted along the walk), near a guess."""
        return Bound(self.step(1, float(difference.max())), np.ones(difference.shape, dtype=np.int64))


class _Solved(NamedTuple):
    """The bound that was found for a profile with this largest λ."""

    most: float
    values: Floats


class KernelSide(Side):
    """One transition matrix: the future of a chain, or the past of a stationary one.

    ``error`` bounds by how much a log-ratio of its entries may be off. ``other`` is the other side of the same chain,
    whose solution is a good first guess.
    """

    def __init__(self, P: Floats, *, error: float, other: "KernelSide | None" = None):
        super().__init__(len(P))
        self.error = error
        self._other = other
        self.rows = np.ascontiguousarray(P)
        self._tables = ChainTables(self.rows)
        self._kernels: dict[int, Kernel] = {}
        self._solved: list[_Solved] = []  # earlier solutions

    def afresh(self, other: Side | None = None) -> "KernelSide":
        """Without earlier solutions, and beside another side without them."""
        side = copy(self)
        side._solved, side._other = [], other if self._other is not None and isinstance(other, KernelSide) else None
        return side

    def cross_ratio(self) -> float:
        """Of the matrix itself."""
        return float(cross_ratios(self.rows).max())

    def kernel(self, skip: int) -> Kernel:
        """The matrix to the power ``skip``."""
        if skip not in self._kernels:
            self._kernels[skip] = Kernel.of(np.linalg.matrix_power(self.rows, skip))
        return self._kernels[skip]

    def prepare(self, skip: int) -> Callable[[float], Floats]:
        """The scalar step."""
        kernel = self.kernel(skip)
        return lambda difference: scalar_step(kernel, difference)

    def frontiers(self, skip: int) -> list[Frontier]:
        """The outermost points of all sets of next states."""
        kernel = self.kernel(skip)
        return [Frontier(skip, *kernel.best_sets(), np.nan, (POWER_ERROR + self.error) * skip)]

    def step(self, skip: int, difference: float) -> Floats:
        """With D = ∞ from the tables, which know possible entries of a power from impossible ones."""
        if not np.isinf(difference):
            return super().step(skip, difference)
        far = self._tables.right_at(skip).reshape(self.rows.shape) + (POWER_ERROR + self.error) * skip
        bounds = np.where(far > 1e200, np.inf, far)
        np.fill_diagonal(bounds, 0.0)
        return np.asarray(bounds)

    def hopeless(self, skip: int) -> bool:
        """Powers far beyond the time in which the chain forgets are no use."""
        return skip > 128

    def influence(self, doublings: int) -> Floats:
        """What a value 2^n transitions away tells at most, by pair: infinite where it may tell all."""
        far = self._tables.right_doubled(doublings).reshape(self.rows.shape) + 2**doublings * self.error
        return np.where(np.eye(self.states, dtype=bool), 0.0, np.where(far > 1e200, np.inf, far))

    def far(self, most: float) -> Bound:
        """From the tables of the quilts, which have every distance."""
        if self.states > SCALAR_UP_TO:
            return self._far_by_doubling(most)
        best = np.full(self.rows.size, np.inf)
        skip = np.ones(self.rows.size, dtype=np.int64)
        span = 16
        while True:
            self._tables.extend(span)
            distances = self._tables.distances
            bounds = self._tables.right(len(distances)) + distances[:, None] * self.error
            bounds = bounds + (distances[:, None] - 1) * most  # Statement 12
            nearest = np.argmin(bounds, axis=0)
            best, skip = bounds[nearest, np.arange(bounds.shape[1])], distances[nearest]
            largest = best.max()
            if most == 0 or distances[-1] * most > largest or distances[-1] > LONGEST_SKIP // 2:
                break
            if largest > LARGEST_DIFFERENCE and not self._tables.forgets(~np.eye(self.states, dtype=bool).ravel()):
                break
            span = 2 * int(distances[-1])
        values = np.where(best > 1e200, np.inf, best).reshape(self.rows.shape)
        np.fill_diagonal(values, 0.0)
        return Bound(values, skip.reshape(self.rows.shape).astype(np.int64))

    def _far_by_doubling(self, most: float) -> Bound:
        """The same with powers of two alone: every distance would take long with many states."""
        off = ~np.eye(self.states, dtype=bool)
        bound = Bound(np.where(off, np.inf, 0.0), np.ones(off.shape, dtype=np.int64))
        for n in range(LONGEST_SKIP.bit_length()):
            m = 2**n
            if (m - 1) * most >= bound.values.max():
                break
            bound = bound.improved(np.where(off, self.influence(n) + (m - 1) * most, 0.0), m)  # Statement 12
            if np.isinf(bound.values).any() and m > 4 * self.states and not self._tables.forgets(off.ravel()):
                break
        return bound

    def one(self, difference: Floats, node: int | None = None, near: Floats | None = None) -> Bound:  # noqa: ARG002 - the same for all
        """The pairwise step, with a margin for its proof."""
        scalar = super().one(difference)
        if self.states <= 2 or difference.max() > LARGEST_DIFFERENCE:
            return scalar
        known = scalar.values
        shipped = (
            Shipments.of(self.rows, shortest(difference)).smallest(known, near=0.9 * known, precision=1e-4)
            * (1 + 1e-12)
            + self.error
        )
        np.fill_diagonal(shipped, 0.0)
        return scalar.improved(shipped, SHIPPED)  # Statement 11

    def refined(self, profile: Floats, bound: Bound, *, thorough: bool = False) -> Bound:
        """The pairwise step: solve its equation, and keep the smallest enlargement that a step proves.

        Then step down: from a valid bound every step leads to a valid one.
        """
        if self.states <= 2:
            return bound
        known, quick = bound.values, QUICK if self.states <= MANY else QUICK_FOR_MANY
        precision = THOROUGH if thorough else quick
        equation, solution = self._solution(profile, known, precision, warm=not thorough)
        values = equation.proved(equation.polished(solution, known, precision), known)
        if values is None:
            return replace(bound, settled=False)
        near = float(values.max()) <= float(solution.values.max()) * (1 + precision)
        for _ in range(0 if near and not thorough else STEPS_DOWN):
            lower = equation.step(values, precision / 3)
            if float((values - lower).max()) < precision * float(values.max()) or not equation.holds(lower, known):
                break
            values = lower  # Statement 14
        return replace(bound.improved(values, SHIPPED), settled=solution.settled)

    def estimate(self, profile: Floats) -> Floats:
        """About what ``bound`` would find, without a proof."""
        most = float(profile.max())
        far = self.far(most).values
        if self.states <= 2 or most == 0 or not far.max() <= LARGEST_DIFFERENCE:
            return self.bound(profile).values
        self._solution(profile, far, ROUGH, warm=True)
        return self._solved[-1].values

    def _solution(self, profile: Floats, known: Floats, precision: float, *, warm: bool) -> tuple[Equation, Solution]:
        equation, start = Equation(self.rows, profile, error=self.error), np.zeros_like(known)
        if warm:
            start = self._start(profile)
        if self.states > MOST_PAIRWISE:
            equation = Equation(self.rows, profile, alike(profile, MOST_GROUPS), error=self.error)
            precision = max(precision, QUICK_IN_GROUPS)
        solution = equation.solved(known, start, precision)
        if warm:
            self._solved.append(_Solved(float(profile.max()), equation.onward(solution, known)))
        return equation, solution

    def outline(self, profile: Floats) -> Floats | None:
        """About R, from one number D for all pairs, where a chain forgets quickly and all changes cost alike.

        Plans ship to what is near, so D is one of the smaller differences.
        """
        apart = ~np.eye(self.states, dtype=bool)
        most, alike = float(profile.max()), float(profile[apart].min())
        if not MANY < self.states <= MOST_PAIRWISE or not 0 < most <= alike * (1 + CLOSE):
            return None
        difference = 2 * most
        for _ in range(MOST_ROUNDS):
            bound = scalar_step(self.kernel(1), difference)
            onward = most + float(np.quantile(bound[apart], NEAR_PART))
            if abs(onward - difference) < NEAR_LEVEL * difference:
                return bound
            if onward > FORGETS_SLOWLY * most:
                return None
            difference = onward
        return None

    def _start(self, profile: Floats) -> Floats:
        """From an earlier solution in proportion, else from an outline or in the shape of the quilts' bound."""
        size = float(profile.max())
        solved = self._solved
        if not solved:
            outline = self.outline(profile)
            if outline is not None:
                return outline
            solved = self._other._solved if self._other else []
        if not solved:
            return self.far(size).values / USUAL_GAIN
        near, solution = min(solved, key=lambda earlier: abs(np.log(earlier.most / size)))
        return np.asarray(solution * (size / near) ** USUAL_SLOPE)


def smallest_valid(step: Callable[[float], float], raised: float, valid: float) -> float:
    """A small D with step(D) ≤ D: one that a step does not raise is a bound for series of every length.

    ``valid`` is one, ``raised`` is none (or too small to matter); the valid end of a narrow bracket is returned.
    """

    def grown(difference: float) -> float:
        return math.log(step(difference) / difference)

    if valid - raised <= CLOSE * valid:
        return valid
    over, under = grown(raised), min(grown(valid), 0.0)
    if over <= 0:
        return raised
    moved = 0  # which end was moved last: one that stays counts for less (regula falsi, as in Illinois)
    while valid - raised > CLOSE * valid:
        width = math.log(valid / raised)
        share = min(max(over / (over - under), CLOSE / 2 / width), 1 - CLOSE / 2 / width)
        trial = raised * math.exp(share * width)
        found = grown(trial)
        if found <= 0:
            valid, under, over, moved = trial, found, over / 2 if moved < 0 else over, -1
        else:
            raised, over, under, moved = trial, found, under / 2 if moved > 0 else under, 1
    return valid


def _until(numbers: Iterator[int], wanted: Callable[[int], bool]) -> Iterator[int]:
    for number in numbers:
        if not wanted(number):
            return
        yield number


def on_both(work: Callable[[Given], Result], sides: tuple[Given, Given], *, states: int) -> tuple[Result, Result]:
    """The same work on the future and on the past: at the same time where it takes long, but is not itself parallel."""
    if not THREADS_FROM <= states <= MANY:
        onward, back = sides
        return work(onward), work(back)
    with ThreadPoolExecutor(2) as pool:
        future, past = pool.map(work, sides)
    return future, past
