"""Rows for tests that read data, and a value that no error may show."""

from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from quiltwork import InputError, read_series

STATES = ("sit", "walk")
SECRET = "hospital"  # noqa: S105 - a value that no error may show


def write(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="," if path.suffix == ".csv" else "\t")
    return path


def hours(*numbers: int) -> list[datetime]:
    return [datetime(2024, 1, 1, n) for n in numbers]


def pandas_table(columns: dict[str, list[Any]]) -> Any:
    """With columns of Python objects, as they are."""
    return pl.DataFrame({"row": range(2)}).to_pandas().assign(**columns).astype(object)


def assert_refused(match: str, source: object, **options: Any) -> None:
    with pytest.raises(InputError, match=match) as caught:
        read_series(source, **{"column": "x", "states": STATES} | options)
    assert SECRET not in str(caught.value)
