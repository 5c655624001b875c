"""The check of what cliques tell each other, in balls of Arb: the tree, its laws, and every claim (Statement 50)."""

import itertools
from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np
from flint import arb, ctx

from quiltwork.beliefs import BayesianNetwork, SecretPairs
from quiltwork.certificate.check import BITS
from quiltwork.certificate.network import CliqueProof, Edge
from quiltwork.certificate.shipping import delivers
from quiltwork.errors import CertificateError
from quiltwork.types import Floats, Integers

Table = Any
"""An array of balls, with an axis for each variable of a clique."""
Part = tuple[tuple[int, ...], Floats]
"""Some variables, and what a change costs between each two of their possible states."""


def checked(network: BayesianNetwork, profile: Sequence[Floats], proof: CliqueProof, secret: SecretPairs) -> None:
    """Every claim of a proof about a network, or an error that names what is not proved."""
    before, ctx.prec = ctx.prec, BITS
    try:
        _check_tree(network, proof)
        _Check(network, profile, proof, secret).run()
    finally:
        ctx.prec = before


def _check_tree(network: BayesianNetwork, proof: CliqueProof) -> None:
    """Whether the cliques are those of a tree for this network."""
    variables = range(len(network.variables))
    for clique in proof.cliques:
        if list(clique) != sorted(set(clique)) or not all(type(n) is int and n in variables for n in clique):
            raise CertificateError("a clique of the certificate must be variables of the network, in increasing order")
    cliques = [set(clique) for clique in proof.cliques]
    for node, parents in enumerate(network.graph.parents):
        if not any({node, *parents} <= clique for clique in cliques):
            raise CertificateError(
                "a clique of the certificate must have each variable with its parents",
                got=f"none for variable {node + 1}",
                why="its table says how they depend on each other",
            )
    reached = list(range(len(cliques)))
    for c, d in proof.messages:
        if (d, c) not in proof.messages or not all(type(n) is int and n in range(len(cliques)) for n in (c, d)):
            raise CertificateError("the certificate must have messages between cliques, in both directions", got="one")
    edges = [(c, d) for c, d in proof.messages if c <= d]
    for c, d in edges:
        if reached[c] == reached[d]:
            raise CertificateError("the cliques of the certificate must form trees", got="a circle")
        reached = [reached[c] if tree == reached[d] else tree for tree in reached]
    for node in variables:
        homes = {c for c, clique in enumerate(cliques) if node in clique}
        if sum(set(edge) <= homes for edge in edges) != len(homes) - 1:
            raise CertificateError(
                "cliques of the certificate that share a variable must be joined through cliques that have it",
                got=f"others for variable {node + 1}",
                why="given what neighbours share, both sides of the tree must be independent",
            )


class _Clique:
    """The possible states of a clique, and the balls of their probabilities."""

    def __init__(self, nodes: tuple[int, ...], law: Table):
        self.nodes = nodes
        self.codes: Integers = np.argwhere(~np.asarray(law == 0, dtype=bool))  # what is surely 0 cannot occur
        self.law = [law[tuple(code)] for code in self.codes]
        if not all(chance > 0 for chance in self.law):
            raise CertificateError("the law of a clique cannot be enclosed", why="its tables are too close to 0")
        self._labels: dict[tuple[int, ...], Integers] = {}

    def labels(self, nodes: Sequence[int]) -> Integers:
        """Which of the possible states of some of its variables, in increasing order, each of its states has."""
        chosen = tuple(nodes)
        if chosen not in self._labels:
            places = [self.nodes.index(n) for n in chosen]
            rows = [tuple(int(x) for x in code[places]) for code in self.codes]
            numbers = {row: n for n, row in enumerate(sorted(set(rows)))}
            self._labels[chosen] = np.array([numbers[row] for row in rows])
        return self._labels[chosen]

    def difference(self, parts: Sequence[Part]) -> Floats:
        """D between its states, not below the sum of all parts."""
        total = np.zeros((len(self.law),) * 2)
        for nodes, costs in parts:
            labels = self.labels(nodes)
            total += costs[np.ix_(labels, labels)]
        return np.asarray(total * (1 + (len(parts) + 2) * 2.0**-52))

    def given(self, label: int, labels: Integers) -> tuple[Integers, list[arb]]:
        """The states with this label, and their conditional law."""
        states = np.flatnonzero(labels == label)
        total = sum((self.law[n] for n in states), arb(0))
        return states, [self.law[n] / total for n in states]

    def tells_at_most(self, node: int, parts: Sequence[Part], bound: float, secret: SecretPairs) -> bool:
        """Whether everything told about a variable is surely within a bound, between what is to be kept apart."""
        values, D = self.codes[:, self.nodes.index(node)], self.difference(parts)
        states = [int(x) for x in np.unique(values)]
        laws = {x: self.given(x, values) for x in states}
        sides = [
            (laws[a], laws[b])
            for a, b in itertools.permutations(states, 2)
            if secret.everything or secret.pairs[node][a, b]
        ]
        for one, other in secret.sets[node]:  # Statement 62
            inside = [self.given(1, side[values].astype(np.int64)) for side in (one, other)]
            if all(len(law) for _, law in inside):
                sides += [(inside[0], inside[1]), (inside[1], inside[0])]
        return all(delivers(p, q, D[np.ix_(here, there)], arb(bound)) for (here, p), (there, q) in sides)

    def proves(self, about: Sequence[int], parts: Sequence[Part], claims: Floats) -> tuple[int, int] | None:
        """Two states of what it is about whose claim is not proved; None if there are none."""
        labels, D = self.labels(about), self.difference(parts)
        laws = [self.given(label, labels) for label in range(len(claims))]
        for a, b in itertools.permutations(range(len(claims)), 2):
            (here, p), (there, q) = laws[a], laws[b]
            if not delivers(p, q, D[np.ix_(here, there)], arb(float(claims[a, b]))):
                return a, b
        return None


class _Check:
    """A proof about one network, claim by claim, on a tree that is one."""

    def __init__(self, network: BayesianNetwork, profile: Sequence[Floats], proof: CliqueProof, secret: SecretPairs):
        self._network, self._profile, self._proof, self._secret = network, profile, proof, secret
        self._shared = {(c, d): tuple(n for n in proof.cliques[c] if n in proof.cliques[d]) for c, d in proof.messages}

    def run(self) -> None:
        """Every message, then every variable."""
        for (c, d), claims in self._proof.messages.items():
            self._check_claims(c, self._shared[c, d], claims)
        for (c, d), claims in self._proof.messages.items():
            unproved = self._cliques[c].proves(self._shared[c, d], self._parts(c, d), claims)
            if unproved is not None:
                a, b = unproved
                raise CertificateError(
                    f"entry ({a + 1}, {b + 1}) of what clique {c + 1} tells clique {d + 1} is not proved",
                    why="the one law cannot be shipped to the other with so little",
                )
        if len(self._proof.told) != len(self._profile):
            raise CertificateError(
                "the certificate must have a bound for each variable", got=f"{len(self._proof.told)}"
            )
        for node, bound in enumerate(self._proof.told):
            if not self._variable(node, bound):
                raise CertificateError(
                    f"what everything released tells about variable {node + 1} is not proved",
                    got=f"{bound:g}",
                    why="the law given one value cannot be shipped to that given another with so little",
                )

    def _check_claims(self, clique: int, about: tuple[int, ...], claims: Floats) -> None:
        count = int(self._cliques[clique].labels(about).max()) + 1
        if claims.shape != (count, count) or not np.isfinite(claims).all() or (claims < 0).any():
            raise CertificateError(
                f"what clique {clique + 1} tells must have an entry for each two of {count} states, none negative",
                why="it bounds a change in log",
            )
        if np.diagonal(claims).any():
            raise CertificateError(f"what clique {clique + 1} tells must be 0 on the diagonal")

    def _variable(self, node: int, bound: float) -> bool:
        """Whether some clique that has the variable proves the bound; those with few states first."""
        if not bound >= 0:
            return False
        homes = [c for c, clique in enumerate(self._cliques) if node in clique.nodes]
        for home in sorted(homes, key=lambda c: len(self._cliques[c].law)):
            if self._cliques[home].tells_at_most(node, self._parts(home, None), bound, self._secret):
                return True
        return False

    def _parts(self, number: int, towards: int | None) -> list[Part]:
        """What changes cost at a clique: its own variables, but for those it shares, and all other neighbours."""
        clique = self._cliques[number]
        counted = [n for n in clique.nodes if towards is None or n not in self._shared[number, towards]]
        parts: list[Part] = []
        for n in counted:
            states = np.unique(clique.codes[:, clique.nodes.index(n)])
            parts.append(((n,), self._profile[n][np.ix_(states, states)]))
        neighbours = [edge for edge in self._into[number] if edge[0] != towards]
        return parts + [(self._shared[edge], self._proof.messages[edge]) for edge in neighbours]

    @cached_property
    def _cliques(self) -> list[_Clique]:
        """The laws of all cliques: products of tables, and of sums over what lies beyond each neighbour."""
        sums: dict[Edge, Table] = {}
        waiting = list(self._proof.messages)
        while waiting:  # a clique tells a neighbour once it was told by all others: on a tree there always is one
            for edge in waiting:
                others = [other for other in self._into[edge[0]] if other[0] != edge[1]]
                if all(other in sums for other in others):
                    sums[edge] = self._summed(edge, [sums[other] for other in others])
            waiting = [edge for edge in waiting if edge not in sums]
        return [
            _Clique(nodes, self._product(c, [sums[edge] for edge in self._into[c]]))
            for c, nodes in enumerate(self._proof.cliques)
        ]

    def _summed(self, edge: Edge, beyond: list[Table]) -> Table:
        """The sum over all that is on a clique's side, for each state of what it shares with a neighbour."""
        c, d = edge
        away = tuple(n for n, node in enumerate(self._proof.cliques[c]) if node not in self._shared[edge])
        return _spread(self._product(c, beyond).sum(axis=away), self._shared[edge], self._proof.cliques[d])

    @cached_property
    def _into(self) -> list[list[Edge]]:
        """The messages that each clique is told."""
        into: list[list[Edge]] = [[] for _ in self._proof.cliques]
        for c, d in self._proof.messages:
            into[d].append((c, d))
        return into

    def _product(self, clique: int, factors: list[Table]) -> Table:
        nodes = self._proof.cliques[clique]
        sizes = [len(self._profile[n]) for n in nodes]
        ones = np.full(sizes, arb(1), dtype=object)
        return reduce(np.multiply, [*self._tables[clique], *factors], ones)

    @cached_property
    def _tables(self) -> list[list[Table]]:
        """The tables of the network in balls, each in the first clique that has its variables; rows sum to 1."""
        tables: list[list[Table]] = [[] for _ in self._proof.cliques]
        for node, (parents, table) in enumerate(
            zip(self._network.graph.parents, self._network.tables.values(), strict=True)
        ):
            balls = np.array([arb(float(entry)) for entry in table.flat], dtype=object).reshape(table.shape)
            family = (*parents, node)
            home = next(c for c, nodes in enumerate(self._proof.cliques) if set(family) <= set(nodes))
            rows = balls / balls.sum(axis=-1, keepdims=True)
            tables[home].append(_spread(rows, family, self._proof.cliques[home]))
        return tables


def _spread(table: Table, nodes: Sequence[int], clique: Sequence[int]) -> Table:
    """A table with an axis for each variable of a clique, of length 1 where the table says nothing about it."""
    order = [n for n in clique if n in nodes]
    turned = np.asarray(table, dtype=object).transpose([list(nodes).index(n) for n in order])
    lengths = iter(turned.shape)
    return turned.reshape([next(lengths) if n in nodes else 1 for n in clique])
