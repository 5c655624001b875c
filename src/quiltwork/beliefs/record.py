"""Beliefs about a record of named variables, each with states of its own."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs.base import Belief
from quiltwork.errors import BeliefError, check_name
from quiltwork.numeric import round_up


@dataclass(frozen=True)
class Outcomes:
    """Every possible record: ``codes[m, j]`` is the state of variable j, ``logs[m]`` the logarithm of its probability.

    Logarithms, so that what is possible stays possible, however rare.
    """

    codes: NDArray[np.int64]
    logs: NDArray[np.float64]


class RecordBelief(Belief):
    """A belief about records with these variables; ``states`` are the states of all of them together."""

    variables: Mapping[str, tuple[str, ...]]
    """Their names in order, with the states of each: values, tables and profiles go by this order."""
    noun = "records"

    @property
    def state_sets(self) -> tuple[tuple[str, ...], ...]:
        """The states of each variable."""
        return tuple(self.variables.values())

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Variables that may depend on each other, together; those of different parts are independent."""
        return (tuple(range(len(self.variables))),)

    def heaviest_part(self, weights: Sequence[float]) -> tuple[float, int]:
        """The largest sum of weights over variables that may depend on each other, rounded up, and their number."""
        return max((round_up(math.fsum(weights[n] for n in part)), len(part)) for part in self.parts)

    def size(self, length: int | None = None) -> int:
        """The number of values, one a variable; a length that says otherwise is an error.

        >>> from quiltwork import JointTable
        >>> JointTable({"x": "01"}, [(("0",), 0.5), (("1",), 0.5)]).size()
        1
        """
        if length is not None and length != len(self.variables):
            raise BeliefError(
                "the length must be the number of variables",
                got=f"{length} for {len(self.variables)} variables",
                why="each variable has one value",
                fix="Leave the length out, or use any",
            )
        return len(self.variables)


class RecordLaw(RecordBelief):
    """A single law of records, small enough to be written down one by one."""

    @property
    def laws(self) -> "tuple[RecordLaw, ...]":
        """The law itself."""
        return (self,)

    @cached_property
    def all_outcomes(self) -> Outcomes:
        """Every possible record with its probability."""
        return self._enumerate()

    @abstractmethod
    def _enumerate(self) -> Outcomes:
        """Every possible record with its probability."""


def name_variables(variables: Mapping[str, Sequence[object]], what: str) -> dict[str, tuple[str, ...]]:
    """Validated variables, each with different states."""
    if not isinstance(variables, Mapping):
        raise BeliefError(f"{what} needs a mapping of variables to states", got=type(variables).__name__)
    named = {
        check_name(str(name), "a variable", error=BeliefError): tuple(
            check_name(str(state), "a state", error=BeliefError) for state in states
        )
        for name, states in variables.items()
    }
    if not named:
        raise BeliefError(f"{what} needs variables, each with different states", got="none")
    for name, states in named.items():
        if not states or len(set(states)) != len(states):
            raise BeliefError(
                f"{what} needs variables, each with different states",
                got=f"variable {name!r} with {'a repeated one' if states else 'none'}",
            )
    return named


def all_states(variables: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The states of all variables together, in their order."""
    return tuple(dict.fromkeys(state for states in variables.values() for state in states))


def listed(variables: Mapping[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    """Variables as a belief file has them: a list, since their order is part of the belief."""
    return [{"name": name, "states": list(states)} for name, states in variables.items()]


def variables_in(contents: object, what: str) -> dict[str, list[object]]:
    """Variables from a belief file, in their order: a list of names with states, or an object of lists of states.

    >>> variables_in([{"name": "flu", "states": ["no", "yes"]}], "a network")
    {'flu': ['no', 'yes']}
    """
    if isinstance(contents, list):
        for entry in contents:
            if not isinstance(entry, dict) or set(entry) != {"name", "states"} or not isinstance(entry["name"], str):
                raise BeliefError(
                    f"each variable in the list of {what} must have a name and states",
                    got="something else",
                    fix='{"name": "flu", "states": ["no", "yes"]}',
                )
        names = [entry["name"] for entry in contents]
        if len(set(names)) < len(names):
            raise BeliefError(f"the variables of {what} must have different names", got="one name twice")
        contents = {entry["name"]: entry["states"] for entry in contents}
    if not isinstance(contents, dict) or not all(isinstance(states, list) for states in contents.values()):
        raise BeliefError(
            f"the variables of {what} must be a list of names with states",
            got=type(contents).__name__,
            fix='[{"name": "flu", "states": ["no", "yes"]}]',
        )
    return contents
