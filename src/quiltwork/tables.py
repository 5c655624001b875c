"""Tables of any kind: files, and what polars, pandas, PyArrow, DuckDB or PySpark hold."""

import glob
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from quiltwork.errors import DataError

if TYPE_CHECKING:
    import polars as pl

Frame = Any
"""A narwhals frame: its type depends on the engine."""
ENDINGS = (".csv", ".tsv", ".parquet")


def as_table(source: object, wanted: Sequence[str], *, ordered: bool = False) -> "pl.DataFrame":
    """The wanted columns of a file or of any kind of table, in memory; ``ordered`` if the order of rows matters."""
    import polars as pl

    table = as_frame(source)
    check_columns(wanted, table.collect_schema().names())
    kind = table.implementation
    if ordered and not (kind.is_polars() or kind.is_pandas_like() or kind.is_pyarrow()):
        raise DataError(
            "the rows of a database's table have no order",
            got="no column that says the variable",
            why="rows are matched by their order",
            fix="Name it: variable=...",
        )
    picked = table.select(*wanted)
    try:
        return cast("pl.DataFrame", (picked.collect() if hasattr(picked, "collect") else picked).to_polars())
    except (OSError, pl.exceptions.PolarsError) as problem:
        raise unreadable(source if isinstance(source, str | Path) else "the data", problem) from None


def as_frame(source: object) -> Frame:
    """A file, a pattern of files, or a table, as a narwhals frame."""
    import narwhals as nw

    if isinstance(source, str | Path):
        return nw.from_native(scan(source))
    try:
        return nw.from_native(cast("Any", source))
    except TypeError:
        raise DataError(
            "the data must be a file, or a table of polars, pandas, PyArrow, DuckDB or PySpark",
            got=type(source).__name__,
        ) from None


def joined(tables: Sequence[Frame]) -> Frame:
    """Tables of the same kind, one after the other."""
    import narwhals as nw

    if len(tables) == 1:
        return tables[0]
    if len({table.implementation for table in tables}) > 1 or len({type(table) for table in tables}) > 1:
        tables = [table.lazy() if table.implementation.is_polars() else table for table in tables]
    try:
        return nw.concat(tables, how="vertical")
    except (TypeError, nw.exceptions.NarwhalsError):
        raise DataError(
            "further rows must be in a table of the same kind", got="another kind, or other types"
        ) from None


def check_columns(wanted: Sequence[str], columns: Sequence[str]) -> None:
    """The wanted ones must be there."""
    for name in wanted:
        if name not in columns:
            raise no_column(name, columns)


def scan(source: str | Path) -> "pl.LazyFrame":
    """CSV, TSV or Parquet files by name or pattern, to be read as a stream; text in CSV and TSV stays text."""
    import polars as pl

    files = files_of(source)
    endings = {Path(file).suffix.lower() for file in files}
    if len(endings) > 1 or not endings <= set(ENDINGS):
        raise DataError(
            f"data file {source} must end in .csv, .tsv or .parquet",
            got=", ".join(sorted(map(repr, endings))),
            why="the ending says how to read it",
        )
    (ending,) = endings
    try:
        for file in files:
            if "://" not in file:
                Path(file).open("rb").close()  # the system's own reason, if there is one
        if ending == ".parquet":
            found = pl.scan_parquet(files, glob=False)
        else:
            # text stays text: "01" and "1" are different state names
            separator = "," if ending == ".csv" else "\t"
            found = pl.scan_csv(files, separator=separator, infer_schema=False, glob=False)
        columns = found.collect_schema().names()
    except pl.exceptions.NoDataError as problem:
        raise DataError(f"data file {source} must have a header and rows", got="an empty file") from problem
    except (OSError, pl.exceptions.PolarsError) as problem:
        raise unreadable(source, problem) from None
    repeated = [name for name in columns if re.fullmatch(r".*_duplicated_\d+", name)]
    if repeated:
        name = re.sub(r"_duplicated_\d+$", "", repeated[0])
        raise DataError("columns must have different names", got=f"{name!r} more than once")
    return found


def files_of(source: str | Path) -> list[str]:
    """The files that a name or a pattern stands for, in the order of their names."""
    name = str(source)
    if "://" in name or Path(name).is_file() or not glob.has_magic(name):
        if Path(name).is_dir():
            raise DataError(
                f"data file {name} must be a file", got="a folder", fix=f"Name the files in it: '{name}/*.parquet'"
            )
        return [name]
    found = sorted(file for file in glob.glob(name, recursive=True) if Path(file).is_file())
    if not found:
        raise DataError(f"files {name} must exist", got="none of that name")
    return found


def unreadable(source: object, problem: Exception) -> DataError:
    """A parser's message may quote the data: only the kind of failure is shown."""
    ending = Path(str(source)).suffix.lower()
    reason = getattr(problem, "strerror", None) or (
        f"it is not a well-formed {ending[1:]} file in UTF-8" if ending in ENDINGS else "it is not well-formed"
    )
    return DataError(f"data file {source} cannot be read", why=reason)


def no_column(name: str, columns: Sequence[str]) -> DataError:
    """Lists the columns, unless the first line looks like data."""
    if any(re.fullmatch(r"[-+.\d][-+.:\dTeEZ ]*", c) for c in columns):
        listed, fix = "a first line that looks like values, not names", "Put a line with the columns' names first"
    else:
        listed = f"columns {', '.join(map(repr, columns[:30]))}" + (
            f" and {len(columns) - 30} more" * (len(columns) > 30)
        )
        fix = "Name one of them"
        if len(columns) == 1 and re.search(r"[;\t|]", columns[0]):
            fix = "The file seems to use another separator: .csv files have commas, .tsv files tabs"
    return DataError(f"column {name!r} must be in the file", got=listed, fix=fix)
