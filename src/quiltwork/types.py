"""Names of types that many modules share, each once."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from quiltwork.errors import NotInstalledError, ParameterError
from quiltwork.job import Gaps as Gaps, Guarantee as Guarantee, NoiseChoice as NoiseChoice

if TYPE_CHECKING:
    from altair.typing import ChartType

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int64]
"""States by number, -1 where a value is missing."""

Segment = tuple[int, int]
"""The first and the last position, from 1, both included."""

Progress = Callable[[float], None]
"""Called with the part of the work that is done, from 0 to 1."""

Noise = Literal["laplace", "laplace-total", "gaussian"]
"""The law of the noise; its scale is that of Laplace noise, or the standard deviation of Gaussian noise."""

Start = Literal["stationary", "any", "given"]
"""Which law the first value of a series has."""
MICROSECONDS = {
    **dict.fromkeys(("us", "µs"), 1),
    "ms": 10**3,
    **dict.fromkeys(("s", "sec", "second", "seconds"), 10**6),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60 * 10**6),
    **dict.fromkeys(("h", "hour", "hours"), 3600 * 10**6),
    **dict.fromkeys(("d", "day", "days"), 86_400 * 10**6),
    **dict.fromkeys(("w", "week", "weeks"), 7 * 86_400 * 10**6),
}
SAME_SPAN = 1e-6  # relative; durations that differ by less are the same
NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"


@dataclass(frozen=True)
class Duration:
    """A span of time in microseconds, or in steps (of ``every``, or of a column of numbers).

    >>> str(Duration.parse("900s"))
    '15min'
    >>> Duration.parse("15min"), Duration.parse(3), Duration.parse(timedelta(hours=1))
    (Duration(length=900000000, steps=False), Duration(length=3, steps=True), Duration(length=3600000000, steps=False))
    """

    length: float
    steps: bool

    def __str__(self) -> str:
        """Text that is read back as the same duration: 15min, 90s, or a number of steps."""
        if self.steps:
            return str(self.length)
        units = {"d": 86_400 * 10**6, "h": 3600 * 10**6, "min": 60 * 10**6, "s": 10**6, "ms": 10**3, "us": 1}
        unit = next(name for name, size in units.items() if self.length % size == 0)
        return f"{int(self.length) // units[unit]}{unit}"

    @property
    def plain(self) -> float | str:
        """As belief files have it: a number of steps, or text such as 15min."""
        return self.length if self.steps else str(self)

    def times(self, n: int) -> "Duration":
        """This many of it, one after the other."""
        return Duration(self.length * n, self.steps)

    def multiple(self, of: "Duration") -> int | None:
        """How many times another duration goes into it; None if it is no whole number of times.

        >>> hour = Duration.parse("1h")
        >>> hour.multiple(of=Duration.parse("15min")), hour.multiple(of=Duration.parse(1))
        (4, None)
        """
        if self.steps != of.steps:
            return None
        ratio = self.length / of.length
        n = round(ratio)
        return n if n >= 1 and abs(ratio - n) <= SAME_SPAN * ratio else None

    @classmethod
    def parse(cls, given: "str | float | timedelta | Duration", *, name: str = "gap") -> "Duration":
        """From text (``15min``, ``1h30min``, ``3``), a number of steps, or a timedelta."""
        if isinstance(given, Duration):
            return given
        if isinstance(given, timedelta):
            duration = cls(given // timedelta(microseconds=1), steps=False)
        elif isinstance(given, str) and not re.fullmatch(NUMBER, given):
            duration = cls(_microseconds(given, name), steps=False)
        else:
            number = float(given)
            duration = cls(int(number) if number.is_integer() else number, steps=True)
        if not 0 < duration.length < 2**62:
            raise ParameterError(f"{name} must be above 0", got=str(given), why="it is a span of time")
        return duration


def _microseconds(text: str, name: str) -> int:
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([a-zµ]+)", text.lower())
    whole = "".join(number + unit for number, unit in parts)
    if not parts or whole != re.sub(r"\s", "", text.lower()) or any(unit not in MICROSECONDS for _, unit in parts):
        raise ParameterError(
            f"{name} must be a duration or a number of steps",
            got=repr(text),
            fix="For example 15min, 1h, 2d, 1h30min or 3; units are us, ms, s, min, h, d, w",
        )
    return round(sum(float(number) * MICROSECONDS[unit] for number, unit in parts))


Step = str | float | timedelta | Duration
"""The time from a value to the next, as a user says it."""


class Shown:
    """What a notebook shows as a small page, and what can be drawn.

    Pictures stand last in the order of imports and load slowly, so they are looked for when they are first asked for,
    by ``show_module`` only.

    >>> from quiltwork import MarkovChain
    >>> type(MarkovChain([[0.9, 0.1], [0.4, 0.6]]).plot()).__name__
    'LayerChart'
    """

    __slots__ = ()

    def plot(self) -> "ChartType":
        """An Altair chart of it; ``chart.save("chart.svg")`` writes it to a file."""
        chart: ChartType = show_module("things").drawn(self)
        return chart

    def _repr_html_(self) -> str | None:
        """What notebooks show; without the extra that draws pictures, they show the text."""
        try:
            return str(show_module("things").as_html(self))
        except NotInstalledError:
            return None


def show_module(name: str) -> ModuleType:
    """A module that shows things."""
    return import_module(f"quiltwork.view.{name}")
