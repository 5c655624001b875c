"""What is computed: a question about one belief's data, as matrices from which everything else follows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from quiltwork.data import Countable, Series
from quiltwork.errors import QueryError
from quiltwork.numeric import float_above, round_up
from quiltwork.question.limits import Limits
from quiltwork.question.over_time import OverTime
from quiltwork.question.query import Query
from quiltwork.question.sensitivity import Norm, Pairs, largest_change, of_pairs, of_steps
from quiltwork.types import Codes, Floats

Numbers = NDArray[np.int64] | NDArray[np.float64] | NDArray[np.object_]
"""Integers, as Python has them where they may be large, or floats."""
Totals = tuple[tuple[int, ...], ...]
"""Groups of places of an answer's numbers, each of which adds up to something public."""
Divide = Literal["nothing", "values", "half", "line"] | int
"""By what numbers are divided after the noise: nothing, their n values, n / 2, n (n + 1), or a public size."""
LARGEST_TOTAL = 256  # numbers: beyond that noise that keeps the total is hardly smaller, and takes long to draw
MOST = 2**62  # steps of an answer: exact noise is drawn on 64-bit integers


class Derived(Protocol):
    """What was asked for, where that is not the numbers but follows from them: a median, a mean length."""

    def value(self, numbers: Sequence[float], labels: Sequence[str]) -> Any:
        """What follows from the numbers; None if nothing does."""

    def between(self, numbers: Sequence[float], error: float) -> tuple[float, float] | None:
        """Where it lies if each number is off by at most the error; None where that is not known."""

    def words(self, value: Any) -> str:
        """As people read it."""


@dataclass(frozen=True, eq=False)
class Part:
    """A series, or one variable of a record: ``steps[n, y]`` is what state y adds to number n, in units."""

    name: str | None
    states: tuple[str, ...]
    steps: Codes | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """What a query asks of the data that a belief is about; ``bind`` makes it.

    The answer is Σ_j steps_j · counts_j, plus what ``pairs`` of neighbouring values add, plus nothing else; or, if
    ``declared``, a ``measure`` of the values of which only the sensitivity is known. It is a whole multiple of ``unit``
    unless it is not ``integer``, and it is divided by a public number (``divide``) after the noise.

    >>> from quiltwork import Count, MarkovChain
    >>> from quiltwork.question import bind
    >>> lazy = MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], states=["sit", "walk", "run"])
    >>> question = bind(Count("walk|run"), lazy).only
    >>> question.parts[0].steps.tolist(), question.table()[0].tolist()
    ([[0, 1, 1]], [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    """

    query: Query
    parts: tuple[Part, ...]
    """One for a series, one for each variable of a record."""
    pairs: Pairs | None = None
    unit: Fraction = Fraction(1)
    divide: Divide = "nothing"
    labels: tuple[tuple[str, ...], ...] = ((),)
    """What each number is about: nothing if there is one, a state, a state and the next."""
    asked: int | None = None
    """How many variables of a record or a step it asks; None for values that have no variables."""
    join: Literal["sum", "all"] = "sum"
    """Whether variables of a record add up, or a record counts if all of them match."""
    declared: tuple[Floats, ...] | None = None
    """Of an answer that does not add up: the most that it changes in L1 norm, by part and pair of states."""
    measure: Callable[[Series], Numbers] | None = field(default=None, repr=False)
    """What computes such an answer."""
    integer: bool = True
    limited: Callable[[int, int | None], Limits | None] | None = field(default=None, repr=False)
    """What is public about the numbers, given their values and links; None where it follows from the steps."""
    derive: Derived | None = None
    over_time: OverTime | None = None
    """Of real values: the weight of each time."""
    windows: bool = False
    """Whether it is asked of each window of a series, and a value may matter to two of them."""
    ordered: bool = False
    """Whether it needs the order of values."""
    by_part: bool = True
    """Whether it can be asked of each window or subject."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self.key == other.key

    def __hash__(self) -> int:
        return hash((self.query, self.unit, self.divide))

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """All that tells one question from another."""
        parts = tuple((part.name, part.states, _bytes(part.steps)) for part in self.parts)
        pairs = None if self.pairs is None else (_bytes(self.pairs.row), _bytes(self.pairs.step))
        declared = None if self.declared is None else tuple(map(_bytes, self.declared))
        return self.query, parts, pairs, self.unit, self.divide, self.join, declared, self.windows

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return self.query.text

    @property
    def additive(self) -> bool:
        """Whether the answer is a sum over single values, so that exact laws are known."""
        known = all(part.steps is not None for part in self.parts)
        return known and bool(self.parts) and self.pairs is None and self.join == "sum"

    @property
    def of_records(self) -> bool:
        """Whether it is about records of named variables."""
        return bool(self.parts) and self.parts[0].name is not None

    @property
    def steps(self) -> tuple[Codes, ...]:
        """What each state of each part adds to each number, in units, of an answer that adds up."""
        return tuple(part.steps for part in self.parts if part.steps is not None)

    @property
    def whole(self) -> float:
        """The most that all variables of a record together can change the answer, where that is known."""
        return 1.0 if self.join == "all" else math.inf  # Statement 70

    @property
    def undivided(self) -> "Question":
        """The counts or sums that it is made of."""
        return self if self.divide == "nothing" else replace(self, divide="nothing")

    def table(self, norm: Norm = 1) -> tuple[Floats, ...]:
        """The most that the answer changes when one value goes from y to y', for each part; rounded up.

        The diagonal is added once where neighbouring values change too (Statement 49).
        """
        known: dict[int, tuple[Floats, ...]] = self.__dict__.setdefault("_tables", {})
        if norm not in known:
            known[norm] = self._table(norm)
        return known[norm]

    def _table(self, norm: Norm) -> tuple[Floats, ...]:
        if self.declared is not None:
            return self.declared
        if self.pairs is not None:
            (steps,) = self.steps
            return (of_pairs(steps, self.pairs, self.unit, norm, windows=self.windows),)
        return tuple(of_steps(steps, self.unit, norm) for steps in self.steps)

    @property
    def lipschitz(self) -> float:
        """The most that any one value can change the answer."""
        return max(map(largest_change, self.table()))

    @property
    def totals(self) -> Totals:
        """Groups of numbers whose sum is public: what is added to them keeps it (Statement 75)."""
        if self.pairs is not None:  # how many values directly follow another is public, if each is counted once
            alone = not any(steps.any() for steps in self.steps)
            shared = alone and bool((self.pairs.step == 1).all() and (self.pairs.row >= 0).all())
            return (tuple(range(len(self.labels))),) if shared and 1 < len(self.labels) <= LARGEST_TOTAL else ()
        return public_totals(self.steps) if self.additive else ()

    def values_in(self, size: int) -> int:
        """How many values it asks of a series of this size, or of this number of records."""
        return size * (1 if self.asked is None or self.join == "all" else self.asked)

    def divisor(self, values: int) -> int:
        """What the noisy numbers are divided by, given how many values were asked."""
        if isinstance(self.divide, int):
            return self.divide
        return {"nothing": 1, "values": values, "half": max(1, values // 2), "line": values * (values + 1)}[self.divide]

    def divisor_of(self, length: int) -> int:
        """What the numbers of one series of this length, or of one record, are divided by."""
        return self.divisor(self.values_in(1 if self.of_records else length))

    def limits(self, size: int, links: int | None = None) -> Limits | None:
        """What is public about the answer, given the number of values, or records, and how many follow another."""
        if self.limited is not None:  # which values of a window follow others of it says little about stays
            return self.limited(size, None if self.windows else links)
        if not self.additive:
            return None if self.join == "sum" else Limits((0.0,), (float(size),))
        divisor = self.divisor(self.values_in(size))
        return Limits.of_steps(self.steps, [size] * len(self.steps), unit=self.unit, divisor=divisor)

    def reach(self, spread: float | None, values: int) -> float | None:
        """Of real values: by how much two answers can differ if values can by the spread; None where not known."""
        if self.over_time is None or spread is None or self.over_time.ramp is not None:
            return None
        return spread * self.over_time.weights(1, values).total / self.divisor(values)

    def answer(self, counts: Sequence[Codes], transitions: Codes | None = None) -> Codes:
        """The answer in units, from how often each state occurs in each part, and how often each follows each."""
        if not self.steps or self.join == "all":
            raise QueryError(f"{self.text} must add up over values", got="an answer that does not")
        added = [(steps, count) for steps, count in zip(self.steps, counts, strict=True)]
        largest = sum(int(np.abs(steps).max(initial=0)) * int(count.sum()) for steps, count in added)
        if largest >= MOST:
            raise QueryError(
                f"{self.text} must stay below 2^62 steps of {float(self.unit):g}",
                got=f"up to {float(largest):.1e}",
                why="exact noise is drawn on 64-bit integers",
                fix="Round the weights and the states' numbers to fewer digits",
            )
        total = np.zeros(len(self.labels), dtype=np.int64)
        for steps, count in added:
            total += steps @ count
        if self.pairs is not None and transitions is not None:
            counted = self.pairs.row >= 0
            np.add.at(total, self.pairs.row[counted], (self.pairs.step * transitions)[counted])
        return total

    def evaluate(self, data: Countable) -> Numbers:
        """The answer about a series, in units."""
        if self.measure is not None and isinstance(data, Series):
            return self.measure(data)
        if self.declared is not None:
            raise QueryError(f"{self.text} cannot be asked of these values", got="a question known by its sensitivity")
        return self.answer([data.counts()], None if self.pairs is None else data.transitions())

    def matching(self, codes: Codes) -> Codes:
        """1 for each record that has all of the values asked for."""
        holds = np.ones(len(codes), dtype=bool)
        for place, steps in enumerate(self.steps):
            if steps.any():
                holds &= steps[0, codes[:, place]] > 0
        return holds[None, :].astype(np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each number of the answer."""
        return tuple(" → ".join(path) if path else self.text for path in self.labels)

    def present(self, numbers: Sequence[float]) -> Any:
        """The answer in the form that people read: a number, or numbers by state."""
        if len(numbers) != len(self.labels):
            return list(numbers)
        if self.labels == ((),):
            return numbers[0]
        nested: dict[str, Any] = {}
        for (*outer, last), number in zip(self.labels, numbers, strict=True):
            inside = nested
            for name in outer:
                inside = inside.setdefault(name, {})
            inside[last] = number
        return nested

    def places_in(self, other: "Question") -> list[int] | None:
        """Where each of its numbers stands among those of another question; None if one of them is not there.

        Numbers are the same if the same values add the same to them, whatever they are divided by.
        """
        if self.integer != other.integer or self.key == other.key:
            return list(range(len(self.labels))) if self.key == other.key else None
        if not (self.additive or self.pairs) or not (other.additive or other.pairs) or self.windows != other.windows:
            return None
        if [(part.name, part.states) for part in self.parts] != [(part.name, part.states) for part in other.parts]:
            return None
        rows = {row: n for n, row in reversed(list(enumerate(other.rows)))}
        found = [rows.get(row) for row in self.rows]
        return None if None in found else [n for n in found if n is not None]

    @cached_property
    def rows(self) -> list[tuple[Any, ...]]:
        """What values and pairs of neighbours add to each number, as plain values."""
        pairs: list[list[tuple[int, int, Fraction]]] = [[] for _ in self.labels]
        if self.pairs is not None:
            for x, y in np.argwhere(self.pairs.row >= 0).tolist():
                pairs[int(self.pairs.row[x, y])].append((x, y, int(self.pairs.step[x, y]) * self.unit))
        return [
            (tuple(tuple(int(s) * self.unit for s in steps[n]) for steps in self.steps), tuple(added))
            for n, added in enumerate(pairs)
        ]


def public_totals(steps: Sequence[Codes]) -> Totals:
    """Groups of numbers that no value can change the sum of, given what each state of each variable adds to them.

    Numbers belong together if one variable changes both. A single number has no noise to share, and in a very large
    group a total saves next to nothing: those have noise of their own.

    >>> public_totals([np.array([[1, 0], [0, 1], [0, 0], [0, 0]]), np.array([[0, 0], [0, 0], [1, 0], [0, 1]])])
    ((0, 1), (2, 3))
    >>> public_totals([np.array([[1, 0, 0], [0, 1, 0]])])
    ()
    """
    groups: list[set[int]] = []
    for step in steps:
        moved = set(np.flatnonzero(np.ptp(step, axis=1)).tolist())
        joined = [group for group in groups if group & moved]
        groups = [group for group in groups if not group & moved] + ([moved.union(*joined)] if moved else [])
    return tuple(
        tuple(group)
        for group in sorted(map(sorted, groups))
        if 1 < len(group) <= LARGEST_TOTAL and all(not np.ptp(step[group].sum(axis=0)) for step in steps)
    )


def declared_change(constant: float, states: int) -> Floats:
    """A constant between different states."""
    return np.asarray(constant * ~np.eye(states, dtype=bool))


def between_reals(distance: float, largest: Fraction) -> Floats:
    """What two values that are the distance apart change, at most, with this largest weight."""
    return np.asarray(round_up(distance * float_above(largest)) * (1.0 - np.eye(2)))


def _bytes(array: Codes | Floats | None) -> tuple[Any, ...] | None:
    return None if array is None else (array.shape, array.tobytes() if array.any() else None)
