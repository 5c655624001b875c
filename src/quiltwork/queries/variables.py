"""Questions about some of the variables of a record."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from quiltwork.data import Countable
from quiltwork.errors import QueryError, did_you_mean
from quiltwork.queries.base import Asked, Query, States, Variables
from quiltwork.types import Codes

SMALLEST, LARGEST = Fraction(1, 10**50), Fraction(10**50)


class OfVariables(Query):
    """A query that names variables, so that it makes no sense for series."""

    names_variables = True

    def _no_series(self) -> NoReturn:
        raise QueryError(
            f"{self.text} asks named variables",
            got="a series",
            why="the values of a series have times, not names",
            fix="Use a network or a joint table, or a query without names",
        )

    def sensitivity(self, states: States) -> NDArray[np.float64]:  # noqa: ARG002 - there are none to speak of
        """Not for series."""
        self._no_series()

    def evaluate(self, series: Countable) -> Codes:  # noqa: ARG002 - there are none to speak of
        """Not for series."""
        self._no_series()


@dataclass(frozen=True)
class Over(OfVariables):
    """A query about some variables of a record only; with weights, each of them counts that many times.

    >>> from quiltwork import Count, Sum
    >>> Over(Count("yes"), ["fever", "cough"]).text
    'count:yes over fever,cough'
    >>> Over(Sum(), {"visits": 1, "nights": 2.5}).text
    'sum over visits,nights=2.5'
    """

    query: Query
    variables: Sequence[str] | Mapping[str, float | str]

    def __post_init__(self) -> None:
        if not isinstance(self.query, Query) or self.query.names_variables:
            raise QueryError("over needs a query without names of its own", got=type(self.query).__name__)
        if self.query.ordered:
            raise QueryError(
                "questions about the order of values need a series",
                got=self.query.text,
                why="variables have no order in time",
            )
        if isinstance(self.variables, str) or not self.variables:
            raise QueryError(
                "over needs a list of variables", got=repr(self.variables), fix='For example ["fever", "cough"]'
            )
        if len(set(self.variables)) < len(self.variables):
            raise QueryError("over must name each variable once", got="one twice")
        weights = self._weights()
        if self.query.divisor(2) != 1 and any(w != 1 for w in weights.values()):
            raise QueryError(
                f"{self.query.text} takes no weights",
                why="it is divided by the number of values",
                fix="Use weights with a sum or a count, and divide it yourself",
            )

    def _weights(self) -> dict[str, Fraction]:
        if not isinstance(self.variables, Mapping):
            return dict.fromkeys(self.variables, Fraction(1))
        try:
            weights = {name: Fraction(str(weight)) for name, weight in self.variables.items()}
        except (ValueError, ZeroDivisionError):
            raise QueryError("weights must be finite numbers", got="something else") from None
        if not all(SMALLEST <= abs(weight) <= LARGEST for weight in weights.values()):
            raise QueryError(
                "weights must have a size between 1e-50 and 1e50",
                got="another",
                why="a weight of 0 leaves the variable out, and others are lost in rounding",
                fix="Leave it out, or change the unit",
            )
        return weights

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
        named = (n if w == 1 else f"{n}={_decimal(w)}" for n, w in self._weights().items())
        return f"{self.query.text} over {','.join(named)}"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values; weights as exact fractions."""
        weights = [[name, str(weight)] for name, weight in self._weights().items()]
        return {"kind": "over", "query": self.query.to_dict(), "variables": weights}

    def by_variable(self, variables: Variables) -> Asked:
        """The query asked of the named variables, and nothing of the others."""
        _check_names(self.variables, variables)
        return replace(Asked.of(self.query, variables, self._weights()), query=self)

    def at_steps(self, names: Mapping[str, Sequence[str]]) -> Query:
        """The same asked of the named variables at some steps, each with its weight."""
        return Over(self.query, {at: str(w) for name, w in self._weights().items() for at in names[name]})

    def divisor(self, size: int) -> int:
        """As for the query itself."""
        return self.query.divisor(size)

    def undivided(self) -> Query:
        """The counts or sums that it is made of."""
        return Over(self.query.undivided(), self.variables)

    def labels(self, states: States) -> tuple[str, ...]:
        """As for the query itself."""
        return (self.text,) if len(self.query.labels(states)) == 1 else self.query.labels(states)

    def present(self, numbers: Sequence[float], states: States) -> Any:
        """As for the query itself."""
        return self.query.present(numbers, states)

    def derived(self, numbers: Sequence[float], states: States) -> Any:
        """As for the query itself."""
        return self.query.derived(numbers, states)

    def in_words(self, derived: Any) -> str:
        """As for the query itself."""
        return self.query.in_words(derived)


@dataclass(frozen=True)
class Tally(OfVariables):
    """How many of the named variables have one of the values named for them.

    >>> Tally({"fever": "high", "cough": ["dry", "wet"]}).text
    'tally:fever=high,cough=dry|wet'
    """

    values: Mapping[str, str | Sequence[str]]

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping) or not self.values or not all(self.values.values()):
            raise QueryError("a tally needs variables with values", got="none", fix='For example {"fever": "high"}')

    def _values(self) -> dict[str, tuple[str, ...]]:
        return {name: (states,) if isinstance(states, str) else tuple(states) for name, states in self.values.items()}

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "tally:" + ",".join(f"{name}={'|'.join(states)}" for name, states in self._values().items())

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": "tally", "values": [[name, list(states)] for name, states in self._values().items()]}

    def at_steps(self, names: Mapping[str, Sequence[str]]) -> Query:
        """The same values of the named variables at some steps."""
        return Tally({at: states for name, states in self._values().items() for at in names[name]})

    def by_variable(self, variables: Variables) -> Asked:
        """1 for the values named, 0 for all others."""
        chosen = self._values()
        _check_names(chosen, variables)
        for name, tallied in chosen.items():
            if not set(tallied) <= set(variables[name]):
                raise QueryError(
                    f"the tallied values of {name} must be its states",
                    got=repr(wrong := next(v for v in tallied if v not in variables[name])),
                    fix=did_you_mean(wrong, variables[name], f"Choose from {', '.join(variables[name])}"),
                )
        hits = [np.array([s in chosen.get(name, ()) for s in states]) for name, states in variables.items()]
        return Asked(
            query=self,
            unit=Fraction(1),
            steps=tuple(hit[None, :].astype(np.int64) for hit in hits),
            sensitivity=tuple(np.not_equal.outer(hit, hit).astype(np.float64) for hit in hits),
            asked=len(chosen),
            states=(),
        )


@dataclass(frozen=True)
class Matching(OfVariables):
    """How many records have one of the values named for each of these variables, all at once.

    Whatever changes in a record, it counts or it does not: one record changes the answer by at most 1, however many
    variables are asked and however they depend on each other (Statement 70).

    >>> query = Matching({"fever": "high", "cough": ["dry", "wet"]})
    >>> query.text
    'records:fever=high&cough=dry|wet'
    >>> query.by_variable({"fever": ("low", "high"), "cough": ("no", "dry", "wet")}).whole
    1.0
    """

    values: Mapping[str, str | Sequence[str]]

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping) or not self.values or not all(self.values.values()):
            raise QueryError("records need variables with values", got="none", fix='For example {"fever": "high"}')

    @property
    def _tally(self) -> Tally:
        return Tally(self.values)

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "records:" + self._tally.text.removeprefix("tally:").replace(",", "&")

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return self._tally.to_dict() | {"kind": "records"}

    def by_variable(self, variables: Variables) -> Asked:
        """A variable matters where it goes from a named value to another; the rest may hold or not."""
        tallied = self._tally.by_variable(variables)
        return replace(tallied, query=self, steps=(None,) * len(variables), whole=1.0)

    def of_records(self, codes: Codes, variables: Variables) -> Codes:
        """1 for each record that has all of the values."""
        holds = np.ones(len(codes), dtype=bool)
        for place, steps in enumerate(self._tally.by_variable(variables).steps):
            if steps is not None and steps.any():
                holds &= steps[0, codes[:, place]] > 0
        return holds[None, :].astype(np.int64)

    def at_steps(self, names: Mapping[str, Sequence[str]]) -> Query:  # noqa: ARG002 - a record has one step
        """Not for records over time."""
        raise QueryError(f"{self.text} is about records", got="records over time", fix="Ask for tally:A=x,B=y")


def _check_names(names: Iterable[str], variables: Variables) -> None:
    for name in names:
        if name not in variables:
            shown = ", ".join(list(variables)[:20]) + (", ..." if len(variables) > 20 else "")
            raise QueryError(
                "the query must ask variables of the belief",
                got=repr(name),
                fix=did_you_mean(name, variables, f"Its variables: {shown}"),
            )


def _decimal(weight: Fraction) -> str:
    return str(int(weight)) if weight.denominator == 1 else repr(float(weight))
