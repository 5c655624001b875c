"""Data as series of states: any file or sequence → stretches of state codes per subject.

A *subject* is one chain; subjects are independent of one another and each is protected. A gap (a missing value) splits
a subject's series into *stretches*: nothing is counted across a gap. Numbers of subjects and lengths are public.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from quiltwork.errors import DataError, ParameterError
from quiltwork.tables import as_table

if TYPE_CHECKING:
    import polars as pl

Codes = NDArray[np.int64]
Missing = Literal["refuse", "split"]
MISSING_WORDS = frozenset({"NA", "N/A", "NaN", "nan", "null", "NULL", "None"})
"""Text that means a missing value, unless it is the name of a state; so does an empty cell."""
NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
ISO_TIME = r"^(\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[-+]\d{2}:?\d{2})?)?|\d{2}:\d{2}(:\d{2}(\.\d+)?)?)$"


@dataclass(frozen=True)
class Series:
    """State codes of each stretch of each subject; what queries are evaluated on.

    >>> series = Series.from_values(["sit", "walk", None, "sit"], states=["sit", "walk"], missing="split")
    >>> [stretch.tolist() for stretch in series.stretches], series.longest
    ([[0, 1], [0]], 3)
    """

    states: tuple[str, ...]
    subjects: tuple[tuple[Codes, ...], ...]
    first: int = 1
    """The latest position at which a subject's values begin; above 1 for a later segment, or after missing values."""

    @classmethod
    def from_values(
        cls,
        values: Iterable[object],
        *,
        states: Sequence[str],
        subject: Iterable[object] | None = None,
        missing: Missing = "refuse",
    ) -> "Series":
        """Match values to states by name; ``None`` and NaN are missing.

        Values are in time order; with ``subject``, in time order for each subject.
        """
        codes = codes_of(["" if _is_missing(v) else _name(v) for v in values], states)
        if subject is None:
            groups = [codes]
        else:
            labels = list(subject)
            if len(labels) != len(codes):
                raise DataError("subject must have one entry a value", got=f"{len(labels)} for {len(codes)} values")
            order: dict[object, list[int]] = {}
            for position, label in enumerate(labels):
                order.setdefault(label, []).append(position)
            groups = [codes[positions] for positions in order.values()]
        return cls.from_codes(groups, states=states, missing=missing)

    @classmethod
    def from_codes(
        cls,
        subjects: Iterable[NDArray[np.integer]],
        *,
        states: Sequence[str],
        missing: Missing = "refuse",
        segment: tuple[int, int] | None = None,
    ) -> "Series":
        """One array of state codes per subject, -1 for a missing value; of each, only the segment if there is one."""
        if missing not in ("refuse", "split"):
            raise ParameterError("missing must be refuse or split", got=repr(missing))
        arrays = [np.asarray(s, dtype=np.int64) for s in subjects]
        longest = max(map(len, arrays), default=0)
        if not longest:
            raise DataError("the data must have at least one value", got="none", why="there is nothing to count")
        first, last = segment or (1, longest)
        if not 1 <= first <= last <= longest:
            raise DataError(
                "a segment must lie within the longest series, first before last",
                got=f"{first}:{last}",
                why="it selects the values from the first position to the last, counted from 1",
            )
        arrays = [s[first - 1 : last] for s in arrays]
        gaps = sum(int((s < 0).sum()) for s in arrays)
        if gaps and missing == "refuse":
            raise DataError(
                "the column must have a value in every row",
                got=f"{gaps} missing",
                why="a missing value breaks the series in two",
                fix="Fill them in, or split the series there: --missing split, missing='split'",
            )
        split = tuple(_stretches(s) for s in arrays)
        begin = max((int(np.argmax(s >= 0)) for s in arrays if len(s)), default=0)
        series = cls(tuple(states), tuple(s for s in split if s), first + begin)
        if not series.subjects:
            raise DataError("the data must have at least one value", got="missing ones only", why="none can be counted")
        return series

    def __repr__(self) -> str:
        return f"Series({len(self.subjects)} subjects, {self.size} values of {len(self.states)} states)"

    @property
    def stretches(self) -> tuple[Codes, ...]:
        """All stretches of all subjects."""
        return tuple(stretch for subject in self.subjects for stretch in subject)

    @property
    def size(self) -> int:
        """The number of values."""
        return sum(len(s) for s in self.stretches)

    @property
    def longest(self) -> int:
        """The most values of one subject, over all its stretches."""
        return max(sum(len(s) for s in subject) for subject in self.subjects)

    @property
    def longest_stretch(self) -> int:
        """The most values without a gap."""
        return max(len(s) for s in self.stretches)

    @property
    def gaps(self) -> int:
        """How many times a subject's series is interrupted."""
        return sum(len(subject) - 1 for subject in self.subjects)

    def between(self, first: int, last: int) -> "Series":
        """Only the values at these times of each series, both included; there must be no gaps."""
        if self.gaps or self.first != 1:
            raise DataError(
                "a segment of a series with gaps is not known",
                got=f"{self.gaps} gaps",
                why="values are not at the times that they seem to be",
                fix="Cut the segment when the data are read",
            )
        arrays = [subject[0] for subject in self.subjects]
        return Series.from_codes(arrays, states=self.states, segment=(first, last))

    def counts(self) -> Codes:
        """How often each state occurs."""
        return self._counts.copy()

    @cached_property
    def _counts(self) -> Codes:
        return sum(
            (np.bincount(s, minlength=len(self.states)) for s in self.stretches),
            np.zeros(len(self.states), dtype=np.int64),
        )

    def transitions(self) -> Codes:
        """How often each state is followed by each, gaps not bridged; shape (states, states)."""
        k = len(self.states)
        total = np.zeros(k * k, dtype=np.int64)
        for s in self.stretches:
            total += np.bincount(s[:-1] * k + s[1:], minlength=k * k)
        return total.reshape(k, k)


def read_series(
    source: object,
    *,
    column: str,
    states: Sequence[str] | None,
    subject: str | None = None,
    time: str | None = None,
    missing: Missing = "refuse",
    segment: tuple[int, int] | None = None,
) -> Series:
    """Read one column of a table as series: of a CSV, TSV or Parquet file, or of a polars (eager or lazy), pandas,
    PyArrow or DuckDB table.

    Rows are in time order, or are sorted by ``time``; the rows of a database have no order of their own and need it.
    Without ``states`` the states are the values that occur, sorted. With a ``segment`` only the values from its first
    to its last position (from 1) of each series are kept.

    >>> from quiltwork.samples import diary_path
    >>> read_series(diary_path(), column="activity", states=None, subject="person", time="time").size
    64512
    """
    wanted = [column, *([subject] if subject else []), *([time] if time else [])]
    if len(set(wanted)) < len(wanted):
        raise DataError(
            "column, subject and time must be different columns",
            got="one of them twice",
            why="a series told apart or sorted by its own values would tell them",
        )
    frame = as_table(source, wanted, ordered=time is None)
    if frame.height == 0:
        raise DataError("the data must have at least one row", got="none", why="there is nothing to count")
    for name in wanted[1:]:
        holes = frame[name].null_count()
        if holes:
            raise DataError(
                f"column {name!r} must have a value in every row",
                got=f"{holes} missing",
                why="a row without it cannot be placed",
            )
    names = names_in(frame[column], states)
    if states is None:
        states = sorted(set(names) - {""}, key=_natural)
    codes = codes_of(names, states)
    groups = _by_subject(frame, codes, subject, time)
    return Series.from_codes(groups, states=states, missing=missing, segment=segment)


def _by_subject(frame: "pl.DataFrame", codes: Codes, subject: str | None, time: str | None) -> list[Codes]:
    """The codes of each subject, in the order of time."""
    ids = np.zeros(frame.height, dtype=np.int64)
    if subject:
        ids = frame[subject].rank("dense").to_numpy().astype(np.int64)
    ticks = np.arange(frame.height)
    if time:
        ticks = _as_ticks(frame[time])
    order = np.lexsort((ticks, ids))
    ids, ticks = ids[order], ticks[order]
    repeated = int(((np.diff(ids) == 0) & (np.diff(ticks) == 0)).sum())
    if repeated:
        raise DataError(
            f"column {time!r} must not repeat a time within a subject",
            got=f"{repeated} repeated",
            why="the order of such rows is not known",
            fix="Name the subject column with --subject, or keep one row a time",
        )
    return np.split(codes[order], np.flatnonzero(np.diff(ids)) + 1)


def names_in(values: "pl.Series", states: Sequence[str] | None) -> list[str]:
    """State names of the values, "" for a missing one; numbers are matched to states by value."""
    import polars as pl

    if values.dtype.is_numeric() or values.dtype == pl.Boolean:
        if values.dtype == pl.Boolean and not {"true", "false"} & set(states or ("true",)):
            values = values.cast(pl.Int8)
        by_value = {number: state for state in reversed(states or ()) if (number := _number(state)) is not None}
        return [
            "" if _is_missing(v) else by_value.get(v) or (str(v).lower() if isinstance(v, bool) else _name(v))
            for v in values.to_list()
        ]
    try:
        names = [name.strip() for name in values.cast(pl.String).fill_null("").to_list()]
    except pl.exceptions.PolarsError:
        raise DataError(
            f"column {values.name!r} must hold text or numbers", got=f"type {values.dtype.base_type()}"
        ) from None
    absent = MISSING_WORDS - set(states or ())
    return ["" if name in absent else name for name in names]


def _number(state: str) -> float | None:
    try:
        return float(state)
    except ValueError:
        return None


def _as_ticks(times: "pl.Series") -> NDArray[np.int64]:
    """Ranks that order the times; text is read as numbers, else as ISO dates or times."""
    import polars as pl

    if times.dtype == pl.String and not (times.str.contains(ISO_TIME).all() or times.str.contains(NUMBER).all()):
        raise DataError(
            f"column {times.name!r} must hold numbers, or dates or times in ISO form",
            got="other text",
            why="sorted as text, 10 would come before 9, and 1/2/2024 is a day in January or in February",
            fix="Convert the column, or sort the rows and leave --time out",
        )
    if times.dtype == pl.String:
        readings: tuple[Callable[[], pl.Series], ...] = (
            partial(times.cast, pl.Float64),
            times.str.to_datetime,
            times.str.to_date,
            times.str.to_time,
        )
        for read in readings:
            with suppress(pl.exceptions.PolarsError):
                times = read()
                break
        else:
            raise DataError(
                f"column {times.name!r} must hold times that can be compared",
                got="several forms, or times that do not exist",
                why="rows are sorted by them",
            )
    if times.dtype.is_float() and not bool(times.is_finite().all()):
        raise DataError(
            f"column {times.name!r} must hold finite numbers",
            got=f"{int((~times.is_finite()).sum())} others",
            why="rows are sorted by them",
        )
    return times.rank("dense").to_numpy().astype(np.int64)


def codes_of(names: Sequence[str], states: Sequence[str], *, of: str | None = None, in_rows: bool = True) -> Codes:
    """Codes of state names (of a variable), -1 for ""; refuses names that are not states without showing them."""
    code = {name: n for n, name in enumerate(states)} | {"": -1}
    codes = np.fromiter((code.get(name, -2) for name in names), dtype=np.int64, count=len(names))
    unknown = np.flatnonzero(codes == -2)
    if unknown.size:
        raise DataError(
            "every value must be one of the belief's states" + ("" if of is None else f" for {of!r}"),
            got=f"{unknown.size} unknown of {len(codes)}"
            + (f", the first in row {unknown[0] + 1} (not counting a header)" if in_rows else ""),
            why="the guarantee only speaks of the states that the belief knows",
            fix=f"Clean the column, or add the state to the belief. Its states: {', '.join(states[:20])}"
            + (", ..." if len(states) > 20 else ""),
        )
    return codes


def _stretches(codes: Codes) -> tuple[Codes, ...]:
    pieces = np.split(codes, np.flatnonzero(codes < 0))
    return tuple(kept for piece in pieces if len(kept := piece[piece >= 0]))


def _is_missing(value: object) -> bool:
    return value is None or value == "" or value != value  # NaN alone differs from itself


def _name(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _natural(name: str) -> tuple[int, float, str]:
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)
