"""Times as whole numbers: durations, windows, and the forms of time that text may have.

Dates and times of day become microseconds, so that gaps, steps and windows are arithmetic on integers on every engine.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from quiltwork.errors import DataError, ParameterError
from quiltwork.types import MICROSECONDS, NUMBER, Duration

__all__ = ["MICROSECONDS", "WHOLE", "Duration", "Form", "Window", "WindowKind", "mixed_times", "unreadable_times"]

WHOLE = r"^\s*[-+]?\d{1,15}\s*$"
MOMENT = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})?(?P<between>[T ])?(?P<minute>\d{2}:\d{2})?(?P<second>:\d{2})?(?P<fraction>\.\d+)?"
    r"(?P<zone>Z|[-+]\d{2}:?\d{2})?"
)

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
