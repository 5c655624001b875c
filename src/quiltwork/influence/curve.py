"""The influence curve of a chain (theory section 5): from a profile λ to a Pufferfish guarantee.

    ε = max over a ≠ b of  λ(a,b) + R(a,b) + L(a,b)

R bounds what the future tells about a value beyond the value itself, L what the past does. Both are bounds for series
of every length: any R that one more step does not increase is valid, since the true one is 0 at the last value and the
step is monotone. So a bound is approached from above (from the quilts' bound, where every iterate is valid), and a
guess below it is kept only if a step proves it.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs.chain import MarkovChain
from quiltwork.influence.contraction import (
    LARGEST_DIFFERENCE,
    Kernel,
    Shipments,
    cross_ratios,
    projective_step,
    scalar_step,
    shortest,
)
from quiltwork.influence.kernels import TINY
from quiltwork.influence.tables import UNIT_ROUNDOFF, ChainTables

Floats = NDArray[np.float64]
SKIPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
PAIRWISE_UP_TO = 80  # states; more would take long
CLOSE = 1e-6  # a relative change too small to matter
MOST_ROUNDS = 40


@dataclass(frozen=True)
class CurvePoint:
    """The guarantee of a constant profile, with the matrices that prove it."""

    epsilon: float
    future: Floats
    past: Floats
    pair: tuple[int, int]
    future_at_pair: float
    past_at_pair: float


class InfluenceCurve:
    """Evaluates profiles that are the same at every time, for one chain and series of every length.

    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> count = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> round(InfluenceCurve(chain).at(count / 3.33641).epsilon, 4)
    1.0
    """

    def __init__(self, chain: MarkovChain):
        self.chain = chain
        alive = chain.stationary > 0 if chain.start == "stationary" else np.ones(len(chain.states), dtype=bool)
        self._alive = np.flatnonzero(alive)
        P = chain.transition[np.ix_(self._alive, self._alive)]
        self._future = _Side(P, error=8 * UNIT_ROUNDOFF)
        self._past: _Side | _AnyPast
        if chain.start == "stationary":
            pi = chain.stationary[self._alive]
            # the reversed chain's entries carry the error of the stationary law
            self._past = _Side(pi[None, :] * P.T / pi[:, None], error=16 * (len(P) ** 3 + 1) * UNIT_ROUNDOFF)
        else:
            self._past = _AnyPast(P)

    def at(self, profile: Floats) -> CurvePoint:
        """The guarantee under the profile λ(y, y')."""
        own = profile[np.ix_(self._alive, self._alive)]
        with ThreadPoolExecutor(2) as pool:
            R, L = pool.map(lambda side: side.bound(own), (self._future, self._past))
        total = own + R + L
        np.fill_diagonal(total, 0.0)
        a, b = np.unravel_index(int(np.argmax(total)), total.shape)
        pair = (int(self._alive[a]), int(self._alive[b]))
        return CurvePoint(float(total[a, b]) * (1 + 1e-12), R, L, pair, float(R[a, b]), float(L[a, b]))


class _Side:
    """R (or L) for one kernel: the future, or the past of a stationary chain.

    ``error`` bounds by how much a log-ratio of the kernel's entries may be off; every step adds it.
    """

    def __init__(self, P: Floats, *, error: float):
        self._error = error
        self._rows = np.ascontiguousarray(P)
        self._tables = ChainTables(self._rows)
        self._skips: list[tuple[int, Kernel]] = []
        self._rough: Floats | None = None  # the last solution, per unit of the largest λ

    def bound(self, profile: Floats) -> Floats:
        """Valid for every length; infinite entries where the chain never forgets."""
        R = self._scalar(profile, self._quilts(profile))
        if len(R) <= PAIRWISE_UP_TO and len(R) > 2:
            R = self._pairwise(profile, R)
        return R

    def _quilts(self, profile: Floats) -> Floats:
        """R ≤ (m - 1) max λ + F_m for every m: the quilts' bound, pair by pair."""
        most = float(profile.max())
        best = np.full(self._rows.size, np.inf)
        span = 16
        while True:
            self._tables.extend(span)
            distances = self._tables.distances
            best = np.min(
                self._tables.right(len(distances)) + (distances[:, None] - 1) * most + distances[:, None] * self._error,
                axis=0,
            )
            largest = best.max()
            if most == 0 or distances[-1] * most > largest or distances[-1] > 2**20:
                break
            if largest > LARGEST_DIFFERENCE and not self._tables.forgets(_off_diagonal(len(profile))):
                break
            span = 2 * int(distances[-1])
        found = best.reshape(self._rows.shape).copy()
        np.fill_diagonal(found, 0.0)
        return np.asarray(found)

    def _kernels(self, most: float, worst: float) -> list[tuple[int, Kernel]]:
        """Powers of the kernel worth trying: skipping m steps costs (m - 1) max λ."""
        for m in SKIPS[len(self._skips) :]:
            if (m - 1) * most > worst:
                break
            self._skips.append((m, Kernel(np.linalg.matrix_power(self._rows, m))))
        return self._skips

    def _scalar(self, profile: Floats, R: Floats) -> Floats:
        """The scalar step and its skips, which need one number: the largest D = λ + R.

        A D that the steps do not raise is valid; bisection finds a small one and returns the side that is.
        """
        most = float(profile.max())
        valid = float((profile + R).max())
        if most == 0 or valid > LARGEST_DIFFERENCE:
            return R
        kernels = self._kernels(most, valid)

        def steps(difference: float) -> Floats:
            # 1e-12 m: the rounding of the power
            found = [
                (m - 1) * most + scalar_step(kernel, difference) + (1e-12 + self._error) * m for m, kernel in kernels
            ]
            return np.asarray(np.minimum(R, np.min(found, axis=0)))

        return steps(_smallest_valid(lambda d: float((profile + steps(d)).max()), most, valid))

    def _pairwise(self, profile: Floats, R: Floats) -> Floats:
        """The pairwise step: find its solution roughly, keep the smallest enlargement of it that a step proves."""
        size = float(profile.max())
        if size == 0 or not np.all(R < LARGEST_DIFFERENCE):
            return R
        rough = self._rough_solution(profile, R, size)
        for enlarged in (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3):
            guess = np.minimum(R, rough + enlarged * (rough + rough.max()))
            np.fill_diagonal(guess, 0.0)
            if self._proves(profile, guess):
                for _ in range(2):  # from a valid bound every step leads to a valid one
                    shipments = Shipments.of(self._rows, shortest(profile + guess))
                    tighter = shipments.smallest(guess, near=0.99 * guess, precision=1e-3)
                    guess = np.minimum(guess, tighter + self._error)
                    np.fill_diagonal(guess, 0.0)
                return np.asarray(guess)
        return R

    def _rough_solution(self, profile: Floats, R: Floats, size: float) -> Floats:
        """Iterate from the last solution, or from 0, going ahead now and then to where shrinking steps lead."""
        rough = np.zeros_like(R) if self._rough is None else np.minimum(R, self._rough * size)
        before = np.inf
        for n in range(1, MOST_ROUNDS):
            new = Shipments.of(self._rows, shortest(profile + rough)).smallest(R, near=rough, precision=3e-4)
            step = new - rough
            change = float(np.abs(step).max())
            rate = min(change / before, 0.95) if before > 0 else 0.0
            ahead = rate / (1 - rate) if n % 4 == 0 else 0.0
            rough, before = np.clip(new + ahead * step, 0.0, R), np.inf if ahead else change
            if change <= 3e-3 * float(new.max()) and n > 2:
                break
        self._rough = rough / size
        return np.asarray(rough)

    def _proves(self, profile: Floats, guess: Floats) -> bool:
        """Whether one more step does not increase the guess."""
        return bool(Shipments.of(self._rows, shortest(profile + guess)).prove(guess - self._error).all())


class _AnyPast:
    """L for every start at once: the projective step on columns, where the prior cancels."""

    def __init__(self, P: Floats):
        self._powers = [P]
        self._support = P > 0
        self._ratios = [cross_ratios(np.ascontiguousarray(P.T)) + 1e-12]

    def bound(self, profile: Floats) -> Floats:
        """Valid for every length and every start; infinite where some columns never become comparable."""
        most = float(profile.max())
        unbounded = np.where(np.eye(len(profile), dtype=bool), 0.0, np.inf)
        if most == 0:
            return unbounded
        L = unbounded
        skips = [m - 1 for m in SKIPS]
        # D = ∞ in the step: skipping m steps leaves the cross-ratio of the m-th power
        for skipped in skips:
            if skipped * most < float(L.max()):
                L = np.minimum(L, skipped * most + self._ratio(skipped))
        if not np.isfinite(L).all():
            return L
        valid = float((profile + L).max())

        def steps(difference: float) -> Floats:
            return np.asarray(np.min([m * most + projective_step(self._ratio(m), difference) for m in skips], axis=0))

        found = _smallest_valid(lambda d: float((profile + np.minimum(L, steps(d))).max()), most, valid)
        return np.asarray(np.minimum(L, steps(found)))

    def _ratio(self, skipped: int) -> Floats:
        while skipped >= len(self._ratios):
            self._powers.append(self._powers[-1] @ self._powers[0])
            self._support = (self._support.astype(np.float64) @ self._powers[0]) > 0
            power = np.ascontiguousarray(self._powers[-1].T)
            ratio = cross_ratios(power) + 1e-12 * len(self._powers)
            # an entry too small to trust, which may have underflowed to 0: nothing is claimed for its state
            lost = (self._support & (self._powers[-1] < TINY)).any(axis=0)
            ratio[lost, :] = ratio[:, lost] = np.inf
            np.fill_diagonal(ratio, 0.0)
            self._ratios.append(ratio)
        return self._ratios[skipped]


def _smallest_valid(step: Callable[[float], float], raised: float, valid: float) -> float:
    """A small D with step(D) ≤ D: one that a step does not raise is a bound for series of every length.

    ``valid`` is one, ``raised`` is none (or too small to matter); the valid end of a narrow bracket is returned.
    """
    while valid - raised > CLOSE * valid:
        middle = (valid * raised) ** 0.5
        if step(middle) <= middle:
            valid = middle
        else:
            raised = middle
    return valid


def _off_diagonal(states: int) -> NDArray[np.bool_]:
    return np.asarray(~np.eye(states, dtype=bool).ravel())
