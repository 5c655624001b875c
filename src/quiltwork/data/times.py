"""Times as whole numbers: durations, windows, and the forms of time that text may have.

Dates and times of day become microseconds, so that gaps, steps and windows are arithmetic on integers on every engine.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from quiltwork.errors import DataError, ParameterError, did_you_mean
from quiltwork.types import MICROSECONDS, NUMBER

if TYPE_CHECKING:
    import narwhals as nw

    from quiltwork.data.tables import Frame

WHOLE = r"^\s*[-+]?\d{1,15}\s*$"
ISO_DATE = (r"\d{4}-\d{2}-\d{2}", "%Y-%m-%d")
MOMENT = (
    r"(?P<date>{date})?(?P<between>[T ])?(?P<minute>\d{{2}}:\d{{2}})?(?P<second>:\d{{2}})?(?P<fraction>\.\d+)?"
    r"(?P<zone>Z|[-+]\d{{2}}:?\d{{2}})?"
)
DATE_PARTS = {"dd": (r"\d{1,2}", "%d"), "mm": (r"\d{1,2}", "%m"), "yyyy": (r"\d{4}", "%Y")}

WindowKind = Literal["day", "hour", "week", "month", "hour-of-day", "weekday", "values"]
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HOUR, _DAY = MICROSECONDS["hour"], MICROSECONDS["day"]
MONDAY = 3 * _DAY  # 1970 began on a Thursday


@dataclass(frozen=True)
class Window:
    """Equal spans of time, calendar months, or spans of a number of values, for each of which an answer is given.

    With a ``cycle``, spans that are that many apart are one window: the same hour of every day.

    >>> Window.parse("day").label(19_786), Window.parse(96).label(1), Window.parse("weekday").label(0)
    ('2024-03-04', '97:192', 'Monday')
    """

    kind: WindowKind
    span: int
    cycle: int | None = None

    @classmethod
    def parse(cls, given: "str | int | Window") -> "Window":
        """``day``, ``hour``, ``week``, ``month``, ``hour-of-day``, ``weekday``, or a number of values."""
        if isinstance(given, Window):
            return given
        for known in ON_THE_CLOCK:
            if given == known.kind:
                return known
        try:
            number = 0 if isinstance(given, bool | float) else int(given)
        except (ValueError, TypeError):
            number = 0
        if not 1 <= number <= 10**15:
            raise ParameterError(
                f"window must be {', '.join(known.kind for known in ON_THE_CLOCK)} or a number of values",
                got=repr(given)[:40],
                fix=did_you_mean(str(given)[:40], [known.kind for known in ON_THE_CLOCK], "For example day or 96"),
            )
        return cls("values", number)

    def split(self, label: str) -> tuple[str, str]:
        """The names of a subject and of one of its windows, from both in one text.

        >>> Window.parse("hour").split("ann lee 2024-03-04 05:00")
        ('ann lee', '2024-03-04 05:00')
        """
        words = label.split(" ")
        own = 2 if self.kind == "hour" and len(words) > 1 else 1
        return " ".join(words[:-own]), " ".join(words[-own:])

    @property
    def on_the_clock(self) -> bool:
        """Whether it is told by the time column rather than by position."""
        return self.kind != "values"

    def number(self, at: "nw.Expr") -> "nw.Expr":
        """The window that a time on the wall clock (or a position, from 0) is in, as a number; of months, the day."""
        by_week = self.kind in ("week", "weekday")
        number = (at + MONDAY if by_week else at) // self.span
        return number if self.cycle is None else number - number // self.cycle * self.cycle

    def numbered(self, rows: "Frame", at: "nw.Expr") -> "Frame":
        """Rows with the number of the window that they are in."""
        import narwhals as nw

        rows = rows.with_columns(window=self.number(at))
        if self.kind != "month":
            return rows
        for name, formula in _TO_MONTHS:
            rows = rows.with_columns(**{name: formula(nw.col)})
        return rows.drop("era", "rest", "years")

    def label(self, number: int) -> str:
        """The name of a window: its date, its hour, or its positions."""
        if self.kind == "values":
            return f"{number * self.span + 1}:{(number + 1) * self.span}"
        if self.kind == "weekday":
            return WEEKDAYS[number]
        if self.kind == "hour-of-day":
            return f"{number:02}:00"
        if self.kind == "month":
            return f"{number // 12:04}-{number % 12 + 1:02}"
        offset = MONDAY if self.kind == "week" else 0
        try:
            begun = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=number * self.span - offset)
        except OverflowError:
            return f"{self.kind} {number}"  # beyond the calendar
        return begun.date().isoformat() + (f" {begun:%H}:00" if self.kind == "hour" else "")


# Years are counted from March on, so that a leap day is the last of its year; 400 of them have 146,097 days (Howard
# Hinnant, days_from_civil). One step after the other: engines write out in full what an expression is made of.
_TO_MONTHS: tuple[tuple[str, Callable[[Callable[[str], Any]], Any]], ...] = (
    ("window", lambda of: of("window") + 719_468),
    ("era", lambda of: of("window") // 146_097),
    ("rest", lambda of: of("window") - of("era") * 146_097),
    ("years", lambda of: of("rest") - of("rest") // 1_460 + of("rest") // 36_524 - of("rest") // 146_096),
    ("years", lambda of: of("years") // 365),
    ("rest", lambda of: of("rest") - of("years") * 365 - of("years") // 4 + of("years") // 100),
    ("window", lambda of: (of("era") * 400 + of("years")) * 12 + (of("rest") * 5 + 2) // 153 + 2),
)


def month_of(day: int) -> int:
    """The calendar month of a day since 1970, months counted from the year 0 on.

    >>> divmod(month_of(19_786), 12)  # 2024-03-04
    (2024, 2)
    """
    known = {"window": day}
    for name, formula in _TO_MONTHS:
        known[name] = formula(known.__getitem__)
    return known["window"]


ON_THE_CLOCK = (
    Window("day", _DAY),
    Window("hour", _HOUR),
    Window("week", 7 * _DAY),
    Window("month", _DAY),
    Window("hour-of-day", _HOUR, 24),
    Window("weekday", _DAY, 7),
)


@dataclass(frozen=True)
class Form:
    """How times are written in a column of text: a pattern that all of them match, and how to read them."""

    kind: Literal["number", "date", "datetime", "time"]
    pattern: str
    format: str = ""
    offset: int = 0
    """Of the wall clock against UTC, in microseconds."""

    @classmethod
    def of(cls, example: str, column: str, date_format: str | None = None) -> "Form":
        """The form of one time, which all others must have; dates are in ISO form, or as ``date_format`` says."""
        if date_format is None and re.fullmatch(NUMBER, example):
            return cls("number", NUMBER)
        dates, in_words = ISO_DATE if date_format is None else _date_form(date_format)
        parts = re.fullmatch(MOMENT.format(date=dates), example.strip())
        if (
            not parts
            or not (parts["date"] or parts["minute"])
            or bool(parts["between"]) != bool(parts["date"] and parts["minute"])
            or (date_format is not None and not parts["date"])
        ):
            raise unreadable_times(column, date_format)
        kind: Literal["date", "datetime", "time"] = (
            "date" if not parts["minute"] else "datetime" if parts["date"] else "time"
        )
        if parts["zone"] and kind != "datetime":
            raise unreadable_times(column, date_format)
        pattern, text = "", ""
        for name, written, known in (
            ("date", dates, in_words),
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


def date_format_of(text: str) -> str | None:
    """How dates are written, as a user says it; None for ISO dates, which need not be said.

    >>> date_format_of("DD/MM/YYYY"), date_format_of("%m/%d/%Y"), date_format_of("yyyy-mm-dd")
    ('dd/mm/yyyy', 'mm/dd/yyyy', None)
    """
    written = text.strip().lower()
    for sign, part in (("%d", "dd"), ("%m", "mm"), ("%y", "yyyy")):
        written = written.replace(sign, part)
    written = re.sub(r"\b([dm])\b", r"\1\1", written)
    parts = re.fullmatch(r"(dd|mm|yyyy)([-/. ])(dd|mm|yyyy)\2(dd|mm|yyyy)", written)
    if parts is None or len({parts[1], parts[3], parts[4]}) < 3:
        raise ParameterError(
            "date_format must be dd, mm and yyyy in some order",
            got=repr(text),
            why="a year of two digits does not say its century" if "yy" in written and "yyyy" not in written else None,
            fix="For example dd/mm/yyyy, mm/dd/yyyy or dd.mm.yyyy",
        )
    return None if written == "yyyy-mm-dd" else written


def _date_form(date_format: str) -> tuple[str, str]:
    """A pattern that dates match, and how they are read."""
    written, read = re.escape(date_format), date_format
    for part, (pattern, sign) in DATE_PARTS.items():
        written, read = written.replace(part, pattern), read.replace(part, sign)
    return written, read


def unreadable_times(column: str, date_format: str | None = None) -> DataError:
    """Text that is no number and no time in the form that was said."""
    if date_format is not None:
        return DataError(
            f"column {column!r} must hold dates written as {date_format}",
            got="other text",
            fix="Say how they are written: date_format='dd/mm/yyyy'; a time of day may follow as 17:24 or 17:24:00",
        )
    return DataError(
        f"column {column!r} must hold numbers, or dates or times in ISO form",
        got="other text",
        why="sorted as text, 10 would come before 9, and 1/2/2024 is a day in January or in February",
        fix="Say how dates are written: date_format='dd/mm/yyyy' or 'mm/dd/yyyy'; or convert the column, or sort the "
        "rows and leave time= out",
    )


def mixed_times(column: str, others: int) -> DataError:
    """Some times are written in another way than the first."""
    return DataError(
        f"column {column!r} must hold times in one format",
        got=f"{others} rows in a different format from the first, or times that do not exist",
        why="rows are sorted by them",
    )
