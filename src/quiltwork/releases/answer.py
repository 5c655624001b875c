"""One answer: noisy numbers about all values, a window or a subject, with their accuracy and what follows from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork.calibration.accuracy import answer_error
from quiltwork.calibration.target import PURE_NOISE
from quiltwork.question import Limits, Query, Question
from quiltwork.question.question import Totals
from quiltwork.types import Noise

WIDTHS = 2  # digits of an error that mean something


def plus_minus(error: float) -> str:
    """How far off a number may be, as it is shown: two digits, rounded up.

    >>> plus_minus(354.2), plus_minus(7.0), plus_minus(0.0231), plus_minus(9.96), plus_minus(0.0)
    ('360', '7', '0.024', '10', '0')
    """
    if error <= 0 or not math.isfinite(error):
        return f"{error:g}"
    exact = Decimal(repr(float(error)))
    up = exact.quantize(Decimal(1).scaleb(exact.adjusted() + 1 - WIDTHS), rounding=ROUND_CEILING)
    return f"{up:,.0f}" if up == up.to_integral_value() else f"{up:,f}"


@dataclass(frozen=True)
class PartAnswer:
    """The answer about one window or one subject; about all values if it has no name.

    ``numbers`` are as they were drawn; ``consistent`` are the nearest that keep to what is public.

    >>> from quiltwork import MarkovChain
    >>> from quiltwork.question import bind
    >>> asked = bind("histogram", MarkovChain([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]])).only
    >>> answer = PartAnswer(asked, (8, 5, -4), values=10, noise_scale=3.0, limits=asked.limits(10))
    >>> answer.value, answer.consistent
    ({'0': 8, '1': 5, '2': -4}, (7, 3, 0))
    """

    question: Question
    numbers: tuple[float, ...]
    values: int = field(kw_only=True)
    """How many values it is about."""
    noise_scale: float = field(kw_only=True)
    step: float = field(default=1.0, kw_only=True)
    """The smallest difference between two noisy numbers; 0 for those of floats."""
    limits: Limits | None = field(default=None, kw_only=True)
    """What is public about it."""
    reach: float = field(default=0.0, kw_only=True)
    """The most by which two answers can differ in one number; 0 where that is not known."""
    totals: Totals = field(default=(), kw_only=True)
    """Groups of numbers whose noise adds up to 0."""
    taken_from: int = field(default=0, kw_only=True)
    """Of a number taken from a group of another question: how many numbers that group has."""
    name: str = field(default="", kw_only=True)
    subject: str = field(default="", kw_only=True)
    """Whose values it is about, if it is one subject."""
    noise: Noise = field(default="laplace", kw_only=True)
    window: str = field(default="", kw_only=True)
    """Which window it is about, if it is one."""

    @property
    def value(self) -> Any:
        """The noisy answer in the form that people read."""
        return self.presented(self.numbers)

    @property
    def derived(self) -> Any:
        """What was asked for, where it follows from the numbers: from consistent ones, if there are limits.

        Of an answer that is noise only, nothing follows.
        """
        rule = self.question.derive
        return None if rule is None or self.pure_noise else rule.value(self.best, self.question.names)

    @property
    def query(self) -> Query:
        """What was asked, as it was said."""
        return self.question.query

    @property
    def told(self) -> str | None:
        """What follows from the numbers in words, rounded to the noise, with its range where that is known."""
        rule = self.question.derive
        if rule is None or self.derived is None:
            return None
        words, between = rule.words(self.derived), rule.between(self.best, self.error())
        if between is None:
            return words
        low, high = between
        return f"{words} ({low:.2g} or more)" if high == math.inf else f"{words} ({low:.3g} to {high:.3g})"

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each number."""
        names = self.question.names
        if len(names) == len(self.numbers):
            return names
        return tuple(f"{self.question.text}[{n}]" for n in range(len(self.numbers)))

    def presented(self, numbers: Sequence[float]) -> Any:
        """Numbers of this answer in the form that people read: a number, or numbers by state."""
        return self.question.present(numbers)

    def error(self, confidence: float = 0.95, *, simultaneous: bool = False) -> float:
        """How far the noise may have moved a number, up or down, with this probability; or all of them at once."""
        return answer_error(
            self.noise_scale,
            confidence,
            numbers=len(self.numbers),
            totals=self.group_sizes,
            simultaneous=simultaneous,
            unit=self.step,
            integer=self.question.integer,
            noise=self.noise,
        )

    @property
    def group_sizes(self) -> tuple[int, ...]:
        """How many numbers share each total."""
        return (self.taken_from,) if self.taken_from else tuple(map(len, self.totals))

    @property
    def pure_noise(self) -> bool:
        """Whether the noise leaves nothing to learn: its range around a middle number is all that is possible."""
        return self.reach > 0 and self.error() >= PURE_NOISE * self.reach

    def between(self, number: float, error: float | None = None) -> tuple[float, float]:
        """The range that the noise leaves of a true number, within what is possible; all of it if that is noise."""
        if self.pure_noise and self.limits is not None:
            return min(self.limits.low), max(self.limits.high)
        error = self.error() if error is None else error
        if self.limits is None:
            return number - error, number + error
        least, most = min(self.limits.low), max(self.limits.high)
        possible = min(most, max(least, number))  # never further from the truth, so its range holds as often
        return max(least, possible - error), min(most, possible + error)

    @cached_property
    def consistent(self) -> tuple[float, ...] | None:
        """The nearest numbers that keep to what is public; None if nothing is, or if they would be noise only.

        Counts stay whole. No privacy is lost, and all numbers together are nearer to the truth, or as near.
        """
        if self.limits is None or self.pure_noise:
            return None
        nearest = self.limits.nearest(np.array(self.numbers, dtype=np.float64))
        if not self.whole:
            return tuple(float(n) for n in nearest)
        return tuple(int(n) for n in self.limits.whole(nearest))

    @property
    def whole(self) -> bool:
        """Whether its numbers are whole."""
        return self.question.integer and self.step == 1

    @property
    def best(self) -> tuple[float, ...]:
        """The numbers to show: consistent ones where they are known."""
        return self.numbers if self.consistent is None else self.consistent

    def rounded(self, number: float, error: float | None = None) -> str:
        """A number as it is shown: rounded to the noise, or to how far off it may be itself.

        >>> from quiltwork import MarkovChain
        >>> from quiltwork.question import bind
        >>> ones = bind("count:1", MarkovChain([[0.5, 0.5], [0.5, 0.5]])).only
        >>> PartAnswer(ones, (123456,), values=10**6, noise_scale=500.0).rounded(123456)
        '123,500'
        >>> PartAnswer(ones, (0.123456,), values=9, noise_scale=0.01, step=0.001).rounded(0.123456)
        '0.123'
        """
        error = self.error() if error is None else error
        digits = 0 if error <= 0 or not math.isfinite(error) else WIDTHS - 1 - math.floor(math.log10(error))
        if self.whole:
            digits = min(0, digits)
        return f"{round(number, digits) + 0.0:,.{max(0, digits)}f}"

    @property
    def possible(self) -> tuple[float, ...]:
        """Each number as drawn, cut off at what is possible: it is never further from the truth than before."""
        if self.limits is None:
            return self.numbers
        ends = zip(self.limits.low, self.limits.high, strict=True)
        return tuple(min(high, max(low, number)) for number, (low, high) in zip(self.numbers, ends, strict=True))

    def with_error(self, number: float, error: float) -> str:
        """A number and how far off it may be: the one rounded to the other, which is rounded up.

        Where it is noise only, the range of the true number alone.

        >>> from quiltwork import MarkovChain
        >>> from quiltwork.question import bind
        >>> ones = bind("count:1", MarkovChain([[0.5, 0.5], [0.5, 0.5]])).only
        >>> answer = PartAnswer(ones, (123456,), values=10**6, noise_scale=500.0)
        >>> answer.with_error(123456, answer.error()), answer.with_error(123456, 40.2)
        ('123,500 ± 1,500', '123,456 ± 41')
        """
        return self.range_of(number) if self.pure_noise else f"{self.rounded(number, error)} ± {plus_minus(error)}"

    def range_of(self, number: float) -> str:
        """The range of a true number, in one digit of the noise: what is said of a number that is noise only."""
        low, high = self.between(number)
        unit = 10.0 ** math.floor(math.log10(self.error()))
        ends = [math.floor(low / unit) * unit, math.ceil(high / unit) * unit]
        if self.limits is not None:
            ends = [max(ends[0], min(self.limits.low)), min(ends[1], max(self.limits.high))]
        return " to ".join(f"{end:,.6g}" for end in ends)
