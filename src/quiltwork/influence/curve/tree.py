"""The influence curve along the edges of a tree (Statement 15).

Where no variable has two parents, the branches that meet in X_i are independent of each other given X_i. Let λ_j(y,y')
bound how much everything released changes, in log, when X_j alone goes from y to y'. For a neighbour j of i let

    R_ij(a,b) = max over v of  log (K[a]·v) / (K[b]·v),   v[y] / v[y'] ≤ exp(λ_j(y,y') + Σ R_jl(y,y'))

with K[a,y] = P(X_j = y | X_i = a), upwards as downwards, and l the neighbours of j other than i. Then

    ε = max over i and a ≠ b of  λ_i(a,b) + Σ over neighbours j of R_ij(a,b)

*Why.* Swap X_i's own value, then branch by branch what hangs on it; in a branch, condition on X_j. As on chains, one
may skip to any variable t of a branch: everything in the branch that is not t or beyond it costs its whole weight, and
K is then that of X_t given X_i. Against adversaries who know other values, cross-ratios of K take the place of K: what
is known elsewhere multiplies columns of K or cuts branches off, and neither makes a cross-ratio larger. (They may skip
variables without side branches only: a known value there would change K itself.)
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs import BayesianNetwork, SecretPairs
from quiltwork.beliefs.graph import Graph
from quiltwork.errors import NotCoveredError
from quiltwork.influence.curve.steps import Kernel, cross_ratios, pairwise_step, projective_step, scalar_step
from quiltwork.types import Floats, Guarantee

SMALLEST = 1e-280
MOST_TARGETS = 32  # of one branch that are tried
ROUNDING = 1e-13
UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class NetworkLoss:
    """Where a network shows most: the variable, the two states, what the value itself shows, and what others do.

    On a tree ``branches`` are the neighbours and what each contributes; elsewhere ``clique`` are the variables that it
    was looked at together with, and ``coarse`` says how many cliques had too many states for every two of them.
    """

    epsilon: float
    node: int
    pair: tuple[int, int]
    own: float
    branches: tuple[tuple[int, float], ...] = ()
    clique: tuple[int, ...] = ()
    coarse: int = 0
    reveals: tuple[float, ...] = ()
    """How much less would be told without each variable, where that was looked at."""


class TreeCurve:
    """A forest prepared for many profiles.

    >>> chain = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"},
    ...                         tables={"x": [0.5, 0.5], "y": [[0.9, 0.1], [0.1, 0.9]]})
    >>> flips = 0.5 * (1 - np.eye(2))
    >>> round(TreeCurve(chain).at([flips, flips]).epsilon, 6)
    0.897003
    """

    def __init__(self, network: BayesianNetwork, *, guarantee: Guarantee = "pufferfish"):
        if not network.graph.forest:
            crowded = next(n for n, parents in enumerate(network.graph.parents) if len(parents) > 1)
            raise NotCoveredError(
                "the influence curve needs a tree",
                got=f"{list(network.variables)[crowded]!r} with {len(network.graph.parents[crowded])} parents",
                why="parents become dependent on each other once their child is known",
                fix="Use quilt-exact",
            )
        self._graph, self._promise = network.graph, guarantee
        self._kernels, self._alive, self._laws = _kernels(network)
        # marginals and kernels are sums of products of positive numbers: each rounds, in both rows of a step
        most = max(map(len, self._alive)) + 1
        self._error = 8 * most * (len(self._alive) + MOST_TARGETS) * UNIT_ROUNDOFF

    def at(self, profile: Sequence[Floats], secret: SecretPairs | None = None) -> NetworkLoss:
        """ε of everything released under a profile, one matrix a variable; about what is secret."""
        matrices = [matrix[np.ix_(alive, alive)] for matrix, alive in zip(profile, self._alive, strict=True)]
        branches = _Branches(self._graph, [float(matrix.max(initial=0.0)) for matrix in matrices])
        bounds: dict[Edge, Floats] = {}
        for edge in branches.weights:  # branches inside others come first
            bounds[edge] = self._step(edge, matrices, branches, bounds)
        worst = NetworkLoss(0.0, 0, (0, 0), 0.0)
        for i, matrix in enumerate(matrices):
            if len(matrix) < 2:
                continue
            parts = [(j, bounds[i, j]) for j in self._graph.neighbours[i]]
            total = (matrix + sum(part for _, part in parts)) * (1 + ROUNDING)  # Statement 15
            if secret is not None and not secret.everything:
                total = self._about(i, total, secret)
            np.fill_diagonal(total, -1.0)
            a, b = (int(n) for n in np.unravel_index(np.argmax(total), total.shape))
            if total[a, b] > worst.epsilon:
                pair = (int(self._alive[i][a]), int(self._alive[i][b]))
                shown = tuple((j, float(part[a, b])) for j, part in parts)
                worst = NetworkLoss(float(total[a, b]), i, pair, float(matrix[a, b]), shown)
        return worst

    def _about(self, node: int, total: Floats, secret: SecretPairs) -> Floats:
        """What is told between pairs that are secret; what is told about sets stands at a pair of their states."""
        alive = self._alive[node]
        kept = np.where(secret.pairs[node][np.ix_(alive, alive)], total, -1.0)  # Statement 61
        for one, other in secret.sets[node]:
            sides = one[alive], other[alive]
            both = np.where(np.outer(*sides) | np.outer(*sides[::-1]), total, -1.0)
            a, b = np.unravel_index(int(np.argmax(both)), both.shape)
            loss = float(both[a, b])
            if loss > 0 and self._promise == "pufferfish":
                from quiltwork.influence.curve.cliques import between_sets  # it builds on this module

                loss = min(loss, between_sets(self._laws[node], *sides, total) + self._error)  # Statement 62
            kept[a, b] = max(kept[a, b], loss)
        return np.asarray(kept)

    def _step(
        self, edge: "Edge", matrices: Sequence[Floats], branches: "_Branches", bounds: dict["Edge", Floats]
    ) -> Floats:
        """R_ij: by conditioning on X_j, and on variables beyond it where that may help."""
        i, j = edge
        best = branches.weights[edge] * (1.0 - np.eye(len(self._alive[i])))  # all of the branch together
        waiting = [(edge, 0.0, self._kernels[edge])]
        for _ in range(MOST_TARGETS):
            if not waiting:
                break
            (before, target), skipped, K = waiting.pop(0)
            onward = [n for n in self._graph.neighbours[target] if n != before]
            inner = np.asarray(matrices[target] + sum(bounds[target, n] for n in onward))
            step = skipped + self._one(K, inner, thorough=target == j) + self._error  # Statement 15
            np.fill_diagonal(step, 0.0)
            best = np.minimum(best, step)
            if self._promise == "bayesian" and len(onward) > 1:  # Statement 20
                break  # what is known of a side branch would change the kernel to what lies beyond it
            passed = [(n, skipped + branches.all_but(target, (before, n))) for n in onward]
            waiting += [
                ((target, n), cost, K @ self._kernels[target, n]) for n, cost in passed if cost < best.max(initial=0.0)
            ]
        return best

    def _one(self, K: Floats, difference: Floats, *, thorough: bool) -> Floats:
        largest = float(difference.max(initial=0.0))
        if self._promise == "bayesian":
            return projective_step(cross_ratios(K), largest)  # Statement 20
        known = scalar_step(Kernel.of(K), largest)
        return pairwise_step(K, difference, known=known) if thorough and len(difference) > 1 else known


Edge = tuple[int, int]
"""From a variable into one of its branches: the variable, and its neighbour there."""


class _Branches:
    """How much the variables of each branch can change everything released, together."""

    def __init__(self, graph: Graph, heights: Sequence[float]):
        self._graph, self._heights = graph, heights
        self.weights: dict[Edge, float] = {}
        for i, j in self._edges():
            self.weights[i, j] = self.all_but(j, (i,))

    def all_but(self, node: int, left_out: Sequence[int]) -> float:
        """A variable with all its branches but some."""
        rest = (self.weights[node, n] for n in self._graph.neighbours[node] if n not in left_out)
        return math.fsum([self._heights[node], *rest]) * (1 + ROUNDING)

    def _edges(self) -> Iterator[Edge]:
        """Every edge in both directions, those out of j before those that lead into it."""
        order = self._graph.order
        for child in reversed(order):
            for parent in self._graph.parents[child]:
                yield parent, child
        for child in order:
            for parent in self._graph.parents[child]:
                yield child, parent


def _kernels(
    network: BayesianNetwork,
) -> tuple[dict[tuple[int, int], Floats], list[NDArray[np.intp]], list[Floats]]:
    """P(X_j | X_i) along every edge in both directions, over the states that can occur; which can; their laws."""
    names = list(network.variables)
    laws: dict[int, Floats] = {}
    possible: dict[int, NDArray[np.bool_]] = {}
    for node in network.graph.order:
        table = network.tables[names[node]]
        parents = network.graph.parents[node]
        laws[node] = laws[parents[0]] @ table if parents else table
        possible[node] = np.asarray((table[possible[parents[0]]] > 0).any(axis=0) if parents else table > 0)
        if laws[node][possible[node]].min() < SMALLEST:
            raise NotCoveredError(
                "the influence curve needs probabilities that can be represented",
                got=f"a state of {names[node]!r} with less than {SMALLEST:g}",
                why="a state that counts as impossible would go unprotected",
                fix="Leave such states out, or use group",
            )
    alive = [np.flatnonzero(possible[n]) for n in range(len(names))]
    kernels = {}
    for child, parents in enumerate(network.graph.parents):
        for parent in parents:
            down = network.tables[names[child]][np.ix_(alive[parent], alive[child])]
            joint = laws[parent][alive[parent], None] * down
            kernels[parent, child] = down
            kernels[child, parent] = np.ascontiguousarray((joint / laws[child][None, alive[child]]).T)
    return kernels, alive, [laws[n][alive[n]] for n in range(len(names))]
