"""How the share of a state differs between two groups of values: two periods, or two groups of subjects."""

import re
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs import Belief
from quiltwork.data import Countable, Series, Window
from quiltwork.errors import QueryError
from quiltwork.queries.base import Asked, Query, States, Variables
from quiltwork.queries.kinds import Count
from quiltwork.queries.limits import Limits
from quiltwork.types import Codes

POSITIONS = re.compile(r"(\d{1,15})-(\d{1,15})")
SUBJECTS = "subjects="
OTHERS = "*"
FORMS = "difference:walk:1-96|97-192, difference:walk:2024-03-01..2024-03-07|2024-03-08..2024-03-14 or "
FORMS += "difference:walk:subjects=ann,bob|*"


@dataclass(frozen=True)
class ShareDifference(Query):
    """The share of a state (or of a set: ``walk|run``) in a second group of values minus that in a first.

    Groups are periods, by positions (``1-96``) or dates (``2024-03-01..2024-03-07``), or subjects (``ann,bob``; ``*``
    for all others). How many values each of them has is public. A value counts 1 in the smaller group and less in
    the larger, so that one count's noise is enough, divided by the size of the smaller group (Statement 69).

    >>> from quiltwork import Series
    >>> series = Series.from_values("aabbbb", states=["a", "b"])
    >>> change = ShareDifference("a", "1-2", "3-6").sized(series)
    >>> change.evaluate(series).tolist(), change.unit(series.states), change.divisor(6), change.lipschitz(["a", "b"])
    ([-4], Fraction(1, 2), 2, 1.0)
    """

    state: str
    before: str
    after: str
    sizes: tuple[int, int] | None = None
    """How many values each group has; None before data are read."""
    divided: bool = True
    ordered = True
    by_part = False

    def __post_init__(self) -> None:
        if not self.state or self._kind is None:
            raise QueryError(
                "a difference must name a state and two groups of the same kind", got=self.text[:60], fix=FORMS
            )
        first, second = self._spans
        if self._kind == SUBJECTS:
            alike = set(first) & set(second)
        else:
            if any(one > other for one, other in (first, second)) or first[0] in ("0", 0):
                raise QueryError("a period must be its first and its last time", got=self.text[:60], fix=FORMS)
            alike = {"times"} if first[0] <= second[1] and second[0] <= first[1] else set()
        if alike:
            raise QueryError("two groups must not overlap", got=self.text[:60], fix=FORMS)
        if self.sizes is not None and (len(self.sizes) != 2 or min(self.sizes) < 1):
            raise QueryError("both groups must have values", got="none in one of them", fix="Choose others")

    @classmethod
    def parse(cls, text: str) -> "ShareDifference":
        """From ``STATE:FIRST|SECOND``."""
        state, _, groups = text.rpartition(":")
        before, _, after = groups.partition("|")
        prefix = SUBJECTS if before.startswith(SUBJECTS) else ""
        return cls(state, before.strip(), prefix + after.strip())

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return f"difference:{self.state}:{self.before}|{self.after.removeprefix(SUBJECTS)}"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        sizes = {} if self.sizes is None else {"sizes": list(self.sizes)}
        named = {"kind": "share-difference", "state": self.state, "before": self.before, "after": self.after}
        return named | sizes | ({} if self.divided else {"divided": False})

    @property
    def _kind(self) -> str | None:
        groups = self.before, self.after
        if all(POSITIONS.fullmatch(group) for group in groups):
            return "positions"
        if all(group.startswith(SUBJECTS) and len(group) > len(SUBJECTS) for group in groups):
            return SUBJECTS
        try:
            dated = [[date.fromisoformat(day) for day in group.split("..")] for group in groups]
        except ValueError:
            return None
        return "dates" if all(len(days) == 2 for days in dated) else None

    @property
    def _spans(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """First and last position or date of each group, or its subjects."""

        def span(group: str) -> tuple[Any, ...]:
            if self._kind == "positions":
                return tuple(int(n) for n in group.split("-"))
            if self._kind == "dates":
                return tuple(group.split(".."))
            return tuple(name.strip() for name in group.removeprefix(SUBJECTS).split(","))

        return span(self.before), span(self.after)

    def counted(self, series: Series) -> tuple[Codes, Codes]:
        """How often each state occurs in each group."""
        first, second = self._spans
        if self._kind == "positions":
            return series.between(*first).counts(), series.between(*second).counts()
        nothing = np.zeros(len(series.states), dtype=np.int64)
        if self._kind == "dates":
            days = series.parts(window=Window.parse("day"), by_subject=False, transitions=False)
            inside = [[part for day, part in days.items() if low <= day <= high] for low, high in (first, second)]
        else:
            people = series.parts(window=None, by_subject=True, transitions=False)
            named = {name for name in (*first, *second) if name != OTHERS}
            if not named <= set(people):
                raise QueryError("both groups must name subjects of the data", got="others", fix="Check their names")
            inside = [
                [part for name, part in people.items() if name in group or (OTHERS in group and name not in named)]
                for group in (first, second)
            ]
        one, other = (sum((part.counts() for part in parts), nothing) for parts in inside)
        return one, other

    def sized(self, series: Series) -> Query:
        """With the number of values of each group."""
        one, other = self.counted(series)
        return replace(self, sizes=(int(one.sum()), int(other.sum())))

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """That of a count: no value weighs more than 1."""
        return Count(self.state).sensitivity(states)

    def within(self, belief: Belief) -> Query:  # noqa: ARG002 - the same for all
        """The query itself: it is about states of whole steps."""
        return self

    def by_variable(self, variables: Variables) -> Asked:
        """Not for records."""
        raise QueryError(f"{self.text} needs a series", got=f"a record of {len(variables)} variables")

    def unit(self, states: States) -> Fraction:  # noqa: ARG002 - the sizes say it
        """Weights are whole multiples of it."""
        return Fraction(1) if self.sizes is None else Fraction(gcd(*self.sizes), max(self.sizes))

    def divisor(self, size: int) -> int:
        """The size of the smaller group; before data are read, of the shorter period or of half of the values."""
        if not self.divided:
            return 1
        if self.sizes is not None:
            return min(self.sizes)
        if self._kind == "positions":
            return int(min(last - first + 1 for first, last in self._spans))
        return max(1, size // 2)

    def undivided(self) -> Query:
        """The weighted count that it is made of."""
        return replace(self, divided=False)

    def limits(self, states: States, size: int, links: int | None = None) -> Limits:  # noqa: ARG002 - a difference
        """From -1 to 1."""
        largest = 1.0 if self.divided or self.sizes is None else float(min(self.sizes))
        return Limits((-largest,), (largest,))

    def evaluate(self, series: Countable) -> Codes:
        """Counts of the second group less those of the first, each times the size of the other."""
        if not isinstance(series, Series):
            raise QueryError(f"{self.text} needs whole series", got="a part of them")
        counts = self.counted(series)
        sizes = tuple(int(count.sum()) for count in counts)
        if sizes != (self.sizes or sizes):
            raise QueryError("the data must not change while they are read", got="groups of another size")
        step, hit = gcd(*sizes), Count(self.state).counted(series.states)
        first, second = (int(count[hit].sum()) for count in counts)
        if sizes[0] // step * sizes[1] >= 2**62:
            raise QueryError(
                "the sizes of the two groups must have a product below 2^62 in units",
                got=f"{float(sizes[0] // step * sizes[1]):.1e}",
                why="exact noise is drawn on 64-bit integers",
                fix="Choose groups whose sizes have a large common divisor",
            )
        return np.array([second * (sizes[0] // step) - first * (sizes[1] // step)], dtype=np.int64)
