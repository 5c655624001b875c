"""Questions about real values: the weight of each time, which is how much the answer changes with the value there.

Answers are sums of weights times values, which are added up exactly on a fine grid and divided by a public number
afterwards. Weights are scaled so that the largest is ``OverTime.largest``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from quiltwork.errors import QueryError
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


@dataclass(frozen=True)
class OverTime:
    """How much each value weighs: ``largest`` everywhere, unless weights are ``placed`` and differ from time to time.

    >>> OverTime().weights(1, 100).runs
    ((1, 100, 1.0),)
    """

    adds: str = "sum"
    """What is added up, in words."""
    largest: Fraction = Fraction(1)
    """The largest size of a weight."""
    linear: bool = True
    """Whether the answer is a weighted sum of values; else weights bound how much each value can change it."""
    ramp: tuple[float, float] | None = None
    """Of a share above a threshold: the threshold, and the width of the ramp that takes the place of the step."""
    periods: tuple[Segment, Segment] | None = None
    """Of a difference: the two periods whose values weigh anything."""
    at: Callable[[int, int], Weights] | None = field(default=None, compare=False)
    """The weights of a series from a first to a last time, where they differ."""
    exactly: Callable[[Sequence[int]], Fraction] | None = field(default=None, compare=False)
    """The answer from sums of values at each time, or in each period; only where weights differ."""
    checked: Callable[[int], None] | None = field(default=None, compare=False)
    """What refuses a series of too few values."""
    function: Callable[[Sequence[Floats]], Floats] | None = field(default=None, compare=False)
    """Of a function of your own: its result as a vector."""

    @property
    def placed(self) -> bool:
        """Whether weights differ from time to time, so that values must be at known positions."""
        return self.at is not None

    def weights(self, first: int, last: int) -> Weights:
        """The weights of a series from a first to a last time."""
        if self.at is not None:
            return self.at(first, last)
        return Weights(runs=((first, last, float(self.largest)),))

    def check_values(self, values: int) -> None:
        """Refuse a series of too few values."""
        if self.checked is not None:
            self.checked(values)

    def transformed(self, number: Any) -> Any:
        """What is added up of each value, as an array or an expression: the value itself, or the ramp."""
        if self.ramp is None:
            return number
        threshold, width = self.ramp
        return ((number - (threshold - width / 2)) / width).clip(0.0, 1.0)


def trend_over_time() -> OverTime:
    """The slope of the straight line through all values, by least squares.

    It is Σ (t - t̄) x_t / Σ (t - t̄)²; here 6 Σ w_t x_t / (n (n + 1)) with weights w from -1 to 1.

    >>> trend_over_time().weights(1, 3).listed.tolist()
    [-6.0, 0.0, 6.0]
    """

    return OverTime("trend", largest=Fraction(6), at=_trend_at, exactly=_trend_of, checked=_check_trend)


def _check_trend(values: int) -> None:
    if not 2 <= values <= MOST_WEIGHTS:
        raise QueryError(
            f"a trend needs 2 to {MOST_WEIGHTS:,} values of each subject",
            got=f"{values:,}",
            fix="Use longer steps: every='1h', take='mean'" if values > 1 else None,
        )


def _trend_at(first: int, last: int) -> Weights:
    n = last - first + 1
    _check_trend(n)
    return Weights(listed=6.0 * (2 * np.arange(1, n + 1) - (n + 1)) / (n - 1), first=first)


def _trend_of(sums: Sequence[int]) -> Fraction:
    n = len(sums)
    return Fraction(6 * sum((2 * t - (n + 1)) * s for t, s in enumerate(sums, 1)), n - 1)


def difference_over_time(before: Segment, after: Segment) -> OverTime:
    """The mean of a second period minus that of a first.

    >>> difference_over_time((1, 2), (3, 6)).weights(1, 6).runs
    ((1, 2, -1.0), (3, 6, 0.5))
    """
    one, other = (last - first + 1 for first, last in (before, after))
    exact = -Fraction(other, max(one, other)), Fraction(one, max(one, other))

    periods = before, after
    return OverTime(
        "difference",
        periods=periods,
        at=partial(_periods_at, periods, exact),
        exactly=partial(_weighted, exact),
        checked=partial(_check_periods, periods),
    )


def _check_periods(periods: tuple[Segment, Segment], values: int) -> None:
    last = max(last for _, last in periods)
    if values < last:
        raise QueryError(
            "both periods must lie within every series", got=f"position {last:,} of {values:,}", fix="Choose others"
        )


def _periods_at(periods: tuple[Segment, Segment], exact: Sequence[Fraction], first: int, last: int) -> Weights:  # noqa: ARG001 - positions count from the first time
    runs = zip(periods, exact, strict=True)
    return Weights(runs=tuple((b + first - 1, e + first - 1, float(weight)) for (b, e), weight in runs))


def _weighted(exact: Sequence[Fraction], sums: Sequence[int]) -> Fraction:
    """Σ w s, as far as there are sums."""
    return sum((weight * s for weight, s in zip(exact, sums, strict=False)), Fraction(0))


def listed_over_time(exact: Sequence[Fraction]) -> OverTime:
    """Σ w_t x_t with given weights: one for each position, for every subject the same; 0 beyond the last.

    >>> listed_over_time([Fraction(1), Fraction(-2)]).weights(1, 9).listed.tolist()
    [1.0, -2.0]
    """
    at, exactly = partial(_listed_at, exact), partial(_weighted, exact)
    return OverTime("weighted", largest=max(map(abs, exact)), at=at, exactly=exactly)


def _listed_at(exact: Sequence[Fraction], first: int, last: int) -> Weights:
    return Weights(listed=np.array([float(weight) for weight in exact[: last - first + 1]]), first=first)
