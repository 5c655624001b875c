"""How a file or table becomes values at positions, and what else is public: part of what a release is about."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from os import PathLike, fspath
from pathlib import PurePath, PureWindowsPath
from typing import Any, Literal, get_args

from quiltwork.data.times import date_format_of
from quiltwork.data.values import Bins, Recode, read_mapping, recode_of
from quiltwork.errors import DataError, ParameterError
from quiltwork.job import READING, Data, Decimal, Duplicates, Missing, Take, Unsorted
from quiltwork.types import Duration, Segment

Layout = Literal["series", "numbers", "rows", "columns"]
Sign = Literal[Decimal, "auto"]
"""``auto`` is a point or a comma, in files where numbers have only one of them: which one depends on the data, and
records of releases must not."""
_KINDS = {"layout": Layout, "missing": Missing, "take": Take, "unsorted": Unsorted, "duplicates": Duplicates}
CHOICES: Mapping[str, tuple[str, ...]] = {name: get_args(kind) for name, kind in {**_KINDS, "decimal": Sign}.items()}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How rows become values at positions: which columns, where stretches end, which rows are kept.

    ``column`` is None for values that were in memory; ``subject`` then says only that they were told apart by subject.
    ``gap`` is the longest pause within a stretch, ``every`` the step to which rows are thinned out, ``take`` which
    row of a step counts, ``bins`` the edges between levels of numbers. ``date_format`` says how dates are written if
    not in ISO form, ``decimal`` what stands before the fraction of a number, ``recode`` which values of the data are
    which states. ``layout`` is "series", or "numbers" for series of real values; records have their variables in
    columns of their own, or in rows that name them in the column ``variable``. ``files`` is the pattern by which files
    were named, from its first wildcard on.

    >>> Reading(column="activity", time="time", every=Duration.parse("15min")).to_dict()
    {'layout': 'series', 'column': 'activity', 'time': 'time', 'every': '15min'}
    """

    layout: Layout = "series"
    column: str | None = None
    subject: str | None = None
    time: str | None = None
    variable: str | None = None
    files: str | None = None
    missing: Missing = "refuse"
    gap: Duration | None = None
    every: Duration | None = None
    take: Take = "first"
    bins: Bins | None = None
    unsorted: Unsorted = "refuse"
    duplicates: Duplicates = "refuse"
    date_format: str | None = None
    decimal: Sign = "."
    recode: Recode | None = None
    segment: Segment | None = None
    """Which positions are asked for; the positions themselves do not depend on it."""

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            chosen = getattr(self, name)
            if chosen not in known:
                raise ParameterError(f"{name} must be {', '.join(known[:-1])} or {known[-1]}", got=repr(chosen))
        for name in ("column", "subject", "time", "variable"):
            if not isinstance(getattr(self, name), str | None):
                raise ParameterError(f"{name} must be the name of a column", got=type(getattr(self, name)).__name__)
        if self.segment is not None:
            check_segment(self.segment, self.segment[1])
        if self.take == "mean" and (self.every is None or (self.bins is None and self.layout != "numbers")):
            raise ParameterError(
                "take='mean' needs every and bins", got="none", why="the means have to be grouped into levels"
            )
        if self.layout == "numbers" and self.bins is not None:
            raise ParameterError(
                "bins are for beliefs about levels", got="bins=", why="the belief is about real values", fix="Omit it"
            )

    @classmethod
    def of(cls, **given: Any) -> "Reading":
        """As given by a user: durations and bins may be text."""
        return cls(**given | {name: _PARSED[name](given[name]) for name in _PARSED if given.get(name) is not None})

    @property
    def steady(self) -> bool:
        """Whether rows are in an order that the names of files do not decide: one more file could move them all."""
        return self.files is None or self.time is not None

    def check_positions(self) -> None:
        """With a budget, positions must stay what they are."""
        if not self.steady:
            raise DataError(
                "a pattern of files needs times where a budget is kept",
                got="no time column",
                why="rows would be in the order of the files' names, and one more file could move them all",
                fix="Name the column: time=..., or put all rows in one file",
            )

    @property
    def whole(self) -> "Reading":
        """The same reading of all positions."""
        return replace(self, segment=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as records of releases hold them: what differs from the usual, and never a segment."""
        return dict(self._plain)

    @cached_property
    def _plain(self) -> dict[str, Any]:
        values = ((field, getattr(self, field.name)) for field in fields(self) if field.name != "segment")
        return {"layout": self.layout} | {f.name: _written(value) for f, value in values if value != f.default}

    @property
    def by_order(self) -> bool:
        """Whether the rows of a record are matched to variables by their order alone."""
        return self.layout == "rows" and self.variable is None

    def __str__(self) -> str:
        """In words: column activity, subject person, time time, every 15min."""
        if self.layout == "columns":
            return "a column for each variable"
        said = {name: value for name, value in self.to_dict().items() if name != "layout"}
        words = [f"{name} {_in_words(value)}" for name, value in said.items()]
        return ", ".join(["values in memory"] * (self.column is None) + words)

    @classmethod
    def from_dict(cls, contents: object) -> "Reading":
        """As ``to_dict`` wrote it down."""
        if not isinstance(contents, Mapping):
            raise ParameterError("a reading must be an object", got=type(contents).__name__)
        known = {field.name for field in fields(cls)} - {"segment"}
        unknown = sorted(set(contents) - known)
        if unknown:
            raise ParameterError(
                "a reading has a key that is not known", got=repr(unknown[0]), fix=f"Known: {', '.join(sorted(known))}"
            )
        try:
            return cls.of(**contents)
        except (TypeError, ValueError):
            raise ParameterError("a reading cannot be read", got="values of another kind") from None

    def difference(self, other: "Reading", names: Sequence[str] | None = None) -> str | None:
        """What another reading does differently, in words; None if positions mean the same."""
        mine, theirs = self.to_dict(), other.to_dict()
        for name in names or [field.name for field in fields(self)]:
            if mine.get(name) != theirs.get(name):
                return f"{name}: {_shown(name, mine.get(name))} before, {_shown(name, theirs.get(name))} now"
        return None

    def other_values(self, later: "Reading") -> str | None:
        """Why a later reading may be of other values than this one, in words; None if it is of the same ones.

        Rows told apart, sorted or thinned out differently are still values of the same series, at other positions, and
        each counts once. Another column, other levels, numbers or names of values, and means are not: what they have
        to do with the values read before, the belief does not say. Where rows were left out before (steps, repeated
        times), any other reading may bring some of them back.
        """
        if self.layout not in ("series", "numbers") or self.every is not None:
            return self.difference(later)
        names = ["layout", "column", "variable", "bins", "decimal", "recode"]
        if later.take == "mean":
            names += ["take", "every"]
        if "drop" in (self.duplicates, later.duplicates):
            names += ["time", "subject", "date_format"]
        if self.duplicates == "drop":
            names += ["duplicates"]
        return self.difference(later, names)


_PARSED: Mapping[str, Callable[[Any], Any]] = {
    "gap": Duration.parse,
    "every": partial(Duration.parse, name="every"),
    "bins": Bins.parse,
    "date_format": date_format_of,
    "recode": recode_of,
}


@dataclass(frozen=True, kw_only=True)
class About:
    """Public facts about a table that was read: never a value of it.

    ``source`` is the file or the pattern of files, None for a table in memory. ``first`` and ``last`` are the earliest
    and the latest time in it, as text, ``step`` the usual time from a value to the next; None where there are no times.

    >>> from quiltwork import read_series
    >>> from quiltwork.samples import diary_path
    >>> about = read_series(diary_path(), column="activity", states=None, subject="person", time="time").about
    >>> about.source, about.rows, about.first, about.last, str(about.step)
    ('diary.parquet', 64512, '2024-03-04 00:00', '2024-03-31 23:45', '15min')
    """

    source: str | None
    rows: int
    first: str | None = None
    last: str | None = None
    step: Duration | None = None
    reading: Reading

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as ``release --json`` prints them."""
        step = None if self.step is None else self.step.plain
        return vars(self) | {"step": step, "reading": self.reading.to_dict()}


def source_name(*sources: object) -> str | None:
    """Files as they may be named in a report: relative paths as they are, of others the name without the folder.

    >>> source_name("/home/ann/diary.csv"), source_name("logs/*.parquet"), source_name([1, 2])
    ('diary.csv', 'logs/*.parquet', None)
    """
    if not all(isinstance(source, str | PathLike) for source in sources):
        return None
    return ", ".join(_name(str(fspath(source))) for source in sources)  # type: ignore[call-overload]


def _name(file: str) -> str:
    known = next((path for path in (PurePath(file), PureWindowsPath(file)) if path.is_absolute() or path.drive), None)
    return file if known is None else known.name or "data"


def fixed(data: Data | Mapping[str, Any]) -> Data:
    """How rows become values, and nothing else: what a ledger keeps. A file of names is read now, for it may change.

    >>> fixed(Data(path="diary.csv", column="activity", recode="1=sleep")).reading
    {'column': 'activity', 'recode': {'1': 'sleep'}}
    >>> fixed({"path": "diary.csv"})
    Traceback (most recent call last):
    quiltwork.errors.ParameterError: how data are read has no key 'path', got one that does not say how...
    """
    if not isinstance(data, Data):
        data = Data.of(data)
        other = next((name for name in data.said() if name not in READING), None)
        if other is not None:
            raise ParameterError(
                f"how data are read has no key {other!r}",
                got="one that does not say how rows become values",
                fix=f"Known: {', '.join(READING)}",
            )
    recode = recoded(data)
    return Data(**(data.reading | ({} if recode is None else {"recode": dict(recode_of(recode))})))


def recoded(data: Data) -> Mapping[str, str | None] | None:
    """Which values of the data are which states, if they have other names there."""
    return read_mapping(data.recode, "recoded values") if isinstance(data.recode, str) else data.recode


def _written(value: Any) -> Any:
    if isinstance(value, Bins):
        return list(value.edges)
    if isinstance(value, tuple):
        return dict(value)
    return str(value) if isinstance(value, Duration) else value


def _in_words(value: object) -> str:
    if isinstance(value, Mapping):
        value = [f"{name}={'missing' if meant is None else meant}" for name, meant in value.items()]
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _shown(name: str, value: object) -> str:
    if value is None:
        return {"column": "none (values in memory)"}.get(name, "the default" if name in CHOICES else "none")
    return repr(value)


def check_segment(segment: Segment, longest: int) -> Segment:
    """It must lie within the longest series."""
    first, last = segment
    if not 1 <= first <= last <= longest:
        raise DataError(
            "a segment must lie within the longest series, first before last",
            got=f"{first}:{last}",
            why="it selects the values from the first position to the last, counted from 1",
        )
    return segment
