"""A first job for a data file: what the names and types of its columns suggest. Values are not looked at."""

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from quiltwork.data.rewritten import spare_subject
from quiltwork.data.tables import types_of
from quiltwork.data.text_files import SEPARATORS, UNREAD, ending_of, separator_of
from quiltwork.job import Ask, Data, Job, Privacy

WHOSE = re.compile(r"(people|home|series|station|who)s?(_?id)?", re.IGNORECASE)  # beside those that are noticed
TIME = re.compile(r"(time|date|datetime|timestamp|when|t|day|zeit|datum)", re.IGNORECASE)
DATE, CLOCK = re.compile(r"date|datum|day", re.IGNORECASE), re.compile(r"time|zeit|clock", re.IGNORECASE)
VALUE = re.compile(r"(activity|state|status|value|label|what|doing|kind|class|level)", re.IGNORECASE)
WRITTEN_DATE = re.compile(r"\s*(\d{1,2})([-/.])(\d{1,2})\2\d{4}\b")
ROWS = 1_000
BELIEF, EPSILON = "belief.json", 0.5


def proposed(file: str) -> Job:
    """A job that reads a file as its columns suggest, with one or two questions. It is a draft: check each line.

    >>> from quiltwork.samples import diary_path
    >>> job = proposed(str(diary_path()))
    >>> job.data.column, job.data.subject, job.data.time, [one.text for one in job.questions]
    ('activity', 'person', 'time', ['histogram', 'frequencies'])
    """
    types = types_of(file)
    time = _time(types)
    times = [] if time is None else time.split(",")
    whose = (name for name in types if spare_subject([name], times) or WHOSE.fullmatch(name.strip()))
    subject = next((name for name in whose if name not in times), None)
    rest = {name: kind for name, kind in types.items() if name not in (*times, subject)}
    records = time is None and subject is None and len(rest) > 1 and set(rest.values()) <= {"text", "truth value"}
    column = None if records else _column(rest)
    numbers = column is not None and rest[column] == "number"
    usual = SEPARATORS.get(ending_of(file).removesuffix(".gz"))
    found = None if usual is None else separator_of(file)
    data = Data(
        path=file,
        column=column,
        subject=subject,
        time=time,
        separator=None if found == usual else found,
        date_format=None if found is None or not times else _date_format(file, times[0], found),
    )
    return Job(data=data, privacy=Privacy(belief=BELIEF), questions=tuple(_questions(numbers, records, time)))


def _questions(numbers: bool, records: bool, time: str | None) -> list[Ask]:
    first = Ask(ask=("mean" if numbers else "histogram",), epsilon=EPSILON)
    if time is None or records:
        return [first]
    window = "day" if numbers else "hour-of-day"
    return [first, Ask(ask=("mean" if numbers else "frequencies",), epsilon=EPSILON, window=window)]


def _time(types: dict[str, str]) -> str | None:
    """The column with times, or two of them: a date and a time of day."""
    times = [name for name, kind in types.items() if kind == "time" or TIME.fullmatch(name.strip())]
    dates = [name for name in times if DATE.fullmatch(name.strip())]
    clocks = [name for name in times if CLOCK.fullmatch(name.strip())]
    if dates and clocks and types[clocks[0]] != "whole number":
        return f"{dates[0]},{clocks[0]}"
    return times[0] if times else None


def _column(rest: dict[str, str]) -> str | None:
    """The column with the values: by its name, or the first one of text, or of numbers."""
    named = [name for name in rest if VALUE.fullmatch(name.strip())]
    by_kind = [name for wanted in ("text", "number", "whole number") for name, kind in rest.items() if kind == wanted]
    return next(iter([*named, *by_kind, *rest]), None)


def _date_format(file: str, column: str, separator: str) -> str | None:
    """How dates are written, as far as the first rows show it beyond doubt; None for ISO dates."""
    try:
        rows = pl.read_csv(Path(file), separator=separator, n_rows=ROWS, infer_schema=False, columns=[column])
    except UNREAD:
        return None
    return _format_of(rows[column].drop_nulls().to_list())


def _format_of(dates: Sequence[str]) -> str | None:
    found = [WRITTEN_DATE.match(text) for text in dates]
    parts = [(int(match[1]), match[2], int(match[3])) for match in found if match is not None]
    marks = {mark for _, mark, _ in parts}
    if len(parts) < len(dates) or len(marks) != 1:
        return None
    mark = marks.pop()
    if max(second for *_, second in parts) > 12:
        return f"mm{mark}dd{mark}yyyy"
    if mark == "." or max(first for first, *_ in parts) > 12:
        return f"dd{mark}mm{mark}yyyy"
    return None
