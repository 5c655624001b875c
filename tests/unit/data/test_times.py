"""Times: durations, windows, clocks, zones and uneven spacing."""

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from tabular import STATES, assert_refused, hours, pandas_table, write

from quiltwork import InputError, Series, read_series
from quiltwork.data import Window
from quiltwork.data.times import month_of
from quiltwork.types import Duration


@pytest.mark.parametrize(
    ("text", "length", "steps"),
    [
        ("15min", 900e6, False),
        ("1h30min", 5400e6, False),
        ("2 d", 172800e6, False),
        ("250ms", 250e3, False),
        ("3", 3, True),
        (2.5, 2.5, True),
        (timedelta(seconds=1), 1e6, False),
    ],
)
def test_durations(text: Any, length: float, steps: bool) -> None:
    assert Duration.parse(text) == Duration(length, steps)


@pytest.mark.parametrize("text", ["", "min", "3 parsecs", "5min,", "-1h", "0", "1h x"])
def test_no_durations(text: str) -> None:
    with pytest.raises(InputError, match="gap must be"):
        Duration.parse(text)


def test_windows() -> None:
    assert [Window.parse(w).kind for w in ("day", "hour", "96", 3)] == ["day", "hour", "values", "values"]
    assert Window.parse("hour").label(474_864) == "2024-03-04 00:00"
    assert [Window.parse(w).label(3) for w in ("weekday", "hour-of-day", "week")] == ["Thursday", "03:00", "1970-01-19"]
    for wrong in ("fortnight", "0", -1, 1.5, True, ""):
        with pytest.raises(InputError, match="window must be"):
            Window.parse(wrong)  # type: ignore[arg-type]
    held = Series.from_values("abba", states=("a", "b"), subject="xxyy")
    parts = held.parts(window=Window.parse(1), by_subject=True, transitions=True)
    assert {name: part.counts().tolist() for name, part in parts.items()} == {
        "x 1:1": [1, 0], "x 2:2": [0, 1], "y 1:1": [0, 1], "y 2:2": [1, 0],
    }  # fmt: skip
    assert parts["x 2:2"].transitions().tolist() == [[0, 1], [0, 0]]
    with pytest.raises(InputError, match="need times"):
        held.parts(window=Window.parse("day"), by_subject=False, transitions=False)
    numbered = read_series(pl.DataFrame({"x": ["sit"], "t": [1]}), column="x", states=STATES, time="t")
    with pytest.raises(InputError, match="need dates, got times without"):
        numbered.parts(window=Window.parse("day"), by_subject=False, transitions=False)


def test_months_are_those_of_the_calendar() -> None:
    first = date(1968, 1, 30)
    days = [first + timedelta(days=31 * n // 2) for n in range(1200)] + [date(1600, 2, 29), date(1900, 3, 1), date.min]
    days.sort()
    since = [(day - date(1970, 1, 1)).days for day in days]
    window, named = Window.parse("month"), [f"{day:%Y-%m}" if day.year > 999 else f"{day.year:04}-01" for day in days]
    assert [window.label(month_of(n)) for n in since] == named
    frame = pl.DataFrame({"x": ["sit", "walk", "sit"] * 401, "t": days})
    expected = {name: named.count(name) for name in named}
    connection = duckdb.connect()
    connection.register("diary", frame)
    for table in (frame, connection.sql("select * from diary")):
        series = read_series(table, column="x", states=STATES, time="t")
        parts = series.parts(window=window, by_subject=False, transitions=True)
        assert {name: part.size for name, part in parts.items()} == expected
        assert list(parts) == sorted(expected)
    assert sum(int(part.transitions().sum()) for part in parts.values()) == len(days) - 1


def test_windows_of_a_segment_keep_their_places() -> None:
    frame = pl.DataFrame({"x": ["sit", "walk", "walk", "sit", "sit"]})
    stored = read_series(frame, column="x", states=STATES, segment=(2, 5))
    held = Series.from_values(frame["x"].to_list(), states=STATES).between(2, 5)
    for series in (stored, held):
        parts = series.parts(window=Window.parse(2), by_subject=False, transitions=True)
        assert {name: part.counts().tolist() for name, part in parts.items()} == {
            "1:2": [0, 1], "3:4": [1, 1], "5:6": [1, 0],
        }  # fmt: skip
        assert [part.transitions().tolist() for part in parts.values()] == [
            [[0, 0], [0, 0]],
            [[0, 0], [1, 1]],
            [[1, 0], [0, 0]],
        ]


def test_days_are_those_of_the_columns_own_clock() -> None:
    late = datetime(2024, 3, 4, 23, 30, tzinfo=UTC)
    frame = pl.DataFrame({"x": ["sit", "walk"], "t": [late, late + timedelta(hours=1)]})
    for zone, days in (("UTC", ["2024-03-04", "2024-03-05"]), ("Asia/Tokyo", ["2024-03-05"])):
        local = frame.with_columns(pl.col("t").dt.convert_time_zone(zone))
        found = read_series(local, column="x", states=STATES, time="t")
        assert list(found.parts(window=Window.parse("day"), by_subject=False, transitions=False)) == days


def test_zones_and_types_are_not_mixed(tmp_path: Path) -> None:
    for n, times in enumerate((["10:00Z", "11:00"], ["10:00+01:00", "11:00+02:00"], ["10:00:00", "11:00:00Z"])):
        path = tmp_path / f"{n}.csv"
        path.write_text("t,x\n" + "".join(f"2024-01-01T{time},sit\n" for time in times))
        assert_refused("one time zone", path, time="t")
    zones = [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=timezone(timedelta(hours=2)))]
    for pair in (zones, [zones[0], datetime(2024, 1, 2)]):
        assert_refused("one time zone", pandas_table({"x": ["sit", "walk"], "t": pair}), time="t")
    assert_refused("column 'x' must have values of one type", pandas_table({"x": ["sit", 3]}))
    path = tmp_path / "forms.csv"
    path.write_text("t,x\n2024-01-01T10:00,sit\n2024-01-01T11:00:00,walk\n")
    assert_refused("1 rows in a different format", path, time="t")
    path.write_text("t,x\n2024-01-01T10:00+01:00,sit\n2024-01-01T11:00+01:00,walk\n")
    assert read_series(path, column="x", states=STATES, time="t", gap="1h").gaps == 0


def test_kinds_of_times() -> None:
    days = pl.DataFrame({"x": ["sit", "walk", "sit"], "t": [date(2024, 1, n) for n in (1, 2, 5)]})
    nanoseconds = days.with_columns(pl.col("t").cast(pl.Datetime("ns")))
    for frame in (days, nanoseconds, nanoseconds.to_pandas(), duckdb.connect().from_arrow(nanoseconds.to_arrow())):
        assert read_series(frame, column="x", states=STATES, time="t", gap="1d").gaps == 1
    clock = days.with_columns(t=pl.Series(["10:00", "11:00", "15:00"]).str.to_time("%H:%M"))
    assert read_series(clock, column="x", states=STATES, time="t", gap="1h").gaps == 1
    assert read_series(clock, column="x", states=STATES, time="t", every="2h").shape.chains == {(2, 2)}
    floats = days.with_columns(t=pl.Series([0.5, 1.0, 3.0]))
    assert read_series(floats, column="x", states=STATES, time="t", gap=0.5).gaps == 1


@pytest.mark.parametrize(("times", "uneven"), [((1, 2, 3), False), ((1, 2, 4), True), ((1,), False)])
def test_times_that_are_not_evenly_spaced_are_noticed(times: tuple[int, ...], uneven: bool) -> None:
    frame = pl.DataFrame({"x": ["sit"] * len(times), "t": hours(*times), "s": ["a"] * len(times)})
    both = pl.concat([frame, frame.with_columns(s=pl.lit("b"))])
    for table in (frame, both, both.sort("t", "s"), duckdb.connect().from_arrow(frame.to_arrow())):
        found = read_series(table, column="x", states=STATES, subject="s", time="t")
        assert found.shape.uneven == uneven
        assert found.shape.certain == (not uneven)
    assert not read_series(frame, column="x", states=STATES, time="t", gap="5h").shape.uneven


def test_times_with_fractions_are_exact() -> None:
    for n in range(4):
        times = [round(0.1 * i, 1) for i in range(-20, 60)]
        frame = pl.DataFrame({"x": ["sit"] * 80, "t": [t + n for t in times]})
        for table in (frame, duckdb.connect().from_arrow(frame.to_arrow()), frame.with_columns(pl.col("t").cast(str))):
            read = {"column": "x", "states": STATES, "time": "t"}
            assert read_series(table, gap=0.1, **read).gaps == 0  # type: ignore[arg-type]
            for every, steps in ((0.1, 80), (0.5, 16), (1, 8)):
                assert read_series(table, every=every, **read).shape.chains == {(steps, 1)}  # type: ignore[arg-type]


def test_pauses_before_a_segment_are_noticed() -> None:
    frame = pl.DataFrame({"t": [0, 1, 2, 100, 101, 102], "x": ["sit", "walk"] * 3})
    for options in ({}, {"gap": 5}, {"every": 1}):
        found = read_series(frame, column="x", states=STATES, time="t", segment=(4, 6), **options)  # type: ignore[arg-type]
        assert not found.shape.certain
    even = frame.with_columns(t=pl.int_range(6))
    assert read_series(even, column="x", states=STATES, time="t", segment=(4, 6)).shape.certain


@pytest.mark.parametrize(
    "times", [["10", "9", "8"], ["2024-01-10", "2024-01-09", "2024-01-08"], ["10:00", "09:00", "08:00"]]
)
def test_times_in_text_are_read_as_times(tmp_path: Path, times: list[str]) -> None:
    frame = pl.DataFrame({"t": times, "x": ["sit", "sit", "walk"]})
    held = read_series(write(frame, tmp_path / "d.csv"), column="x", states=STATES, time="t", unsorted="sort")
    assert held.stretches[0].tolist() == [1, 0, 0]


@pytest.mark.parametrize("times", [["1/2/2024", "2/1/2024"], ["2024-13-01", "2024-01-01"], ["nan", "1"], ["inf", "1"]])
def test_times_that_could_be_misread_are_refused(tmp_path: Path, times: list[str]) -> None:
    path = write(pl.DataFrame({"t": times, "x": ["sit", "walk"]}), tmp_path / "d.csv")
    with pytest.raises(InputError, match="column 't' must hold"):
        read_series(path, column="x", states=STATES, time="t")
    if times[1] == "1":
        path = write(pl.DataFrame({"t": list(map(float, times)), "x": ["sit", "walk"]}), tmp_path / "d.parquet")
        with pytest.raises(InputError, match="finite"):
            read_series(path, column="x", states=STATES, time="t")
