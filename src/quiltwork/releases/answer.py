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
from quiltwork.queries import Limits, Query
from quiltwork.queries.base import Totals
from quiltwork.releases.simulation import errors_within
from quiltwork.types import Floats, Noise

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

    >>> from quiltwork import Histogram
    >>> limits = Histogram().limits(["sit", "walk", "run"], 10)
    >>> answer = PartAnswer(Histogram(), ("sit", "walk", "run"), (8, 5, -4), values=10, noise_scale=3.0, limits=limits)
    >>> answer.value, answer.consistent
    ({'sit': 8, 'walk': 5, 'run': -4}, (7, 3, 0))
    """

    query: Query
    states: tuple[str, ...]
    numbers: tuple[float, ...]
    values: int = field(kw_only=True)
    """How many values it is about."""
    noise_scale: float = field(kw_only=True)
    step: float = field(default=1.0, kw_only=True)
    """The smallest difference between two noisy numbers; 0 for those of floats."""
    limits: Limits | None = field(default=None, kw_only=True)
    """What is public about it."""
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
        """What was asked for, where it follows from the numbers: from consistent ones, if there are limits."""
        return self.query.derived(self.best, self.states)

    @property
    def told(self) -> str | None:
        """What follows from the numbers in words, rounded to the noise, with its range where that is known."""
        if self.derived is None:
            return None
        words, between = self.query.in_words(self.derived), self.query.derived_between(self.best, self.error())
        if between is None:
            return words
        low, high = between
        return f"{words} ({low:.2g} or more)" if high == math.inf else f"{words} ({low:.3g} to {high:.3g})"

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each number."""
        names = self.query.labels(self.states)
        if len(names) == len(self.numbers):
            return names
        return tuple(f"{self.query.text}[{n}]" for n in range(len(self.numbers)))

    def presented(self, numbers: Sequence[float]) -> Any:
        """Numbers of this answer in the form that people read: a number, or numbers by state."""
        return self.query.present(numbers, self.states)

    def error(self, confidence: float = 0.95, *, simultaneous: bool = False) -> float:
        """How far the noise may have moved a number, up or down, with this probability; or all of them at once."""
        return answer_error(
            self.noise_scale,
            confidence,
            numbers=len(self.numbers),
            totals=self.group_sizes,
            simultaneous=simultaneous,
            unit=self.step,
            integer=self.query.integer,
            noise=self.noise,
        )

    @property
    def group_sizes(self) -> tuple[int, ...]:
        """How many numbers share each total."""
        return (self.taken_from,) if self.taken_from else tuple(map(len, self.totals))

    @property
    def pure_noise(self) -> bool:
        """Whether the noise leaves nothing to learn: its range around a middle number is all that is possible."""
        return self.limits is not None and self.error() >= PURE_NOISE * self.limits.width

    @cached_property
    def consistent(self) -> tuple[float, ...] | None:
        """The nearest numbers that keep to what is public; None if nothing is.

        Counts stay whole. No privacy is lost, and all numbers together are nearer to the truth, or as near.
        """
        if self.limits is None:
            return None
        nearest = self.limits.nearest(np.array(self.numbers, dtype=np.float64))
        if not self.whole:
            return tuple(float(n) for n in nearest)
        return tuple(int(n) for n in self.limits.whole(nearest))

    @property
    def whole(self) -> bool:
        """Whether its numbers are whole."""
        return self.query.integer and self.step == 1

    @property
    def best(self) -> tuple[float, ...]:
        """The numbers to show: consistent ones where they are known."""
        return self.numbers if self.consistent is None else self.consistent

    def consistent_errors(self, *, draws: int = 2000) -> tuple[float, ...] | None:
        """How far each consistent number may be off with probability 95 %, measured by simulation.

        The consistent numbers are taken as the truth; noise like that of the release is added, and the distance of
        what is consistent with public facts again is measured. Where the noise is large the truth may be elsewhere.
        """
        if self.limits is None or self.consistent is None:
            return None
        truth: Floats = np.array(self.consistent, dtype=np.float64)
        if self.taken_from:
            return (min(self.error(), self.limits.width),)
        like: dict[str, Any] = {"totals": self.totals, "step": self.step, "noise": self.noise}
        return errors_within(self.limits, truth, self.noise_scale, draws=draws, **like)

    def rounded(self, number: float, error: float | None = None) -> str:
        """A number as it is shown: rounded to the noise, or to how far off it may be itself.

        >>> from quiltwork import Count
        >>> PartAnswer(Count("sit"), ("sit",), (123456,), values=10**6, noise_scale=500.0).rounded(123456)
        '123,500'
        >>> PartAnswer(Count("sit"), ("sit",), (0.123456,), values=9, noise_scale=0.01, step=0.001).rounded(0.123456)
        '0.123'
        """
        error = self.error() if error is None else error
        digits = 0 if error <= 0 or not math.isfinite(error) else WIDTHS - 1 - math.floor(math.log10(error))
        if self.whole:
            digits = min(0, digits)
        return f"{round(number, digits) + 0.0:,.{max(0, digits)}f}"

    def with_error(self, number: float, error: float) -> str:
        """A number and how far off it may be: the one rounded to the other, which is rounded up.

        >>> from quiltwork import Count
        >>> answer = PartAnswer(Count("sit"), ("sit",), (123456,), values=10**6, noise_scale=500.0)
        >>> answer.with_error(123456, answer.error()), answer.with_error(123456, 40.2)
        ('123,500 ± 1,500', '123,456 ± 41')
        """
        return f"{self.rounded(number, error)} ± {plus_minus(error)}"
