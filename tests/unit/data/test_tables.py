"""Files of any kind, patterns of them, and messages that show no value."""

from pathlib import Path

import duckdb
import polars as pl
import pytest
from tabular import SECRET, STATES, assert_refused, pandas_table

from quiltwork import InputError, read_series
from quiltwork.data.tables import types_of


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.csv", None, "cannot be read: No such file"),
        ("d.csv", b"", "empty file"),
        ("d.csv", b'x\n"hospital\nsit,sit\n', "cannot be read|unknown"),
        ("d.parquet", b"hospital", "not a well-formed parquet"),
        ("d.xlsx", b"hospital", r"must end in .csv, .tsv or .parquet"),
    ],
)
def test_unreadable_files(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_series(tmp_path / name, column="x", states=STATES)
    assert SECRET not in str(caught.value)


def test_a_first_line_that_looks_like_data_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("ann,2024-01-01,hospital\nann,2024-01-02,sit\n")
    with pytest.raises(InputError, match="first line of the file must name the columns") as caught:
        read_series(tmp_path / "d.csv", column="x", states=STATES)
    assert SECRET not in str(caught.value)
    (tmp_path / "d.csv").write_text("who what\nann sit\n")
    with pytest.raises(InputError, match=r"something else than a comma .* separator=';'"):
        read_series(tmp_path / "d.csv", column="what", states=STATES)
    (tmp_path / "d.csv").write_text(",".join(f"c{n}" for n in range(500)) + "\n" + "," * 499 + "\n")
    with pytest.raises(InputError, match="500 other columns"):
        read_series(tmp_path / "d.csv", column="what", states=STATES)


def test_columns_are_named_only_where_the_first_line_is_a_header(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    for header, said in [
        ("person,time,doing", "got columns 'person', 'time', 'doing'. Did you mean 'doing'?"),
        ("person,hospital,doing", "got columns"),  # all could be names, and the user knows one
        ("Ann,2024-01-01 hospital,doing", "got 3 other columns"),  # nothing that the user named
        ("person,12 hospital,doing", "got 3 other columns"),
        ("person,hospital,hospital", "the same name for columns 2 and 3 of 3"),
        ("person,,doing", "got 3 other columns"),
        ("person,person,hospital", "'person' for columns 1 and 2 of 3"),
    ]:
        file.write_text(f"{header}\na,1,sit\n")
        with pytest.raises(InputError) as caught:
            read_series(file, column="doign", states=STATES, subject="person" if "person" in header else None)
        assert said in str(caught.value)
        assert SECRET not in str(caught.value) or said == "got columns"


@pytest.mark.parametrize(
    "rows", ["12,ann\n13,bob\n", "2024-01-01,ann\n2024-01-02,bob\n", "ill,ann\nwell,bob\nill,ann\n"]
)
def test_the_first_row_of_a_file_without_header_is_not_listed(tmp_path: Path, rows: str) -> None:
    (tmp_path / "d.csv").write_text(rows)
    with pytest.raises(InputError, match=r"must name its columns, got \d of 2 columns that begin with .* a value"):
        types_of(tmp_path / "d.csv")
    (tmp_path / "d.csv").write_text(',"a ""b"""\n' + rows)
    assert list(types_of(tmp_path / "d.csv")) == ["", 'a "b"']


def test_files_of_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "a1.csv").write_text("x,y\nsit,1\n")
    (tmp_path / "a2.csv").write_text("y,x,z\n1,walk,2\n")
    (tmp_path / "a3.csv").write_text("")
    found = read_series(str(tmp_path / "a*.csv"), column="x", states=STATES)
    assert found.counts().tolist() == [1, 1]
    assert found.transitions().tolist() == [[0, 1], [0, 0]]  # in the order of their names
    pl.DataFrame({"x": ["sit"]}).write_parquet(tmp_path / "b1.parquet")
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "b2.parquet")
    assert_refused("one type in all files, got Int64 in .*b2.parquet", tmp_path / "b*.parquet")
    pl.DataFrame({"y": [1]}).write_parquet(tmp_path / "b2.parquet")
    assert_refused("column 'x' must be in file .*b2.parquet, got columns 'y'", tmp_path / "b*.parquet")
    assert_refused("none of that name", tmp_path / "c*.csv")
    assert_refused("got a folder", tmp_path)
    assert_refused("got '.csv', '.parquet'", tmp_path / "*1.*")


def test_messages_of_engines_do_not_show_values(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("x\n" + "1\n" * 30_000 + SECRET + "\n")
    assert_refused("DuckDB cannot read", duckdb.connect().read_csv(str(path)), states=("1", "2"))
    assert_refused("DuckDB cannot read", duckdb.sql("select 18446744073709551615::ubigint as x"), states=("1", "2"))
    assert_refused("one type", pandas_table({"x": [1, 2**70]}))
