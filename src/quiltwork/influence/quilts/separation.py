"""Which variables of a network a quilt cuts off: d-separation, by following every active path (Statement 16).

Removing a quilt from the drawn graph is not enough: between two parents of a variable that is known, or one of whose
descendants is, a path opens. A path is followed through a variable on the way to its children unless it is known, and
from a parent back up to other parents exactly if it or a descendant is known.
"""

from dataclasses import dataclass

import numpy as np

from quiltwork.beliefs.graph import Graph
from quiltwork.compiled import njit
from quiltwork.types import Flags, Integers


@dataclass(frozen=True)
class Separation:
    """A graph prepared for many quilts: its edges in both directions, one row after the other.

    >>> collider = Separation.of(Graph(((), (), (0, 1))))
    >>> collider.near(0, np.array([[-1], [2], [1]])).tolist()     # of 0, given nothing, given 2, given 1
    [[True, False, True], [True, True, False], [True, False, True]]
    """

    up: tuple[Integers, Integers]
    down: tuple[Integers, Integers]

    @classmethod
    def of(cls, graph: Graph) -> "Separation":
        """Prepare a graph."""
        return cls(_rows(graph.parents), _rows(graph.children))

    def near(self, node: int, quilts: Integers) -> Flags:
        """For each quilt (a row of nodes, -1 for none) the nodes that depend on the node given the quilt.

        The node itself is among them, the quilt is not. All others together are independent of the node given the
        quilt.
        """
        return np.asarray(_near(*self.up, *self.down, node, quilts))


def _rows(lists: tuple[tuple[int, ...], ...]) -> tuple[Integers, Integers]:
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return starts, np.array([n for numbers in lists for n in numbers], dtype=np.int64)


@njit(cache=True, nogil=True)
def _near(  # noqa: C901 - compiled: one loop
    up_starts: Integers, ups: Integers, down_starts: Integers, downs: Integers, node: int, quilts: Integers
) -> Flags:
    n = len(up_starts) - 1
    near = np.zeros((len(quilts), n), dtype=np.bool_)
    stack = np.empty(2 * len(ups) + 2 * n + 2, dtype=np.int64)
    for row in range(len(quilts)):
        known = np.zeros(n, dtype=np.bool_)
        above_known = np.zeros(n, dtype=np.bool_)  # known, or with a known descendant
        count = 0
        for q in quilts[row]:
            if q >= 0:
                known[q] = True
                if not above_known[q]:
                    above_known[q] = True
                    stack[count] = q
                    count += 1
        while count > 0:
            count -= 1
            v = stack[count]
            for at in range(up_starts[v], up_starts[v + 1]):
                if not above_known[ups[at]]:
                    above_known[ups[at]] = True
                    stack[count] = ups[at]
                    count += 1
        seen = np.zeros((n, 2), dtype=np.bool_)  # reached from a child (0), from a parent (1)
        stack[0], count = 2 * node, 1
        seen[node, 0] = True
        while count > 0:
            count -= 1
            v, from_parent = stack[count] // 2, stack[count] % 2
            if not known[v]:
                near[row, v] = True
                for at in range(down_starts[v], down_starts[v + 1]):
                    if not seen[downs[at], 1]:
                        seen[downs[at], 1] = True
                        stack[count] = 2 * downs[at] + 1
                        count += 1
            if (from_parent == 1 and above_known[v]) or (from_parent == 0 and not known[v]):
                for at in range(up_starts[v], up_starts[v + 1]):
                    if not seen[ups[at], 0]:
                        seen[ups[at], 0] = True
                        stack[count] = 2 * ups[at]
                        count += 1
    return near
