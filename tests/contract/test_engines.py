"""Series of any table, on any engine, against plain loops over the rows."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import oracle
import polars as pl
import pytest
from plain_series import Plain, plain_series
from system import spark_session
from typer.testing import CliRunner

from quiltwork import (
    GaussianBelief,
    InputError,
    MarkovChain,
    ShareAbove,
    read_measurements,
    read_series,
    save_belief,
)
from quiltwork.cli import app
from quiltwork.data import StoredSeries, Window
from quiltwork.data.engines import polars as polars_files
from quiltwork.data.engines.sql import spark_table

STATES = ("sit", "walk", "run")
EDGES = (0.5, 1.5)
BEGUN = datetime(2024, 3, 4, 22, 30)
Row = tuple[str, datetime, Any]

ENGINES: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "polars": lambda frame, _: frame,
    "polars lazy": lambda frame, _: frame.lazy(),
    "pandas": lambda frame, _: frame.to_pandas(),
    "pyarrow": lambda frame, _: frame.to_arrow(),
    "duckdb": lambda frame, _: duckdb.connect().from_arrow(frame.to_arrow()),
    "parquet": lambda frame, folder: _written(frame, folder, "parquet"),
    "csv": lambda frame, folder: _written(frame, folder, "csv"),
}


def _written(frame: pl.DataFrame, folder: Path, kind: str) -> str:
    """In several files, one of them empty."""
    cut = frame.height // 3
    for n, part in enumerate([frame[:0], frame[:cut], frame[cut:]]):
        own = folder / f"part-{n}.{kind}"
        part.write_parquet(own) if kind == "parquet" else part.write_csv(own)
    return str(folder / f"*.{kind}")


def rows_of(seed: int, *, numbers: bool) -> list[Row]:
    """Some subjects with pauses, missing values, and times that are not on the minute; no time twice."""
    chance = random.Random(seed)
    found: list[Row] = []
    for n in range(chance.randint(1, 4)):
        when = BEGUN + timedelta(seconds=chance.randint(0, 600))
        for _ in range(chance.randint(1, 40)):
            what = chance.choice([None, *([0.0, 0.5, 0.7, 1.5, 9.0] if numbers else STATES)] * 3 + [None])
            found.append((f"p{n}", when, what))
            when += timedelta(seconds=chance.choice([60, 60, 60, 90, 600, 7200]))
    return found


CASES: list[dict[str, Any]] = [
    {},
    {"gap": timedelta(minutes=5)},
    {"gap": "90s"},
    {"segment": (2, 5)},
    {"every": "2min"},
    {"every": "10min", "take": "last", "gap": 3},
    {"every": "1min", "gap": "30min"},
    {"every": "10min", "take": "mean", "bins": EDGES},
    {"bins": EDGES, "gap": "1h"},
]


def expected_of(rows: list[Row], options: dict[str, Any]) -> Plain:
    spans: dict[Any, Any] = {"90s": timedelta(seconds=90), "30min": timedelta(minutes=30), "1h": timedelta(hours=1)}
    steps = {"2min": 2, "10min": 10, "1min": 1}
    gap, every = options.get("gap"), options.get("every")
    return plain_series(
        rows,
        {name: n for n, name in enumerate(STATES)},
        len(STATES),
        gap=spans.get(gap, gap) if isinstance(gap, str) else gap,
        every=None if every is None else timedelta(minutes=steps[every]),
        take=options.get("take", "first"),
        edges=options.get("bins"),
        segment=options.get("segment"),
    )


WINDOWS: list[tuple[str | int | None, bool]] = [
    ("day", False),
    ("hour", False),
    (3, False),
    (None, True),
    ("day", True),
]


def check(
    found: StoredSeries, expected: Plain, windows: Sequence[tuple[str | int | None, bool]] = tuple(WINDOWS)
) -> None:
    assert found.counts().tolist() == expected.counts()
    assert found.transitions().tolist() == expected.transitions()
    assert found.shape.chains == expected.chains()
    assert found.subjects == len(expected.subjects)
    assert found.size == len(expected.values())
    assert found.shape.late == expected.late
    assert found.stretch_lengths == expected.lengths()
    for window, by_subject in windows:
        asked = None if window is None else Window.parse(window)
        parts = found.parts(window=asked, by_subject=by_subject, transitions=True)
        assert {name: p.counts().tolist() for name, p in parts.items()} == expected.parts(window, by_subject)
        assert sum(p.transitions() for p in parts.values()).tolist() == expected.transitions()  # type: ignore[union-attr]


def check_spacing(found: StoredSeries, rows: list[Row], case: dict[str, Any]) -> None:
    """The spacing of times: of all, if they differ little; else that of half of the values or more."""
    if "segment" in case:
        return
    if "every" in case:
        assert str(found.step) == case["every"]
        return
    times: dict[str, list[datetime]] = {}
    for who, when, _ in rows:
        times.setdefault(who, []).append(when)
    spans = [round((b - a).total_seconds()) for own in times.values() for a, b in pairwise(sorted(own))]
    if not spans:
        assert found.spacing is None
        return
    ends = min(spans), max(spans)
    if ends[1] > 1.5 * ends[0]:
        usual, count = Counter(spans).most_common(1)[0]
        if 2 * count < found.size - found.subjects:
            assert found.spacing is None
            return
        ends = usual, usual
    assert found.spacing is not None
    assert tuple(span.length / 1e6 for span in found.spacing) == ends


def table_of(rows: list[Row], *, shuffled: int | None = None) -> pl.DataFrame:
    rows = list(rows)
    if shuffled is not None:
        random.Random(shuffled).shuffle(rows)
    whats = [row[2] for row in rows]
    kind = pl.Float64 if any(isinstance(w, float) for w in whats) else pl.String
    return pl.DataFrame(
        {"who": [r[0] for r in rows], "at": [r[1] for r in rows], "what": pl.Series(whats, dtype=kind)},
        schema_overrides={"at": pl.Datetime("us")},
    )


def options_of(case: dict[str, Any]) -> dict[str, Any]:
    return {"column": "what", "states": STATES, "subject": "who", "time": "at", "missing": "split", **case}


def cases() -> Iterator[tuple[int, dict[str, Any], list[Row], Plain]]:
    for n, case in enumerate(CASES):
        rows = rows_of(n, numbers="bins" in case)
        expected = expected_of(rows, case)
        if expected.subjects and ("segment" not in case or _long_enough(rows, case["segment"])):
            yield n, case, rows, expected


def _long_enough(rows: list[Row], segment: tuple[int, int]) -> bool:
    return max(sum(r[0] == who for r in rows) for who in {r[0] for r in rows}) >= segment[1]


@pytest.mark.parametrize("engine", list(ENGINES))
def test_every_engine_counts_what_plain_loops_count(engine: str, tmp_path: Path) -> None:
    checked = 0
    for n, case, rows, expected in cases():
        folder = tmp_path / str(n)
        folder.mkdir()
        checked += 1
        found = read_series(ENGINES[engine](table_of(rows), folder), **options_of(case))
        check(found, expected)
        check_spacing(found, rows, case)
    assert checked > len(CASES) // 2


MEASURED: list[dict[str, Any]] = [{}, {"gap": "90s"}, {"every": "2min"}, {"every": "10min", "take": "mean"}]


def check_measured(source: Any, rows: list[Row], case: dict[str, Any], *, every: int = 1) -> None:
    """Exact sums of real values, by subject, window and position, against plain loops or polars in memory."""
    unit, options = Fraction(1, 1024), {"column": "what", "subject": "who", "time": "at", "missing": "split", **case}
    found = read_measurements(source, **options)
    reference = read_measurements(table_of(rows), **options)
    asked: list[dict[str, Any]] = [{}, {"by_subject": True}, {"window": Window.parse("hour-of-day")}]
    share = oracle.over_time(ShareAbove(0.6, width=0.5), GaussianBelief({"ar1": 0.5}, distance=1.0))
    asked += [{"window": Window.parse(3), "by_subject": True}, {"transform": share.transformed}]
    for more in asked[::-every]:
        assert found.added(unit=unit, **more) == reference.added(unit=unit, **more)
    assert found.shape == reference.shape
    assert found.at_places(None, unit=unit) == reference.at_places(None, unit=unit)
    if not case:
        own = {who: Fraction(one.total) * unit for who, one in found.added(unit=unit, by_subject=True).items()}
        for who in {row[0] for row in rows}:
            exact = sum((Fraction(what) for name, _, what in rows if name == who and what is not None), Fraction(0))
            assert abs(own.get(who, Fraction(0)) - exact) <= unit * len(rows)


@pytest.mark.parametrize("engine", list(ENGINES))
def test_every_engine_adds_up_real_values_alike(engine: str, tmp_path: Path) -> None:
    for n, case in enumerate(MEASURED):
        folder = tmp_path / str(n)
        folder.mkdir()
        rows = rows_of(n, numbers=True)
        check_measured(ENGINES[engine](table_of(rows), folder), rows, case)


def test_spark_counts_what_plain_loops_count(tmp_path: Path) -> None:
    """On a real session with several partitions, some of them empty."""
    session = spark_session()
    rows = rows_of(2, numbers=True)
    table_of(rows, shuffled=2).write_parquet(tmp_path / "measured.parquet")
    check_measured(session.read.parquet(str(tmp_path / "measured.parquet")), rows, MEASURED[3], every=3)
    for n, case, rows, expected in cases():
        if n % 24 != 1:
            continue
        table_of(rows, shuffled=n).write_parquet(tmp_path / f"{n}.parquet")
        frame = session.read.parquet(str(tmp_path / f"{n}.parquet")).repartition(5, "who")
        found = read_series(frame, **options_of(case))
        check(found, expected, WINDOWS[n // 4 :: 5])
        check_spacing(found, rows, case)
    with pytest.raises(InputError, match="1 repeated"):
        read_series(frame.union(frame.limit(1)), **options_of({}))
    with pytest.raises(InputError, match="columns 'who', 'at', 'what'"):
        read_series(frame, **options_of({}) | {"column": "where"})
    with pytest.raises(InputError, match="no order"):
        read_series(frame, column="what", states=STATES, missing="split")
    save_belief(MarkovChain([[0.8, 0.1, 0.1]] * 3, states=STATES), tmp_path / "belief.json")
    rows = [row for row in rows_of(3, numbers=False) if row[2] is not None]
    table_of(rows).write_csv(tmp_path / "rows.csv")
    options = ["--column", "what", "--subject", "who", "--time", "at", "--belief", str(tmp_path / "belief.json")]
    options += ["--query", "histogram", "--epsilon", "5000", "--gap", "1h", "--json"]
    spark = ["--engine", "spark", "--master", "local[2]"]
    counted = [
        json.loads(CliRunner().invoke(app, ["release", str(tmp_path / "rows.csv"), *options, *more]).stdout)["value"]
        for more in ([], spark)
    ]
    assert counted[0] == counted[1]
    quoted = tmp_path / "quoted.csv"
    quoted.write_text('t,"a ""b"""\n1,sit\n2,"the ""old"" ward"\n')
    states = ("sit", 'the "old" ward')
    for source in (quoted, spark_table(str(quoted), master="local[2]", time="t")):
        assert read_series(source, column='a "b"', states=states, time="t").counts().tolist() == [1, 1]
    quoted.write_text("ann,hospital\nann,sit\n")
    with pytest.raises(InputError, match="got 2 other columns"):
        read_series(spark_table(str(quoted), master="local[2]"), column="what", states=states)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("case", [CASES[0], CASES[1], CASES[5]])
def test_many_subjects_are_counted_some_at_a_time(
    seed: int, case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of rows in order, neighbouring subjects; of others, subjects by a hash of their names."""
    monkeypatch.setattr(polars_files, "PART", 7)
    monkeypatch.setattr(polars_files, "MANY", 20)
    rows = rows_of(seed, numbers=False)
    expected = expected_of(rows, case)
    if not expected.subjects:
        return
    seen: list[float] = []
    in_order = read_series(table_of(rows), progress=seen.append, **options_of(case))
    check(in_order, expected)
    check_spacing(in_order, rows, case)
    assert seen[-1] == 1.0
    by_time = table_of(rows).sort("at", maintain_order=True)
    check(read_series(by_time, **options_of(case)), expected)
    check(read_series(table_of(rows, shuffled=seed), unsorted="sort", **options_of(case)), expected)


def test_without_times_rows_are_in_order() -> None:
    rows = [row for row in rows_of(3, numbers=False) if row[2] is not None]
    expected = plain_series(rows, {name: n for n, name in enumerate(STATES)}, len(STATES))
    found = read_series(table_of(rows), column="what", states=STATES, subject="who")
    assert found.counts().tolist() == expected.counts()
    assert found.transitions().tolist() == expected.transitions()
    assert found.shape.chains == expected.chains()
    on_duckdb = duckdb.connect().from_arrow(table_of(rows).to_arrow())
    found = read_series(on_duckdb, column="what", states=STATES, subject="who")
    assert found.counts().tolist() == expected.counts()
    with pytest.raises(InputError, match="no order"):
        found.transitions()
