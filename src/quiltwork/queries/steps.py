"""Questions about series whose values consist of several variables: records over time."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs import Belief
from quiltwork.data import Countable
from quiltwork.errors import QueryError
from quiltwork.numeric import float_above, round_up
from quiltwork.queries.base import Asked, Query, States, Totals
from quiltwork.types import Codes

StepVariables = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class InSteps(Query):
    """A query about variables, asked of series whose states are the values of all of them at one step.

    When a step changes, the answer changes by what its variables add to it before and after, in L1 norm.

    >>> from quiltwork import Count
    >>> ill = InSteps(Count("ill"), (("ann", ("well", "ill")), ("bob", ("well", "ill"))))
    >>> ill.steps(["well+well", "well+ill", "ill+well", "ill+ill"]).tolist()
    [[0, 1, 1, 2]]
    """

    query: Query
    variables: StepVariables
    orderless = True

    def __post_init__(self) -> None:
        if any(steps is None for steps in self._asked.steps):
            raise QueryError(
                f"{self.query.text} must add up over the variables of a step",
                got="another kind of query",
                fix="Use a count, tally, histogram, frequencies, sum or mean",
            )

    @cached_property
    def _asked(self) -> Asked:
        return self.query.by_variable(dict(self.variables))

    @cached_property
    def _codes(self) -> Codes:
        """The state of each variable in each state of a step."""
        return np.array(list(itertools.product(*(range(len(states)) for _, states in self.variables))), dtype=np.int64)

    @property
    def integer(self) -> bool:  # type: ignore[override]
        """Whether answers are whole multiples of ``unit``."""
        return self.query.integer

    @property
    def balanced(self) -> bool:  # type: ignore[override]
        """As for the query itself."""
        return self.query.balanced

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return self.query.text

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values, with the variables of a step."""
        return {
            "kind": "in-steps",
            "query": self.query.to_dict(),
            "variables": [[n, list(s)] for n, s in self.variables],
        }

    def steps(self, states: States) -> Codes:
        """What the variables of a step add together."""
        self._check(states)
        added = [steps[:, self._codes[:, j]] for j, steps in enumerate(self._asked.steps) if steps is not None]
        return np.asarray(np.sum(added, axis=0, dtype=np.int64))

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """How far apart the answers are, in L1 norm."""
        steps = self.steps(states).astype(np.float64)
        apart = np.abs(steps[:, :, None] - steps[:, None, :]).sum(axis=0)
        unit = self._asked.unit
        return np.asarray(apart if unit == 1 else apart * round_up(float_above(unit), roundings=2))

    def unit(self, states: States) -> Fraction:  # noqa: ARG002 - the variables say it
        """The step of the lattice that the answer lives on."""
        return self._asked.unit

    def divisor(self, size: int) -> int:
        """As for the query itself."""
        return self.query.divisor(size)

    def values_in(self, size: int) -> int:
        """One for each variable that is asked, at each step."""
        return size * (self._asked.asked or 1)

    def undivided(self) -> Query:
        """The counts or sums that it is made of."""
        return InSteps(self.query.undivided(), self.variables)

    def totals(self, states: States) -> Totals:  # noqa: ARG002 - the variables say it
        """As for the variables of a record."""
        return self._asked.totals

    def within(self, belief: Belief) -> Query:
        """The same of a belief about these variables, in whatever order it has them: its states are in that order."""
        if dict(belief.step_variables or {}) != dict(self.variables):
            raise QueryError(
                f"{self.text} needs a belief about the variables that it was asked of",
                got="others",
                why="the states of a step are those of its variables together",
                fix=f"They are {', '.join(name for name, _ in self.variables)}, with the same states in the same order",
            )
        return InSteps(self.query, tuple((belief.step_variables or {}).items()))

    def unrolled(self, names: Mapping[str, Sequence[str]]) -> Query:
        """The same asked of the unrolled network, in which each variable has a name for each step."""
        return self.query.at_steps(names)

    def evaluate(self, series: Countable) -> Codes:
        """The answer before noise, in units."""
        self._check(series.states)
        counts = series.counts()
        by_variable = []
        for place, (_, states) in enumerate(self.variables):
            count = np.zeros(len(states), dtype=np.int64)
            np.add.at(count, self._codes[:, place], counts)
            by_variable.append(count)
        return self._asked.total(by_variable)

    def labels(self, states: States) -> tuple[str, ...]:  # noqa: ARG002 - the variables' states are named
        """As for the query itself."""
        return self._asked.labels

    def present(self, numbers: Sequence[float], states: States) -> Any:  # noqa: ARG002 - the variables' states are named
        """As for the query itself."""
        return self.query.present(numbers, self._asked.states)

    def _check(self, states: States) -> None:
        if len(states) != len(self._codes):
            raise QueryError(
                f"{self.text} must be asked of series of {', '.join(name for name, _ in self.variables)}",
                got=f"series of {len(states)} states, not {len(self._codes)}",
            )
