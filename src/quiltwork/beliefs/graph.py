"""Graphs of networks: order, components, and how wide exact inference on them is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter


@dataclass(frozen=True)
class Graph:
    """A directed graph without cycles: the parents of every node, as numbers.

    >>> collider = Graph(((), (), (0, 1)))
    >>> collider.children, collider.forest, collider.components
    (((2,), (2,), ()), False, ((0, 1, 2),))
    """

    parents: tuple[tuple[int, ...], ...]

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of every node."""
        children: list[list[int]] = [[] for _ in self.parents]
        for child, parents in enumerate(self.parents):
            for parent in parents:
                children[parent].append(child)
        return tuple(map(tuple, children))

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """Parents and children of every node."""
        return tuple(p + c for p, c in zip(self.parents, self.children, strict=True))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The nodes, parents before children."""
        return tuple(TopologicalSorter(dict(enumerate(self.parents))).static_order())

    @property
    def forest(self) -> bool:
        """Whether no node has two parents."""
        return all(len(parents) < 2 for parents in self.parents)

    @cached_property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """Parts that no edge joins: their variables are independent."""
        left, components = set(range(len(self.parents))), []
        while left:
            reached, waiting = set(), [min(left)]
            while waiting:
                node = waiting.pop()
                if node not in reached:
                    reached.add(node)
                    waiting += self.neighbours[node]
            left -= reached
            components.append(tuple(sorted(reached)))
        return tuple(components)

    def moral(self) -> list[set[int]]:
        """Neighbours when the parents of each child are married: who appears in one table with whom."""
        near: list[set[int]] = [set() for _ in self.parents]
        for child, parents in enumerate(self.parents):
            family = {child, *parents}
            for node in family:
                near[node] |= family - {node}
        return near

    def widest(self, sizes: Sequence[int]) -> tuple[int, float]:
        """The most variables in one table of exact inference, and log2 of the largest table's entries.

        An upper bound: variables are summed out one by one, always the one that joins fewest pairs of others.

        >>> Graph(((), (0,), (1,))).widest([2, 2, 2])
        (2, 2.0)
        """
        near = self.moral()
        left, most, bits = set(range(len(near))), 0, 0.0
        while left:

            def joined(node: int) -> tuple[int, int]:
                neighbours = sorted(near[node])
                missing = sum(b not in near[a] for n, a in enumerate(neighbours) for b in neighbours[:n])
                return missing, len(neighbours)

            node = min(left, key=joined)
            family = near[node]
            most = max(most, len(family) + 1)
            bits = max(bits, sum(math.log2(sizes[n]) for n in (node, *family)))
            for other in family:
                near[other] = (near[other] | family) - {other, node}
            left.remove(node)
        return most, bits


def cycle_of(parents: Sequence[Sequence[int]]) -> list[int] | None:
    """Nodes along a cycle, the first one again at the end; None if there is none."""
    try:
        TopologicalSorter(dict(enumerate(parents))).prepare()
    except CycleError as problem:
        return [int(node) for node in problem.args[1]]
    return None
