"""From how a person says that data are read to rows: series and records, on the engine that holds the table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

import polars as pl

from quiltwork.beliefs import Belief
from quiltwork.beliefs.dynamic import JOIN
from quiltwork.data.engines.base import Engine
from quiltwork.data.engines.polars import PolarsEngine
from quiltwork.data.engines.sql import DuckDBEngine, SparkEngine, spark_table
from quiltwork.data.measured import Measurements
from quiltwork.data.reading import Reading, recoded
from quiltwork.data.records import Records, read_records
from quiltwork.data.rewritten import by_person, decimal_of, moments, rewritten, spare_subject, time_parts
from quiltwork.data.series import Series
from quiltwork.data.stored import StoredSeries
from quiltwork.data.tables import Frame, as_frame, as_polars, in_process, joined, names_of, one_column, pattern_of
from quiltwork.data.text_files import are_names
from quiltwork.data.values import REST, check_targets
from quiltwork.errors import DataError, ParameterError
from quiltwork.job import READING, Data, Decimal, Duplicates, Missing, Take, Unsorted
from quiltwork.types import Progress, Segment

FOR_RECORDS = {"column", "variable", "subject", "separator", "recode"}
FOR_SERIES = set(READING) - {"column", "variable", "together", "bins", "recode", "gaps"}
Kept = TypeVar("Kept", bound=StoredSeries)


class Scope(TypedDict, total=False):
    """Which positions of each series are read, if not all; and whom to tell how far it is."""

    segment: Segment | None
    progress: Progress | None


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
    return _read(StoredSeries, **locals())


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
    return _read(Measurements, **locals())


def _read(
    kind: type[Kept],
    *,
    source: object,
    column: str | Sequence[str],
    separator: str | None,
    decimal: Decimal | None,
    states: Sequence[str] | None = None,
    progress: Progress | None = None,
    bins: str | Sequence[float] | None = None,
    files: str | None = None,
    **said: Any,
) -> Kept:
    """A column as series of states or of real values; ``files`` is the pattern of files that a table was made of."""
    parts, real = [column] if isinstance(column, str) else list(column), kind is Measurements
    numbers = real or bins is not None
    reading = Reading.of(
        layout="numbers" if real else "series",
        column=JOIN.join(parts),
        files=files or pattern_of(source),
        bins=bins,
        decimal=decimal_of(source, parts[0], given=decimal, separator=separator) if numbers else decimal or ".",
        **said,
    )
    if reading.recode is not None:
        check_targets(reading.recode, states if len(parts) == 1 else None, numbers=numbers)
    present = names_of(source, separator=separator, wanted=[*parts, *([reading.subject] if reading.subject else [])])
    at = time_parts(reading.time, present)
    wanted = [*parts, *([] if reading.subject is None else [reading.subject]), *at]
    if not parts or len(set(wanted)) < len(wanted):
        raise DataError(
            "column, subject and time must be different columns",
            got="one of them twice",
            why="splitting or sorting a series by its own values would reveal them",
        )
    where = f"data file {source}" if isinstance(source, str | Path) else "the data"

    def opened(sources: Sequence[object]) -> Engine:
        tables = [as_frame(given, wanted, separator=separator) for given in sources]
        table = rewritten(moments(joined(tables), at, reading.time), parts, reading.time, reading)
        return _engine_of(one_column(table, parts, str(reading.column), JOIN), reading, where)

    spare = spare_subject(present, wanted) if reading.subject is None and are_names(present, wanted) else None
    return kind([source], opened, reading, states=("value",) if real else states, spare=spare, progress=progress)


def _engine_of(table: Frame, reading: Reading, where: str) -> Engine:
    """The engine that holds a narwhals table."""
    if in_process(table):
        return PolarsEngine(as_polars(table), reading, where)
    kind, schema = table.implementation, dict(table.collect_schema())
    if kind.is_duckdb():
        return DuckDBEngine(table.to_native(), reading, schema)
    if kind.is_pyspark() or kind.is_pyspark_connect():
        return SparkEngine(table.to_native(), reading, schema)
    raise DataError(
        "the data must be a table of polars, pandas, PyArrow, DuckDB or PySpark", got=f"one of {kind.name.lower()}"
    )


def rows_of(data: Data, belief: Belief, source: object = None, **scope: Unpack[Scope]) -> Series | Records:
    """What the file of a job (or a table instead) holds, as the belief is about it: series or records.

    >>> from quiltwork.samples import diary_belief, diary_path
    >>> rows_of(Data(path=str(diary_path()), column="activity", subject="person", time="time"), diary_belief())
    Series(24 subjects, 64512 values of 6 states)
    """
    if belief.variables is not None:
        return _records_of(data, belief, source, scope.get("segment"))
    return series_of(data, belief, source, **scope)


def series_of(data: Data, belief: Belief, source: object = None, **scope: Unpack[Scope]) -> StoredSeries:
    """The same where a belief is about series: of its states, of its people's states together, or of real values."""
    column: str | list[str] | None = data.column
    if belief.step_variables is not None:
        if data.variable is not None or (data.together is None and data.column is not None):
            raise ParameterError(
                "records over time have a column for each variable",
                got="variable=" if data.variable is not None else "column=",
                fix=f"Leave it out if there are columns {', '.join(belief.step_variables)}; if each person has rows of "
                "their own, name the column of people: together=",
            )
        source = source if data.together is None else _people(data, source, expected=belief.step_variables)
        column = list(belief.step_variables)
    elif data.together is not None:
        raise ParameterError(
            "people who belong together need a belief about all of them",
            got=f"together= with {belief!r}",
            fix="quiltwork belief fit --together, or leave it out",
        )
    elif data.variable is not None:
        raise ParameterError("variables are for networks and joint tables", got="variable=", fix="Leave it out")
    return _series(data, source, column, belief.states, real=belief.real, **scope)


def shape_of(data: Data, belief: Belief, **scope: Unpack[Scope]) -> Series | Records:
    """The same rows without their values: which subjects, times and missing values there are.

    Every value is read as the same state. Where variables have different states, values are read, and not shown.

    >>> from quiltwork.samples import diary_belief, diary_path
    >>> how = Data(path=str(diary_path()), column="activity", subject="person", time="time")
    >>> shape_of(how, diary_belief()).counts().tolist()
    [64512, 0, 0, 0, 0, 0]
    """
    parts = belief.variables or belief.step_variables
    firsts = {"0"} if belief.real or data.bins is not None else {belief.states[0]} if parts is None else set()
    firsts |= {states[0] for states in (parts or {}).values()}
    if len(firsts) == 1:
        missing = {value: None for value, state in (recoded(data) or {}).items() if state is None}
        data = replace(data, recode={**missing, REST: firsts.pop()}, decimal=data.decimal or ".")
    return rows_of(data, belief, **scope)


def zeros(length: int, people: int) -> Measurements:
    """Series of numbers that are all 0, to plan for as many."""
    who = pl.int_range(people, eager=True).repeat_by(length).explode()
    table = pl.DataFrame({"who": who, "value": pl.repeat(0.0, length * people, eager=True)})
    return read_measurements(table, column="value", subject="who")


def public_rows(data: Data, belief: Belief, **scope: Unpack[Scope]) -> Series | Records:
    """Public data with which a belief about series is compared; a belief about records is refused before."""
    if not belief.real:
        belief.again([1])
    return rows_of(data, belief, **scope)


def rows_to_fit(
    data: Data,
    source: object = None,
    *,
    states: Sequence[str] | None = None,
    real: bool = False,
    **scope: Unpack[Scope],
) -> tuple[Series, list[str]]:
    """Public data to which a belief is to be fitted; and of people together, their names."""
    if real or data.together is None:
        return _series(data, source, data.column, states, real=real, **scope), []
    table = _people(data, source)
    people = table.collect_schema().names()[1 if data.subject is None else 2 :]
    return _series(data, table, people, **scope), people


def _series(
    data: Data,
    source: object,
    column: str | list[str] | None,
    states: Sequence[str] | None = None,
    *,
    real: bool = False,
    **scope: Unpack[Scope],
) -> StoredSeries:
    """The series in the file of a job, or in a table (``source``) that was made from it."""
    if column is None:
        raise ParameterError("a series needs the column with its values", got="no column", fix="Name it: column=")
    kind: type[StoredSeries] = Measurements if real else StoredSeries
    return _read(
        kind,
        source=_source(data) if source is None else source,
        column=column,
        states=None if real else states,
        bins=data.bins,
        files=pattern_of(data.path),
        recode=recoded(data),
        **scope,
        **{name: getattr(data, name) for name in FOR_SERIES},
    )


def _source(data: Data) -> object:
    """The file of a job, or its table on Spark."""
    if data.together is not None:
        raise ParameterError("people together are for records over time", got="together=", fix="Leave it out")
    if data.engine == "spark":
        return spark_table(str(data.path), master=data.master, time=data.time, separator=data.separator)
    return data.path


def _people(data: Data, source: object, *, expected: Iterable[str] = ()) -> "pl.LazyFrame":
    """A table with a column for each person, from rows of several people: those that are expected."""
    source = data.path if source is None else source
    if data.column is None or source is None or data.engine == "spark":
        raise ParameterError(
            "rows of several people need the column with their values, in a file",
            got="no column" if data.column is None else "engine='spark'" if data.engine == "spark" else "no file",
            fix="Name it: column=, and leave engine= out",
        )
    return by_person(
        source,
        who=str(data.together),
        column=data.column,
        time=data.time,
        subject=data.subject,
        separator=data.separator,
        expected=list(expected),
    )


def _records_of(data: Data, belief: Belief, source: object, segment: Segment | None) -> Records:
    given = [name for name in data.reading if name not in FOR_RECORDS] + ["segment"] * (segment is not None)
    given += ["engine"] * (data.engine != "polars")
    if given:
        raise ParameterError(
            "records have no time, no segments, no gaps and no missing values",
            got=f"{given[0]}=",
            why="the belief is about named variables",
            fix="Leave it out",
        )
    columns = {"column": data.column, "variable": data.variable, "subject": data.subject}
    if data.column is None and any(columns.values()):
        raise ParameterError(
            "variable= and subject= need the column with the values", got="none", fix="Name it: column="
        )
    source = data.path if source is None else source
    return read_records(source, belief=belief, **columns, separator=data.separator, recode=recoded(data))
