"""Questions about real values: sums and means, shares above a threshold, trends, differences, functions of your own.

Each has a weight for the value at each time: how much the answer changes with it. Answers are sums of weights times
values, which are added up exactly on a fine grid and divided by a public number afterwards. Weights are scaled so that
the largest is ``Measured.largest``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quiltwork.beliefs import Belief
from quiltwork.data import Countable
from quiltwork.errors import QueryError
from quiltwork.numeric import float_above, round_up
from quiltwork.queries.base import Asked, Numbers, Query, States, Variables
from quiltwork.queries.limits import Limits
from quiltwork.types import Floats, Segment

MOST_WEIGHTS = 5_000_000


@dataclass(frozen=True)
class Weights:
    """The weight of each time: constant along runs (first, last, weight), or listed from time ``first`` on.

    >>> Weights.constant(3, 5).ends, Weights(listed=np.array([1.0, -2.0])).largest
    (((3, 3), (5, 5)), 2.0)
    """

    runs: tuple[tuple[int, int, float], ...] = ()
    listed: Floats | None = field(default=None, compare=False)
    first: int = 1

    @classmethod
    def constant(cls, first: int, last: int) -> "Weights":
        """Weight 1 from a first to a last time."""
        return cls(runs=((first, last, 1.0),))

    @property
    def ends(self) -> tuple[Segment, ...]:
        """Where weights change: times from a first to a last, at which runs begin and end, or the whole list."""
        if self.listed is not None:
            return ((self.first, self.first + len(self.listed) - 1),)
        return tuple((end, end) for first, last, _ in self.runs for end in (first, last))

    @property
    def largest(self) -> float:
        """The largest size of a weight."""
        sizes = [abs(weight) for _, _, weight in self.runs]
        return max(sizes, default=0.0) if self.listed is None else float(np.abs(self.listed).max(initial=0.0))

    @property
    def total(self) -> float:
        """The sum of the sizes of all weights."""
        if self.listed is not None:
            return float(np.abs(self.listed).sum())
        return math.fsum(abs(weight) * (last - first + 1) for first, last, weight in self.runs)

    @property
    def sizes(self) -> "Weights":
        """The sizes of all weights."""
        runs = tuple((first, last, abs(weight)) for first, last, weight in self.runs)
        return Weights(runs, None if self.listed is None else np.abs(self.listed), self.first)

    def spread(self) -> "Weights":
        """The same as a list."""
        begun, ended = min(first for first, _, _ in self.runs), max(last for _, last, _ in self.runs)
        listed = np.zeros(ended - begun + 1)
        for first, last, weight in self.runs:
            listed[first - begun : last - begun + 1] += weight
        return Weights(listed=listed, first=begun)


class Measured(Query):
    """A question about real values."""

    linear = True
    """Whether the answer is a weighted sum of values; else weights bound how much each value can change it."""
    placed = False
    """Whether weights differ from time to time, so that values must be at known positions."""

    @property
    def largest(self) -> Fraction:
        """The largest size of a weight."""
        return Fraction(1)

    def weights(self, first: int, last: int) -> Weights:
        """The weights of a series from a first to a last time."""
        return Weights(runs=((first, last, float(self.largest)),))

    def sensitivity(self, states: States) -> NDArray[np.float64]:  # noqa: ARG002 - it is about numbers
        """For two values that are 1 apart."""
        return float_above(self.largest) * (1.0 - np.eye(2))

    def on(self, belief: Belief) -> Asked:
        """What it asks of values that are the belief's distance apart."""
        distance = getattr(belief, "distance", None)
        if not belief.real or distance is None:
            raise QueryError(
                f"{self.text} is about real values",
                got=f"a belief about {belief.noun if belief.variables is not None else 'states'}",
                why="under this belief values are states",
                fix='Use a belief of kind "gaussian", or ask for counts, a histogram, a sum or a mean of states',
            )
        changes = round_up(distance * float_above(self.largest)) * (1.0 - np.eye(2))
        unit = Fraction(2) ** (math.floor(math.log2(changes.max())) - 20)  # for the accuracy of a plan
        return Asked(self, unit, (None,), (changes,), None, belief.states)

    def by_variable(self, variables: Variables) -> Asked:
        """Not for records."""
        raise QueryError(f"{self.text} needs a series of numbers", got=f"a record of {len(variables)} variables")

    def evaluate(self, series: Countable) -> Numbers:  # noqa: ARG002 - states are no numbers
        """Not from counts: see ``total``."""
        raise QueryError(f"{self.text} needs numbers", got="states", fix="Read the data with read_measurements")

    def transformed(self, number: Any) -> Any:
        """What is added up of each value: the value itself, as an array or an expression."""
        return number

    def check_values(self, values: int) -> None:
        """Refuse a series of too few values."""

    def reach(self, spread: float | None, values: int) -> float | None:
        """By how much two answers can differ if values can by the spread; None where that is not known.

        >>> MeasuredMean().reach(5.0, 100), MeasuredSum().reach(5.0, 100)
        (5.0, 500.0)
        """
        return None if spread is None else spread * self.weights(1, values).total / self.divisor(values)

    def undivided(self) -> Query:
        """The weighted sum that it is made of."""
        return self if self.divisor(2) == 1 else Undivided(self)

    def total(self, sums: Sequence[int]) -> Fraction:
        """The answer in units, from sums of values at each time; only where weights differ from time to time."""
        weights = self.weights(1, len(sums))
        assert weights.listed is not None  # noqa: S101 - others add up without places
        return sum((Fraction(w) * s for w, s in zip(weights.listed.tolist(), sums, strict=True)), Fraction(0))


@dataclass(frozen=True)
class Undivided(Measured):
    """The weighted sum that another question is made of, before it is divided.

    >>> Undivided(Trend()).weights(1, 2).listed.tolist(), Undivided(Trend()).divisor(2)
    ([-6.0, 6.0], 1)
    """

    query: Measured

    @property
    def text(self) -> str:
        """What it is the sum of."""
        return f"sum of {self.query.text}"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": "undivided", "query": self.query.to_dict()}

    @property
    def linear(self) -> bool:  # type: ignore[override]  # as the query has it
        """Whether it is a weighted sum of values."""
        return self.query.linear

    @property
    def placed(self) -> bool:  # type: ignore[override]  # as the query has it
        """Whether weights differ from time to time."""
        return self.query.placed

    @property
    def largest(self) -> Fraction:
        """The largest size of a weight."""
        return self.query.largest

    def weights(self, first: int, last: int) -> Weights:
        """The same weights."""
        return self.query.weights(first, last)

    def check_values(self, values: int) -> None:
        """Refuse a series of too few values."""
        self.query.check_values(values)


@dataclass(frozen=True)
class MeasuredSum(Measured):
    """The sum of all values.

    >>> MeasuredSum().weights(1, 100).runs
    ((1, 100, 1.0),)
    """

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "sum"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": f"measured-{self.text}"}


@dataclass(frozen=True)
class MeasuredMean(MeasuredSum):
    """The mean of all values: the sum, divided by the public number of values.

    >>> MeasuredMean().divisor(1000)
    1000
    """

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "mean"

    def divisor(self, size: int) -> int:
        """The number of values."""
        return size

    def undivided(self) -> Query:
        """The sum."""
        return MeasuredSum()


@dataclass(frozen=True)
class ShareAbove(Measured):
    """Which share of values is above a threshold, with a ramp in place of the step.

    A value counts 0 up to half the width below the threshold, 1 from half the width above it on, and in between in
    proportion. A sharp step would change all at once where a value crosses it, and no theorem covers that here.

    >>> ShareAbove(2.0, width=1.0).transformed(np.array([1.0, 1.75, 2.0, 9.0])).tolist()
    [0.0, 0.25, 0.5, 1.0]
    """

    threshold: float
    width: float = field(kw_only=True)
    linear = False

    def __post_init__(self) -> None:
        for name in ("threshold", "width"):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
                raise QueryError(f"{name} must be a number", got=repr(given)[:40], fix="For example above:2.5:0.5")
        if not 1e-50 <= self.width <= 1e50:
            raise QueryError(
                "width must be above 0",
                got=f"{self.width:g}",
                why="a ramp leads from 0 to 1 around the threshold: a sharp step would reveal too much",
                fix="A width of at least the distance that is hidden costs little",
            )

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return f"above:{self.threshold:g}:{self.width:g}"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": "above", "threshold": self.threshold, "width": self.width}

    @property
    def largest(self) -> Fraction:
        """A value changes its share by its own change, divided by the width."""
        return 1 / Fraction(self.width)

    def transformed(self, number: Any) -> Any:
        """The ramp."""
        return ((number - (self.threshold - self.width / 2)) / self.width).clip(0.0, 1.0)

    def limits(self, states: States, size: int, links: int | None = None) -> Limits | None:  # noqa: ARG002 - a share
        """A share."""
        return Limits((0.0,), (1.0,))

    def reach(self, spread: float | None, values: int) -> float | None:  # noqa: ARG002 - the same for all
        """As the limits say."""
        return None

    def divisor(self, size: int) -> int:
        """The number of values."""
        return size


@dataclass(frozen=True)
class Trend(Measured):
    """How much values rise from step to step: the slope of the straight line through them by least squares.

    The slope is Σ (t - t̄) x_t / Σ (t - t̄)²; here 6 Σ w_t x_t / (n (n + 1)) with weights w from -1 to 1.

    >>> Trend().weights(1, 3).listed.tolist(), Trend().divisor(3)
    ([-6.0, 0.0, 6.0], 12)
    """

    placed = True

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "trend"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": "trend"}

    @property
    def largest(self) -> Fraction:
        """That of the first and the last value."""
        return Fraction(6)

    def check_values(self, values: int) -> None:
        """A line needs two points."""
        if not 2 <= values <= MOST_WEIGHTS:
            raise QueryError(
                f"a trend needs 2 to {MOST_WEIGHTS:,} values of each subject",
                got=f"{values:,}",
                fix="Use longer steps: every='1h', take='mean'" if values > 1 else None,
            )

    def weights(self, first: int, last: int) -> Weights:
        """From -6 to 6."""
        n = last - first + 1
        self.check_values(n)
        return Weights(listed=6.0 * (2 * np.arange(1, n + 1) - (n + 1)) / (n - 1), first=first)

    def total(self, sums: Sequence[int]) -> Fraction:
        """Exactly."""
        n = len(sums)
        return Fraction(6 * sum((2 * t - (n + 1)) * s for t, s in enumerate(sums, 1)), n - 1)

    def divisor(self, size: int) -> int:
        """n (n + 1)."""
        return size * (size + 1)


@dataclass(frozen=True)
class Difference(Measured):
    """The mean of a second period minus that of a first, both given by their first and last positions.

    >>> change = Difference((1, 2), (3, 6))
    >>> change.text, change.weights(1, 6).runs, change.divisor(6)
    ('difference:1-2|3-6', ((1, 2, -1.0), (3, 6, 0.5)), 2)
    """

    before: Segment
    after: Segment
    placed = True

    def __post_init__(self) -> None:
        for name in ("before", "after"):
            period = getattr(self, name)
            pair = isinstance(period, Sequence) and not isinstance(period, str) and len(period) == 2
            if not pair or not all(type(n) is int for n in period) or not 1 <= period[0] <= period[1] <= 10**15:
                raise QueryError(
                    "a period must be its first and its last position, from 1",
                    got=repr(period)[:40],
                    fix="For example difference:1-96|97-192",
                )
            object.__setattr__(self, name, tuple(period))
        if self.before[0] <= self.after[1] and self.after[0] <= self.before[1]:
            raise QueryError("two periods must not overlap", got=self.text, fix="For example difference:1-96|97-192")

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "difference:{}-{}|{}-{}".format(*self.before, *self.after)

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": "difference", "before": list(self.before), "after": list(self.after)}

    @property
    def _counts(self) -> tuple[int, int]:
        return self.before[1] - self.before[0] + 1, self.after[1] - self.after[0] + 1

    @property
    def exact(self) -> tuple[Fraction, Fraction]:
        """The weights of the two periods."""
        one, other = self._counts
        return -Fraction(other, max(one, other)), Fraction(one, max(one, other))

    def check_values(self, values: int) -> None:
        """Both periods must lie within the series."""
        last = max(self.before[1], self.after[1])
        if values < last:
            raise QueryError(
                "both periods must lie within every series", got=f"position {last:,} of {values:,}", fix="Choose others"
            )

    def weights(self, first: int, last: int) -> Weights:  # noqa: ARG002 - positions count from the first time
        """Of each period."""
        one, other = (float(weight) for weight in self.exact)
        shifted = [(begun + first - 1, ended + first - 1) for begun, ended in (self.before, self.after)]
        return Weights(runs=((*shifted[0], one), (*shifted[1], other)))

    def total(self, sums: Sequence[int]) -> Fraction:
        """Exactly, from the sums of the two periods."""
        return sum((weight * s for weight, s in zip(self.exact, sums, strict=True)), Fraction(0))

    def divisor(self, size: int) -> int:  # noqa: ARG002 - one series
        """The length of the shorter period."""
        return min(self._counts)


@dataclass(frozen=True)
class WeightedSum(Measured):
    """Σ w_t x_t with given weights: one for each position, for every subject the same; 0 beyond the last.

    >>> WeightedSum(["0.5", 1, -2]).largest, WeightedSum([1, -2]).weights(1, 9).listed.tolist()
    (Fraction(2, 1), [1.0, -2.0])
    """

    given: Sequence[float | str]
    placed = True

    def __post_init__(self) -> None:
        try:
            exact = tuple(Fraction(str(weight)) for weight in self.given)
        except (ValueError, ZeroDivisionError, TypeError):
            exact = ()
        if not 1 <= len(exact) <= MOST_WEIGHTS or isinstance(self.given, str):
            raise QueryError(
                f"weights must be 1 to {MOST_WEIGHTS:,} numbers",
                got=type(self.given).__name__ if not exact else f"{len(exact):,}",
                why="the value at each position has one",
            )
        if not any(exact) or max(map(abs, exact)) > 10**50 or min(abs(w) for w in exact if w) < Fraction(1, 10**50):
            raise QueryError(
                "weights must have sizes between 1e-50 and 1e50, or be 0, but not all of them", got="others"
            )
        object.__setattr__(self, "given", exact)

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """The weights."""
        return tuple(Fraction(weight) for weight in self.given)

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        named = ",".join(f"{float(weight):g}" for weight in self.exact[:3])
        return f"weighted:{named}" + ("" if len(self.exact) <= 3 else f",.. ({len(self.exact):,} weights)")

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": "weighted", "weights": [str(weight) for weight in self.exact]}

    @property
    def largest(self) -> Fraction:
        """The largest size of a weight."""
        return max(map(abs, self.exact))

    def weights(self, first: int, last: int) -> Weights:
        """As given, as far as the series goes."""
        listed = np.array([float(weight) for weight in self.exact[: last - first + 1]])
        return Weights(listed=listed, first=first)

    def total(self, sums: Sequence[int]) -> Fraction:
        """Exactly."""
        return sum((weight * s for weight, s in zip(self.exact, sums, strict=False)), Fraction(0))


@dataclass(frozen=True)
class DeclaredChange(Measured):
    """A function of values of which only the constant is known, as in the record of a release.

    >>> DeclaredChange("total change", 2.0).largest
    Fraction(2, 1)
    """

    name: str
    constant: float
    linear = False
    integer = False
    by_part = False

    def __post_init__(self) -> None:
        number = isinstance(self.constant, int | float) and not isinstance(self.constant, bool)
        if not number or not 1e-50 <= self.constant <= 1e50:
            raise QueryError(
                "the constant must be a positive number",
                got=repr(self.constant)[:40],
                why="it says how much the result changes with each value",
            )

    @property
    def text(self) -> str:
        """The name given to it."""
        return self.name

    def to_dict(self) -> dict[str, Any]:
        """What is known of it without its function."""
        return {"kind": "lipschitz", "name": self.name, "constant": self.constant}

    @property
    def largest(self) -> Fraction:
        """The declared constant."""
        return Fraction(self.constant)


@dataclass(frozen=True, init=False)
class Lipschitz(DeclaredChange):
    """Any function of the values, with a declared constant: how much its result changes, at most, with each value.

    ``function`` gets the stretches as a list of arrays of numbers and returns a number or a vector. You vouch for
    ``constant``: if each value changes by at most d_t, the result must change by at most constant · Σ d_t in L1 norm.

    >>> spread = Lipschitz(lambda runs: float(np.abs(np.diff(runs[0])).sum()), constant=2.0, name="total change")
    >>> spread.text, spread.largest
    ('total change', Fraction(2, 1))
    """

    function: Callable[[list[Floats]], ArrayLike]

    def __init__(self, function: Callable[[list[Floats]], ArrayLike], *, constant: float, name: str = "custom"):
        if not callable(function):
            raise QueryError("a function of your own must be callable", got=type(function).__name__)
        for key, value in (("name", name), ("constant", constant), ("function", function)):
            object.__setattr__(self, key, value)
        self.__post_init__()

    def result(self, stretches: Sequence[Floats]) -> Floats:
        """The function's result as a vector."""
        try:
            result = np.atleast_1d(np.asarray(self.function([run.copy() for run in stretches]), dtype=np.float64))
        except (TypeError, ValueError):
            result = np.array(np.nan)
        if result.ndim != 1 or not np.isfinite(result).all():
            raise QueryError(f"{self.name} must return a finite number, or a vector of them", got="something else")
        return result

    def present(self, numbers: Sequence[float], states: States) -> Any:  # noqa: ARG002 - there are none
        """A number, or a list of numbers."""
        return numbers[0] if len(numbers) == 1 else list(numbers)


def periods(text: str) -> Difference:
    """A difference as written on the command line: ``1-96|97-192``.

    >>> periods("1-96|97-192").after
    (97, 192)
    """
    try:
        before, after = (_period(part) for part in text.split("|"))
    except ValueError:
        raise QueryError("a difference must be A-B|C-D", got=repr(text)[:60], fix="difference:1-96|97-192") from None
    return Difference(before, after)


def _period(text: str) -> Segment:
    first, last = text.split("-")
    return int(first), int(last)


def share_above(text: str) -> ShareAbove:
    """A share as written on the command line: threshold and width, ``2.5:0.5``."""
    try:
        threshold, width = map(float, text.split(":"))
    except ValueError:
        raise QueryError(
            "a share above a threshold must be above:THRESHOLD:WIDTH",
            got=repr(f"above:{text}")[:60],
            why="the width of the ramp around the threshold is needed: no theorem covers a sharp step",
            fix="above:2.5:0.5",
        ) from None
    return ShareAbove(threshold, width=width)
