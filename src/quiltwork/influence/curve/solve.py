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

MOST_ROUNDS = 24
STALLED = 2  # rounds that did not come nearer by half
MOST_REROUTED = 6
SMOOTH = 3e-2  # how near the solution routes are held fixed from
FIRST_LOOK = 1e-2  # how precise the first round is
MOST_PRECISE = 1e-8
SMALL_SYSTEM = 256  # unknowns: with fewer, a dense system is quicker
ROOM = tuple(1e-7 * 3.0**n for n in range(12))


@dataclass(frozen=True)
class Solution:
    """A guess at R, and at D = λ + R; what one step adds to that D, and how a step depends on it (I - ∂ step / ∂ D).

    ``settled`` says whether the rounds came to an end by themselves.
    """

    values: Floats
    difference: Floats
    residual: Floats
    ahead: Floats
    system: "csr_matrix | Floats"
    routes: Routes
    settled: bool

    @property
    def change(self) -> float:
        """How far, relatively, Newton's method would still go."""
        return float(np.abs(self.ahead).max(initial=0.0)) / max(float(self.values.max()), 1e-300)


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
        solution = self._newton(self.difference(near), known, near, max(precision, SMOOTH), None)
        for held in (True, False, True):
            if solution.change > precision:
                fixed = solution.routes if held else None
                tried = self._newton(solution.difference, known, solution.values, precision, fixed)
                solution = tried if tried.change < solution.change else solution
        for _ in range(MOST_REROUTED):
            before, routes = float(solution.values.max()), solution.routes
            if not self.shipments(solution.difference).shorter(routes, solution.values, precision):
                break
            solution = self._newton(solution.difference, known, solution.values, precision, routes)
            if float(solution.values.max()) > before * (1 - precision):
                break
        return solution

    def _newton(self, D: Floats, known: Floats, near: Floats, precision: float, routes: Routes | None) -> Solution:
        """Newton's method along fixed routes, or nearest first; the best guess if it stalls."""
        most = self.difference(known)
        look = min(FIRST_LOOK, float(self.profile.max()) / max(float(near.max()), 1e-300) / 30)
        best, since = None, 0
        for _ in range(MOST_ROUNDS):
            guess = self._stepped(D, known, near, look, routes)
            since = 0 if best is None or guess.change < 0.5 * best.change else since + 1
            best = guess if best is None or guess.change < best.change else best
            if guess.change <= precision or since >= STALLED:
                return best
            near = guess.values
            D = np.clip(D.ravel() + guess.ahead, 0.0, most.ravel()).reshape(D.shape)
            raised = float(np.abs(guess.residual).max()) / max(float(near.max()), 1e-300)
            look = max(min(look / 4, raised / 30), MOST_PRECISE)
        return replace(best or guess, settled=False)

    def _stepped(self, D: Floats, known: Floats, near: Floats, precision: float, routes: Routes | None) -> Solution:
        """One step from a D."""
        ways = Ways.of(D)
        shipments = Shipments.of(self.rows, ways.difference, self.groups)
        if routes is None:
            routes = Routes(known.size, len(self._members))
            claims = shipments.smallest(known, near=near, precision=precision, routes=routes)
        else:
            claims = shipments.along(routes, known, near=near, precision=precision)
        first, second = self._largest(self.profile + claims)
        weights = shipments.weights(routes, claims)
        if self._grouped:
            weights = weights[first * len(claims) + second]
        if not ways.direct:
            weights = weights @ ways.steps()
        small = D.size <= SMALL_SYSTEM
        system = np.eye(D.size) - weights.toarray() if small else _one_minus(weights)
        residual = np.where(first != second, (self.profile + claims)[first, second] - D.ravel(), 0.0)
        return Solution(claims, D, residual, _solve(system, residual), system, routes, True)

    def proved(self, solution: Solution, known: Floats) -> Floats | None:
        """The smallest enlargement of a solution that one step proves; None if none is.

        What a step raises is made up for, to first order, with a little room for every entry. What is not below the
        known bound is proved by the known bound.
        """
        top, within = float(solution.values.max()), np.ix_(self.groups, self.groups)
        alike = _solve(solution.system, np.ones(solution.difference.size)).reshape(solution.difference.shape)
        raised = _solve(solution.system, np.maximum(solution.residual, 0.0)).reshape(alike.shape)
        for room in ROOM:
            D = solution.difference + np.maximum(raised, 0.0) + (room * top + 2 * self.error) * alike
            claim = np.minimum(np.maximum(D[within] - self.profile, 0.0), known)
            np.fill_diagonal(claim, 0.0)
            shipments = self.shipments(self.difference(claim))
            if (shipments.holds(solution.routes, claim - self.error) | (claim >= known)).all():  # Statements 11 and 14
                return np.asarray(claim)
        return None

    def holds(self, claim: Floats, known: Floats) -> bool:
        """Whether one step, nearest first, proves a claim wherever it is below what is known."""
        shipments = self.shipments(self.difference(claim))
        return bool((shipments.prove(claim - self.error) | (claim >= known)).all())  # Statements 11 and 14

    def step(self, bound: Floats, precision: float) -> Floats:
        """One step from a bound: a bound again if that is valid."""
        stepped = self.shipments(self.difference(bound)).smallest(bound, near=0.999 * bound, precision=precision)
        return np.minimum(stepped + self.error * (1 - np.eye(len(bound))), bound)


def _one_minus(weights: "csr_matrix") -> "csr_matrix":
    from scipy.sparse import identity  # slow to import

    system: csr_matrix = identity(weights.shape[0], format="csr") - weights
    return system


def _solve(system: "csr_matrix | Floats", right: Floats) -> Floats:
    if isinstance(system, np.ndarray):
        return np.asarray(np.linalg.lstsq(system, right)[0])
    from scipy.sparse.linalg import gmres  # slow to import

    solution, _ = gmres(system, right, rtol=1e-2, restart=50, maxiter=8)
    return np.asarray(solution)


def alike(difference: Floats, most: int) -> Integers:
    """At most so many groups of states, such that within a group no two are far apart."""
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import
    from scipy.spatial.distance import squareform

    D = np.maximum(difference, difference.T)
    np.fill_diagonal(D, 0.0)
    tree = linkage(squareform(D, checks=False), method="complete")
    return np.asarray(fcluster(tree, most, criterion="maxclust"), dtype=np.int64) - 1
