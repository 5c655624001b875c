"""Counting many rows: against the bare group-by of the same engine, and in how much memory."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quiltwork import MarkovChain, read_series, release, save_belief

Row = dict[str, Any]
STATES = ("sleep", "sit", "walk", "work", "sport")
VALUES = 2000  # of each person
ROUNDS = 7


def fleet_belief() -> MarkovChain:
    """Sticky states of people."""
    P = 0.9 * np.eye(5) + 0.02
    return MarkovChain(P / P.sum(axis=1, keepdims=True), states=STATES, initial="stationary")


def write_fleet(folder: Path, rows: int, *, by_time: bool = False, values: int = VALUES) -> str:
    """Parquet files of a fleet, sorted by person, then time (or by time, then person); a pattern that names them."""
    chance, size = np.random.default_rng(1), 5_000_000
    people = rows // values
    names = pl.Series(STATES)
    for n in range(rows // size):
        place = np.arange(n * size, (n + 1) * size)
        who, minute = (place % people, place // people) if by_time else (place // values, place % values)
        changes = np.where(chance.random(size) < 0.1, np.arange(size), 0)
        state = chance.integers(0, 5, size)[np.maximum.accumulate(changes)]
        moment = pl.lit(datetime(2024, 1, 1)) + pl.duration(minutes=pl.col("time"))
        frame = pl.DataFrame({"person": who, "time": minute, "state": names.gather(state)}).with_columns(time=moment)
        frame.write_parquet(folder / f"part-{n:03d}.parquet")
    return str(folder / "*.parquet")


def in_turns(*sides: Callable[[], object]) -> list[float]:
    """The median seconds of each, measured in turns so that both see the same machine."""
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(ROUNDS):
        for own, side in zip(times, sides, strict=True):
            begun = time.perf_counter()
            side()
            own.append(time.perf_counter() - begun)
    return [statistics.median(own) for own in times]


def private_histogram() -> Row:
    """100 million rows of Parquet: a private histogram against polars' own group-by of person and state."""
    belief = fleet_belief()
    with tempfile.TemporaryDirectory() as folder:
        files = write_fleet(Path(folder), 100_000_000)

        def bare() -> object:
            return pl.scan_parquet(files).group_by("person", "state").len().collect(engine="streaming")

        def ours(**options: Any) -> object:
            series = read_series(files, column="state", subject="person", states=belief.states, **options)
            return release(series, "histogram", belief=belief, epsilon=1.0)

        bare()
        ours()
        plain, private, checked = in_turns(bare, ours, lambda: ours(time="time"))
    return {
        "rows": 100_000_000,
        "bare_seconds": plain,
        "ours_seconds": private,
        "with_times_checked_seconds": checked,
        "ratio": plain / private,
        "ratio_with_times_checked": plain / checked,
    }


def private_histogram_on_spark() -> Row:
    """The same rows on Spark, with two workers of this machine: against Spark SQL's own group-by."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from quiltwork.data.engines.sql import spark_session

    belief, session = fleet_belief(), spark_session("local[2]")
    with tempfile.TemporaryDirectory() as folder:
        write_fleet(Path(folder), 100_000_000)
        frame = session.read.parquet(folder)
        frame.createOrReplaceTempView("fleet")

        def bare() -> None:
            counted = session.sql("SELECT person, state, count(*) FROM fleet GROUP BY person, state")
            counted.write.format("noop").mode("overwrite").save()  # computed, and kept nowhere

        def ours() -> object:
            series = read_series(frame, column="state", subject="person", states=belief.states)
            return release(series, "histogram", belief=belief, epsilon=1.0)

        for side in (bare, ours, bare, ours):  # Java compiles while it runs
            side()
        plain, private = in_turns(bare, ours)
    return {"rows": 100_000_000, "bare_seconds": plain, "ours_seconds": private, "times_bare": private / plain}


def memory_of_many_rows() -> Row:
    """200 million rows by the command, in two orders and with gaps looked for: seconds, and the most memory held."""
    row: Row = {"rows": 200_000_000}
    cases = {
        "by_person": (False, ["--query", "histogram", "--time", "time"]),
        "by_person_gaps": (False, ["--query", "transitions", "--time", "time", "--gap", "5min"]),
        "by_time": (True, ["--query", "histogram", "--time", "time"]),
    }
    with tempfile.TemporaryDirectory() as folder:
        belief = Path(folder, "belief.json")
        save_belief(fleet_belief(), belief)
        for by_time in (False, True):
            own = Path(folder, f"by_time_{by_time}")
            own.mkdir()
            files = write_fleet(own, 200_000_000, by_time=by_time)
            for name, (order, options) in cases.items():
                if order == by_time:
                    common = ["--column", "state", "--subject", "person", "--belief", str(belief), "--epsilon", "1"]
                    row |= {
                        f"{name}_{key}": n for key, n in command_measured("release", files, *common, *options).items()
                    }
    worst = max(n for key, n in row.items() if key.endswith("_mib"))
    assert worst < 4096, worst
    return row | {"most_mib": worst}


# the kernel's own mark: that of getrusage begins at what the process that started this one holds
_CHILD = """
import re, sys
from quiltwork.cli import main
try:
    main()
finally:
    print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024, file=sys.stderr)
"""


def command_measured(*arguments: str) -> Row:
    """Seconds of a command, and the most memory that it held."""
    begun = time.perf_counter()
    command = [sys.executable, "-c", _CHILD, *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return {"seconds": time.perf_counter() - begun, "mib": int(done.stderr.split()[-1])}
