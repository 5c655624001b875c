"""One code path for every kind of table: the same series, the same records, the same refusals."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from quiltwork import InputError, read_records, read_series
from quiltwork.samples import contagion_belief, simulate_households

ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "polars lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: duckdb.connect().from_arrow(frame.to_arrow()),
}


@pytest.fixture(params=list(ENGINES))
def on_engine(request: pytest.FixtureRequest) -> Callable[[pl.DataFrame], Any]:
    return ENGINES[request.param]


def diary(kind: str) -> pl.DataFrame:
    begun = datetime(2024, 3, 4)
    values: dict[str, list[Any]] = {
        "text": ["sit", "walk", None, "sit", "sit", "walk"],
        "numbers": [1, 2, None, 1, 1, 2],
        "floats": [1.0, 2.0, None, 1.0, 1.0, 2.0],
        "flags": [True, False, None, True, True, False],
    }
    return pl.DataFrame(
        {
            "who": ["b", "a", "b", "a", "b", "a"],
            "when": [begun + timedelta(hours=n) for n in (3, 1, 2, 5, 1, 4)],
            "what": values[kind],
        }
    )


@pytest.mark.parametrize(
    ("kind", "states"),
    [("text", ("sit", "walk")), ("numbers", ("1", "2")), ("floats", ("1", "2")), ("flags", ("true", "false"))],
)
def test_series_are_the_same_on_every_engine(
    kind: str, states: tuple[str, str], on_engine: Callable[[pl.DataFrame], Any], tmp_path: Path
) -> None:
    frame = diary(kind)
    frame.write_parquet(tmp_path / "diary.parquet")
    options: dict[str, Any] = {
        "column": "what",
        "subject": "who",
        "time": "when",
        "states": states,
        "missing": "split",
        "unsorted": "sort",
    }
    expected = read_series(tmp_path / "diary.parquet", **options)
    found = read_series(on_engine(frame), **options)
    assert [[s.tolist() for s in one] for one in found.by_subject] == [
        [s.tolist() for s in one] for one in expected.by_subject
    ]
    lines = [
        [[(line.codes.tolist(), line.begun) for line in one] for one in each.timelines] for each in (found, expected)
    ]
    assert lines[0] == lines[1]
    assert found.transitions().tolist() == expected.transitions().tolist()
    assert found.counts().tolist() == [3, 2]
    assert found.gaps == 1


def test_records_are_the_same_on_every_engine(on_engine: Callable[[pl.DataFrame], Any]) -> None:
    household = contagion_belief()
    frame = simulate_households()
    assert [c.tolist() for c in read_records(on_engine(frame), belief=household).counts()] == [
        c.tolist() for c in read_records(frame, belief=household).counts()
    ]
    long = frame.with_row_index("house").unpivot(index="house", variable_name="person", value_name="flu")
    named = read_records(on_engine(long), belief=household, column="flu", variable="person", subject="house")
    assert [c.tolist() for c in named.counts()] == [c.tolist() for c in read_records(frame, belief=household).counts()]


def test_refusals_are_the_same_on_every_engine(on_engine: Callable[[pl.DataFrame], Any]) -> None:
    frame = diary("text")
    options: dict[str, Any] = {"column": "what", "subject": "who", "time": "when", "states": ("sit", "walk")}
    options |= {"unsorted": "sort"}
    with pytest.raises(InputError, match="columns 'who', 'when', 'what'"):
        read_series(on_engine(frame), **options | {"column": "where"})
    with pytest.raises(InputError, match="1 missing"):
        read_series(on_engine(frame), **options)
    with pytest.raises(InputError, match="1 unknown of 6") as problem:
        read_series(on_engine(frame.with_columns(what=pl.Series(["sit"] * 5 + ["fly"]))), **options)
    assert "fly" not in str(problem.value)
    with pytest.raises(InputError, match="repeat a time"):
        read_series(on_engine(frame.with_columns(when=pl.lit(1), what=pl.lit("sit"))), **options)


def test_a_database_has_no_order_of_its_own() -> None:
    table = ENGINES["duckdb"](diary("text"))
    with pytest.raises(InputError, match="have no order"):
        read_series(table, column="what", states=("sit", "walk"), missing="split")
    with pytest.raises(InputError, match="must be a file, or a table"):
        read_series(["sit"], column="what", states=("sit", "walk"))
