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
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from quiltwork.beliefs import BayesianNetwork, SecretPairs
from quiltwork.compiled import njit
from quiltwork.errors import NotCoveredError
from quiltwork.influence.curve.steps import Kernel, scalar_step
from quiltwork.influence.curve.transport import LARGEST_DIFFERENCE, MARGIN, _least, _nearest_first, _space
from quiltwork.influence.curve.tree import NetworkLoss
from quiltwork.influence.quilts.inference import SMALLEST, Inference
from quiltwork.numeric import in_threads
from quiltwork.types import Flags, Floats, Integers

PRECISION = 1e-6  # of one transport, relatively
MOST_STATES = 2500  # of a clique, that are told apart; beyond, two differences stand for all
MOST_WORK = 3e8  # of two differences: pairs of what it is about, times what else there is
EXCHANGED, CLOSELY = 1e-4, 1e-11  # precision of claims by exchanged shipments, usually and where proofs need more
FEW_WAYS = 256  # pairs of states that shipments are exchanged between, where nearest first is not the best plan
MOST_LOOKS = 1e6  # of what each variable reveals: variables, times pairs of states of a clique
PARALLEL_FROM = 20_000  # pairs of states of a clique: with fewer, starting a thread takes longer than the work


Edge = tuple[int, int]
Part = tuple[tuple[int, ...], Floats]
"""Some variables, and what a change costs between each two of their possible states."""


@dataclass(frozen=True)
class _Told:
    """A profile, and the messages that it leads to."""

    profile: Sequence[Floats]
    messages: dict[Edge, Floats]


@dataclass(frozen=True)
class _Clique:
    """The possible states of a clique, with their probabilities."""

    nodes: tuple[int, ...]
    codes: Integers  # states x nodes
    law: Floats

    _known: dict[tuple[int, ...], tuple[Integers, Integers]] = field(default_factory=dict, compare=False, repr=False)

    def labels(self, nodes: Sequence[int]) -> tuple[Integers, Integers]:
        """The possible states of some of its nodes, and which of them each state of the clique has."""
        chosen = tuple(nodes)
        if chosen not in self._known:
            places = [self.nodes.index(n) for n in chosen]
            states, labels = np.unique(self.codes[:, places], axis=0, return_inverse=True)
            self._known[chosen] = states, labels.ravel()
        return self._known[chosen]

    def possible(self, node: int, matrix: Floats) -> Part:
        """λ of a node between its possible states."""
        states, _ = self.labels((node,))
        return (node,), matrix[np.ix_(states[:, 0], states[:, 0])]

    def difference(self, parts: Sequence[Part]) -> Floats:
        """D between the states of the clique: all parts added up."""
        total = np.zeros((len(self.law),) * 2)
        for nodes, costs in parts:
            _, labels = self.labels(nodes)
            total += costs[np.ix_(labels, labels)]
        return np.asarray(total * (1 + 1e-14))

    def coarsely(self, about: Sequence[int], parts: Sequence[Part]) -> Floats:
        """The same with two differences: one for states that are alike but in what it is about, one for all others."""
        states, labels = self.labels(about)
        most = sum(float(costs.max(initial=0.0)) for _, costs in parts)
        alike = np.zeros((len(states),) * 2)
        for nodes, costs in parts:
            alike += self._if_alike(about, states, nodes, costs)
        rest, columns = self.labels([n for n in self.nodes if n not in about])
        if len(states) ** 2 * len(rest) <= MOST_WORK:
            given = np.zeros((len(states), len(rest)))
            given[labels, columns] = self.law
            given /= given.sum(axis=1, keepdims=True)
            alike += scalar_step(Kernel.of(given), most)  # Statement 10
            return np.minimum(alike * (1 + 1e-12), most * (1 + 1e-12) * (1 - np.eye(len(states))))
        return np.asarray(most * (1 + 1e-12) * (1 - np.eye(len(states))))

    def _if_alike(self, about: Sequence[int], states: Integers, nodes: Sequence[int], costs: Floats) -> Floats:
        """The most that a part costs between two states of what it is about, if nothing else changes."""
        both = [n for n in nodes if n in about]
        if not both:
            return np.zeros((len(states),) * 2)
        here, _ = self.labels(nodes)
        _, kinds = np.unique(here[:, [list(nodes).index(n) for n in both]], axis=0, return_inverse=True)
        count = int(kinds.max()) + 1
        between = np.zeros((count, count))
        np.maximum.at(between, (kinds.ravel()[:, None], kinds.ravel()[None, :]), costs)
        np.fill_diagonal(between, 0.0)
        own = states[:, [list(about).index(n) for n in both]]
        _, which = np.unique(own, axis=0, return_inverse=True)
        return np.asarray(between[np.ix_(which.ravel(), which.ravel())])


class CliqueCurve:
    """A network prepared for many profiles.

    >>> pair = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"},
    ...                        tables={"x": [0.5, 0.5], "y": [[0.9, 0.1], [0.1, 0.9]]})
    >>> flips = 0.5 * (1 - np.eye(2))
    >>> round(CliqueCurve(pair).at([flips, flips]).epsilon, 5)
    0.897
    """

    def __init__(self, network: BayesianNetwork, *, closely: bool = False):
        inference = Inference(network)
        self._precision = CLOSELY if closely else EXCHANGED
        self._tree = network.graph.cliques
        self._cliques = [_clique(inference, nodes, network) for nodes in self._tree.cliques]
        # laws and conditional laws are quotients of sums that may each be off by the margin
        self._error = 4 * inference.margin
        cliques = range(len(self._cliques))
        self._homes = [
            min((c for c in cliques if node in self._cliques[c].nodes), key=lambda c: len(self._cliques[c].law))
            for node in range(len(network.variables))
        ]

    @cached_property
    def _shared(self) -> dict[Edge, tuple[int, ...]]:
        """What each two neighbours share."""
        cliques = self._tree.cliques
        return {(n, m): tuple(sorted({*cliques[n]} & {*cliques[m]})) for n, m in self._tree.directed()}

    def at(self, profile: Sequence[Floats], secret: SecretPairs | None = None) -> NetworkLoss:
        """ε of everything released under a profile, one matrix for each variable; about what is secret."""
        told = self._messages(profile)
        worst = NetworkLoss(0.0, 0, (0, 0), 0.0)
        for node, home in enumerate(self._homes):
            clique = self._cliques[home]
            states, _ = clique.labels([node])
            if len(states) < 2 or (secret is not None and not secret.within(node).any()):
                continue
            bounds = self.about(node, told, secret)
            a, b = (int(n) for n in np.unravel_index(int(np.argmax(bounds)), bounds.shape))
            if bounds[a, b] > worst.epsilon:
                pair = int(states[a, 0]), int(states[b, 0])
                worst = NetworkLoss(float(bounds[a, b]), node, pair, float(profile[node][pair]), clique=clique.nodes)
        return replace(worst, coarse=sum(len(clique.law) > MOST_STATES for clique in self._cliques))

    def about(self, node: int, told: "_Told", secret: SecretPairs | None) -> Floats:
        """What everything released tells about a variable, by pair of its possible states; 0 where it is no secret.

        What is told about a pair of sets stands at a pair of their states.
        """
        home = self._homes[node]
        bounds = self._told(home, (node,), told, None)
        if secret is None or secret.everything:
            return bounds
        clique = self._cliques[home]
        states = clique.labels([node])[0][:, 0]
        kept = np.where(secret.pairs[node][np.ix_(states, states)], bounds, 0.0)  # Statement 61
        for one, other in secret.sets[node]:
            both = np.where(np.outer(one[states], other[states]), bounds, -1.0)
            both = np.maximum(both, np.where(np.outer(other[states], one[states]), bounds, -1.0))
            a, b = np.unravel_index(int(np.argmax(both)), both.shape)
            if both[a, b] > 0:
                loss = float(both[a, b])
                if len(clique.law) <= MOST_STATES:
                    values = clique.codes[:, clique.nodes.index(node)]
                    D = clique.difference(self._parts(home, (node,), told, None))
                    tight = between_sets(clique.law, one[values], other[values], D, self._precision)
                    loss = min(loss, tight + self._error)  # Statement 62
                kept[a, b] = max(kept[a, b], loss)
        return kept

    def claims(
        self, profile: Sequence[Floats], secret: SecretPairs | None = None
    ) -> tuple[dict[Edge, Floats], list[float]]:
        """What every clique tells its neighbours, and what everything released tells about each variable.

        >>> pair = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"},
        ...                        tables={"x": [0.5, 0.5], "y": [[0.9, 0.1], [0.1, 0.9]]})
        >>> messages, by_variable = CliqueCurve(pair).claims([0.5 * (1 - np.eye(2))] * 2)
        >>> messages, [round(epsilon, 5) for epsilon in by_variable]
        ({}, [0.897, 0.897])
        """
        told = self._messages(profile)
        bounds = (self.about(node, told, secret) for node in range(len(self._homes)))
        return told.messages, [float(bound.max(initial=0.0)) for bound in bounds]

    @property
    def work(self) -> float:
        """How many pairs of states all messages and variables look at; infinite if some clique has too many states."""
        sizes = [len(clique.law) for clique in self._cliques]
        if max(sizes) > MOST_STATES:
            return np.inf
        return float(sum(sizes[n] ** 2 for n in (*self._homes, *(c for c, _ in self._shared))))

    def reveals(self, profile: Sequence[Floats], loss: NetworkLoss) -> list[float] | None:
        """How much less would be told about the worst pair without each variable; None if that would take long."""
        if len(profile) * sum(len(clique.law) ** 2 for clique in self._cliques) > MOST_LOOKS:
            return None
        states, _ = self._cliques[self._homes[loss.node]].labels([loss.node])
        a, b = (int(np.flatnonzero(states[:, 0] == state)[0]) for state in loss.pair)
        less = []
        for node in range(len(profile)):
            without = [0.0 * matrix if n == node else matrix for n, matrix in enumerate(profile)]
            bounds = self._told(self._homes[loss.node], (loss.node,), self._messages(without), None)
            less.append(max(loss.epsilon - float(bounds[a, b]), 0.0))
        return less

    def _messages(self, profile: Sequence[Floats]) -> "_Told":
        """What every clique tells its neighbours."""
        told = _Told(profile, {})
        for edge in self._tree.directed():
            number, towards = edge
            told.messages[edge] = self._told(number, self._shared[edge], told, towards)
        return told

    def _told(self, number: int, about: Sequence[int], told: "_Told", towards: int | None) -> Floats:
        """What a clique tells about some of its variables, by pair of their states: R towards a neighbour, else ε."""
        clique, parts = self._cliques[number], self._parts(number, about, told, towards)
        if len(clique.law) <= MOST_STATES:
            _, labels = clique.labels(about)
            bounds = _transports(clique.law, labels, clique.difference(parts), self._precision)  # Statement 50
        else:
            bounds = clique.coarsely(about, parts)
        bounds[bounds > 0] += self._error  # where nothing changes anything, no law matters
        np.fill_diagonal(bounds, 0.0)
        return bounds

    def _parts(self, number: int, about: Sequence[int], told: "_Told", towards: int | None) -> list[Part]:
        """What a change of a clique's variables costs, and of what its neighbours tell."""
        clique = self._cliques[number]
        # towards a neighbour, what both share counts over there
        counted = [n for n in clique.nodes if towards is None or n not in about]
        neighbours = [n for n in self._tree.neighbours(number) if n != towards]
        parts = [clique.possible(n, told.profile[n]) for n in counted]
        return parts + [(self._shared[n, number], told.messages[n, number]) for n in neighbours]


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


def _transports(law: Floats, labels: Integers, difference: Floats, precision: float = EXCHANGED) -> Floats:
    """transport between the laws given each two labels, nearest first."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    given = law[order] / np.repeat(np.add.reduceat(law[order], ends[:-1]), sizes)
    D = np.ascontiguousarray(difference[np.ix_(order, order)])
    count = len(sizes)
    bounds = np.zeros((count, count))
    if len(law) ** 2 < PARALLEL_FROM:
        _each_pair(given, ends, D, (0, count), precision, bounds)
    else:
        in_threads(
            lambda some: _each_pair(given, ends, D, (some.start, min(some.stop, count)), precision, bounds), count
        )
    return bounds


def between_sets(law: Floats, one: Flags, other: Flags, difference: Floats, precision: float = EXCHANGED) -> float:
    """transport between the laws given two sets of states, the larger of both directions (Statement 62).

    >>> law, apart = np.array([0.2, 0.3, 0.5]), np.array([[0, 0, 1.0], [0, 0, 2.0], [1.0, 2.0, 0]])
    >>> one = np.array([True, True, False])
    >>> round(between_sets(law, one, ~one, apart), 4)
    1.7085
    """
    kept = one | other
    if not one.any() or not other.any():
        return 0.0
    return float(_transports(law[kept], other[kept].astype(np.int64), difference[np.ix_(kept, kept)], precision).max())


@njit(cache=True, nogil=True)
def _each_pair(
    given: Floats, ends: Integers, D: Floats, some: tuple[int, int], precision: float, bounds: Floats
) -> None:
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
            if most - least <= 1e-15 or most - least > LARGEST_DIFFERENCE:  # nothing to choose, or too far for floats
                bounds[s, t] = most * (1.0 + 1e-12)
                continue
            order = _nearest_first(np.exp(block - least) * (1.0 + MARGIN), n)
            p, q = np.zeros(n + m), np.zeros(n + m)
            p[:n] = above
            q[n:] = below
            plans = np.arange(n + m), none, order
            space = _space(n + m)
            known = (most - least) * (1.0 + 1e-12) + 1e-12
            claim, _ = _least(p, q, known, 0.3 * (most - least), PRECISION, plans, nowhere, space)
            if n * m <= FEW_WAYS:
                claim = _exchanged(above, below, block - least, claim, precision)
            bounds[s, t] = (claim + least) * (1.0 + 1e-12)  # Statement 11


@njit(cache=True, nogil=True)
def _exchanged(p: Floats, q: Floats, D: Floats, claim: float, precision: float) -> float:
    """A smaller claim, if shipments that are exchanged for others prove one; precise to this share of it.

    Nearest first may leave the last ones a long way. Sending each along the cheapest way that there is, exchanges of
    earlier shipments included, ships as much as can be shipped at all.
    """
    gamma = np.empty(D.shape)
    low, high = 0.0, claim
    middle = claim * (1.0 - precision)
    while high - low > precision * high and high > 1e-13:
        proved = _ship_exchanging(p, q, D, np.exp(middle), gamma)
        if proved > 0.0:
            high = min(np.log(proved) * (1.0 + 1e-12) + 1e-13, middle)
        else:
            low = middle
        middle = 0.5 * (low + high) if low > 0.0 else 0.9 * high
    return high


@njit(cache=True, nogil=True)
def _ship_exchanging(p: Floats, q: Floats, D: Floats, ratio: float, gamma: Floats) -> float:  # noqa: C901 - one loop
    """Ship p to ratio times q along cheapest ways; the ratio that the plan proves, or -1 if something stays behind.

    A way goes to a goal that has room, or that is full: then someone else's shipment there makes way and goes on.
    ``there[j]`` and ``back[i]`` are logarithms of how much one unit has become by then.
    """
    n, m = D.shape
    gamma[:] = 0.0
    left, room = p.copy(), ratio * q
    there, back = np.empty(m), np.empty(n)
    sender, freed = np.empty(m, dtype=np.int64), np.empty(n, dtype=np.int64)
    for _ in range(40 * (n + m)):
        waiting = False
        for i in range(n):
            back[i] = 0.0 if left[i] > 0.0 else np.inf
            freed[i] = -1
            waiting = waiting or left[i] > 0.0
        if not waiting:
            break
        there[:] = np.inf
        for _ in range(n + m):
            shorter = False
            for i in range(n):
                if back[i] < np.inf:
                    for j in range(m):
                        if back[i] + D[i, j] < there[j] - 1e-12:
                            there[j], sender[j], shorter = back[i] + D[i, j], i, True
            for j in range(m):
                if there[j] < np.inf:
                    for i in range(n):
                        if gamma[i, j] > 0.0 and there[j] - D[i, j] < back[i] - 1e-12:
                            back[i], freed[i], shorter = there[j] - D[i, j], j, True
            if not shorter:
                break
        goal = -1
        for j in range(m):
            if room[j] > 0.0 and there[j] < np.inf and (goal < 0 or there[j] < there[goal]):
                goal = j
        if goal < 0:
            return -1.0
        # how much can go this way: what waits at its beginning, what makes way on it, the room at its end
        amount, j, steps = room[goal] / np.exp(there[goal]), goal, 0
        while True:
            i = sender[j]
            steps += 1
            if freed[i] < 0 or steps > n + m:
                amount = min(amount, left[i])
                break
            amount = min(amount, gamma[i, freed[i]] / np.exp(back[i]))
            j = freed[i]
        if steps > n + m or not amount > 0.0:
            return -1.0
        taken = amount * np.exp(there[goal])
        room[goal] = room[goal] - taken if taken < room[goal] else 0.0
        j = goal
        while True:
            i = sender[j]
            sent = amount * np.exp(back[i])
            gamma[i, j] += sent
            if freed[i] < 0:
                left[i] = left[i] - sent if sent < left[i] * (1.0 - 1e-15) else 0.0
                break
            j = freed[i]
            gamma[i, j] = gamma[i, j] - sent if sent < gamma[i, j] * (1.0 - 1e-15) else 0.0
    for i in range(n):
        if left[i] > 0.0:
            return -1.0
    largest = 0.0
    for j in range(m):
        total = 0.0
        for i in range(n):
            if gamma[i, j] > 0.0:
                total += gamma[i, j] * (p[i] / gamma[i].sum()) * np.exp(D[i, j])  # each ships all it has, to the digit
        largest = max(largest, total / q[j])
    return float(largest * (1.0 + MARGIN * (n + m)))
