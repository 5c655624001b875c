"""Questions whose answer follows from a histogram: medians, quantiles, and the most frequent states.

Noise is added to the histogram and nothing else is told: what follows from it and from public facts costs nothing
further (Statement 32). It is computed from the consistent counts, none below 0 and together the number of values.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs import Belief
from quiltwork.data import Countable
from quiltwork.data.values import level_numbers
from quiltwork.errors import QueryError
from quiltwork.queries.base import Asked, Numbers, Query, States, Totals, Variables
from quiltwork.queries.kinds import Histogram
from quiltwork.queries.limits import Limits
from quiltwork.queries.steps import InSteps
from quiltwork.types import Codes


@dataclass(frozen=True)
class FromHistogram(Query):
    """A question that is answered by a histogram: it has its noise, its sensitivity and its numbers."""

    histogram: Query = field(default=Histogram(), kw_only=True)
    """The histogram as it is asked under a belief."""

    def __post_init__(self) -> None:
        asked = self.histogram.query if isinstance(self.histogram, InSteps) else self.histogram
        if type(asked) is not Histogram:
            raise QueryError(
                f"{type(self).__name__.lower()} is read from a histogram",
                got=type(asked).__name__,
                why="other questions have other units and sensitivities",
                fix="Leave histogram= out",
            )

    @abstractmethod
    def derived(self, numbers: Sequence[float], states: States) -> Any:
        """What was asked for."""

    @abstractmethod
    def _plain(self) -> dict[str, Any]:
        """The question itself as plain values."""

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values, with its histogram where that is a particular one."""
        asked = self.histogram.to_dict()
        return self._plain() | ({} if asked == Histogram().to_dict() else {"histogram": asked})

    def _with(self, histogram: Query) -> Self:
        return replace(self, histogram=histogram)

    def within(self, belief: Belief) -> Query:
        """As for the histogram."""
        return self._with(self.histogram.within(belief))

    def undivided(self) -> Query:
        """The histogram."""
        return self.histogram.undivided()

    def unrolled(self, names: Mapping[str, Sequence[str]]) -> Query | None:
        """As for the histogram."""
        return self.histogram.unrolled(names)

    def at_steps(self, names: Mapping[str, Sequence[str]]) -> Query:
        """As for the histogram."""
        return self.histogram.at_steps(names)

    def by_variable(self, variables: Variables) -> Asked:
        """As for the histogram."""
        return replace(self.histogram.by_variable(variables), query=self)

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """That of the histogram."""
        return self.histogram.sensitivity(states)

    @property
    def balanced(self) -> bool:  # type: ignore[override]
        """As for the histogram."""
        return self.histogram.balanced

    def steps(self, states: States) -> Codes | None:
        """As for the histogram."""
        return self.histogram.steps(states)

    def values_in(self, size: int) -> int:
        """As for the histogram."""
        return self.histogram.values_in(size)

    def totals(self, states: States) -> Totals:
        """As for the histogram."""
        return self.histogram.totals(states)

    def limits(self, states: States, size: int, links: int | None = None) -> Limits | None:
        """As for the histogram."""
        return self.histogram.limits(states, size, links)

    def evaluate(self, series: Countable) -> Numbers:
        """The counts."""
        return self.histogram.evaluate(series)

    def labels(self, states: States) -> tuple[str, ...]:
        """The states."""
        return self.histogram.labels(states)

    def present(self, numbers: Sequence[float], states: States) -> Any:
        """Counts by state."""
        return self.histogram.present(numbers, states)

    def _by_state(self, numbers: Sequence[float], states: States) -> list[tuple[str, float]]:
        return list(zip(self.labels(states), numbers, strict=True))


@dataclass(frozen=True)
class Quantile(FromHistogram):
    """The least number below or at which at least this share of the values lies, where states are numbers or levels.

    It is the state in which the share is reached, from the least on, with its number; levels from ``bins`` have the
    midpoints that means use. Within a level nothing is interpolated: where in it the values are, the counts do not say.

    >>> levels = ["<10", "10..20", ">=20"]
    >>> Quantile("0.9").derived([50, 45, 5], levels)
    {'state': '10..20', 'number': 15.0}
    >>> Quantile("0.9").in_words({"state": "10..20", "number": 15.0})
    '10..20 (15)'
    >>> Quantile("0.5").text, Quantile("0.9").lipschitz(levels)
    ('median', 2.0)
    """

    at: float | str

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            share = Fraction(str(self.at))
        except (ValueError, ZeroDivisionError):
            share = Fraction(0)
        if not 0 < share < 1:
            raise QueryError(
                "a quantile must be between 0 and 1", got=repr(self.at)[:40], fix="For example quantile:0.9, or median"
            )
        object.__setattr__(self, "at", str(self.at))

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "median" if Fraction(self.at) == Fraction(1, 2) else f"quantile:{self.at}"

    def _plain(self) -> dict[str, Any]:
        return {"kind": "quantile", "at": self.at}

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """That of the histogram, whose states must be numbers."""
        self._numbers(self.labels(states))
        return super().sensitivity(states)

    def _numbers(self, states: States) -> list[Fraction]:
        levels = level_numbers(states)
        if levels is not None:
            return levels
        try:
            return [Fraction(state) for state in states]
        except (ValueError, ZeroDivisionError):
            raise QueryError(
                f"{self.text} needs a number for every state",
                got="states without one",
                why="only numbers have an order",
                fix="Name the states by their numbers, or use bins with two edges or more",
            ) from None

    def by_variable(self, variables: Variables) -> Asked:
        """As for the histogram; the states of all variables must be numbers."""
        asked = super().by_variable(variables)
        self._numbers(asked.states)
        return asked

    def derived(self, numbers: Sequence[float], states: States) -> dict[str, Any] | None:
        """The state that holds the quantile, and its number; None where no count is left after the noise."""
        counts = self._by_state(numbers, states)
        ordered = sorted(
            zip(self._numbers([state for state, _ in counts]), counts, strict=True), key=lambda one: one[0]
        )
        total = sum((Fraction(max(0.0, n)) for _, (_, n) in ordered), Fraction(0))
        below = Fraction(0)
        for number, (state, n) in ordered:
            below += Fraction(max(0.0, n))
            if total and below >= Fraction(self.at) * total:
                return {"state": state, "number": float(number)}
        return None

    def in_words(self, derived: Any) -> str:
        """The state, and its number where that is not its name."""
        if derived is None:
            return "unknown"
        state, number = derived["state"], f"{derived['number']:g}"
        return state if state == number else f"{state} ({number})"


@dataclass(frozen=True)
class Top(FromHistogram):
    """The states that occur most often, from the most frequent on, with their counts.

    >>> Top(2).derived([10, 70, 20], ["sit", "walk", "run"])
    {'walk': 70, 'run': 20}
    """

    most: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.most) is not int or self.most < 1:
            raise QueryError(
                "top needs the number of states to name", got=repr(self.most)[:40], fix="For example top:3"
            )

    @classmethod
    def parse(cls, text: str) -> "Top":
        """From the number as text."""
        return cls(int(text) if text.isdecimal() and text.isascii() else 0)

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return f"top:{self.most}"

    def _plain(self) -> dict[str, Any]:
        return {"kind": "top", "most": self.most}

    def derived(self, numbers: Sequence[float], states: States) -> dict[str, float]:
        """States by falling counts; of equal ones, in the order of the states."""
        return dict(sorted(self._by_state(numbers, states), key=lambda one: -one[1])[: self.most])

    def in_words(self, derived: Any) -> str:
        """The names of the states."""
        return ", ".join(derived)
