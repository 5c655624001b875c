"""The influence curve on any network, along its tree of cliques (Statement 50).

A network is a tree of cliques: sets of variables such that what two of them share is shared by all between them, and
given what two neighbours share both sides of the tree are independent. Let λ_v(y,y') bound how much everything
released changes, in log, when variable v alone goes from y to y'. For laws p, q and differences D let

    transport(p, q; D) = log of the least t for which  γ ≥ 0,  Σ_j γ(i,j) = p_i,  Σ_i γ(i,j) e^{D(i,j)} ≤ t q_j

exists. A clique C tells about what it shares with a neighbour, σ against σ', through its other variables r and through
what lies beyond it

    R_C(σ,σ') = transport(P(r|σ), P(r|σ'); D),   D = Σ over v in r of λ_v + Σ over other neighbours of their R

and with all neighbours' R at a clique that has X_i, over states c of the whole clique,

    ε = max over i, a ≠ b of  transport(P(c|X_i=a), P(c|X_i=b); Σ over v in C of λ_v + Σ over neighbours of their R) .

Messages in both directions serve all variables. D is never more than all λ together, so this is never worse than group
privacy. Where a clique has too many states, one difference for all that is not alike takes the place of D.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quiltwork.beliefs import BayesianNetwork
from quiltwork.errors import NotCoveredError
from quiltwork.influence.curve.transport import MARGIN, _least, _space
from quiltwork.influence.quilts.inference import SMALLEST, Inference
from quiltwork.numeric import in_threads, njit
from quiltwork.types import Floats, Integers

PRECISION = 1e-6  # of one transport, relatively
PARALLEL_FROM = 20_000  # pairs of states of a clique: with fewer, starting a thread takes longer than the work


@dataclass(frozen=True)
class NetworkLoss:
    """Where a network shows most: the variable, the two states, what the value itself shows, and in which clique."""

    epsilon: float
    node: int
    pair: tuple[int, int]
    own: float
    clique: tuple[int, ...]


@dataclass(frozen=True)
class _Clique:
    """The possible states of a clique, with their probabilities."""

    nodes: tuple[int, ...]
    codes: Integers  # states x nodes
    law: Floats

    def labels(self, nodes: Sequence[int]) -> tuple[Integers, Integers]:
        """The possible states of some of its nodes, and which of them each state of the clique has."""
        places = [self.nodes.index(n) for n in nodes]
        states, labels = np.unique(self.codes[:, places], axis=0, return_inverse=True)
        return states, labels.ravel()


class CliqueCurve:
    """A network prepared for many profiles.

    >>> pair = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"},
    ...                        tables={"x": [0.5, 0.5], "y": [[0.9, 0.1], [0.1, 0.9]]})
    >>> flips = 0.5 * (1 - np.eye(2))
    >>> round(CliqueCurve(pair).at([flips, flips]).epsilon, 5)
    0.897
    """

    def __init__(self, network: BayesianNetwork):
        inference = Inference(network)
        self._tree = network.graph.cliques
        self._cliques = [_clique(inference, nodes, network) for nodes in self._tree.cliques]
        self._sizes = [len(states) for states in network.variables.values()]
        self._error = inference.margin
        self._roots = [
            min((c for c in self._cliques if node in c.nodes), key=lambda c: len(c.law))
            for node in range(len(self._sizes))
        ]

    @cached_property
    def _shared(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """What each two neighbours share."""
        cliques = self._tree.cliques
        return {(n, m): tuple(sorted({*cliques[n]} & {*cliques[m]})) for n, m in self._tree.directed()}

    def at(self, profile: Sequence[Floats]) -> NetworkLoss:
        """ε of everything released under a profile, one matrix for each variable."""
        messages: dict[tuple[int, int], Floats] = {}
        for edge in self._tree.directed():
            messages[edge] = self._message(edge, profile, messages)
        worst = NetworkLoss(0.0, 0, (0, 0), 0.0, ())
        differences: dict[int, Floats] = {}
        for node, root in enumerate(self._roots):
            states, labels = root.labels([node])
            if len(states) < 2:
                continue
            number = self._cliques.index(root)
            if number not in differences:
                differences[number] = self._difference(number, root.nodes, profile, messages, None)
            bounds = _transports(root.law, labels, differences[number]) + 2 * self._error  # Statement 50
            np.fill_diagonal(bounds, 0.0)
            a, b = (int(n) for n in np.unravel_index(int(np.argmax(bounds)), bounds.shape))
            if bounds[a, b] > worst.epsilon:
                pair = int(states[a, 0]), int(states[b, 0])
                worst = NetworkLoss(float(bounds[a, b]), node, pair, float(profile[node][pair]), root.nodes)
        return worst

    def _message(
        self, edge: tuple[int, int], profile: Sequence[Floats], messages: dict[tuple[int, int], Floats]
    ) -> Floats:
        """R of a clique towards a neighbour, by the states of what they share."""
        number, towards = edge
        clique, shared = self._cliques[number], self._shared[edge]
        others = [n for n in clique.nodes if n not in shared]
        difference = self._difference(number, others, profile, messages, towards)
        _, labels = clique.labels(shared)
        bounds = _transports(clique.law, labels, difference) + 2 * self._error  # Statement 50
        np.fill_diagonal(bounds, 0.0)
        return bounds

    def _difference(
        self,
        number: int,
        nodes: Sequence[int],
        profile: Sequence[Floats],
        messages: dict[tuple[int, int], Floats],
        towards: int | None,
    ) -> Floats:
        """D between the states of a clique: λ of these nodes, and R of all neighbours but one."""
        clique = self._cliques[number]
        total = np.zeros((len(clique.law),) * 2)
        for node in nodes:
            values = clique.codes[:, clique.nodes.index(node)]
            total += profile[node][np.ix_(values, values)]
        for other in self._tree.neighbours(number):
            if other != towards:
                _, labels = clique.labels(self._shared[other, number])
                total += messages[other, number][np.ix_(labels, labels)]
        return np.asarray(total * (1 + 1e-14))


def _clique(inference: Inference, nodes: tuple[int, ...], network: BayesianNetwork) -> _Clique:
    law, possible = inference.joint(nodes)
    codes = np.argwhere(possible)
    chances = law[possible]
    if chances.min() < SMALLEST:
        names = list(network.variables)
        raise NotCoveredError(
            "the influence curve needs probabilities that can be represented",
            got=f"values of {', '.join(names[n] for n in nodes)} with less than {SMALLEST:g}",
            why="a state that counts as impossible would go unprotected",
            fix="Leave such states out, or use group",
        )
    return _Clique(nodes, codes.astype(np.int64), chances)


def _transports(law: Floats, labels: Integers, difference: Floats) -> Floats:
    """transport between the laws given each two labels, nearest first."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    given = law[order] / np.repeat(np.add.reduceat(law[order], ends[:-1]), sizes)
    D = np.ascontiguousarray(difference[np.ix_(order, order)])
    count = len(sizes)
    bounds = np.zeros((count, count))
    if len(law) ** 2 < PARALLEL_FROM:
        _each_pair(given, ends, D, (0, count), bounds)
    else:
        in_threads(lambda some: _each_pair(given, ends, D, (some.start, min(some.stop, count)), bounds), count)
    return bounds


@njit(cache=True, nogil=True)
def _each_pair(given: Floats, ends: Integers, D: Floats, some: tuple[int, int], bounds: Floats) -> None:
    """Nearest first, from every label of some to every other."""
    nowhere = np.empty(0, dtype=np.int16), np.empty(0, dtype=np.int16), np.int64(0)
    none = np.empty((0, 0))
    for s in range(some[0], some[1]):
        for t in range(len(ends) - 1):
            if s == t:
                continue
            above, below = given[ends[s] : ends[s + 1]], given[ends[t] : ends[t + 1]]
            n, m = len(above), len(below)
            block = D[ends[s] : ends[s + 1], ends[t] : ends[t + 1]]
            most, least = block.max(), block.min()
            if most - least <= 1e-15:
                bounds[s, t] = most * (1.0 + 1e-12)
                continue
            targets, gains = np.empty((n, m), dtype=np.int32), np.empty((n, m))
            for y in range(n):
                order = np.argsort(block[y], kind="mergesort")
                for j in range(m):
                    targets[y, j] = n + order[j]
                    gains[y, j] = np.exp(block[y, order[j]] - least) * (1.0 + MARGIN)
            p, q = np.zeros(n + m), np.zeros(n + m)
            p[:n] = above
            q[n:] = below
            plans = np.arange(n + m), none, targets, gains
            space = _space(n + m)
            claim, _ = _least(
                p, q, (most - least) * (1.0 + 1e-12) + 1e-12, 0.3 * (most - least), PRECISION, plans, nowhere, space
            )
            bounds[s, t] = (claim + least) * (1.0 + 1e-12)  # Statement 11
