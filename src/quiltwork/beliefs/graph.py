"""Graphs of networks: order, components, and how wide exact inference on them is."""

import math
from collections.abc import Iterator, Sequence
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
        families = list(self._families())
        return max(map(len, families)), max(sum(math.log2(sizes[n]) for n in family) for family in families)

    def _families(self) -> Iterator[set[int]]:
        """Each variable with those it is joined to when it is summed out, the one first that joins fewest pairs."""
        near = self.moral()
        left = set(range(len(near)))
        while left:

            def joined(node: int) -> tuple[int, int]:
                neighbours = sorted(near[node])
                missing = sum(b not in near[a] for n, a in enumerate(neighbours) for b in neighbours[:n])
                return missing, len(neighbours)

            node = min(left, key=joined)
            family = near[node]
            yield {node, *family}
            for other in family:
                near[other] = (near[other] | family) - {other, node}
            left.remove(node)

    @cached_property
    def cliques(self) -> "CliqueTree":
        """Variables in overlapping sets such that each edge is within one, joined to trees by what they share.

        >>> Graph(((), (), (0, 1), (2,))).cliques
        CliqueTree(cliques=((0, 1, 2), (2, 3)), edges=((0, 1),))
        """
        cliques: list[set[int]] = []
        for family in self._families():
            if not any(family <= clique for clique in cliques):
                cliques = [clique for clique in cliques if not clique <= family] + [family]
        cliques.sort(key=sorted)
        # the tree in which neighbours share most: whatever two cliques share is then shared by all between them
        shared = [(len(a & b), n, m) for m, b in enumerate(cliques) for n, a in enumerate(cliques[:m]) if a & b]
        tree_of, edges = list(range(len(cliques))), []
        for _, n, m in sorted(shared, key=lambda pair: (-pair[0], *pair[1:])):
            if tree_of[n] != tree_of[m]:
                edges.append((n, m))
                tree_of = [tree_of[n] if tree == tree_of[m] else tree for tree in tree_of]
        return CliqueTree(tuple(tuple(sorted(clique)) for clique in cliques), tuple(edges))


@dataclass(frozen=True)
class CliqueTree:
    """Cliques of a graph, and which of them are joined; one tree for each part of the graph."""

    cliques: tuple[tuple[int, ...], ...]
    edges: tuple[tuple[int, int], ...]

    def neighbours(self, clique: int) -> list[int]:
        """The cliques that a clique is joined to."""
        return [m if n == clique else n for n, m in self.edges if clique in (n, m)]

    def connected(self) -> "CliqueTree":
        """One tree: cliques of separate parts are joined too, though they share nothing."""
        trees = [{n} for n in range(len(self.cliques))]
        for n, m in self.edges:
            one, other = (next(tree for tree in trees if clique in tree) for clique in (n, m))
            trees = [tree for tree in trees if tree is not one and tree is not other] + [one | other]
        roots = sorted(min(tree) for tree in trees)
        return CliqueTree(self.cliques, (*self.edges, *((roots[0], root) for root in roots[1:])))

    def directed(self) -> list[tuple[int, int]]:
        """Every edge in both directions, those into a clique before those that lead on from it."""
        order: list[tuple[int, int]] = []
        reached: set[int] = set()
        for root in range(len(self.cliques)):
            waiting = [] if root in reached else [root]
            reached |= set(waiting)
            while waiting:
                clique = waiting.pop()
                onward = [n for n in self.neighbours(clique) if n not in reached]
                order += [(clique, n) for n in onward]
                reached |= set(onward)
                waiting += onward
        return [(child, parent) for parent, child in reversed(order)] + order


def cycle_of(parents: Sequence[Sequence[int]]) -> list[int] | None:
    """Nodes along a cycle, the first one again at the end; None if there is none."""
    try:
        TopologicalSorter(dict(enumerate(parents))).prepare()
    except CycleError as problem:
        return [int(node) for node in problem.args[1]]
    return None
