"""How rows become series: durations, levels, windows, files of a pattern, and what is refused."""

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from quiltwork import InputError, Series, read_series
from quiltwork.data import Window
from quiltwork.data.engines import polars as polars_files
from quiltwork.data.times import Duration
from quiltwork.data.values import Bins

STATES = ("sit", "walk")
SECRET = "hospital"  # noqa: S105 - a value that no error may show


def hours(*numbers: int) -> list[datetime]:
    return [datetime(2024, 1, 1, n) for n in numbers]


def pandas_table(columns: dict[str, list[Any]]) -> Any:
    """With columns of Python objects, as they are."""
    return pl.DataFrame({"row": range(2)}).to_pandas().assign(**columns).astype(object)


def assert_refused(match: str, source: object, **options: Any) -> None:
    with pytest.raises(InputError, match=match) as caught:
        read_series(source, **{"column": "x", "states": STATES} | options)
    assert SECRET not in str(caught.value)


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
    assert_refused("1 of 3 that are none", pl.DataFrame({"x": ["1", SECRET, "3"]}), bins="2")
    assert_refused("3 levels, 2 states", frame, bins="1,2")
    assert_refused("named by, got levels <3", frame, bins="3", states=("<2", ">=2"))


def test_windows() -> None:
    assert [Window.parse(w).kind for w in ("day", "hour", "96", 3)] == ["day", "hour", "values", "values"]
    assert Window.parse("hour").label(474_864) == "2024-03-04 00:00"
    for wrong in ("week", "0", -1, 1.5, True, ""):
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
    assert_refused("'t', got 2 earlier than the row before.*--unsorted sort", back, time="t")
    assert read_series(back, column="x", states=STATES, time="t", unsorted="sort").stretches[0].tolist() == [0, 1, 1, 0]
    assert_refused("2 earlier", back, time="t", every="1d")
    database = duckdb.connect().from_arrow(back.to_arrow())
    assert read_series(database, column="x", states=STATES, time="t").stretches[0].tolist() == [0, 1, 1, 0]
    assert_refused("must be refuse or sort", back, time="t", unsorted="yes")


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
    assert_refused("1 rows in another form", path, time="t")
    path.write_text("t,x\n2024-01-01T10:00+01:00,sit\n2024-01-01T11:00+01:00,walk\n")
    assert read_series(path, column="x", states=STATES, time="t", gap="1h").gaps == 0


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


def test_what_does_not_fit_together() -> None:
    dated, numbered = ({"x": ["sit", "walk"], "t": t} for t in (hours(1, 2), [1, 2]))
    assert_refused("gap needs times", pl.DataFrame({"x": ["sit"]}), gap="1h")
    assert_refused("must be a duration where times are dates", pl.DataFrame(dated), time="t", gap=3)
    assert_refused("must be a number where times are numbers", pl.DataFrame(numbered), time="t", gap="3h")
    assert_refused("needs every and bins", pl.DataFrame(dated), time="t", take="mean")
    assert_refused("numbers, dates or times, got type Boolean", pl.DataFrame({"x": ["sit"], "t": [True]}), time="t")
    assert_refused("got type text.*Make it", duckdb.sql("select 'sit' as x, '2024-01-01' as t"), time="t")
    assert_refused("1 missing", pl.DataFrame({"x": ["sit", "walk"], "s": [1.0, float("nan")]}), subject="s")


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


def test_large_whole_numbers_are_told_apart() -> None:
    names = ("9007199254740992", "9007199254740993")
    frame = pl.DataFrame({"x": [int(names[1])] * 3 + [int(names[0])]})
    assert read_series(frame, column="x", states=names).counts().tolist() == [1, 3]


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


def test_messages_of_engines_do_not_show_values(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("x\n" + "1\n" * 30_000 + SECRET + "\n")
    assert_refused("DuckDB cannot read", duckdb.connect().read_csv(str(path)), states=("1", "2"))
    assert_refused("DuckDB cannot read", duckdb.sql("select 18446744073709551615::ubigint as x"), states=("1", "2"))
    assert_refused("one type", pandas_table({"x": [1, 2**70]}))


def test_pauses_before_a_segment_are_noticed() -> None:
    frame = pl.DataFrame({"t": [0, 1, 2, 100, 101, 102], "x": ["sit", "walk"] * 3})
    for options in ({}, {"gap": 5}, {"every": 1}):
        found = read_series(frame, column="x", states=STATES, time="t", segment=(4, 6), **options)  # type: ignore[arg-type]
        assert not found.shape.certain
    even = frame.with_columns(t=pl.int_range(6))
    assert read_series(even, column="x", states=STATES, time="t", segment=(4, 6)).shape.certain


def test_further_rows_must_be_later() -> None:
    old = pl.DataFrame({"t": range(10, 15), "x": ["sit"] * 5})
    new = old.with_columns(pl.col("t") - 5)
    stored = read_series(old, column="x", time="t", states=STATES, unsorted="sort")
    with pytest.raises(InputError, match="later than all that were there"):
        stored.extended(new)
    held = duckdb.connect()
    on_duckdb = read_series(held.from_arrow(old.to_arrow()), column="x", time="t", states=STATES)
    with pytest.raises(InputError, match="later than all that were there"):
        on_duckdb.extended(held.from_arrow(new.to_arrow()))
    assert on_duckdb.extended(held.from_arrow(old.with_columns(pl.col("t") + 5).to_arrow())).size == 10
    steps = read_series(old, column="x", time="t", states=STATES, every=10, take="last")
    with pytest.raises(InputError, match="later than all"):
        steps.extended(pl.DataFrame({"t": [16], "x": ["walk"]}))
    assert steps.extended(pl.DataFrame({"t": [20], "x": ["walk"]})).size == 2


def test_series_grow() -> None:
    held = Series.from_values(["sit"], states=STATES)
    assert held.extended(["walk", "walk"]).stretches[0].tolist() == [0, 1, 1]
    two = Series.from_values(["sit", "walk"], states=STATES, subject=["a", "b"])
    grown = two.extended(["walk", "sit"], subject=["a", "c"])
    assert [codes.tolist() for codes in grown.codes] == [[0, 1], [1], [0]]
    for wrong, why in ((["sit"], "whose values"), ("sit", "sequence"), (3, "sequence")):
        with pytest.raises(InputError, match=why):
            two.extended(wrong)
    frame = pl.DataFrame({"x": ["sit", "walk"], "t": [1, 2]})
    stored = read_series(frame, column="x", states=STATES, time="t")
    more = pl.DataFrame({"x": ["walk"], "t": [3]})
    assert stored.extended(more).extended(more.with_columns(t=pl.lit(4, pl.Int8))).stretches[0].tolist() == [0, 1, 1, 1]
    with pytest.raises(InputError, match="later than all"):
        stored.extended(more).extended(more)
    forgotten = Series.from_values(["sit", None], states=STATES, subject=["a", "b"], missing="split")
    grown = forgotten.extended(["walk"], subject=["b"])
    assert (forgotten.subjects, forgotten.shape.late, grown.subjects, grown.shape.late) == (1, False, 2, True)
    with pytest.raises(InputError, match="duckdb after polars"):
        stored.extended(duckdb.connect().from_arrow(more.to_arrow()))
    with pytest.raises(InputError, match="column 'x' must be in"):
        stored.extended(pl.DataFrame({"y": [1]}))
