"""Tables of any kind: files, and what polars, pandas, PyArrow or DuckDB hold."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from quiltwork.errors import DataError

if TYPE_CHECKING:
    import polars as pl


def as_table(source: object, wanted: Sequence[str], *, ordered: bool = False) -> "pl.DataFrame":
    """The wanted columns of a file or of any kind of table; ``ordered`` if the order of its rows matters."""
    if isinstance(source, str | Path):
        frame = read_table(Path(source))
        _check_columns(wanted, frame.columns)
        return frame
    import narwhals as nw

    try:
        table: Any = nw.from_native(source)
    except TypeError:
        raise DataError(
            "the data must be a file, or a table of polars, pandas, PyArrow or DuckDB",
            got=type(source).__name__,
        ) from None
    _check_columns(wanted, table.collect_schema().names())
    kind = table.implementation
    if ordered and not (kind.is_polars() or kind.is_pandas_like() or kind.is_pyarrow()):
        raise DataError(
            "the rows of a database's table have no order",
            got="no time column",
            why="the values of a series follow one another",
            fix="Name the column to sort by: time=...",
        )
    picked = table.select(*wanted)
    return cast("pl.DataFrame", (picked.collect() if hasattr(picked, "collect") else picked).to_polars())


def _check_columns(wanted: Sequence[str], columns: Sequence[str]) -> None:
    for name in wanted:
        if name not in columns:
            raise no_column(name, columns)


def read_table(path: Path) -> "pl.DataFrame":
    """The table in a CSV, TSV or Parquet file; text stays text."""
    import polars as pl

    suffix = path.suffix.lower()
    try:
        path.open("rb").close()  # the system's own reason, if there is one
        if suffix == ".parquet":
            return pl.read_parquet(path)
        if suffix in (".csv", ".tsv"):
            # text stays text: "01" and "1" are different state names
            separator = "," if suffix == ".csv" else "\t"
            frame = pl.read_csv(path, separator=separator, infer_schema=False)
            repeated = [name for name in frame.columns if re.fullmatch(r".*_duplicated_\d+", name)]
            if repeated:
                name = re.sub(r"_duplicated_\d+$", "", repeated[0])
                raise DataError("columns must have different names", got=f"{name!r} more than once")
            return frame
    except pl.exceptions.NoDataError as problem:
        raise DataError(f"data file {path} must have a header and rows", got="an empty file") from problem
    except (OSError, pl.exceptions.PolarsError) as problem:
        # a parser's message may quote the data: only the kind of failure is shown
        reason = getattr(problem, "strerror", None) or f"it is not a well-formed {suffix[1:]} file in UTF-8"
        raise DataError(f"data file {path} cannot be read", why=reason) from None
    raise DataError(
        f"data file {path} must end in .csv, .tsv or .parquet",
        got=repr(suffix),
        why="the ending says how to read it",
    )


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
