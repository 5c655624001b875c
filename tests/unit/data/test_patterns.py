"""Positions of several files: counted so that the same rows are never taken for different ones."""

from pathlib import Path

import polars as pl
import pytest
from shell import answer, run

from quiltwork import (
    Accountant,
    BudgetError,
    GaussianBelief,
    Ledger,
    MarkovChain,
    Session,
    read_measurements,
    read_series,
    release,
    save_belief,
)
from quiltwork.data import Reading
from quiltwork.errors import DataError

COIN = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
HALF = 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, one after the other, with times."""
    for n, name in enumerate(("a1.csv", "b1.csv")):
        times = range(n * HALF, (n + 1) * HALF)
        pl.DataFrame({"v": ["0", "1"] * (HALF // 2), "t": times}).write_csv(tmp_path / name)
    save_belief(COIN, tmp_path / "belief.json")
    return tmp_path


def asked(folder: Path, data: str, *more: object) -> list[object]:
    options = ["--column", "v", "--belief", folder / "belief.json", "--query", "count:1", "--epsilon", 0.9]
    return ["release", folder / data, *options, "--ledger", folder / "ledger.db", *more]


@pytest.mark.parametrize("first", ["b1.csv", "*1.csv"])
def test_the_same_rows_are_not_released_twice(first: str, folder: Path) -> None:
    """By name they are rows 1 to 200, by the pattern rows 201 to 400."""
    run("ledger", "create", folder / "ledger.db", "--belief", folder / "belief.json", "--budget", 1, code=0)
    later = (f"{HALF + 1}:{2 * HALF}",)
    segments = {"b1.csv": (), "*1.csv": ("--segment", *later)}
    second = "*1.csv" if first == "b1.csv" else "b1.csv"
    answer(*asked(folder, first, "--time", "t", *segments[first]))
    refused = run(*asked(folder, second, "--time", "t", *segments[second]), code=3)
    assert "would exceed the budget" in refused.stderr


def test_one_pattern_has_one_order(folder: Path) -> None:
    """Segments of it add up as those of one file do."""
    run("ledger", "create", folder / "ledger.db", "--belief", folder / "belief.json", "--budget", 1, code=0)
    answer(*asked(folder, "*1.csv", "--time", "t", "--segment", f"1:{HALF}"))
    again = answer(*asked(folder, "*1.csv", "--time", "t", "--segment", f"{HALF + 1}:{2 * HALF}"))
    assert again["ledger"]["spent"] == pytest.approx(0.9, rel=1e-3)
    assert "files *1.csv" in run("ledger", "show", folder / "ledger.db", code=0).stdout


def test_without_times_a_budget_is_refused(folder: Path) -> None:
    run("ledger", "create", folder / "ledger.db", "--belief", folder / "belief.json", "--budget", 1, code=0)
    assert "--time" in run(*asked(folder, "*1.csv"), code=2).stderr
    assert answer("ledger", "show", folder / "ledger.db")["spent"] == 0.0
    series = read_series(str(folder / "*1.csv"), column="v", states=COIN.states)
    with pytest.raises(DataError, match="a pattern of files needs times where a budget is kept"):
        Session(series, belief=COIN, budget=1.0)
    numbers = read_measurements(str(folder / "*1.csv"), column="v")
    with pytest.raises(DataError, match="needs times"):
        Session(numbers, belief=GaussianBelief({"ar1": 0.5}, distance=1.0), budget=1.0)
    one = Session(
        read_series(folder / "a1.csv", column="v", states=COIN.states), belief=COIN, ledger=str(folder / "ledger.db")
    )
    with pytest.raises(DataError, match="needs times"):
        one.append(str(folder / "b*.csv"))
    one.append(folder / "b1.csv")


def test_records_of_patterns_without_times_are_about_every_moment(folder: Path) -> None:
    series = read_series(str(folder / "*1.csv"), column="v", states=COIN.states)
    parts = [(1, HALF), (HALF + 1, 2 * HALF)]
    records = [
        release(series.between(*part), "count:1", belief=COIN, epsilon=0.5, mechanism="curve").record()
        for part in parts
    ]
    assert Accountant(COIN, length=2 * HALF, releases=records[:1]).composed().epsilon == pytest.approx(0.5, rel=1e-3)
    assert Accountant(COIN, length=2 * HALF, releases=records).composed().epsilon == pytest.approx(1.0, rel=1e-3)


def test_a_pattern_is_part_of_the_reading(folder: Path) -> None:
    by_name = read_series(folder / "b1.csv", column="v", states=COIN.states, time="t").reading
    by_pattern = read_series(str(folder / "[b]1.csv"), column="v", states=COIN.states, time="t").reading
    assert by_name.files is None
    assert by_pattern.files == "[b]1.csv"
    assert Reading.from_dict(by_pattern.to_dict()) == by_pattern
    assert by_name.other_values(by_pattern) is None
    assert by_name.difference(by_pattern) == "files: none before, '[b]1.csv' now"


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(folder: Path) -> None:
    (folder / "a[1].csv").write_text((folder / "a1.csv").read_text())
    assert read_series(str(folder / "a[1].csv"), column="v", states=COIN.states).reading.files is None


def test_a_ledger_without_room_for_both_refuses_in_python_too(folder: Path) -> None:
    ledger = Ledger.in_memory(belief=COIN, budget=1.0)
    named = read_series(folder / "b1.csv", column="v", states=COIN.states, time="t")
    Session(named, belief=COIN, ledger=ledger).count("1", epsilon=0.9)
    every = read_series(str(folder / "*1.csv"), column="v", states=COIN.states, time="t")
    with pytest.raises(BudgetError):
        Session(every, belief=COIN, ledger=ledger).count("1", epsilon=0.9, segment=(HALF + 1, 2 * HALF))
