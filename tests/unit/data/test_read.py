"""Files and tables become series: all kinds of file, order, gaps, and errors that never show a value."""

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from tabular import SECRET, STATES, assert_refused, hours, write

from quiltwork import InputError, Series, read_series
from quiltwork.data.engines import polars as polars_files


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_subjects_are_sorted_by_time(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame(
        {
            "who": ["b", "a", "b", "a", "a"],
            "at": [10, 9, 9, 10, 11],
            "what": ["walk", "sit", "sit", "walk", "walk"],
        }
    )
    held = read_series(
        write(frame, tmp_path / f"d{suffix}"), column="what", states=STATES, subject="who", time="at", unsorted="sort"
    )
    assert [[s.tolist() for s in subject] for subject in held.by_subject] == [[[0, 1, 1]], [[0, 1]]]
    assert (held.size, held.longest, held.longest_stretch, held.gaps) == (5, 3, 3, 0)


def test_missing_values_split_the_series(tmp_path: Path) -> None:
    path = write(pl.DataFrame({"x": ["sit", None, None, "walk", "sit", None]}), tmp_path / "d.csv")
    with pytest.raises(InputError, match=r"got 3 missing.*missing='split'"):
        read_series(path, column="x", states=STATES)
    held = read_series(path, column="x", states=STATES, missing="split")
    assert [s.tolist() for s in held.stretches] == [[0], [1, 0]]
    assert (held.gaps, held.longest, held.longest_stretch) == (1, 3, 2)


def test_segments(tmp_path: Path) -> None:
    path = write(pl.DataFrame({"x": ["sit", "walk", "walk", "sit"]}), tmp_path / "d.csv")
    held = read_series(path, column="x", states=STATES, segment=(2, 3))
    assert (held.stretches[0].tolist(), held.segment) == ([1, 1], (2, 3))
    for wrong in ((0, 1), (3, 2), (1, 5)):
        with pytest.raises(InputError, match=f"{wrong[0]}:{wrong[1]}"):
            read_series(path, column="x", states=STATES, segment=wrong)


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        ({"x": ["sit", SECRET, SECRET]}, {}, r"got 2 unknown of 3, the first in row 2"),
        ({"x": ["sit"]}, {"column": "y"}, r"column 'y' must be in the file, got 1 other column"),
        ({"x": ["sit"]}, {"subject": "y"}, r"column 'y'"),
        ({"x": []}, {}, r"at least one value, got none"),
        ({"x": [None, None]}, {"missing": "split"}, r"at least one value, got missing ones only"),
        ({"x": ["sit", "sit"], "t": ["1", "1"]}, {"time": "t"}, r"must not repeat a time.*got 1 repeated"),
        ({"x": ["sit", "sit"], "t": [SECRET, "1"]}, {"time": "t"}, r"must hold numbers, or dates"),
        ({"x": ["sit", "sit"], "t": [None, "1"]}, {"time": "t"}, r"column 't' must have a value in every row"),
    ],
)
def test_wrong_data_is_named_but_not_shown(
    tmp_path: Path, frame: dict[str, list[Any]], options: dict[str, Any], message: str
) -> None:
    path = write(pl.DataFrame(frame, schema=dict.fromkeys(frame, pl.String)), tmp_path / "d.csv")
    with pytest.raises(InputError, match=message) as caught:
        read_series(path, **({"column": "x", "states": STATES} | options))
    assert SECRET not in str(caught.value)


def test_one_column_cannot_play_two_parts(tmp_path: Path) -> None:
    """Series told apart by their own values would have lengths that are counts."""
    path = write(pl.DataFrame({"x": ["sit", "walk"], "t": [1, 2]}), tmp_path / "d.csv")
    twice: list[dict[str, Any]] = [{"subject": "x"}, {"time": "x"}, {"subject": "t", "time": "t"}]
    for options in twice:
        with pytest.raises(InputError, match="different columns"):
            read_series(path, column="x", states=STATES, **options)


def test_other_column_types(tmp_path: Path) -> None:
    frame = pl.DataFrame({"f": [0.0, 1.0], "b": [False, True], "l": [[1], [2]], "c": ["sit", "walk"]})
    path = write(frame.with_columns(pl.col("c").cast(pl.Categorical)), tmp_path / "d.parquet")
    for column, states in (("f", ("0.0", "1.0")), ("b", ("0", "1")), ("b", ("false", "true")), ("c", STATES)):
        assert read_series(path, column=column, states=states).counts().tolist() == [1, 1]
    with pytest.raises(InputError, match="text or numbers"):
        read_series(path, column="l", states=STATES)


def test_repeated_times() -> None:
    times = {"t": hours(1, 1, 2)}
    assert_refused("1 repeated", pl.DataFrame({"x": ["sit", "sit", "walk"], **times}), time="t")
    same = pl.DataFrame({"x": ["sit", "sit", "walk"], **times})
    assert read_series(same, column="x", states=STATES, time="t", duplicates="drop").size == 2
    other = pl.DataFrame({"x": ["sit", "walk", "walk"], **times})
    assert_refused("1 times with different values", other, time="t", duplicates="drop")
    assert_refused("1 repeated", same, time="t", every="1d")


def test_order_of_rows() -> None:
    back = pl.DataFrame({"x": ["sit", "walk", "walk", "sit"], "t": hours(3, 1, 2, 0)})
    assert_refused("'t', got 2 earlier than the row before.*unsorted='sort'", back, time="t")
    assert read_series(back, column="x", states=STATES, time="t", unsorted="sort").stretches[0].tolist() == [0, 1, 1, 0]
    assert_refused("2 earlier", back, time="t", every="1d")
    database = duckdb.connect().from_arrow(back.to_arrow())
    assert read_series(database, column="x", states=STATES, time="t").stretches[0].tolist() == [0, 1, 1, 0]
    assert_refused("must be refuse or sort", back, time="t", unsorted="yes")


def test_what_does_not_fit_together() -> None:
    dated, numbered = ({"x": ["sit", "walk"], "t": t} for t in (hours(1, 2), [1, 2]))
    assert_refused("gap needs times", pl.DataFrame({"x": ["sit"]}), gap="1h")
    assert_refused("must be a duration where times are dates", pl.DataFrame(dated), time="t", gap=3)
    assert_refused("must be a number where times are numbers", pl.DataFrame(numbered), time="t", gap="3h")
    assert_refused("needs every and bins", pl.DataFrame(dated), time="t", take="mean")
    assert_refused("numbers, dates or times, got type Boolean", pl.DataFrame({"x": ["sit"], "t": [True]}), time="t")
    assert_refused("got type text.*Make it", duckdb.sql("select 'sit' as x, '2024-01-01' as t"), time="t")
    assert_refused("1 missing", pl.DataFrame({"x": ["sit", "walk"], "s": [1.0, float("nan")]}), subject="s")


def test_rows_without_a_time_are_not_dropped() -> None:
    frame = pl.DataFrame({"x": ["sit", "walk", "sit", "sit"], "t": [1, 2, None, 3]})
    for table in (frame, duckdb.connect().from_arrow(frame.to_arrow())):
        assert_refused("1 missing", table, time="t", every=1)
        assert_refused("1 missing", table, time="t", every=1, take="last")


def test_subjects_without_a_name_are_refused_in_pieces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polars_files, "PART", 3)
    for who in (["p", "p", "p", None, "q", "q", "r", "r"], ["q", "q", None, "p", "p", "r", "r", "r"]):
        frame = pl.DataFrame({"w": who, "t": [1, 2, 3, 1, 4, 5, 6, 7], "x": ["sit"] * 8})
        assert_refused(
            "'w' must have a value in every row, got 1 missing", frame, subject="w", time="t", unsorted="sort"
        )
    number = duckdb.sql("select 'sit' as x, 'nan'::double as s")
    assert_refused("'s' must have a value", number, subject="s")
    with pytest.raises(InputError, match="different names"):
        Series.from_values(["sit", "walk"], states=STATES, subject=[1, "1"])
