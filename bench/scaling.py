"""How time and memory grow: with rows, people, states, length and releases; and from one worker of Spark to two.

Seconds are processor time, of all threads together: what other programs do on the machine changes it little, if threads
of BLAS do not wait for each other (one is enough for matrices of this size). The clock on the wall is looked at where
waiting is part of the work: for ledgers, which wait for the disk, and for Spark. Each size is measured several times,
in turns with the others, and the shortest counts. The exponent is the slope on logarithmic axes over the upper half of
the sizes, where what every call costs anyway matters less.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from chains import slow_band, slow_rows
from fleet import command_measured, fleet_belief, write_fleet
from threadpoolctl import threadpool_limits

from quiltwork import (
    Accountant,
    Count,
    Ledger,
    MarkovChain,
    Noisy,
    ReleaseRecord,
    audit,
    calibrate,
    read_series,
    release,
    save_belief,
)

Row = dict[str, Any]
Work = Callable[[], object]
ROUNDS = 3
MILLION = 1_000_000
TWO_STATES = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")


def slope(sizes: Sequence[float], figures: Sequence[float]) -> float:
    """The exponent of growth over the upper half of the sizes.

    >>> round(slope([1, 10, 100, 1000], [5, 10, 200, 20000]), 3)
    2.0
    """
    begin = min(len(sizes) // 2, len(sizes) - 2)
    across, up = (np.log(np.array(numbers[begin:], dtype=float)) for numbers in (sizes, figures))
    return float(np.polyfit(across, up, 1)[0])


def grown(
    name: str,
    works: Mapping[int, Work],
    paper: str,
    *,
    rounds: int = ROUNDS,
    clock: Callable[[], float] = time.process_time,
) -> Row:
    """The shortest seconds for each size, the exponent, and the cost on paper with the file that does the work."""
    shortest = dict.fromkeys(works, math.inf)
    next(iter(works.values()))()  # compiles
    for _ in range(rounds):
        for size, work in works.items():
            with threadpool_limits(1, user_api="blas"):
                begun = clock()
                work()
                shortest[size] = min(shortest[size], clock() - begun)
    row: Row = {f"{name}_{size}_seconds": took for size, took in shortest.items()}
    return row | {f"{name}_exponent": slope(list(shortest), list(shortest.values())), f"{name}_paper": paper}


def counted(files: str) -> object:
    """A private histogram of a fleet, read as a stream by polars."""
    belief = fleet_belief()
    series = read_series(files, column="state", subject="person", states=belief.states)
    return release(series, "histogram", belief=belief, epsilon=1.0)


def remembered(files: str, belief: Path) -> int:
    """The most memory that the same takes as a command, in MiB."""
    asked = ["--column", "state", "--subject", "person", "--belief", str(belief), "--epsilon", "1"]
    return int(command_measured("release", files, *asked, "--query", "histogram")["mib"])


def measured_fleets(name: str, fleets: dict[int, tuple[int, int]], paper: str) -> Row:
    """Seconds and memory for fleets: size → rows, and values of each person."""
    with tempfile.TemporaryDirectory() as made:
        belief, works = Path(made, "belief.json"), {}
        save_belief(fleet_belief(), belief)
        memory: Row = {}
        for size, (rows, values) in fleets.items():
            folder = Path(made, str(size))
            folder.mkdir()
            files = write_fleet(folder, rows, values=values)
            works[size] = partial(counted, files)
            memory[f"{name}_{size}_mib"] = remembered(files, belief)
        return grown(name, works, paper) | memory


def scaling_with_rows() -> Row:
    """A private histogram of 5 to 80 million rows of Parquet, 2,000 values for each person."""
    fleets = {rows: (rows, 2000) for rows in (5 * MILLION, 10 * MILLION, 20 * MILLION, 40 * MILLION, 80 * MILLION)}
    return measured_fleets("rows", fleets, "O(rows): `data/stored.py`, `data/engines/polars.py`")


def scaling_with_people() -> Row:
    """The same 20 million rows, of 2,000 people with 10,000 values to 2 million people with 10."""
    rows = 20 * MILLION
    fleets = {people: (rows, rows // people) for people in (2000, 20_000, 200_000, 2 * MILLION)}
    paper = "O(rows + people × states), and as much memory: `data/stored.py`"
    return measured_fleets("people", fleets, paper)


def scaling_with_states() -> Row:
    """Calibration with ε = 1 on chains of 8 to 128 states: curve (random rows and slow bands) and exact quilts."""
    sizes, rng = (8, 16, 32, 64, 128), np.random.default_rng(3)
    row: Row = {}
    kinds = {
        "states_curve_rows": ({k: slow_rows(k, 1.0, rng) for k in sizes}, "curve"),
        "states_curve_band": ({k: slow_band(k) for k in sizes}, "curve"),
        "states_quilts": ({k: slow_rows(k, 0.1, rng) for k in sizes}, "quilt-exact"),
    }
    papers = {
        "curve": "O(states⁴) for each step at worst: `influence/curve/transport.py`",
        "quilt-exact": "O(states³) for each distance: `influence/quilts/kernels.py`",
    }
    for name, (chains, mechanism) in kinds.items():
        works = {k: partial(_calibrated, P, mechanism) for k, P in chains.items()}
        row |= grown(name, works, papers[mechanism], rounds=2)
    return row


def _calibrated(P: Any, mechanism: str, length: int | None = None) -> object:
    chain = MarkovChain(P, initial="stationary")  # a new one: nothing is remembered of earlier calls
    return calibrate("histogram", belief=chain, epsilon=1.0, length=length, mechanism=mechanism)


def scaling_with_length() -> Row:
    """Length: calibration for 10^3 to 10^9 values (curve, exact quilts), and the exact audit of 125 to 2,000."""
    P = slow_rows(12, 0.05, np.random.default_rng(4))
    row: Row = {}
    for name, mechanism in (("length_curve", "curve"), ("length_quilts", "quilt-exact")):
        works = {10**n: partial(_calibrated, P, mechanism, 10**n) for n in (3, 5, 7, 9)}
        row |= grown(name, works, "O(1): `calibration/mechanisms`", rounds=7)
    audits = {n: partial(_audited, n) for n in (125, 250, 500, 1000, 2000)}
    return row | grown("length_audit", audits, "O(states × length³): `laws/exact.py`", rounds=2)


def _audited(length: int) -> object:
    return audit(TWO_STATES, [Noisy(Count("1"), 4.0)], length=length)


def scaling_with_releases() -> Row:
    """Releases about segments of 10^7 values added up; one more reservation in a ledger, open and just opened."""
    sizes = (30, 100, 300, 1000, 3000)
    row = grown(
        "releases_composed",
        {count: partial(_composed, count) for count in sizes},
        "O(releases²), each is added to all stretches so far: `accounting/total.py`",
        rounds=2,
    )
    row |= grown(
        "releases_whole",
        {count: partial(_composed, count, whole=True) for count in sizes},
        "O(releases), all have one stretch: `accounting/total.py`",
    )
    with tempfile.TemporaryDirectory() as folder:
        again, opened = {}, {}
        for count in (100, 400, 1600, 6400):
            address = f"{folder}/ledger-{count}.db"
            ledger = Ledger.create(address, belief=TWO_STATES, budget=1e6)
            record = ReleaseRecord(noise_scale=1000.0, lipschitz=1.0)
            for _ in range(count):
                ledger.reserve(record, {"who": "bench"})
            again[count] = partial(ledger.reserve, record, {"who": "bench"})
            opened[count] = partial(_reserved_anew, address, record)
        row |= grown("releases_ledger", again, "O(1): `ledger/book.py`", rounds=20, clock=time.perf_counter)
        row |= grown("releases_opened", opened, "O(releases): `ledger/book.py`", rounds=7, clock=time.perf_counter)
    return row


def _composed(count: int, *, whole: bool = False) -> object:
    cuts = np.sort(np.random.default_rng(5).choice(10**7, size=2 * count, replace=False)) + 1
    records = [
        ReleaseRecord(noise_scale=50.0 * count, lipschitz=1.0, segment=None if whole else (int(first), int(last)))
        for first, last in zip(cuts[::2], cuts[1::2], strict=True)
    ]
    return Accountant(TWO_STATES, length=10**7, releases=records).composed()


def _reserved_anew(address: str, record: ReleaseRecord) -> object:
    return Ledger(address).reserve(record, {"who": "bench"})


def scaling_on_spark() -> Row:
    """A private histogram on Spark with one worker and with two, each in a process of its own; rows in two orders."""
    row: Row = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, by_time in (("by_person", False), ("by_time", True)):
            Path(folder, name).mkdir()
            write_fleet(Path(folder, name), 20 * MILLION, by_time=by_time)
        for workers in (1, 2, 1, 2):  # in turns, so that both see the same machine
            command = [sys.executable, __file__, folder, str(workers)]
            environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
            done = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)  # noqa: S603
            for key, took in json.loads(done.stdout.splitlines()[-1]).items():
                name = f"workers_{workers}_{key}"
                row[name] = min(took, row.get(name, math.inf))
    for order in ("by_person", "by_time"):
        row[f"{order}_speedup"] = row[f"workers_1_{order}_{20 * MILLION}"] / row[f"workers_2_{order}_{20 * MILLION}"]
    for workers in (1, 2):
        sizes = [5 * MILLION, 10 * MILLION, 20 * MILLION]
        each, fixed = np.polyfit(sizes, [row[f"workers_{workers}_by_person_{size}"] for size in sizes], 1)
        row |= {f"workers_{workers}_fixed": float(fixed), f"workers_{workers}_per_million_rows": float(each) * MILLION}
    return row | {"target": "twice as fast but for what does not depend on rows"}


def on_spark(folder: Path, workers: int) -> dict[str, float]:
    """The shortest seconds of a private histogram, by order and rows, in this process."""
    from quiltwork.data.engines.sql import spark_session

    session, belief = spark_session(f"local[{workers}]"), fleet_belief()
    shortest: dict[str, float] = {}
    for turn in range(-2, 3):  # Java compiles in the first two
        for order, parts in (("by_person", 1), ("by_person", 2), ("by_person", 4), ("by_time", 4)):
            files = sorted(str(file) for file in Path(folder, order).glob("*.parquet"))[:parts]
            begun = time.perf_counter()
            series = read_series(session.read.parquet(*files), column="state", subject="person", states=belief.states)
            release(series, "histogram", belief=belief, epsilon=1.0)
            if turn >= 0:
                key = f"{order}_{5 * parts * MILLION}"
                shortest[key] = min(shortest.get(key, math.inf), time.perf_counter() - begun)
    return shortest


if __name__ == "__main__":
    print(json.dumps(on_spark(Path(sys.argv[1]), int(sys.argv[2]))))
