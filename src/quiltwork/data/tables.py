"""Tables of any kind: files, and what polars, pandas, PyArrow, DuckDB or PySpark hold."""

import difflib
import glob
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import narwhals as nw
import polars as pl

from quiltwork.beliefs.dynamic import JOIN
from quiltwork.errors import DataError

Frame = Any
"""A narwhals frame: its type depends on the engine."""
ENDINGS = (".csv", ".tsv", ".parquet")


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


def as_table(source: object, wanted: Sequence[str], *, ordered: bool = False) -> "pl.DataFrame":
    """The wanted columns of a file or of any kind of table, in memory; ``ordered`` if the order of rows matters."""
    table = as_frame(source, wanted)
    kind = table.implementation
    if ordered and not (kind.is_polars() or kind.is_pandas_like() or kind.is_pyarrow()):
        raise DataError(
            "the rows of a database's table have no order",
            got="no variable column",
            why="rows are matched by their order",
            fix="Name it: variable=...",
        )
    try:
        return cast("pl.DataFrame", (table.collect() if hasattr(table, "collect") else table).to_polars())
    except (OSError, pl.exceptions.PolarsError, nw.exceptions.NarwhalsError) as problem:
        raise unreadable(str(source) if isinstance(source, str | Path) else "the data", problem) from None


def as_frame(source: object, wanted: Sequence[str]) -> Frame:
    """The wanted columns of a file, of all files of a pattern, or of a table, as a narwhals frame."""
    if isinstance(source, str | Path):
        return nw.from_native(scan(source, wanted))
    try:
        table: Frame = nw.from_native(cast("Any", source))
    except TypeError:
        raise DataError(
            "the data must be a file, or a table of polars, pandas, PyArrow, DuckDB or PySpark",
            got=type(source).__name__,
        ) from None
    check_columns(wanted, table.collect_schema().names())
    picked = table.select(*wanted)
    if picked.implementation.is_pandas_like():
        _check_objects(picked.to_native())
    return picked


def together(table: Frame, parts: Sequence[str], name: str) -> Frame:
    """With several columns as one of this name, missing where one of them is; a single column as it is."""
    if len(parts) == 1:
        return table
    values = []
    for part in parts:
        text = nw.col(part).cast(nw.String).str.strip_chars()
        values.append(nw.when(text != "").then(text))
    rest = [column for column in table.collect_schema().names() if column not in parts]
    return table.with_columns(nw.concat_str(values, separator=JOIN).alias(name)).select(name, *rest)


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
    """The wanted ones must be there."""
    for name in wanted:
        if name not in columns:
            raise no_column(name, columns, where, by_first_line=by_first_line)


def scan(source: str | Path, wanted: Sequence[str]) -> "pl.LazyFrame":
    """CSV, TSV or Parquet files by name or pattern, to be read as a stream; text in CSV and TSV stays text."""
    files = files_of(source)
    endings = {Path(file).suffix.lower() for file in files}
    if len(endings) > 1 or not endings <= set(ENDINGS):
        raise DataError(
            f"data file {source} must end in .csv, .tsv or .parquet",
            got=", ".join(sorted(map(repr, endings))),
            why="the ending says how to read it",
        )
    (ending,) = endings

    def opened(file: str | list[str]) -> pl.LazyFrame:
        if ending == ".parquet":
            return pl.scan_parquet(file, glob=False)
        # text stays text: "01" and "1" are different state names
        return pl.scan_csv(file, separator="," if ending == ".csv" else "\t", infer_schema=False, glob=False)

    schemas: dict[str, pl.Schema] = {}
    for file in files:
        try:
            if "://" not in file:
                check_regular(file)
                Path(file).open("rb").close()  # the system's own reason, if there is one
            schemas[file] = opened(file).collect_schema()
        except pl.exceptions.NoDataError:
            continue  # an empty part of many
        except (OSError, pl.exceptions.PolarsError) as problem:
            raise unreadable(file, problem) from None
        _check_schema(file, schemas[file], wanted, next(iter(schemas.values())))
    if not schemas:
        raise DataError(f"data file {source} must have a header and rows", got="an empty file")
    if len(set(map(str, schemas.values()))) == 1:
        return opened(list(schemas)).select(*wanted)
    return pl.concat([opened(file).select(*wanted) for file in schemas])


def _check_schema(file: str, schema: "pl.Schema", wanted: Sequence[str], first: "pl.Schema") -> None:
    """The wanted columns must be in every file, and be of one type."""
    repeated = [name for name in schema if re.fullmatch(r".*_duplicated_\d+", name)]
    if repeated:
        name = re.sub(r"_duplicated_\d+$", "", repeated[0])
        raise DataError("columns must have different names", got=f"{name!r} more than once")
    where, text = "the file" if schema is first else f"file {file}", not file.lower().endswith(".parquet")
    check_columns(wanted, schema.names(), where=where, by_first_line=text)
    for name in wanted:
        if schema[name] != first[name]:
            raise DataError(
                f"column {name!r} must have one type in all files",
                got=f"{schema[name].base_type()} in {file}, {first[name].base_type()} in the first",
            )


def files_of(source: str | Path) -> list[str]:
    """The files that a name or a pattern stands for, in the order of their names."""
    name = str(source)
    if "://" in name or Path(name).is_file() or not glob.has_magic(name):
        if Path(name).is_dir():
            raise DataError(
                f"data file {name} must be a file", got="a folder", fix=f"Name the files in it: '{name}/*.parquet'"
            )
        return [name]
    files = sorted(file for file in glob.glob(name, recursive=True) if Path(file).is_file())
    if not files:
        raise DataError(f"files {name} must exist", got="none of that name")
    return files


def unreadable(source: str, problem: Exception) -> DataError:
    """A parser's message may quote the data: only the kind of failure is shown."""
    ending = Path(source).suffix.lower()
    reason = getattr(problem, "strerror", None) or (
        f"it is not a well-formed {ending[1:]} file in UTF-8" if ending in ENDINGS else "it is not well-formed"
    )
    return DataError(f"data file {source} cannot be read", why=reason)


def no_column(name: str, columns: Sequence[str], where: str, *, by_first_line: bool) -> DataError:
    """Lists the columns of a table; the first line of a text file may hold values instead of names."""
    fix, got = "Name one of them", f"columns {', '.join(map(repr, columns[:30]))}"
    if len(columns) > 30:
        got += f" and {len(columns) - 30} more"
    if by_first_line:
        got = f"{len(columns)} other column{'s' * (len(columns) != 1)}"
        near = difflib.get_close_matches(name, columns, n=1, cutoff=0.7)
        near = [column for column in columns if column.casefold().strip() == name.casefold().strip()] or near
        fix = f"The nearest is {near[0]!r}" if near else "The first line of the file must name the columns"
        if len(columns) == 1 and re.search(r"[;\t|]", columns[0]):
            fix = "The file seems to use another separator: .csv files have commas, .tsv files tabs"
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
