"""Exact laws of sums over the variables of a network, without going through its records.

Along the tree of cliques, as inference does it, with the partial sum as one more axis of every table: the work grows
with the number of states of the largest clique and the square of the number of possible sums.
"""

from collections.abc import Sequence

import numpy as np

from quiltwork.beliefs import BayesianNetwork
from quiltwork.compiled import njit
from quiltwork.laws.tables import add_logs, convolve
from quiltwork.types import Flags, Floats, Integers


def clique_sizes(network: BayesianNetwork) -> list[float]:
    """How many states each clique has, and how many tables it takes part in."""
    sizes = [len(states) for states in network.variables.values()]
    tree = network.graph.cliques.connected()
    return [
        float(np.prod([float(sizes[n]) for n in clique])) * (1 + len(tree.neighbours(number)))
        for number, clique in enumerate(tree.cliques)
    ]


def clique_laws(
    network: BayesianNetwork, moves: Sequence[Integers], width: int, allowed: Sequence[Flags]
) -> list[Floats]:
    """log P(X_i = x, what is known, sum = s) as a table [x, s] for each variable.

    ``moves`` say what each state of each variable adds, at least 0; the sums stay below ``width``. ``allowed`` says
    which states what is known leaves possible.

    >>> coins = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"},
    ...                         tables={"x": [0.5, 0.5], "y": [[0.9, 0.1], [0.1, 0.9]]})
    >>> count, all_states = np.array([0, 1]), np.array([True, True])
    >>> np.exp(clique_laws(coins, [count] * 2, 3, [all_states] * 2)[0]).round(3).tolist()
    [[0.45, 0.05, 0.0], [0.0, 0.05, 0.45]]
    """
    tree = network.graph.cliques.connected()
    tables = _Tables(network, moves, width, allowed)
    messages: dict[tuple[int, int], Floats] = {}
    for number, towards in tree.directed():
        others = [n for n in tree.neighbours(number) if n != towards]
        table = tables.joined(number, [(n, messages[n, number]) for n in others])
        messages[number, towards] = tables.summed(table, number, tables.shared(number, towards))
    laws: list[Floats] = [np.empty(0)] * len(network.variables)
    for number, clique in enumerate(tree.cliques):
        mine = [n for n in clique if tables.home[n] == number]
        if mine:
            table = tables.joined(number, [(n, messages[n, number]) for n in tree.neighbours(number)])
            for node in mine:
                laws[node] = tables.summed(table, number, (node,))
    return laws


class _Tables:
    """The states of each clique, their factors and what they add to the sum; each variable counts in one clique."""

    def __init__(self, network: BayesianNetwork, moves: Sequence[Integers], width: int, allowed: Sequence[Flags]):
        self._tree, self._width = network.graph.cliques.connected(), width
        self._sizes = [len(states) for states in network.variables.values()]
        families = [{n, *parents} for n, parents in enumerate(network.graph.parents)]
        self.home = [
            next(c for c, clique in enumerate(self._tree.cliques) if family <= set(clique)) for family in families
        ]
        names = list(network.variables)
        self._codes, self._logs, self._moves = [], [], []
        for number, clique in enumerate(self._tree.cliques):
            codes = np.indices([self._sizes[n] for n in clique]).reshape(len(clique), -1)
            logs, added = np.zeros(codes.shape[1]), np.zeros(codes.shape[1], dtype=np.int64)
            for node in (n for n in clique if self.home[n] == number):
                axes = [codes[clique.index(n)] for n in (*network.graph.parents[node], node)]
                with np.errstate(divide="ignore"):
                    logs += np.where(allowed[node][axes[-1]], np.log(network.tables[names[node]][tuple(axes)]), -np.inf)
                added += moves[node][axes[-1]]
            kept = logs > -np.inf
            self._codes.append(codes[:, kept])
            self._logs.append(logs[kept])
            self._moves.append(added[kept])

    def shared(self, number: int, other: int) -> tuple[int, ...]:
        """What two cliques share."""
        return tuple(sorted({*self._tree.cliques[number]} & {*self._tree.cliques[other]}))

    def labels(self, number: int, nodes: Sequence[int]) -> tuple[Integers, int]:
        """Which state some nodes have in each state of a clique, and how many there are."""
        clique = self._tree.cliques[number]
        if not nodes:
            return np.zeros(len(self._logs[number]), dtype=np.int64), 1
        sizes = [self._sizes[n] for n in nodes]
        codes = [self._codes[number][clique.index(n)] for n in nodes]
        return np.ravel_multi_index(codes, sizes).astype(np.int64), int(np.prod(sizes))

    def joined(self, number: int, messages: Sequence[tuple[int, Floats]]) -> Floats:
        """log of a clique's factor times what its neighbours say, by its states and the sum."""
        count = len(self._logs[number])
        table = np.full((count, self._width), -np.inf)
        table[np.arange(count), self._moves[number]] = self._logs[number]
        for other, message in messages:
            labels, _ = self.labels(number, self.shared(number, other))
            _convolve_rows(table, message, labels)
        return table

    def summed(self, table: Floats, number: int, nodes: Sequence[int]) -> Floats:
        """A table over the states of some nodes, all others summed out."""
        labels, count = self.labels(number, nodes)
        total = np.full((count, self._width), -np.inf)
        _add_rows(table, labels, total)
        return total


@njit(cache=True)
def _convolve_rows(table: Floats, message: Floats, labels: Integers) -> None:
    out = np.empty(table.shape[1])
    for row in range(len(table)):
        convolve(table[row], message[labels[row]], out)
        table[row] = out


@njit(cache=True)
def _add_rows(table: Floats, labels: Integers, total: Floats) -> None:
    for row in range(len(table)):
        for s in range(table.shape[1]):
            total[labels[row], s] = add_logs(total[labels[row], s], table[row, s])
