"""The influence curve of a cycle (Statement 55): each time of the cycle has a kernel, and bounds, of its own.

    R_t = step with the kernel of time t of (λ + R_{t+1}),   t going round

For a profile that is the same at every time, matrices R_t that no step round the cycle raises bound series of every
length that begin at any time. They are found by going round until they settle, made a little larger, and proved by one
more round. Elsewhere (profiles that change) the kernel of a step may be that of any time of the cycle.
"""

from collections.abc import Callable
from copy import copy

import numpy as np

from quiltwork.beliefs.cycle import CycleChain
from quiltwork.compiled import njit
from quiltwork.influence.curve.bridges import _plans
from quiltwork.influence.curve.ratios import CrossRatioSide
from quiltwork.influence.curve.sides import POWER_ERROR, Bound, Frontier, Side, skips
from quiltwork.influence.curve.steps import Kernel, cross_ratios, outermost, scalar_step
from quiltwork.influence.curve.transport import LARGEST_DIFFERENCE, MARGIN, _least, _ship, _shorten, _space
from quiltwork.influence.quilts.kernels import TINY
from quiltwork.influence.quilts.tables import UNIT_ROUNDOFF
from quiltwork.types import Flags, Floats

MOST_ROUNDS = 400
CLOSE, PRECISION = 1e-4, 1e-5  # relative change of a round that is too small to matter; of one step
ROOM = tuple(2e-5 * 2.0**n for n in range(14))  # by how much bounds are enlarged, relatively, to be proved
LONGEST = 2**20


class Round:
    """Kernels round a cycle, in the order in which they are walked, and their products."""

    def __init__(self, kernels: Floats):
        self.kernels = np.ascontiguousarray(kernels)
        self._products = {1: self.kernels}
        self._supports = {1: self.kernels > 0}

    def product(self, skip: int) -> Floats:
        """From each time, that many transitions on."""
        if skip not in self._products:
            half = skip // 2
            first, then = self.product(half), self.product(skip - half)
            there = (np.arange(len(self.kernels)) + half) % len(self.kernels)
            self._products[skip] = first @ then[there]
            S, U = self._supports[half].astype(np.float64), self._supports[skip - half][there]
            self._supports[skip] = (S @ U) > 0
        return self._products[skip]

    def lost(self, skip: int) -> Flags:
        """By time and state: whether the product has an entry too small to trust, of its row."""
        product = self.product(skip)
        return np.asarray((self._supports[skip] & (product < TINY)).any(axis=2))


class CycleSide(Side):
    """The future of a cycle, or its past with the law that repeats."""

    def __init__(self, kernels: Floats, *, error: float, possible: Flags, backwards: bool = False):
        super().__init__(kernels.shape[1])
        self._secret = possible[:, :, None] & possible[:, None, :]
        self.round = Round(kernels[::-1] if backwards else kernels)  # in the order of the walk
        self.error = error
        self._backwards = backwards
        self._bounds: tuple[bytes, Floats] | None = None
        self._last: tuple[float, Floats] | None = None

    def afresh(self, other: Side | None = None) -> "CycleSide":  # noqa: ARG002 - it guesses by itself
        """Without the last bounds."""
        side = copy(self)
        side._bounds = side._last = None
        return side

    def cross_ratio(self) -> float:
        """The largest of any time."""
        return max(float(cross_ratios(kernel).max()) for kernel in self.round.kernels)

    def _kernels(self, skip: int) -> list[Kernel]:
        return [Kernel.of(rows) for rows in self.round.product(skip)]

    def prepare(self, skip: int) -> Callable[[float], Floats]:
        """The largest scalar step of any time."""
        kernels = self._kernels(skip)
        return lambda difference: np.asarray(np.max([scalar_step(k, difference) for k in kernels], axis=0))

    def frontiers(self, skip: int) -> list[Frontier]:
        """The outermost points of all sets of next states, at any time."""
        sets = [kernel.best_sets() for kernel in self._kernels(skip)]
        above, below = outermost(np.concatenate([p for p, _ in sets]), np.concatenate([q for _, q in sets]))
        return [Frontier(skip, above, below, np.nan, (POWER_ERROR + self.error) * skip)]

    def hopeless(self, skip: int) -> bool:
        """Beyond some days nothing more is forgotten."""
        return skip > max(256, 8 * len(self.round.kernels))

    def one(self, difference: Floats, node: int | None = None, near: Floats | None = None) -> Bound:  # noqa: ARG002 - any time
        """The largest pairwise step of any time."""
        most = float(difference.max())
        ones = np.ones(difference.shape, dtype=np.int64)
        if most > LARGEST_DIFFERENCE:
            return Bound(self.step(1, most), ones)
        values = np.zeros((1, *difference.shape))
        known = most * (1 - np.eye(self.states))
        for kernel in self.round.kernels:
            _go_round(kernel[None], difference[None], known[None], values, PRECISION, values)
        bounds = values[0] * (1 + 1e-12) + (self.error + MARGIN) * (1 - np.eye(self.states))
        return Bound(np.minimum(bounds, known), ones)  # Statement 11

    def bound(self, profile: Floats, *, thorough: bool = False) -> Bound:  # noqa: ARG002 - always alike
        """The largest bound of any time, and that of each."""
        walked = self.by_time(profile)
        ordered = walked[::-1] if self._backwards else walked
        by_time = np.where(self._secret, ordered, 0.0)  # what cannot occur at a time is no secret then
        return Bound(walked.max(axis=0), np.ones(profile.shape, dtype=np.int64), by_time=by_time)

    def steady(self, profile: Floats, *, thorough: bool = False) -> Bound:  # noqa: ARG002 - nothing is proved by it
        """What a single step does not raise, whatever the time: not looked for."""
        values = np.where(np.eye(self.states, dtype=bool), 0.0, np.inf if profile.any() else 0.0)
        return Bound(values, np.ones(profile.shape, dtype=np.int64))

    def by_time(self, profile: Floats) -> Floats:
        """R_t in the order of the walk, for series of every length; infinite where it never forgets."""
        if self._bounds is None or self._bounds[0] != profile.tobytes():
            self._bounds = profile.tobytes(), self._by_time(profile)
        return self._bounds[1]

    def _by_time(self, profile: Floats) -> Floats:
        most = float(profile.max())
        far = self._far(most)
        if most == 0 or not far.max() <= LARGEST_DIFFERENCE:
            return far
        guess = np.zeros_like(far)
        if self._last is not None:
            guess = np.minimum(self._last[1] * min(most / self._last[0], 1.0), far)  # from below
        before = guess.max()
        for _ in range(MOST_ROUNDS):
            _go_round(self.round.kernels, np.repeat(profile[None], len(far), 0), far, guess, PRECISION, guess)
            if abs(guess.max() - before) <= CLOSE * guess.max():
                break
            before = guess.max()
        self._last = most, guess.copy()
        proved = self._proved(profile, guess, far)
        return far if proved is None else proved

    def _proved(self, profile: Floats, guess: Floats, far: Floats) -> Floats | None:
        """The smallest enlargement of a guess that one round does not raise; None if none is."""
        off = 1 - np.eye(self.states)
        for room in ROOM:
            claim = np.minimum(guess * (1 + room) + (room * guess.max() + 2 * self.error) * off, far)
            onward = np.roll(claim, -1, axis=0)
            if _holds_round(self.round.kernels, profile, onward, claim - self.error, claim >= far):  # Statements 11, 14
                return np.asarray(claim)
        return None

    def _far(self, most: float) -> Floats:
        """With D = ∞, at each time: what is m transitions away may be anything (Statement 12)."""
        off = ~np.eye(self.states, dtype=bool)
        best = np.where(off, np.inf, 0.0)[None].repeat(len(self.round.kernels), 0)
        for m in skips():
            if (m - 1) * most >= best.max() or self.hopeless(m) or m > LONGEST:
                break
            product, lost = self.round.product(m), self.round.lost(m)
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(product)
                ratios = logs[:, :, None, :] - logs[:, None, :, :]
            telling = np.where(np.isnan(ratios), -np.inf, ratios).max(axis=3)
            telling = np.maximum(telling, 0.0) + (POWER_ERROR + self.error) * m
            telling[lost[:, :, None] | lost[:, None, :]] = np.inf
            best = np.minimum(best, np.where(off, (m - 1) * most + telling, 0.0))
            if most == 0 and best.max() < 1e-9:
                break
        return np.asarray(best)


class AnyCyclePast(CrossRatioSide):
    """The past of a cycle with any start: the largest cross-ratios of columns at any time."""

    def __init__(self, kernels: Floats):
        super().__init__(kernels.shape[1])
        self.round = Round(kernels)

    def ratios(self, skip: int) -> Floats:
        """Of the columns; nothing is claimed for states with an entry too small to trust."""
        product = self.round.product(skip)
        largest = np.zeros((self.states, self.states))
        for table in product:
            ratios = cross_ratios(np.ascontiguousarray(table.T))  # Statement 13
            lost = ((table > 0) & (table < TINY)).any(axis=0)
            ratios[lost, :] = ratios[:, lost] = np.inf
            largest = np.maximum(largest, ratios)
        if self.round.lost(skip).any():
            largest[:] = np.inf
        np.fill_diagonal(largest, 0.0)
        return largest

    def hopeless(self, skip: int) -> bool:
        """Beyond some days nothing more is forgotten."""
        return skip > max(256, 8 * len(self.round.kernels))


def cycle_sides(belief: CycleChain) -> tuple[CycleSide, Side]:
    """Both sides of a cycle, over the states that can occur at some time."""
    alive = belief.possible_states()
    P = belief.transitions[:, alive][:, :, alive]
    n, k, _ = P.shape
    if belief.start == "any":
        return CycleSide(P, error=8 * UNIT_ROUNDOFF, possible=np.ones((n, k), dtype=bool)), AnyCyclePast(P)
    law = belief.law[:, alive]
    before, after = np.roll(law, 1, axis=0), np.roll(law, -1, axis=0)
    joint = before[:, :, None] * np.roll(P, 1, axis=0)  # time t: from z at t - 1 to x at t
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = (joint / law[:, None, :]).transpose(0, 2, 1)
    onward, possible = P.copy(), law > 0
    # what cannot occur is no secret: any row will do
    rows[~possible] = np.repeat(before[:, None, :], k, 1)[~possible]
    onward[~possible] = np.repeat(after[:, None, :], k, 1)[~possible]
    error = 32 * (k**3 + n * (k + 4)) * UNIT_ROUNDOFF
    future = CycleSide(onward, error=8 * UNIT_ROUNDOFF, possible=possible)
    return future, CycleSide(rows, error=error, possible=possible, backwards=True)


def against_all_sides(belief: CycleChain) -> tuple[Side, Side]:
    """The same by cross-ratios alone, whatever else is known (Statement 20)."""
    alive = belief.possible_states()
    P = belief.transitions[:, alive][:, :, alive]
    return AnyCyclePast(P.transpose(0, 2, 1)[::-1]), AnyCyclePast(P)


@njit(cache=True, nogil=True)
def _go_round(kernels: Floats, profile: Floats, known: Floats, guess: Floats, precision: float, bounds: Floats) -> None:
    """One step at each time, last time first: from λ + the bound of the next time.

    With a single kernel the profile is D itself, and the largest of what stands there and the step is kept.
    """
    n, k, _ = kernels.shape
    kinds, hops, lengths = np.arange(k), np.zeros((k, k), dtype=np.int32), np.empty((k, k))
    nowhere = np.empty(0, dtype=np.int16), np.empty(0, dtype=np.int16), np.int64(0)
    space = _space(k)
    for t in range(n - 1, -1, -1):
        for y in range(k):
            for z in range(k):
                lengths[y, z] = profile[t, y, z] + (bounds[(t + 1) % n, y, z] if n > 1 else 0.0) if y != z else 0.0
        _shorten(lengths, hops)  # Statement 37
        most = lengths.max()
        plans = _plans(lengths, kinds)
        for a in range(k):
            for b in range(k):
                if a == b:
                    continue
                limit, least = min(most, known[t, a, b]), bounds[t, a, b] if n == 1 else 0.0
                near = min(max(guess[t, a, b], 0.02 * most), limit)
                claim, _ = _least(kernels[t, a], kernels[t, b], limit, near, precision, plans, nowhere, space)
                bounds[t, a, b] = max(claim, least)


@njit(cache=True, nogil=True)
def _holds_round(kernels: Floats, profile: Floats, onward: Floats, claim: Floats, granted: Flags) -> bool:
    """Whether one step at each time, nearest first, proves every claim that is not granted."""
    n, k, _ = kernels.shape
    kinds, hops, lengths, space = np.arange(k), np.zeros((k, k), dtype=np.int32), np.empty((k, k)), _space(k)
    for t in range(n):
        for y in range(k):
            for z in range(k):
                lengths[y, z] = profile[y, z] + onward[t, y, z] if y != z else 0.0
        _shorten(lengths, hops)  # Statement 37
        plans = _plans(lengths, kinds)
        for a in range(k):
            for b in range(k):
                if a == b or granted[t, a, b]:
                    continue
                ratio = np.exp(claim[t, a, b]) * (1.0 - MARGIN)
                if not _ship(kernels[t, a], kernels[t, b], ratio, plans, space)[0] >= 0.0:
                    return False
    return True
