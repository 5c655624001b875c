"""Reading data: all file kinds, order, gaps, and errors that never show a value."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from quiltwork import InputError, Series, read_series

STATES = ("sit", "walk")
SECRET = "hospital"  # noqa: S105 - a value that no error may show


def write(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="," if path.suffix == ".csv" else "\t")
    return path


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


@pytest.mark.parametrize(
    "times", [["10", "9", "8"], ["2024-01-10", "2024-01-09", "2024-01-08"], ["10:00", "09:00", "08:00"]]
)
def test_times_in_text_are_read_as_times(tmp_path: Path, times: list[str]) -> None:
    frame = pl.DataFrame({"t": times, "x": ["sit", "sit", "walk"]})
    held = read_series(write(frame, tmp_path / "d.csv"), column="x", states=STATES, time="t", unsorted="sort")
    assert held.stretches[0].tolist() == [1, 0, 0]


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


def test_missing_values_split_the_series(tmp_path: Path) -> None:
    path = write(pl.DataFrame({"x": ["sit", None, None, "walk", "sit", None]}), tmp_path / "d.csv")
    with pytest.raises(InputError, match=r"got 3 missing.*--missing split"):
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
        ({"x": ["sit"]}, {"column": "y"}, r"column 'y' must be in the file, got columns 'x'"),
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
    with pytest.raises(InputError, match="looks like values") as caught:
        read_series(tmp_path / "d.csv", column="x", states=STATES)
    assert SECRET not in str(caught.value)
    (tmp_path / "d.csv").write_text("who;what\nann;sit\n")
    with pytest.raises(InputError, match="another separator"):
        read_series(tmp_path / "d.csv", column="what", states=STATES)
    (tmp_path / "d.csv").write_text(",".join(f"c{n}" for n in range(500)) + "\n" + "," * 499 + "\n")
    with pytest.raises(InputError, match="and 470 more"):
        read_series(tmp_path / "d.csv", column="what", states=STATES)


def test_one_column_cannot_play_two_parts(tmp_path: Path) -> None:
    """Series told apart by their own values would have lengths that are counts."""
    path = write(pl.DataFrame({"x": ["sit", "walk"], "t": [1, 2]}), tmp_path / "d.csv")
    twice: list[dict[str, Any]] = [{"subject": "x"}, {"time": "x"}, {"subject": "t", "time": "t"}]
    for options in twice:
        with pytest.raises(InputError, match="different columns"):
            read_series(path, column="x", states=STATES, **options)


@pytest.mark.parametrize("times", [["1/2/2024", "2/1/2024"], ["2024-13-01", "2024-01-01"], ["nan", "1"], ["inf", "1"]])
def test_times_that_could_be_misread_are_refused(tmp_path: Path, times: list[str]) -> None:
    path = write(pl.DataFrame({"t": times, "x": ["sit", "walk"]}), tmp_path / "d.csv")
    with pytest.raises(InputError, match="column 't' must hold"):
        read_series(path, column="x", states=STATES, time="t")
    if times[1] == "1":
        path = write(pl.DataFrame({"t": list(map(float, times)), "x": ["sit", "walk"]}), tmp_path / "d.parquet")
        with pytest.raises(InputError, match="finite"):
            read_series(path, column="x", states=STATES, time="t")


def test_words_for_missing_values(tmp_path: Path) -> None:
    path = write(pl.DataFrame({"x": ["sit", "NA", "nan", "walk"]}), tmp_path / "d.csv")
    assert read_series(path, column="x", states=STATES, missing="split").gaps == 1
    assert read_series(path, column="x", states=(*STATES, "NA", "nan")).size == 4


def test_other_column_types(tmp_path: Path) -> None:
    frame = pl.DataFrame({"f": [0.0, 1.0], "b": [False, True], "l": [[1], [2]], "c": ["sit", "walk"]})
    path = write(frame.with_columns(pl.col("c").cast(pl.Categorical)), tmp_path / "d.parquet")
    for column, states in (("f", ("0.0", "1.0")), ("b", ("0", "1")), ("b", ("false", "true")), ("c", STATES)):
        assert read_series(path, column=column, states=states).counts().tolist() == [1, 1]
    with pytest.raises(InputError, match="text or numbers"):
        read_series(path, column="l", states=STATES)


def test_values_in_memory() -> None:
    held = Series.from_values(["sit", "walk", "sit"], states=STATES, subject=["a", "b", "a"])
    assert [len(s) for s in held.stretches] == [2, 1]
    with pytest.raises(InputError, match="2 for 1 values"):
        Series.from_values(["sit"], states=STATES, subject=["a", "b"])
    with pytest.raises(InputError, match="none"):
        Series.from_values([], states=STATES)
    with pytest.raises(InputError, match="1 missing"):
        Series.from_values(["sit", float("nan")], states=STATES)
    assert Series.from_codes([np.array([0, 1])], states=STATES).size == 2
