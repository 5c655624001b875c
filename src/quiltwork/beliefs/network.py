"""Beliefs about records tied by a Bayesian network."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quiltwork.beliefs.base import Belief
from quiltwork.beliefs.bif import read_bif
from quiltwork.beliefs.chain import MarkovChain
from quiltwork.beliefs.graph import Graph, cycle_of
from quiltwork.beliefs.record import Outcomes, RecordBelief, RecordLaw, all_states, listed, name_variables
from quiltwork.errors import BeliefError, NotCoveredError
from quiltwork.types import Floats

TABLE_TOLERANCE = 1e-6  # published tables are printed to six or seven digits
MOST_OUTCOMES = 2**20


class BayesianNetwork(RecordLaw):
    """The belief that each variable depends on its parents by this table, and on nothing else before it.

    ``tables[x]`` has an axis for each parent of x, in the order of ``parents[x]``, and x itself last; a table with one
    row for each combination of the parents' states will do too, the last parent's state changing fastest.

    >>> flu = BayesianNetwork(
    ...     {"flu": ["no", "yes"], "fever": ["none", "some", "high"]},
    ...     parents={"fever": ["flu"]},
    ...     tables={"flu": [0.9, 0.1], "fever": [[0.9, 0.08, 0.02], [0.1, 0.4, 0.5]]},
    ... )
    >>> flu, flu.graph.forest
    (BayesianNetwork(2 variables, 1 edges), True)
    """

    def __init__(
        self,
        variables: Mapping[str, Sequence[object]],
        *,
        tables: Mapping[str, ArrayLike],
        parents: Mapping[str, Sequence[str]] | None = None,
    ):
        self.variables = name_variables(variables, "a network")
        self.states = all_states(self.variables)
        given = {name: tuple(parent_names) for name, parent_names in (parents or {}).items()}
        _check_known(self.variables, given, tables)
        self.parents = {name: given.get(name, ()) for name in self.variables}
        names = list(self.variables)
        numbered = tuple(tuple(names.index(p) for p in self.parents[name]) for name in names)
        cycle = cycle_of(numbered)
        if cycle is not None:
            raise BeliefError(
                "a network must not have a cycle",
                got=" → ".join(names[n] for n in cycle),
                why="a variable's table says how it comes from its parents",
                fix="Reverse or remove one of these edges",
            )
        self.graph = Graph(numbered)
        self.tables: dict[str, Floats] = {
            name: _distributions(tables[name], name, [self.variables[p] for p in self.parents[name]], states)
            for name, states in self.variables.items()
        }

    @classmethod
    def from_bif(cls, path: str | Path) -> "BayesianNetwork":
        """The network of a BIF file, in full precision.

        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp(), "coin.bif")
        >>> _ = file.write_text("variable coin { type discrete [ 2 ] { head, tail }; } probability ( coin ) "
        ...                     "{ table 0.5, 0.5; }")
        >>> BayesianNetwork.from_bif(file)
        BayesianNetwork(1 variables, 0 edges)
        """
        contents = read_bif(path)
        return cls(contents.variables, parents=contents.parents, tables=contents.tables)

    @classmethod
    def from_chain(cls, chain: MarkovChain, length: int) -> "BayesianNetwork":
        """The first values of a chain as a path: X1 → X2 → ...

        >>> BayesianNetwork.from_chain(MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary"), 4)
        BayesianNetwork(4 variables, 3 edges)
        """
        if chain.initial is None:
            raise BeliefError(
                "a network needs the law of the chain's first value",
                got='initial "any"',
                why="a variable without parents has a table of its own",
                fix="chain.with_start(...)",
            )
        names = [f"X{n}" for n in range(1, length + 1)]
        return cls(
            dict.fromkeys(names, chain.states),
            parents={after: [before] for before, after in itertools.pairwise(names)},
            tables={name: chain.transition if n else chain.initial for n, name in enumerate(names)},
        )

    def as_chain(self) -> MarkovChain | None:
        """The chain whose values the variables are, in their order, if they are.

        >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[0.5, 0.5])
        >>> BayesianNetwork.from_chain(chain, 4).as_chain() == chain
        True
        """
        path = all(parents == ((n - 1,) if n else ()) for n, parents in enumerate(self.graph.parents))
        first, *rest = self.tables.values()
        if not path or not rest or len(set(self.variables.values())) > 1:
            return None
        if not all(np.array_equal(table, rest[0]) for table in rest):
            return None
        return MarkovChain(rest[0], initial=first, states=self.states)

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Variables that edges hold together."""
        return self.graph.components

    @property
    def networks(self) -> "tuple[BayesianNetwork, ...]":
        """The network itself."""
        return (self,)

    @property
    def edges(self) -> list[tuple[str, str]]:
        """Parent and child of every edge."""
        return [(parent, child) for child, parents in self.parents.items() for parent in parents]

    @cached_property
    def width(self) -> tuple[int, float]:
        """The most variables in one table of exact inference, and log2 of that table's entries (an upper bound)."""
        return self.graph.widest([len(states) for states in self.variables.values()])

    def part(self, nodes: Sequence[int]) -> "BayesianNetwork":
        """The network of some variables, with all parents of each of them."""
        names = [name for n, name in enumerate(self.variables) if n in set(nodes)]
        return BayesianNetwork(
            {name: self.variables[name] for name in names},
            parents={name: self.parents[name] for name in names},
            tables={name: self.tables[name] for name in names},
        )

    def _enumerate(self) -> Outcomes:
        """Every possible record with its probability: the product of the tables' entries."""
        names = list(self.variables)
        codes = np.zeros((1, len(names)), dtype=np.int64)
        logs = np.zeros(1)
        for node in self.graph.order:
            table = self.tables[names[node]]
            rows = table[tuple(codes[:, parent] for parent in self.graph.parents[node])]
            rows = np.broadcast_to(rows, (len(codes), table.shape[-1]))
            before, states = np.nonzero(rows)
            if len(before) > MOST_OUTCOMES:
                raise NotCoveredError(
                    f"a network can be enumerated up to {MOST_OUTCOMES:,} possible records",
                    got=f"more, with {len(names)} variables",
                    why="every one of them is checked",
                    fix="Use curve or quilt-exact; ask about a part of the network",
                )
            codes, logs = codes[before].copy(), logs[before] + np.log(rows[before, states])
            codes[:, node] = states
        return Outcomes(codes, logs)

    def __repr__(self) -> str:
        return f"BayesianNetwork({len(self.variables)} variables, {len(self.edges)} edges)"

    def _behaviour(self) -> dict[str, Any]:
        together, bits = self.width
        return {
            "variables": len(self.variables),
            "edges": len(self.edges),
            "tree": self.graph.forest,
            "independent_parts": len(self.graph.components),
            "most_parents": max(map(len, self.graph.parents)),
            "width": together - 1,
            "largest_table_bits": round(bits, 3),
            "members": 1,
        }

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        return {
            "kind": "network",
            "variables": listed(self.variables),
            "parents": {name: list(parents) for name, parents in self.parents.items() if parents},
            "tables": {name: table.tolist() for name, table in self.tables.items()},
        }


class NetworkSet(RecordBelief):
    """The belief that one of several networks with the same graph holds: each of them is protected against.

    >>> coins = [BayesianNetwork({"coin": "ht"}, tables={"coin": [p, 1 - p]}) for p in (0.4, 0.5)]
    >>> NetworkSet(coins)
    NetworkSet(2 networks, 1 variables)
    """

    def __init__(self, members: Iterable[BayesianNetwork]):
        if isinstance(members, Belief):
            raise BeliefError("the members of a set must be a list of networks", got="a single belief", fix="[network]")
        self._members = tuple(members)
        if not self._members or not all(isinstance(m, BayesianNetwork) for m in self._members):
            raise BeliefError(
                "a set of networks must have networks as members",
                got="another kind of belief" if self._members else "none",
                why="an empty set protects nothing, and chains are about series",
            )
        first = self._members[0]
        self.variables, self.states = first.variables, first.states
        for n, member in enumerate(self._members, 1):
            if listed(member.variables) != listed(first.variables) or member.parents != first.parents:
                raise BeliefError(
                    f"member {n} must have the variables, states and parents of member 1",
                    got="others",
                    why="the members are tables on one graph",
                    fix="Order variables and parents alike; an edge without effect does no harm",
                )

    @property
    def members(self) -> tuple[BayesianNetwork, ...]:
        """The networks."""
        return self._members

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Variables that edges hold together: the members share one graph."""
        return self._members[0].parts

    def __repr__(self) -> str:
        return f"NetworkSet({len(self.members)} networks, {len(self.variables)} variables)"

    @property
    def networks(self) -> tuple[BayesianNetwork, ...]:
        """The networks."""
        return self._members

    def _behaviour(self) -> dict[str, Any]:
        return self._members[0]._behaviour() | {"members": len(self.members)}

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        return {"kind": "set", "members": [m.to_dict() for m in self.members]}


def _check_known(
    variables: Mapping[str, tuple[str, ...]], parents: Mapping[str, tuple[str, ...]], tables: Mapping[str, object]
) -> None:
    for name in (*parents, *tables, *(p for parent_names in parents.values() for p in parent_names)):
        if name not in variables:
            raise BeliefError(
                "a network's parents and tables must be about its variables",
                got=repr(name),
                fix=f"Variables are {', '.join(list(variables)[:20])}" + (", ..." if len(variables) > 20 else ""),
            )
    for name, parent_names in parents.items():
        if len(set(parent_names)) < len(parent_names):
            raise BeliefError(f"the parents of {name!r} must differ", got="one twice")
    missing = [name for name in variables if name not in tables]
    if missing:
        raise BeliefError(
            "every variable of a network must have a table",
            got=f"none for {missing[0]!r}" + (f" and {len(missing) - 1} more" * (len(missing) > 1)),
            why="it says how likely each state is, given the parents",
        )


def _distributions(given: ArrayLike, name: str, axes: Sequence[tuple[str, ...]], own_states: tuple[str, ...]) -> Floats:
    """A checked table, rows summing to 1, with an axis for each parent."""
    shape = (*map(len, axes), len(own_states))
    try:
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise BeliefError(f"the table of {name!r} must consist of numbers in rows", got="something else") from problem
    if table.shape not in (shape, (math.prod(shape[:-1]), shape[-1])):
        raise BeliefError(
            f"the table of {name!r} must have shape {'x'.join(map(str, shape))}",
            got="x".join(map(str, table.shape)) or "a single number",
            why="it has an axis for each parent and one for the variable itself",
        )
    table = np.ascontiguousarray(table.reshape(shape))
    if not np.all(np.isfinite(table)) or np.any(table < 0):
        raise BeliefError(f"the table of {name!r} must have finite entries that are not negative")
    with np.errstate(over="ignore"):
        sums = table.sum(axis=-1)
    wrong = np.argwhere(np.abs(sums - 1) > TABLE_TOLERANCE)
    if len(wrong):
        row = tuple(int(n) for n in wrong[0])
        where = ", ".join(states[n] for states, n in zip(axes, row, strict=True))
        raise BeliefError(
            f"the table of {name!r} must sum to 1" + (f" given ({where})" if where else ""),
            got=f"{float(sums[row]):.10g}",
            why="it is a distribution over the variable's states",
        )
    table /= np.where(np.abs(sums - 1) > len(own_states) * 2.0**-52, sums, 1.0)[..., None]
    table.setflags(write=False)
    return table
