"""The curve's equation R = step(λ + R), solved by Newton's method (Statement 43).

A chain that forgets slowly needs as many plain rounds as it needs steps to forget. But a step knows its own derivative:
∂ step[a,b] / ∂ D[y,z] is what the cheapest plan ships from y to z, priced. So each round solves a sparse linear system,
and a handful of rounds is enough at every time scale. What comes out is only a guess. ``Equation.proved`` keeps the
smallest enlargement of it that a step does not raise, in the direction in which every entry shrinks alike.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from quiltwork.influence.curve.transport import Routes, Shipments, Ways, shortest
from quiltwork.types import Floats, Integers

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import LinearOperator

MANY = 64  # states, from which on time counts for more than the last thousandths
MOST_ROUNDS = 24
STALLED = 2  # rounds that did not come nearer by half
NEARLY = 2.0  # how near, in units of the precision, is not worth other routes
MOST_REROUTED = 6
MOST_POLISHED = 3
SMOOTH = 3e-2  # how near the solution routes are held fixed from
FIRST_LOOK, FIRST_OF_MANY = 1e-2, 2.5e-3  # how precise the first round is
MOST_PRECISE = 1e-8
SMALL_SYSTEM = 256  # unknowns: with fewer, a dense system is quicker
CLOSE = 1e-2  # how well a system is solved, relatively: the next round mends what is left
LARGE_WEIGHT, FEW_WEIGHTS = 1e-3, 12  # which weights decide where a slow chain leads; the most for a pair
ROOM = tuple(1e-6 * 2.0**n for n in range(16))  # by how much a solution is enlarged, relatively, to be proved


@dataclass(frozen=True)
class Solution:
    """A guess at R, and at D = λ + R; what one step adds to that D, and how a step depends on it (I - ∂ step / ∂ D).

    ``look`` is how precise the step is; ``settled`` says whether the rounds came to an end by themselves.
    """

    values: Floats
    difference: Floats
    residual: Floats
    ahead: Floats
    system: "System"
    routes: Routes
    look: float
    settled: bool = True

    @property
    def change(self) -> float:
        """How far, relatively, Newton's method would still go."""
        return float(np.abs(self.ahead).max(initial=0.0)) / max(float(self.values.max()), 1e-300)

    @cached_property
    def raised(self) -> Floats:
        """To first order, what has to be added so that a step raises nothing."""
        return self.system.solve(np.maximum(self.residual, 0.0))

    @property
    def enlargement(self) -> float:
        """The same, relatively, at its largest."""
        return float(self.raised.max(initial=0.0)) / max(float(self.values.max()), 1e-300)


class Equation:
    """R = step(λ + R) for a kernel's rows, with D = λ + R by groups of states (each state by itself if not given).

    ``error`` bounds by how much a step with these rows may be off: what is proved has room for it.
    """

    def __init__(self, rows: Floats, profile: Floats, groups: Integers | None = None, *, error: float = 0.0):
        self.rows, self.profile, self.error = rows, profile, error
        self.groups = np.arange(len(rows)) if groups is None else groups

    @cached_property
    def _members(self) -> list[Integers]:
        return [np.flatnonzero(self.groups == g) for g in range(int(self.groups.max(initial=0)) + 1)]

    @property
    def _grouped(self) -> bool:
        return len(self._members) < len(self.rows)

    @property
    def _many(self) -> bool:
        return len(self.rows) > MANY

    def difference(self, bound: Floats) -> Floats:
        """D between groups: the largest λ + R of their states."""
        D = self.profile + bound
        np.fill_diagonal(D, 0.0)
        if not self._grouped:
            return D
        first, second = self._largest(D)
        return np.asarray(D[first, second].reshape(len(self._members), -1))

    def _largest(self, table: Floats) -> tuple[Integers, Integers]:
        """The pair of states with the largest entry, for each two groups."""
        k = len(table)
        if not self._grouped:
            return np.repeat(np.arange(k), k), np.tile(np.arange(k), k)
        pairs = []
        for members in self._members:
            rows = table[members]
            best = rows.argmax(axis=0)
            tops = rows[best, np.arange(k)]
            for others in self._members:
                column = others[int(tops[others].argmax())]
                pairs.append((members[best[column]], column))
        first, second = np.array(pairs).T
        return first, second

    def shipments(self, difference: Floats) -> Shipments:
        """Plans for one D between groups."""
        return Shipments.of(self.rows, shortest(difference), self.groups)

    def solved(self, known: Floats, start: Floats, precision: float) -> Solution:
        """Solve from a guess, to a relative precision; no entry above what is ``known``.

        Newton's method, shipping nearest first. Where that is no longer continuous, routes are held fixed, which makes
        the equation smooth; then they are replaced by shorter ones and it is solved again.
        """
        near = np.minimum(start, known)
        first_look = FIRST_OF_MANY if self._many and not self._grouped else FIRST_LOOK
        look = min(first_look, float(self.profile.max()) / max(float(near.max()), 1e-300) / 30)
        look = max(look, MOST_PRECISE)
        first = self._stepped(self.difference(near), known, near, look, None)
        solution = self._newton(first, known, max(precision, SMOOTH))
        along = False
        for held in (True, False, True):
            if solution.change <= (NEARLY * precision if self._many and not held else precision):
                break
            tried = self._newton(solution, known, precision, solution.routes if held else None)
            if tried.change < solution.change:
                solution, along = tried, held
        for _ in range(MOST_REROUTED if along else 0):
            before, routes = float(solution.values.max()), solution.routes
            lower = self.shipments(solution.difference).shorter(routes, solution.values, precision)
            if not (lower < solution.values).any():
                break
            again = self._stepped(solution.difference, known, solution.values, solution.look, routes)
            solution = self._newton(again, known, precision, routes)
            if float(solution.values.max()) > before * (1 - precision):
                break
        return solution

    def _newton(self, guess: Solution, known: Floats, precision: float, routes: Routes | None = None) -> Solution:
        """Newton's method along fixed routes, or nearest first; the best guess if it stalls."""
        best, since = guess, 0
        for _ in range(MOST_ROUNDS):
            if best.change <= precision or since >= STALLED:
                return best
            raised = float(np.abs(guess.residual).max()) / max(float(guess.values.max()), 1e-300)
            look = max(min(guess.look / 4, raised / 30), MOST_PRECISE)
            onward = self._onward(guess, known)
            guess = self._stepped(onward, known, self._within(onward, known), look, routes)
            since = 0 if guess.change < 0.5 * best.change else since + 1
            best = guess if guess.change < best.change else best
        return replace(best, settled=False)

    def onward(self, guess: Solution, known: Floats) -> Floats:
        """R where Newton's method goes from a guess."""
        return self._within(self._onward(guess, known), known)

    def _onward(self, guess: Solution, known: Floats) -> Floats:
        return np.clip(guess.difference + guess.ahead.reshape(guess.difference.shape), 0.0, self.difference(known))

    def _within(self, difference: Floats, known: Floats) -> Floats:
        """R from D between groups, no entry above what is known."""
        bound = np.minimum(np.maximum(difference[np.ix_(self.groups, self.groups)] - self.profile, 0.0), known)
        np.fill_diagonal(bound, 0.0)
        return bound

    def _stepped(self, D: Floats, known: Floats, near: Floats, look: float, routes: Routes | None) -> Solution:
        """One step from a D, looked at so closely."""
        ways = Ways.of(D)
        shipments = Shipments.of(self.rows, ways.difference, self.groups)
        if routes is None:
            routes = Routes(known.size, len(self._members))
            claims = shipments.smallest(known, near=near, precision=look, routes=routes)
        else:
            claims = shipments.along(routes, known, near=near, precision=look)
        first, second = self._largest(self.profile + claims)
        weights = shipments.weights(routes, claims)
        if self._grouped:
            weights = weights[first * len(claims) + second]
        if not ways.direct:
            weights = weights @ ways.steps()
        system = System(weights)
        residual = np.where(first != second, (self.profile + claims)[first, second] - D.ravel(), 0.0)
        return Solution(claims, D, residual, system.solve(residual), system, routes, look)

    def polished(self, solution: Solution, known: Floats, precision: float) -> Solution:
        """Looked at more closely, as long as what a step raises would have to be enlarged by more than the precision.

        A slow chain multiplies what a step is off by as often as it takes to forget it.
        """
        for _ in range(MOST_POLISHED):
            if solution.enlargement <= precision or solution.look <= MOST_PRECISE:
                break
            closer = max(solution.look * precision / solution.enlargement / 4, MOST_PRECISE)
            onward = self._onward(solution, known)
            tried = self._stepped(onward, known, self._within(onward, known), closer, solution.routes)
            if tried.enlargement > solution.enlargement:
                break
            solution = replace(tried, settled=solution.settled)
        return solution

    def proved(self, solution: Solution, known: Floats) -> Floats | None:
        """The smallest enlargement of a solution that one step proves; None if none is.

        What a step raises is made up for, to first order, with a little room for every entry. What is not below the
        known bound is proved by the known bound.
        """
        top = float(solution.values.max())
        alike = solution.system.solve(np.ones(solution.difference.size)).reshape(solution.difference.shape)
        raised = solution.raised.reshape(alike.shape)
        for room in ROOM:
            enough = room * top / max(float(alike.max()), 1.0) + 2 * self.error
            D = solution.difference + np.maximum(raised, 0.0) + enough * alike
            claim = self._within(D, known)
            if self.holds(claim, known, solution.routes):
                return claim
        return None

    def holds(self, claim: Floats, known: Floats, routes: Routes | None = None) -> bool:
        """Whether one step, by known routes or nearest first, proves a claim wherever it is below what is known.

        With few states routes that fail are not made up for: a larger claim leaves room to step down from.
        """
        asked = np.where(claim < known, claim - self.error, np.inf)
        return self.shipments(self.difference(claim)).hold(
            asked, routes, strictly=not self._many
        )  # Statements 11 and 14

    def step(self, bound: Floats, precision: float) -> Floats:
        """One step from a bound: a bound again if that is valid."""
        stepped = self.shipments(self.difference(bound)).smallest(bound, near=0.999 * bound, precision=precision)
        return np.minimum(stepped + self.error * (1 - np.eye(len(bound))), bound)


class System:
    """I - ∂ step / ∂ D, and what solves it.

    A plan leads a pair of states to other pairs as a walk would. A walk that mixes is solved by a few products; a slow
    one first where it goes with large weights, which leaves little to do for the rest.
    """

    def __init__(self, weights: "csr_matrix"):
        self._weights = weights

    def solve(self, right: Floats) -> Floats:
        """About what this turns into the right-hand side."""
        if len(right) <= SMALL_SYSTEM:
            return np.asarray(np.linalg.lstsq(self._dense, right)[0])
        from scipy.sparse.linalg import gmres  # slow to import

        solution, stopped = gmres(self._product, right, rtol=CLOSE, restart=20, maxiter=1)
        if stopped:
            solution, _ = gmres(self._product, right, x0=solution, rtol=CLOSE, restart=50, maxiter=4, M=self._by_large)
        return np.asarray(solution)

    @cached_property
    def _dense(self) -> Floats:
        return np.asarray(np.eye(self._weights.shape[0]) - self._weights.toarray())

    @cached_property
    def _product(self) -> "LinearOperator":
        from scipy.sparse.linalg import LinearOperator  # slow to import

        return LinearOperator(self._weights.shape, lambda x: x - self._weights @ x, dtype=np.float64)

    @cached_property
    def _by_large(self) -> "LinearOperator":
        """The solution with large weights alone."""
        from scipy.sparse import identity
        from scipy.sparse.linalg import LinearOperator, splu

        weights, least = self._weights, LARGE_WEIGHT
        while np.count_nonzero(weights.data >= least) > FEW_WEIGHTS * weights.shape[0]:
            least *= 2.0
        large = weights.copy()
        large.data[large.data < least] = 0.0
        large.setdiag(weights.diagonal())
        large.eliminate_zeros()
        return LinearOperator(weights.shape, splu((identity(weights.shape[0]) - large).tocsc()).solve)


def alike(difference: Floats, most: int) -> Integers:
    """At most this number of groups of states, such that within a group no two are far apart."""
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import
    from scipy.spatial.distance import squareform

    D = np.maximum(difference, difference.T)
    np.fill_diagonal(D, 0.0)
    tree = linkage(squareform(D, checks=False), method="complete")
    return np.asarray(fcluster(tree, most, criterion="maxclust"), dtype=np.int64) - 1
