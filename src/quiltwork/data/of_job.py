"""The rows that a job names, read as it says: for every shell alike."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from quiltwork.beliefs import Belief
from quiltwork.data.measured import Measurements
from quiltwork.data.read import read_measurements, read_series
from quiltwork.data.reading import recoded
from quiltwork.data.recode import REST
from quiltwork.data.records import Records, read_records
from quiltwork.data.series import Series
from quiltwork.data.stored import StoredSeries
from quiltwork.data.tables import pattern_of
from quiltwork.data.together import by_person
from quiltwork.errors import ParameterError
from quiltwork.job import Data
from quiltwork.types import Progress, Segment

FOR_RECORDS = {"column", "variable", "subject", "separator", "recode"}
FOR_SERIES = ("subject", "time", "missing", "gap", "every", "take", "unsorted", "duplicates")
WRITTEN_AS = ("separator", "decimal", "date_format")


def rows_of(
    data: Data,
    belief: Belief,
    source: object = None,
    *,
    segment: Segment | None = None,
    progress: Progress | None = None,
) -> Series | Records:
    """What the file of a job (or a table instead) holds, as the belief is about it: series or records.

    >>> from quiltwork.samples import diary_belief, diary_path
    >>> rows_of(Data(path=str(diary_path()), column="activity", subject="person", time="time"), diary_belief())
    Series(24 subjects, 64512 values of 6 states)
    """
    if belief.variables is not None:
        return _records_of(data, belief, segment, source)
    if data.together is not None:
        if belief.step_variables is None:
            raise ParameterError(
                "people who belong together need a belief about all of them",
                got=f"together= with {belief!r}",
                fix="quiltwork belief fit --together, or leave it out",
            )
        source = people_of(data, belief.step_variables, source=source)
        data = replace(data, column=None)
    named = _series_column(data, belief)
    files = pattern_of(data.path)
    if belief.real and isinstance(named, str):
        return measurements_of(data, source, segment=segment, progress=progress).from_files(files)
    series = series_of(data, source, column=named, states=belief.states, segment=segment, progress=progress)
    return series.from_files(files)


def shape_of(
    data: Data, belief: Belief, *, segment: Segment | None = None, progress: Progress | None = None
) -> Series | Records:
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
    if len(firsts) > 1:
        return rows_of(data, belief, segment=segment, progress=progress)
    missing = {value: None for value, state in (recoded(data) or {}).items() if state is None}
    alike = replace(data, recode={**missing, REST: firsts.pop()}, decimal=data.decimal or ".")
    return rows_of(alike, belief, segment=segment, progress=progress)


def level_numbers(length: int, people: int) -> Measurements:
    """Series of numbers that are all 0, to plan for as many."""
    who = pl.int_range(people, eager=True).repeat_by(length).explode()
    table = pl.DataFrame({"who": who, "value": pl.repeat(0.0, length * people, eager=True)})
    return read_measurements(table, column="value", subject="who")


def public_rows(data: Data, belief: Belief, *, progress: Progress | None = None) -> Series | Records:
    """Public data with which a belief about series is compared; a belief about records is refused before."""
    if not belief.real:
        belief.again([1])
    return rows_of(data, belief, progress=progress)


def rows_to_fit(
    data: Data,
    source: object = None,
    *,
    states: Sequence[str] | None = None,
    real: bool = False,
    progress: Progress | None = None,
) -> tuple[Series, list[str]]:
    """Public data to which a belief is to be fitted; and of people together, their names."""
    if real:
        return measurements_of(data, source, progress=progress), []
    if data.together is None:
        return series_of(data, source, states=states, progress=progress), []
    table = people_of(data, source=source)
    people = table.collect_schema().names()[1 if data.subject is None else 2 :]
    return series_of(data, table, column=people, progress=progress), people


def people_of(data: Data, expected: Iterable[str] | None = None, *, source: object = None) -> "pl.LazyFrame":
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
        expected=None if expected is None else list(expected),
    )


def series_of(
    data: Data,
    source: object = None,
    *,
    column: str | list[str] | None = None,
    states: Sequence[str] | None = None,
    segment: Segment | None = None,
    progress: Progress | None = None,
) -> StoredSeries:
    """The series in the file of a job, or in a table (``source``) that was made from it."""
    column = data.column if column is None else column
    if column is None:
        raise _no_column()
    settings = _settings(data, segment, progress)
    return read_series(_source(data, source), column=column, states=states, bins=data.bins, **settings)


def measurements_of(
    data: Data, source: object = None, *, segment: Segment | None = None, progress: Progress | None = None
) -> Measurements:
    """The real values in the file of a job, or in a table that was made from it."""
    if data.bins is not None:
        raise ParameterError(
            "bins are for beliefs about levels", got="bins=", why="the belief is about real values", fix="Omit it"
        )
    if data.column is None:
        raise _no_column()
    return read_measurements(_source(data, source), column=data.column, **_settings(data, segment, progress))


def _source(data: Data, source: object) -> object:
    """The table, or the file, or its table on Spark."""
    if source is not None and source is not data.path:
        return source
    if data.together is not None:
        raise ParameterError("people together are for records over time", got="together=", fix="Leave it out")
    if data.engine == "spark":
        from quiltwork.data.engines.spark import spark_table

        return spark_table(str(data.path), master=data.master, time=data.time, separator=data.separator)
    return data.path


def _settings(data: Data, segment: Segment | None, progress: Progress | None) -> dict[str, Any]:
    given = {name: getattr(data, name) for name in (*FOR_SERIES, *WRITTEN_AS)}
    return given | {"recode": recoded(data), "segment": segment, "progress": progress}


def _records_of(data: Data, belief: Belief, segment: Segment | None, source: object) -> Records:
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


def _series_column(data: Data, belief: Belief) -> str | list[str]:
    if belief.step_variables is not None:
        if data.column is not None or data.variable is not None:
            raise ParameterError(
                "records over time have a column for each variable",
                got="column=" if data.column is not None else "variable=",
                fix=f"Leave it out if there are columns {', '.join(belief.step_variables)}; if each person has rows of "
                "their own, name the column of people: together=",
            )
        return list(belief.step_variables)
    if data.variable is not None:
        raise ParameterError("variables are for networks and joint tables", got="variable=", fix="Leave it out")
    if data.column is None:
        raise _no_column()
    return data.column


def _no_column() -> ParameterError:
    return ParameterError("a series needs the column with its values", got="no column", fix="Name it: column=")
