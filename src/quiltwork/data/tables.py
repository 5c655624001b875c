"""Tables of any kind: files, and what polars, pandas, PyArrow, DuckDB or PySpark hold."""

import glob
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import narwhals as nw
import polars as pl

from quiltwork.beliefs.text import why_unread
from quiltwork.data.text_files import (
    ENDINGS,
    UNREAD,
    are_names,
    check_text,
    ending_of,
    header_of,
    reading,
    separator_of,
    too_many_fields,
    unreadable,
)
from quiltwork.errors import DataError, nearest

LOOKED_AT_ROWS = 1000  # by which the types of a text file's columns are told
Frame = Any
"""A narwhals frame: its type depends on the engine."""


def check_regular(path: str | Path) -> None:
    """Refuse pipes and devices, which may never end, and which cannot be read twice."""
    with suppress(OSError, ValueError):
        kind = Path(path).stat().st_mode
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
            raise DataError(
                f"data file {path} must be a regular file",
                got="a pipe or a device",
                why="it is read more than once, and may never end",
                fix="Write it to a file first",
            )


def as_table(
    source: object, wanted: Sequence[str], *, ordered: bool = False, separator: str | None = None
) -> "pl.DataFrame":
    """The wanted columns of a file or of any kind of table, in memory; ``ordered`` if the order of rows matters."""
    table = as_frame(source, wanted, separator=separator)
    if ordered and not in_process(table):
        raise DataError(
            "the rows of a database's table have no order",
            got="no variable column",
            why="rows are matched by their order",
            fix="Name it: variable=...",
        )
    with reading(source):
        return cast("pl.DataFrame", (table.collect() if hasattr(table, "collect") else table).to_polars())


def as_frame(source: object, wanted: Sequence[str], *, separator: str | None = None) -> Frame:
    """The wanted columns of a file, of all files of a pattern, or of a table, as a narwhals frame."""
    if isinstance(source, str | Path):
        return nw.from_native(scan(source, wanted, separator))
    try:
        table: Frame = nw.from_native(cast("Any", source))
    except TypeError:
        raise DataError(
            "the data must be a file, or a table of polars, pandas, PyArrow, DuckDB or PySpark",
            got=type(source).__name__,
        ) from None
    # Spark's columns may be named by the first line of a text file
    spark = table.implementation.is_pyspark() or table.implementation.is_pyspark_connect()
    check_columns(wanted, table.collect_schema().names(), by_first_line=spark)
    picked = table.select(*wanted)
    if picked.implementation.is_pandas_like():
        _check_objects(picked.to_native())
    return picked


def names_of(source: object, *, separator: str | None = None, wanted: Sequence[str] = ()) -> list[str]:
    """The columns of a table, or of the first of some files; none where they are not known without reading rows."""
    if isinstance(source, str | Path):
        try:
            file = files_of(source)[0]
            check_regular(file)
            if ending_of(file) == ".parquet":
                return list(pl.read_parquet_schema(file))
        except (DataError, *UNREAD):
            return []  # said when it is read
        return header_of(file, separator_of(file, wanted, separator)) if ending_of(file) in ENDINGS else []
    try:
        return list(nw.from_native(cast("Any", source)).collect_schema().names())
    except TypeError:
        return []


def types_of(file: str | Path, *, separator: str | None = None) -> dict[str, str]:
    """The columns of a file, each with its type in a word or two; of a text file, by what its first rows look like.

    >>> from quiltwork.samples import diary_path
    >>> types_of(diary_path())
    {'person': 'text', 'time': 'time', 'activity': 'text'}
    """
    names = names_of(file, separator=separator)
    if not names:
        raise DataError(
            f"the columns of data file {file} cannot be read",
            got="no names in its first line",
            fix=f"It must end in {', '.join(ENDINGS)} and begin with a line of names",
        )
    path = str(file)
    try:
        if ending_of(path) == ".parquet":
            schema: Any = pl.read_parquet_schema(path)
        else:
            mark = separator_of(path, (), separator)
            _check_header(path, names, _scanned(path, mark).head(LOOKED_AT_ROWS).collect())
            schema = _scanned(path, mark, infer_schema_length=LOOKED_AT_ROWS, try_parse_dates=True).collect_schema()
    except UNREAD:
        schema = {}
    return {name: _type_of(schema.get(name)) for name in names}


def _check_header(file: str, names: Sequence[str], rows: "pl.DataFrame") -> None:
    """Refuse to list what seems to be a first row: a number or a date, or text that occurs below it again."""
    values = sum(
        re.fullmatch(r"[-+\d.,:/ ]*\d[-+\d.,:/ TZeE]*", name) is not None or name in column
        for name, column in zip(names, rows, strict=False)
    )
    if values:
        raise DataError(
            f"the first line of data file {file} must name its columns",
            got=f"{values} of {len(names)} columns that begin with what seems to be a value",
            why="values are not shown",
            fix="Put a line of names above the rows",
        )


def _type_of(dtype: Any) -> str:
    if dtype is None:
        return "text"
    if dtype.is_integer():
        return "whole number"
    if dtype.is_numeric():
        return "number"
    if dtype.is_temporal():
        return "time"
    return "truth value" if dtype == pl.Boolean else "text"


def in_process(table: Frame) -> bool:
    """Whether this process holds or streams its rows; those of a database or a cluster are counted there."""
    kind = table.implementation
    return bool(kind.is_polars() or kind.is_pandas_like() or kind.is_pyarrow())


def as_polars(table: Frame) -> "pl.LazyFrame":
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


def one_column(table: Frame, parts: Sequence[str], name: str, separator: str) -> Frame:
    """With several columns as text in one of this name, missing where one of them is; a single column as it is."""
    if len(parts) == 1:
        return table
    texts = [nw.col(part).cast(nw.String).str.strip_chars() for part in parts]
    known = [nw.when(text != "").then(text) for text in texts]
    rest = [column for column in table.collect_schema().names() if column not in parts]
    return table.with_columns(nw.concat_str(known, separator=separator).alias(name)).select(*rest, name)


def _check_objects(frame: Any) -> None:
    """Columns of Python objects must have one type, and times one time zone: pandas allows both."""
    for name in frame.columns:
        if frame[name].dtype != object:
            continue
        present = frame[name].dropna()
        if len({type(value) for value in present}) > 1:
            raise mixed_types(name)
        if len({str(getattr(value, "tzinfo", None)) for value in present}) > 1:
            raise mixed_zones(name)


def joined(tables: Sequence[Frame]) -> Frame:
    """Tables of the same kind, one after the other."""
    if len(tables) == 1:
        return tables[0]
    kinds = {table.implementation for table in tables}
    if len(kinds) > 1:
        names = [table.implementation.name.lower() for table in tables]
        raise DataError("appended rows must be in a table of the same kind", got=f"{names[-1]} after {names[0]}")
    if kinds.pop().is_polars():
        return nw.from_native(pl.concat([table.lazy().to_native() for table in tables], how="vertical_relaxed"))
    return nw.concat(tables, how="vertical")


def check_columns(
    wanted: Sequence[str], columns: Sequence[str], *, where: str = "the table", by_first_line: bool = False
) -> None:
    """The wanted ones must be there; ``by_first_line`` if a line of text names them, which may hold values instead."""
    for name in wanted:
        if name not in columns:
            raise _no_column(name, columns, where, shown=not by_first_line or are_names(columns, wanted))


def scan(source: str | Path, wanted: Sequence[str], separator: str | None = None) -> "pl.LazyFrame":
    """Text and Parquet files by name or pattern, to be read as a stream; text in CSV and TSV stays text."""
    files = files_of(source)
    endings = {ending_of(file) for file in files}
    kinds = {ending.removesuffix(".gz") for ending in endings}
    if len(kinds) > 1 or not endings <= set(ENDINGS):
        raise _other_ending(source, files[0], endings)
    (kind,) = kinds
    if "://" not in files[0]:
        check_regular(files[0])
    between = "" if kind == ".parquet" else separator_of(files[0], wanted, separator)
    opened = partial(_scanned, separator=between)
    schemas: dict[str, pl.Schema] = {}
    for file in files:
        try:
            if "://" not in file:
                check_regular(file)
                Path(file).open("rb").close()  # the system's own reason, if there is one
                if kind != ".parquet":
                    check_text(file)
            schemas[file] = opened(file).collect_schema()
            _check_different(header_of(file, between) if between else [], schemas[file], wanted)
            _check_schema(file, schemas[file], wanted, next(iter(schemas.values())))
            if kind != ".parquet":
                opened(file).select(pl.all().count()).collect(engine="streaming")  # all fields of all rows
        except pl.exceptions.NoDataError:
            continue  # an empty part of many
        except UNREAD as problem:
            too_many = None if kind == ".parquet" or "://" in file else too_many_fields(file, between)
            raise too_many or unreadable(file, problem) from None
    if not schemas:
        raise DataError(
            f"data file {source} must have a header and rows",
            got="an empty file",
            fix="Check that it was written to the end, and that this is the right file",
        )
    if len(set(map(str, schemas.values()))) == 1:
        return opened(list(schemas)).select(*wanted)
    return pl.concat([opened(file).select(*wanted) for file in schemas])


def _scanned(file: str | list[str], separator: str, **types: Any) -> "pl.LazyFrame":
    """A file, or several with the same columns, as a stream.

    Text stays text, for "01" and "1" are different names; unless ``types`` says how to tell types.
    """
    first = file if isinstance(file, str) else file[0]
    if ending_of(first) == ".parquet":
        return pl.scan_parquet(file, glob=False)
    names = header_of(first, separator)

    def named(found: list[str]) -> list[str]:
        usable = len(set(names)) == len(names) == len(found)
        return names if usable else [name.replace('""', '"') for name in found]

    types = types or {"infer_schema": False}
    return pl.scan_csv(file, separator=separator, glob=False, with_column_names=named, **types)


def _other_ending(source: str | Path, first: str, endings: set[str]) -> DataError:
    """A kind of file that is not read, or several kinds at once."""
    known = "Save or export the table as CSV or Parquet"
    if not any(Path(file).exists() for file in (first, str(source))) and "://" not in first:
        known = why_unread(first, FileNotFoundError())[1]
    elif len(endings) > 1:
        known = "Name files of one kind: '*.csv' or '*.parquet'"
    elif endings == {".txt"}:
        known = "If its columns are separated by commas, semicolons or tabs, rename it to .csv"
    return DataError(
        f"data file {source} must end in .csv, .tsv or .parquet (or .csv.gz, .tsv.gz)",
        got=", ".join(sorted(map(repr, endings))),
        why="the ending says how to read it",
        fix=known,
    )


def _check_different(header: Sequence[str], schema: "pl.Schema", wanted: Sequence[str]) -> None:
    """No two columns may have the same name; which one it is is said only if the user named it."""
    names = list(header) or [re.sub(r"_duplicated_\d+$", "", name) for name in schema.names()]
    for n, name in enumerate(names):
        if name in names[:n]:
            which = repr(name) if name in wanted else "the same name"
            raise DataError(
                "columns must have different names",
                got=f"{which} for columns {names.index(name) + 1} and {n + 1} of {len(names)}",
                fix="The first line of a text file must name its columns",
            )


def _check_schema(file: str, schema: "pl.Schema", wanted: Sequence[str], first: "pl.Schema") -> None:
    """The wanted columns must be in every file, and be of one type."""
    where, text = "the file" if schema is first else f"file {file}", ending_of(file) != ".parquet"
    check_columns(wanted, schema.names(), where=where, by_first_line=text)
    for name in wanted:
        if schema[name] != first[name]:
            raise DataError(
                f"column {name!r} must have one type in all files",
                got=f"{schema[name].base_type()} in {file}, {first[name].base_type()} in the first",
            )


def pattern_of(source: object) -> str | None:
    """The pattern by which files are named, from its first wildcard on; None for a single file or a table.

    >>> pattern_of("logs/2024/day*.csv"), pattern_of("day1.csv")
    ('day*.csv', None)
    """
    if not isinstance(source, str | Path) or not glob.has_magic(str(source)) or Path(source).is_file():
        return None
    parts = str(source).split("/")
    return "/".join(parts[next(n for n, part in enumerate(parts) if glob.has_magic(part)) :])


def files_of(source: str | Path) -> list[str]:
    """The files that a name or a pattern stands for, in the order of their names."""
    name = str(source)
    if "://" in name or Path(name).is_file() or not glob.has_magic(name):
        if Path(name).is_dir():
            raise DataError(
                f"data file {name} must be a file",
                got="a folder",
                fix=f"Name the files in it: '{name}/*{_usual_ending(Path(name))}'",
            )
        return [name]
    files = sorted(file for file in glob.glob(name, recursive=True) if Path(file).is_file())
    if not files:
        raise DataError(
            f"files {name} must exist", got="none of that name", fix="Check the folder and the pattern, and quote it"
        )
    return files


def _usual_ending(folder: Path) -> str:
    """The ending that most files in a folder have, of those that can be read."""
    with suppress(OSError):
        endings = [ending_of(file) for file in folder.iterdir()]
        return max(reversed(ENDINGS), key=endings.count)
    return ".parquet"


def _no_column(name: str, columns: Sequence[str], where: str, *, shown: bool) -> DataError:
    """A column that is not there, with those that are; only with their number if their names may be values."""
    if shown:
        near = nearest(name, columns)
        got = f"columns {', '.join(map(repr, columns[:30]))}"
        got += f" and {len(columns) - 30} more" if len(columns) > 30 else ""
        fix = "Name one of them" if near is None else f"Did you mean {near!r}?"
    else:
        got = f"{len(columns)} other column{'s' * (len(columns) != 1)}"
        fix = "The first line of the file must name the columns"
        if len(columns) == 1:
            fix += "; if something else than a comma is between them, say what: separator=';'"
    return DataError(f"column {name!r} must be in {where}", got=got, fix=fix)


def mixed_types(column: str) -> DataError:
    """For example numbers and text in one column."""
    return DataError(f"column {column!r} must have values of one type", got="several", fix="Convert the column first")


def mixed_zones(column: str) -> DataError:
    """Some times are in another time zone than others, or in none."""
    return DataError(
        f"column {column!r} must hold times of one time zone",
        got="several, or some without one",
        why="the same clock time is a different moment in another zone",
        fix="Convert the column to UTC first; for days of the local clock use Parquet with a time zone",
    )
