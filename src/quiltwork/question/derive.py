"""What follows from noisy numbers and public facts, and so costs nothing further (Statement 32).

Medians, quantiles and the most frequent states follow from a histogram, and the mean length of stays from how many
values and stays there are. They are computed from consistent counts, none below 0 and together the number of values.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from quiltwork.data.values import level_numbers
from quiltwork.errors import QueryError


@dataclass(frozen=True)
class StateAtShare:
    """The least number below or at which at least this share of the values lies, where states are numbers or levels.

    It is the state in which the share is reached, from the least on, with its number; levels from ``bins`` have the
    midpoints that means use. Within a level nothing is interpolated: where in it the values are, the counts do not say.

    >>> at = StateAtShare(Fraction(9, 10), "quantile:0.9")
    >>> at.value([50, 45, 5], ["<10", "10..20", ">=20"])
    {'state': '10..20', 'number': 15.0}
    >>> at.words({"state": "10..20", "number": 15.0})
    '10..20 (15)'
    """

    at: Fraction
    text: str

    def numbers(self, states: Sequence[str]) -> list[Fraction]:
        """The number that each state stands for, or an error."""
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

    def value(self, numbers: Sequence[float], labels: Sequence[str]) -> dict[str, Any] | None:
        """The state that holds the quantile, and its number; None where no count is left after the noise."""
        counts = zip(self.numbers(labels), labels, numbers, strict=True)
        ordered = sorted(counts, key=lambda one: one[0])
        total = sum((Fraction(max(0.0, n)) for _, _, n in ordered), Fraction(0))
        below = Fraction(0)
        for number, state, n in ordered:
            below += Fraction(max(0.0, n))
            if total and below >= self.at * total:
                return {"state": state, "number": float(number)}
        return None

    def between(self, numbers: Sequence[float], error: float) -> None:
        """Not known."""

    def words(self, value: Any) -> str:
        """The state, and its number where that is not its name."""
        if value is None:
            return "unknown"
        state, number = value["state"], f"{value['number']:g}"
        return state if state == number else f"{state} ({number})"


@dataclass(frozen=True)
class MostFrequent:
    """The states that occur most often, from the most frequent on, with their counts.

    >>> MostFrequent(2).value([10, 70, 20], ["sit", "walk", "run"])
    {'walk': 70, 'run': 20}
    """

    most: int

    def value(self, numbers: Sequence[float], labels: Sequence[str]) -> dict[str, float]:
        """States by falling counts; of equal ones, in the order of the states."""
        return dict(sorted(zip(labels, numbers, strict=True), key=lambda one: -one[1])[: self.most])

    def between(self, numbers: Sequence[float], error: float) -> None:
        """Not known."""

    def words(self, value: Any) -> str:
        """The names of the states."""
        return ", ".join(value)


@dataclass(frozen=True)
class MeanLength:
    """How long stays are on average: how many values there are in them, divided by how many stays.

    >>> MeanLength().value([30, 20], ["values in it", "stays"]), MeanLength().between([30, 20], 5)
    (1.5, (1.0, 2.3333333333333335))
    """

    def value(self, numbers: Sequence[float], labels: Sequence[str]) -> float | None:  # noqa: ARG002 - always two
        """The mean length, at least 1; None where no stay is left after the noise."""
        values, stays = numbers
        return None if stays < 1 else max(1.0, values / stays)

    def between(self, numbers: Sequence[float], error: float) -> tuple[float, float]:
        """With the fewest values in the most stays, and the most in the fewest; no stay may be left."""
        values, stays = numbers
        high = (values + error) / (stays - error) if stays - error >= 1 else math.inf
        return max(1.0, (values - error) / (stays + error)), max(1.0, high)

    def words(self, value: Any) -> str:
        """The mean length, in values."""
        return "unknown" if value is None else f"about {value:.2g} values each"
