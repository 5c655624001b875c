"""Beliefs about records over time: several variables at each step, each depending on its step and the one before."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from quiltwork.beliefs.chain import MarkovChain
from quiltwork.beliefs.network import BayesianNetwork
from quiltwork.beliefs.record import listed, name_variables
from quiltwork.errors import BeliefError, DataError
from quiltwork.numeric import check_length
from quiltwork.types import Floats, Integers, Step

BEFORE = "@before"
JOIN = "+"
MOST_TUPLES = 1024  # combinations of one step's states
MOST_WORK = 4e5  # of unrolling: squares of the states of all cliques, added up; about ten seconds
MOST_UNROLLED = 64  # steps: beyond, a chain is quicker and nearly as good
Initial = BayesianNetwork | Literal["stationary", "any"]


class DynamicNetwork(MarkovChain):
    """The belief that several variables change together from step to step, by these tables.

    A parent is a variable of the same step (``"bob"``) or of the step before (``"bob@before"``). ``initial`` is the
    network of the first step; ``"stationary"``; or ``"any"`` (the default), which protects against every start. The
    belief is a chain whose state is the value of all variables at one step, written ``"ill+well"``. A secret is the
    value of one variable at one step. Series that are short enough are unrolled into a network, which needs less noise.

    >>> flu = DynamicNetwork(
    ...     {"ann": ["well", "ill"], "bob": ["well", "ill"]},
    ...     parents={"ann": ["ann@before"], "bob": ["bob@before", "ann@before"]},
    ...     tables={"ann": [[0.9, 0.1], [0.4, 0.6]], "bob": [[[0.9, 0.1], [0.6, 0.4]], [[0.4, 0.6], [0.3, 0.7]]]},
    ...     initial="stationary",
    ... )
    >>> flu.states, flu.unrolled(7)
    (('well+well', 'well+ill', 'ill+well', 'ill+ill'), BayesianNetwork(14 variables, 19 edges))
    """

    step_variables: Mapping[str, tuple[str, ...]]

    def __init__(
        self,
        variables: Mapping[str, Sequence[object]],
        *,
        tables: Mapping[str, ArrayLike],
        parents: Mapping[str, Sequence[str]] | None = None,
        initial: Initial = "any",
        step: Step | None = None,
    ):
        named = name_variables(variables, "a dynamic network")
        _check_names(named)
        self.step_variables = named
        self._slice = _one_step(named, parents or {}, tables)
        self.parents = {name: self._slice.parents[name] for name in named}
        self.tables = {name: self._slice.tables[name] for name in named}
        self._first = _first_step(initial, named)
        given = initial if isinstance(initial, str) else _law(initial, self._codes)
        states = [JOIN.join(values) for values in itertools.product(*named.values())]
        super().__init__(self._transition(), initial=given, states=states, step=step)

    def _transition(self) -> Floats:
        """P[x, y]: from every combination of states to every other, the product of the tables' entries."""
        codes, names = self._codes, list(self.step_variables)
        P = np.ones((len(codes),) * 2)
        for place, name in enumerate(names):
            axes = []
            for parent in self.parents[name]:
                column = codes[:, names.index(parent.removesuffix(BEFORE))]
                axes.append(column[:, None] if parent.endswith(BEFORE) else column[None, :])
            P *= np.broadcast_to(self.tables[name][(*axes, codes[None, :, place])], P.shape)
        return P

    @cached_property
    def _codes(self) -> Integers:
        """The state of each variable in each combination, the last variable's changing fastest."""
        return np.array(list(itertools.product(*(range(len(s)) for s in self.step_variables.values()))))

    @cached_property
    def _initial_network(self) -> BayesianNetwork | None:
        """The first step by tables; None if it may be any."""
        if self._first is not None or self.start == "any":
            return self._first
        return _by_tables(self.stationary, self.step_variables)

    def unrolled(self, length: int) -> BayesianNetwork:
        """The network of the first steps: variables ``ann@1``, ``bob@1``, ``ann@2`` and so on.

        >>> walk = DynamicNetwork({"x": "01"}, parents={"x": ["x@before"]}, tables={"x": [[0.9, 0.1], [0.4, 0.6]]},
        ...                       initial=BayesianNetwork({"x": "01"}, tables={"x": [0.5, 0.5]}))
        >>> walk.unrolled(3).edges
        [('x@1', 'x@2'), ('x@2', 'x@3')]
        """
        check_length(length)
        first = self._initial_network
        if first is None:
            raise BeliefError(
                "unrolling needs the law of the first step",
                got='initial "any"',
                why="variables without parents have tables of their own",
                fix='Give initial as tables, or use "stationary"',
            )
        variables, parents, tables = {}, {}, {}
        for time in range(1, length + 1):
            tied = first if time == 1 else self._slice
            for name, states in self.step_variables.items():
                here = f"{name}@{time}"
                variables[here], tables[here] = states, tied.tables[name]
                parents[here] = [f"{p.removesuffix(BEFORE)}@{time - p.endswith(BEFORE)}" for p in tied.parents[name]]
        return BayesianNetwork(variables, parents=parents, tables=tables)

    def as_network(self, length: int | None) -> BayesianNetwork | None:
        """The unrolled network, if that is small enough to follow (up to ``unrolled_up_to`` steps)."""
        return None if length is None or length > self.unrolled_up_to else self._unrolled(length)

    def _unrolled(self, length: int) -> BayesianNetwork:
        kept: dict[int, BayesianNetwork] = self.__dict__.setdefault("_networks", {})
        if length not in kept:
            kept[length] = self.unrolled(length)
        return kept[length]

    @cached_property
    def unrolled_up_to(self) -> int:  # type: ignore[override]
        """How long a series is followed as a network; 0 if the first step may be any, or a step has too many states."""
        if self.start == "any":
            return 0
        low, high = 0, MOST_UNROLLED
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if _work(self.unrolled(middle)) <= MOST_WORK else (low, middle - 1)
        return low

    def names_at(self, first: int, last: int) -> dict[str, list[str]]:
        """What each variable is called in the unrolled network, from one step to another.

        >>> walk = DynamicNetwork({"x": "01"}, tables={"x": [0.9, 0.1]})
        >>> walk.names_at(2, 4)
        {'x': ['x@2', 'x@3', 'x@4']}
        """
        return {name: [f"{name}@{time}" for time in range(first, last + 1)] for name in self.step_variables}

    def as_chain_of_steps(self) -> MarkovChain:
        """The plain chain whose state is the value of all variables at one step.

        >>> DynamicNetwork({"x": "01"}, tables={"x": [0.9, 0.1]}, initial="stationary").as_chain_of_steps()
        MarkovChain(2 states, initial=stationary)
        """
        start: Any = self.start if self._given is None else self._given
        return MarkovChain(self.transition, initial=start, states=self.states, step=self.step)

    def without_network(self) -> "DynamicNetwork":
        """The same, followed as a chain of whole steps only: for series that may go on (Statement 52)."""
        same = copy(self)
        same.__dict__["unrolled_up_to"] = 0
        return same

    def with_start(self, initial: ArrayLike | Literal["stationary", "any"]) -> MarkovChain:
        """The same tables with another start; a law of whole steps makes it a plain chain."""
        if not isinstance(initial, str):
            return self.as_chain_of_steps().with_start(initial)
        started = DynamicNetwork(
            self.step_variables,
            parents=self.parents,
            tables=self.tables,
            initial=initial,  # type: ignore[arg-type]  # a chain knows which words there are
            step=self.step,
        )
        return started.without_network() if self.__dict__.get("unrolled_up_to") == 0 else started

    def values_changed(self) -> tuple[Floats, ...]:
        """How many variables differ between two states."""
        return ((self._codes[:, None, :] != self._codes[None, :, :]).sum(axis=2).astype(np.float64),)

    def by_variable(self, matrix: Floats) -> list[Floats]:
        """λ of each variable, so that together they are at least λ between whole steps.

        A change of several variables is a change of one after the other. Where λ is not a distance, all are enlarged
        until that holds.
        """
        split, together = [], np.zeros_like(matrix)
        for place, states in enumerate(self.step_variables.values()):
            rest = np.delete(self._codes, place, axis=1)
            alone = (rest[:, None, :] == rest[None, :, :]).all(axis=2)
            own = np.zeros((len(states),) * 2)
            column = self._codes[:, place]
            np.maximum.at(own, (column[:, None], column[None, :]), np.where(alone, matrix, 0.0))
            split.append(own)
            together += own[np.ix_(column, column)]
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = float(np.nanmax(np.where(matrix > together, matrix / together, 1.0)))
        if math.isinf(factor):  # a change of several at once counts, though none by itself does
            return [float(matrix.max()) * (1 - np.eye(len(own))) for own in split]
        return [own * factor for own in split]

    def values_of(self, rows: Iterable[object]) -> list[object]:
        """Rows that map variables to states, as states of whole steps; other values as they are.

        >>> pair = DynamicNetwork({"a": "01", "b": "01"}, tables={"a": [0.5, 0.5], "b": [0.5, 0.5]})
        >>> pair.values_of([{"a": 0, "b": 1}])
        ['0+1']
        """
        return [self._joined(row) if isinstance(row, Mapping) else row for row in rows]

    def _joined(self, row: Mapping[str, object]) -> str | None:
        missing = [name for name in self.step_variables if name not in row]
        if missing:
            raise DataError("every row must have a value for each variable", got=f"one without {missing[0]!r}")
        values = [row[name] for name in self.step_variables]
        return None if any(value is None for value in values) else JOIN.join(map(str, values))

    def __repr__(self) -> str:
        return f"DynamicNetwork({len(self.step_variables)} variables, initial={self.start})"

    def _behaviour(self) -> dict[str, Any]:
        known = super()._behaviour()
        within = sum(not p.endswith(BEFORE) for parents in self.parents.values() for p in parents)
        return {
            "variables": len(self.step_variables),
            "edges_within_a_step": within,
            "edges_from_the_step_before": sum(map(len, self.parents.values())) - within,
            "unrolled_up_to": self.unrolled_up_to,
        } | {key: value for key, value in known.items() if key != "expected_stay"}

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        initial: Any = self.start
        if self._first is not None:
            initial = {key: self._first.to_dict()[key] for key in ("parents", "tables")}
        return {
            "kind": "dynamic",
            "variables": listed(self.step_variables),
            "parents": {name: list(parents) for name, parents in self.parents.items() if parents},
            "tables": {name: table.tolist() for name, table in self.tables.items()},
            "initial": initial,
        } | ({} if self.step is None else {"step": self.step.plain})


def _check_names(variables: Mapping[str, tuple[str, ...]]) -> None:
    for name in variables:
        if "@" in name:
            raise BeliefError(
                "the variables of a dynamic network must have names without @",
                got=repr(name),
                why="name@before is its value one step before, and name@3 at step 3",
                fix="Rename it",
            )
    tuples = math.prod(map(len, variables.values()))
    if tuples > MOST_TUPLES:
        raise BeliefError(
            f"a step must have at most {MOST_TUPLES:,} combinations of states",
            got=f"{tuples:,}",
            why="long series are a chain of such combinations",
            fix="Use fewer variables or states, or write a network of a few steps yourself",
        )


def _one_step(
    variables: Mapping[str, tuple[str, ...]], parents: Mapping[str, Sequence[str]], tables: Mapping[str, ArrayLike]
) -> BayesianNetwork:
    """One step with the step before it, whose variables have tables of no meaning: this checks names and tables."""
    before = {name + BEFORE: states for name, states in variables.items()}
    for name in (*parents, *tables):
        if name in before:
            raise BeliefError(
                "a variable of the step before can only be a parent",
                got=repr(name),
                why="its own table is that of its step",
                fix="Use initial for the first step",
            )
    alike = {name: np.full(len(states), 1 / len(states)) for name, states in before.items()}
    return BayesianNetwork({**before, **variables}, parents=parents, tables={**alike, **tables})


def _first_step(initial: object, variables: Mapping[str, tuple[str, ...]]) -> BayesianNetwork | None:
    if isinstance(initial, str):
        return None  # a chain knows which words there are
    if not isinstance(initial, BayesianNetwork) or listed(initial.variables) != listed(variables):
        raise BeliefError(
            "initial must be a network of the same variables and states, in the same order",
            got="another" if isinstance(initial, BayesianNetwork) else type(initial).__name__,
            why="it is the law of the first step",
            fix='Use "stationary" or "any" if there are no tables of it',
        )
    return initial


def _law(network: BayesianNetwork, codes: Integers) -> Floats:
    """The probability of every combination of states."""
    law = np.ones(len(codes))
    for node, table in enumerate(network.tables.values()):
        law *= table[(*(codes[:, parent] for parent in network.graph.parents[node]), codes[:, node])]
    return law


def _by_tables(law: Floats, variables: Mapping[str, tuple[str, ...]]) -> BayesianNetwork:
    """A joint law as a network in which each variable depends on all before it."""
    names, sizes = list(variables), [len(states) for states in variables.values()]
    joint, parents, tables = law.reshape(sizes), {}, {}
    for place, name in enumerate(names):
        table = joint.sum(axis=tuple(range(place + 1, len(names))))
        mass = table.sum(axis=-1, keepdims=True)
        # what cannot have come before is followed by anything
        tables[name] = np.divide(table, mass, out=np.full(table.shape, 1 / sizes[place]), where=mass > 0)
        parents[name] = names[:place]
    return BayesianNetwork(variables, parents=parents, tables=tables)


def _work(network: BayesianNetwork) -> float:
    sizes = [len(states) for states in network.variables.values()]
    return float(sum(math.prod(sizes[n] for n in clique) ** 2 for clique in network.graph.cliques.cliques))
