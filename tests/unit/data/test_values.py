"""Values as states: by name, by number, by level, and words for missing ones."""

from pathlib import Path

import polars as pl
import pytest
from tabular import SECRET, STATES, assert_refused, write

from quiltwork import InputError, Series, read_series
from quiltwork.data.values import Bins


def test_numbers_are_matched_by_name(tmp_path: Path) -> None:
    frame = pl.DataFrame({"level": [1.0, 2.0, 1.0]})
    held = read_series(write(frame, tmp_path / "d.parquet"), column="level", states=("1", "2"))
    assert held.counts().tolist() == [2, 1]
    assert Series.from_values([1.0, 2, "1"], states=("1", "2")).counts().tolist() == [2, 1]
    odd = pl.DataFrame({"level": [1.5, 2.0]})
    assert read_series(write(odd, tmp_path / "e.parquet"), column="level", states=None).states == ("1.5", "2")


def test_states_that_occur_are_sorted_naturally(tmp_path: Path) -> None:
    frame = pl.DataFrame({"level": ["10", "9", "x"]})
    assert read_series(write(frame, tmp_path / "d.csv"), column="level", states=None).states == ("9", "10", "x")


def test_words_for_missing_values(tmp_path: Path) -> None:
    path = write(pl.DataFrame({"x": ["sit", "NA", "nan", "walk"]}), tmp_path / "d.csv")
    assert read_series(path, column="x", states=STATES, missing="split").gaps == 1
    assert read_series(path, column="x", states=(*STATES, "NA", "nan")).size == 4


def test_levels() -> None:
    assert Bins.parse("0:10:5").edges == (2.0, 4.0, 6.0, 8.0)
    assert Bins.parse("1, 2").names == ("<1", "1..2", ">=2")
    for wrong in ("", "2,1", "1,1", "a", "0:10", "0:10:1", "10:0:3", "nan", "inf"):
        with pytest.raises(InputError, match="bins must be"):
            Bins.parse(wrong)
    frame = pl.DataFrame({"x": ["1", "-5", "2", " 7.5 ", "NA"]})
    found = read_series(frame, column="x", states=("low", "high"), bins="2", missing="split")
    assert (found.counts().tolist(), found.gaps) == ([2, 2], 0)
    assert read_series(frame[:4], column="x", states=None, bins=[2]).states == ("<2", ">=2")
    assert_refused("1 of 3 that are not numbers", pl.DataFrame({"x": ["1", SECRET, "3"]}), bins="2")
    assert_refused("3 levels, 2 states", frame, bins="1,2")
    assert_refused("named by, got levels <3", frame, bins="3", states=("<2", ">=2"))


def test_large_whole_numbers_are_told_apart() -> None:
    names = ("9007199254740992", "9007199254740993")
    frame = pl.DataFrame({"x": [int(names[1])] * 3 + [int(names[0])]})
    assert read_series(frame, column="x", states=names).counts().tolist() == [1, 3]
