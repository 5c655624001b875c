"""Where the rows are, and the little that is done differently there: all else is narwhals, the same on every engine.

Rows are brought to columns of known names: ``who`` (the subject), ``when`` (a whole number), ``what`` (the value as it
is), and ``wall`` (the reading of the wall clock, for windows). Tables of pandas and PyArrow are taken over by polars,
which counts in the same process; DuckDB and Spark count where they are.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import narwhals as nw

from quiltwork.data.reading import Reading
from quiltwork.data.tables import Frame
from quiltwork.errors import DataError
from quiltwork.types import Progress

if TYPE_CHECKING:
    import polars as pl

FURTHEST = 9e12  # times with fractions that still fit into 64 bits as millionths


@dataclass(frozen=True)
class Clock:
    """What the times of a column are: how many ticks a microsecond has, None for plain numbers."""

    ticks: int | None
    calendar: bool = False
    """Whether they have a date, so that there are days."""
    millionths: bool = False
    """Whether plain numbers are counted in millionths, so that fractions are exact."""

    def span(self, length: float, *, steps: bool) -> int:
        """A span of time in ticks."""
        factor = (10**6 if self.millionths else 1) if steps else self.ticks or 1
        return max(1, round(length * factor))

    def named(self, reading: int | None) -> str | None:
        """A reading of the clock as text: a date with its time of day, a time of day, or a number.

        >>> Clock(1, calendar=True).named(1709510400000000), Clock(None).named(1200)
        ('2024-03-04 00:00', '1,200')
        """
        if reading is None:
            return None
        if self.ticks is None:
            return f"{reading / 10**6:,.12g}" if self.millionths else f"{reading:,}"
        passed = timedelta(microseconds=reading if self.calendar else reading / self.ticks)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + passed
        form = "%H:%M:%S" if moment.second or moment.microsecond else "%H:%M"
        return moment.strftime(f"%Y-%m-%d {form}" if self.calendar else form)


@dataclass(frozen=True)
class Order:
    """How rows come: whether subject follows subject, and whether each subject's times rise, none missing, none twice.

    ``least`` and ``most`` are the shortest and longest time from a row to the next of the same subject; where subjects
    do not follow one another, ``least`` is the shortest time from any row to the next, and ``most`` is not known.
    """

    count: int = 0
    by_subject: bool = False
    rising: bool = False
    least: float | None = None
    most: float | None = None


class Engine(ABC):
    """A table, and how its rows are read, put in order and collected where it is.

    ``rows`` is a narwhals frame with the columns who, when, what and, where times have dates, wall.
    """

    in_order = False
    """Whether rows have an order of their own."""

    def __init__(self, native: Any, reading: Reading, schema: Mapping[str, Any]):
        self.reading, self.kind = reading, schema[str(reading.column)]
        self.clock = Clock(None)
        self._native = self._named(native, schema)

    @abstractmethod
    def _named(self, native: Any, schema: Mapping[str, Any]) -> Any:
        """The table with the columns who, when, what and wall; ``clock`` then says what its times are."""

    @property
    def rows(self) -> Frame:
        """The rows, not yet in order."""
        return nw.from_native(self._native)

    @abstractmethod
    def collect(self, small: Frame) -> "pl.DataFrame":
        """The result of a query."""

    @abstractmethod
    def numbers(self, rows: Frame) -> Frame:
        """With values of text as numbers, null where they are none."""

    @property
    def order(self) -> "Order":
        """What is known about the order of rows."""
        return Order()

    def extent(self) -> tuple[int, int | None, int | None]:
        """The number of rows, and the first and the last reading of the clock, if there is one."""
        clock = nw.col("wall" if self.clock.calendar else "when")
        asked = [clock.min().alias("first"), clock.max().alias("last")] if self.reading.time is not None else []
        found = self.collect(self.rows.select(nw.len().alias("rows"), *asked)).row(0, named=True)
        return int(found["rows"]), found.get("first"), found.get("last")

    def passes(self, *, ordered: bool, sort: bool = False, progress: Progress | None = None) -> Iterator[Frame]:  # noqa: ARG002
        """The rows in pieces that have all rows of a subject each; in the order of time, if that matters."""
        yield self.rows

    def followed(self, rows: Frame) -> Frame:
        """With the value and time of the same subject's row before, as ``before`` and ``since``."""
        return rows.with_columns(
            before=nw.col("what").shift(1).over("who", order_by="when"),
            since=nw.col("when").shift(1).over("who", order_by="when"),
        )

    def placed(self, rows: Frame) -> Frame:
        """With the position of each row within its subject, from 1, as ``place``."""
        counted = rows.with_columns(place=nw.lit(1))
        return counted.with_columns(place=nw.col("place").cum_sum().over("who", order_by="when"))

    def numbered(self, rows: Frame) -> Frame:
        """With the number of the stretch that a row is in, as ``stretch``; where ``opens``, a new one begins."""
        opened = rows.with_columns(stretch=nw.col("opens").cast(nw.Int64))
        return opened.with_columns(stretch=nw.col("stretch").cum_sum().over("who", order_by="when"))


def written_as_text(column: str) -> DataError:
    """A column of times that needs no date format."""
    return DataError(
        f"column {column!r} must hold text if a date format is given",
        got="dates or numbers",
        why="they are read as they are",
        fix="Leave date_format= out",
    )


def not_times(column: str, kind: str, *, fix: str | None = None) -> DataError:
    """For example a column of flags."""
    return DataError(
        f"column {column!r} must hold numbers, dates or times", got=f"type {kind}", why="rows are sorted by it", fix=fix
    )
