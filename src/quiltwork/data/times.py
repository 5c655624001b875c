"""Times as whole numbers: durations, windows, and the forms of time that text may have.

Dates and times of day become microseconds, so that gaps, steps and windows are arithmetic on integers on every engine.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from quiltwork.errors import DataError, ParameterError

MICROSECONDS = {
    **dict.fromkeys(("us", "µs"), 1),
    "ms": 10**3,
    **dict.fromkeys(("s", "sec", "second", "seconds"), 10**6),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60 * 10**6),
    **dict.fromkeys(("h", "hour", "hours"), 3600 * 10**6),
    **dict.fromkeys(("d", "day", "days"), 86_400 * 10**6),
    **dict.fromkeys(("w", "week", "weeks"), 7 * 86_400 * 10**6),
}
NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
WHOLE = r"^\s*[-+]?\d{1,15}\s*$"
MOMENT = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})?(?P<between>[T ])?(?P<minute>\d{2}:\d{2})?(?P<second>:\d{2})?(?P<fraction>\.\d+)?"
    r"(?P<zone>Z|[-+]\d{2}:?\d{2})?"
)


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


WindowKind = Literal["day", "hour", "values"]


@dataclass(frozen=True)
class Window:
    """Equal spans of time, or of a number of values each, for each of which an answer is given.

    >>> Window.parse("day").label(19_786), Window.parse(96).label(1)
    ('2024-03-04', '97:192')
    """

    kind: WindowKind
    span: int

    @classmethod
    def parse(cls, given: "str | int | Window") -> "Window":
        """``day``, ``hour``, or a number of values."""
        if isinstance(given, Window):
            return given
        if given in ("day", "hour"):
            return cls("day" if given == "day" else "hour", MICROSECONDS[str(given)])
        try:
            number = 0 if isinstance(given, bool | float) else int(given)
        except (ValueError, TypeError):
            number = 0
        if not 1 <= number <= 10**15:
            raise ParameterError(
                "window must be day, hour or a number of values",
                got=repr(given)[:40],
                fix="For example day, hour or 96",
            )
        return cls("values", number)

    @property
    def on_the_clock(self) -> bool:
        """Whether it is told by the time column rather than by position."""
        return self.kind != "values"

    def label(self, number: int) -> str:
        """The name of a window: its date, its hour, or its positions."""
        if self.kind == "values":
            return f"{number * self.span + 1}:{(number + 1) * self.span}"
        try:
            begun = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=number * self.span)
        except OverflowError:
            return f"{self.kind} {number}"  # beyond the calendar
        return begun.date().isoformat() + ("" if self.kind == "day" else f" {begun:%H}:00")


@dataclass(frozen=True)
class Form:
    """How times are written in a column of text: a pattern that all of them match, and how to read them."""

    kind: Literal["number", "date", "datetime", "time"]
    pattern: str
    format: str = ""
    offset: int = 0
    """Of the wall clock against UTC, in microseconds."""

    @classmethod
    def of(cls, example: str, column: str) -> "Form":
        """The form of one time, which all others must have."""
        if re.fullmatch(NUMBER, example):
            return cls("number", NUMBER)
        parts = MOMENT.fullmatch(example.strip())
        if (
            not parts
            or not (parts["date"] or parts["minute"])
            or bool(parts["between"]) != bool(parts["date"] and parts["minute"])
        ):
            raise unreadable_times(column)
        kind: Literal["date", "datetime", "time"] = (
            "date" if not parts["minute"] else "datetime" if parts["date"] else "time"
        )
        if parts["zone"] and kind != "datetime":
            raise unreadable_times(column)
        pattern, text = "", ""
        for name, written, known in (
            ("date", r"\d{4}-\d{2}-\d{2}", "%Y-%m-%d"),
            ("between", parts["between"] or "", parts["between"] or ""),
            ("minute", r"\d{2}:\d{2}", "%H:%M"),
            ("second", r":\d{2}", ":%S"),
        ):
            if parts[name]:
                pattern, text = pattern + written, text + known
        if parts["second"]:
            pattern, text = pattern + r"(\.\d+)?", text + "%.f"
        if parts["zone"]:
            pattern, text = pattern + r"(Z|[-+]\d{2}:?\d{2})", text + "%z"
        return cls(kind, rf"^\s*{pattern}\s*$", text, _offset(parts["zone"]))


def _offset(zone: str | None) -> int:
    if not zone or zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return (-1 if zone[0] == "-" else 1) * minutes * MICROSECONDS["min"]


def unreadable_times(column: str) -> DataError:
    """Text that is no number and no ISO time."""
    return DataError(
        f"column {column!r} must hold numbers, or dates or times in ISO form",
        got="other text",
        why="sorted as text, 10 would come before 9, and 1/2/2024 is a day in January or in February",
        fix="Convert the column, or sort the rows and leave time= out",
    )


def mixed_times(column: str, others: int) -> DataError:
    """Some times are written in another way than the first."""
    return DataError(
        f"column {column!r} must hold times in one format",
        got=f"{others} rows in a different format from the first, or times that do not exist",
        why="rows are sorted by them",
    )
