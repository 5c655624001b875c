"""Series from files and from tables of any kind, on the engine that holds them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import narwhals as nw
import polars as pl

from quiltwork.beliefs.dynamic import JOIN
from quiltwork.data.engines.base import Columns, Engine
from quiltwork.data.engines.polars import PolarsEngine
from quiltwork.data.engines.sql import DuckDBEngine, SparkEngine
from quiltwork.data.measured import Measurements
from quiltwork.data.reading import Reading
from quiltwork.data.recode import check_targets
from quiltwork.data.rewritten import decimal_of, moments, rewritten, spare_subject, time_parts
from quiltwork.data.stored import StoredSeries
from quiltwork.data.tables import Frame, as_frame, joined, mixed_types, names_of, pattern_of, together
from quiltwork.data.text_files import are_names
from quiltwork.errors import DataError
from quiltwork.job import Decimal, Duplicates, Missing, Take, Unsorted
from quiltwork.types import Progress, Segment


def read_series(  # noqa: PLR0913 - the public signature is meant to be read
    source: object,
    *,
    column: str | Sequence[str],
    states: Sequence[str] | None = None,
    subject: str | None = None,
    time: str | None = None,
    missing: Missing = "refuse",
    segment: Segment | None = None,
    gap: str | float | timedelta | None = None,
    every: str | float | timedelta | None = None,
    take: Take = "first",
    bins: str | Sequence[float] | None = None,
    unsorted: Unsorted = "refuse",
    duplicates: Duplicates = "refuse",
    separator: str | None = None,
    decimal: Decimal | None = None,
    date_format: str | None = None,
    recode: Mapping[Any, Any] | None = None,
    progress: Progress | None = None,
) -> StoredSeries:
    """Read one column of a table as series, counted where the table is.

    ``source`` is a CSV, TSV or Parquet file or a pattern of several (``logs/*.parquet``), or a table of polars (eager
    or lazy), pandas, PyArrow, DuckDB or PySpark. Rows are in the order of ``time``; those of a database, which have no
    order of their own, are sorted by it. Without ``states`` the states are the values that occur, sorted. Several
    columns are one value together: ``["ann", "bob"]`` has states such as ``"ill+well"``.

    - ``missing="split"``, ``gap``: the series is split at missing values, and at pauses longer than ``gap``
      (``"15min"``, a timedelta, or a number: steps of ``every``, or in the unit of times that are numbers)
    - ``every``: one row a step (``"5min"``); ``take`` says which: the first, the last, or, of numbers, the mean. A step
      without rows is a gap
    - ``bins``: numbers become levels, which are the states in their order: edges (``"100,500"`` or a list), or
      ``"0:1000:10"`` for ten levels of equal width
    - ``segment``: only the values from its first to its last position (from 1) of each series
    - ``unsorted="sort"``, ``duplicates="drop"``: rows that are not in order are sorted; of rows with the same time and
      value one is kept
    - ``time="Date,Time"``: a date and a time of day in two columns; ``date_format="dd/mm/yyyy"``: dates that are not
      written as 2024-12-31
    - ``recode={"1": "sleep", "2": "sit", "*": "other"}``: values of the data that are states by another name, None for
      those that count as missing
    - ``separator=";"``, ``decimal=","``: how a text file is written, where its first line and its numbers leave it open

    >>> from quiltwork.samples import diary_path
    >>> read_series(diary_path(), column="activity", states=None, subject="person", time="time")
    Series(24 subjects, 64512 values of 6 states)
    """
    parts = [column] if isinstance(column, str) else list(column)
    reading = Reading.of(
        column=JOIN.join(parts),
        subject=subject,
        time=time,
        files=pattern_of(source),
        missing=missing,
        segment=segment,
        gap=gap,
        every=every,
        take=take,
        bins=bins,
        unsorted=unsorted,
        duplicates=duplicates,
        decimal=decimal or "." if bins is None else decimal_of(source, parts[0], given=decimal, separator=separator),
        date_format=date_format,
        recode=recode,
    )
    if reading.recode is not None:
        check_targets(reading.recode, states if len(parts) == 1 else None, numbers=bins is not None)
    opener = _opener(source, reading, parts, separator)
    return StoredSeries([source], opener, reading, states=states, progress=progress)


def read_measurements(  # noqa: PLR0913 - the public signature is meant to be read
    source: object,
    *,
    column: str,
    subject: str | None = None,
    time: str | None = None,
    missing: Missing = "refuse",
    segment: Segment | None = None,
    gap: str | float | timedelta | None = None,
    every: str | float | timedelta | None = None,
    take: Take = "first",
    unsorted: Unsorted = "refuse",
    duplicates: Duplicates = "refuse",
    separator: str | None = None,
    decimal: Decimal | None = None,
    date_format: str | None = None,
    recode: Mapping[Any, Any] | None = None,
    progress: Progress | None = None,
) -> Measurements:
    """Read one column of a table as series of real values, added up where the table is.

    The same as :func:`read_series`, for beliefs about numbers: values are not matched to states. With ``every`` and
    ``take="mean"`` the value of a step is the mean of its rows.

    >>> import polars as pl
    >>> read_measurements(pl.DataFrame({"power": [0.5, 1.25, 0.75]}), column="power")
    Measurements(1 subjects, 3 values)
    """
    reading = Reading.of(
        layout="numbers",
        column=column,
        subject=subject,
        time=time,
        files=pattern_of(source),
        missing=missing,
        segment=segment,
        gap=gap,
        every=every,
        take=take,
        unsorted=unsorted,
        duplicates=duplicates,
        decimal=decimal_of(source, column, given=decimal, separator=separator),
        date_format=date_format,
        recode=recode,
    )
    if reading.recode is not None:
        check_targets(reading.recode, None, numbers=True)
    opener = _opener(source, reading, [column], separator)
    return Measurements([source], opener, reading, states=("value",), progress=progress)


def _opener(
    source: object, reading: Reading, parts: Sequence[str], separator: str | None
) -> Callable[[Sequence[object]], Engine]:
    """How tables are opened; ``parts`` are the columns of which a value consists."""
    named = Columns(reading.column or "", reading.subject, reading.time, reading.date_format)
    present = names_of(source, separator=separator, wanted=[*parts, *([reading.subject] if reading.subject else [])])
    at = time_parts(reading.time, present)
    wanted = [*parts, *([] if named.subject is None else [named.subject]), *at]
    if not parts or len(set(wanted)) < len(wanted):
        raise DataError(
            "column, subject and time must be different columns",
            got="one of them twice",
            why="splitting or sorting a series by its own values would reveal them",
        )
    seen = present if are_names(present, wanted) else []
    spare = spare_subject(seen, wanted) if named.subject is None else None
    columns = replace(named, spare=spare)

    def opened(sources: Sequence[object]) -> Engine:
        where = "the data" if not isinstance(source, str | Path) else f"data file {source}"
        tables = [as_frame(given, wanted, separator=separator) for given in sources]
        table = rewritten(moments(joined(tables), at, columns.time), parts, columns.time, reading)
        return _engine_of(together(table, parts, columns.value), columns, where)

    return opened


def _engine_of(table: Frame, columns: Columns, where: str) -> Engine:
    """The engine that holds a narwhals table."""
    kind = table.implementation
    if kind.is_polars() or kind.is_pandas_like() or kind.is_pyarrow():
        native = _as_polars(table)
        return PolarsEngine(native, columns, dict(nw.from_native(native).collect_schema()), where)
    schema = dict(table.collect_schema())
    if kind.is_duckdb():
        return DuckDBEngine(table.to_native(), columns, schema)
    if kind.is_pyspark() or kind.is_pyspark_connect():
        return SparkEngine(table.to_native(), columns, schema)
    raise DataError(
        "the data must be a table of polars, pandas, PyArrow, DuckDB or PySpark", got=f"one of {kind.name.lower()}"
    )


def _as_polars(table: Frame) -> "pl.LazyFrame":
    """A table in memory, or a lazy one of polars, taken over by polars."""
    if isinstance(table, nw.LazyFrame):
        return cast("pl.LazyFrame", table.to_native())
    frames = []
    for name in table.columns:
        try:
            frames.append(cast("pl.DataFrame", table.select(name).to_polars()))
        except Exception:  # of pandas, PyArrow or polars, whose messages may quote the data
            raise mixed_types(name) from None
    return pl.concat(frames, how="horizontal").lazy()
