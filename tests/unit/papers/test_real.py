"""Results on public data: files as they were published, made up here, and what is said where something is missing."""

import gzip
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from quiltwork import CycleChain, MarkovChain
from quiltwork.errors import DataError, InputError, ParameterError
from quiltwork.fitting.made_up import made_up
from quiltwork.fitting.remedies import latest
from quiltwork.papers.base import Effort, Found
from quiltwork.papers.public_data import GROUPS, public_data
from quiltwork.papers.real import FITS, METHODS, real
from quiltwork.papers.reproduce import reproduce

CODES = [codes[0] for codes in GROUPS.values()]
QUARTERS = 96
DAYS = 8


def activities(seed: int, length: int) -> list[int]:
    table = np.full((6, 6), 0.03) + 0.82 * np.eye(6)
    chain = MarkovChain(table / table.sum(axis=1, keepdims=True), initial="stationary")
    (codes,) = made_up(chain, length=length, seed=seed).stretches
    return [CODES[code] for code in np.asarray(codes)]


def write_house(folder: Path) -> None:
    both = activities(1, DAYS * QUARTERS), activities(2, DAYS * QUARTERS)
    with gzip.open(folder / "aras_house1.csv.gz", "wt") as out:
        out.write("day,second,resident_1,resident_2\n")
        for n, (one, two) in enumerate(zip(*both, strict=True)):
            for second in (0, 1, 450):  # rows between quarter hours are left out
                out.write(f"{1 + n // QUARTERS},{900 * (n % QUARTERS) + second},{one},{two if second == 0 else 1}\n")


def write_power(path: Path, kilowatts: list[str]) -> None:
    lines = ["Date;Time;Global_active_power;Voltage"]
    for n, power in enumerate(kilowatts):
        day, minute = divmod(n, 1440)
        lines.append(f"{16 + day}/12/2006;{minute // 60:02}:{minute % 60:02}:00;{power};{'?' if power == '?' else 240}")
    path.write_text("\n".join(lines) + "\n")


def powers(length: int) -> list[str]:
    table = np.full((5, 5), 0.05) + 0.75 * np.eye(5)
    (codes,) = made_up(MarkovChain(table, initial="stationary"), length=length, seed=3).stretches
    written = [f"{code + 0.5:.3f}" for code in np.asarray(codes)]
    written[200:230] = ["?"] * 30
    return written


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder = tmp_path_factory.mktemp("public")
    write_house(folder)
    write_power(folder / "household_power_consumption.txt", powers(1200))
    with mock.patch("quiltwork.papers.real.METHODS", METHODS[:4]):  # noise for cycles and phases takes long
        return real(Effort(quick=True), folder)


def test_every_method_has_its_rows(found: Found) -> None:
    assert {row["data"] for row in found.rows} == {"resident 1", "power"}
    for data in ("resident 1", "power"):
        scales = {
            (row["mechanism"], row["belief"], row["epsilon"]): row["noise scale"]
            for row in found.rows
            if row["data"] == data
        }
        for epsilon in (0.2, 1.0, 5.0):
            curve, exact, approximate, group = (
                scales[mechanism, belief, epsilon]
                for mechanism, belief in (
                    ("curve", "chain"),
                    ("quilt-exact", "chain"),
                    ("quilt-approx", "chain"),
                    ("group", "any"),
                )
            )
            assert curve < exact <= approximate <= group
    assert any("384 values for the belief, 384 released" in line for line in found.remarks)


def test_errors_are_those_of_twenty_draws(found: Found) -> None:
    for row in found.rows:
        if row["L1 error"] is None:
            assert row["refused"]
            continue
        states = 6 if row["data"].startswith("resident") else 5
        assert row["5 %"] < row["L1 error"] < row["95 %"]
        assert row["L1 error"] == pytest.approx(states * row["noise scale"], rel=0.25)
        assert row["seconds"] >= 0


def test_beliefs_are_checked_on_the_later_period(found: Found) -> None:
    checked = {(row["data"], row["belief"]): row["check"] for row in found.rows}
    assert checked["resident 1", "any"] == "needs none"
    assert checked["resident 1", "chain"] == "not refuted"  # the data are of such a chain
    assert all(check in ("refuted", "not refuted", "holds", "needs none", "unknown", "") for check in checked.values())
    assert any("chain: Not refuted, but 384 values would not have shown" in line for line in found.remarks)


def test_a_belief_that_cannot_be_fitted_says_why(tmp_path: Path) -> None:
    write_power(tmp_path / "household_power_3days.csv", ["0.5", "1.5"] + ["0.500"] * 300)
    with mock.patch("quiltwork.papers.real.METHODS", METHODS[:5]):
        found = real(Effort(quick=True), tmp_path)
    why = {row["belief"]: row["refused"] for row in found.rows}
    assert why["time of day"].startswith("not fitted: a cycle needs data of at least two days")
    assert any("Activities in a house were left out" in line for line in found.remarks)


def test_day_files_are_read_like_the_table(tmp_path: Path) -> None:
    table, days = tmp_path / "table", tmp_path / "days"
    table.mkdir()
    days.mkdir()
    write_house(table)
    both = activities(1, DAYS * QUARTERS), activities(2, DAYS * QUARTERS)
    for day in range(DAYS):
        part = slice(day * QUARTERS, (day + 1) * QUARTERS)
        lines = [f"{'0 ' * 20}{one} {two}\n" * 900 for one, two in zip(both[0][part], both[1][part], strict=True)]
        (days / f"DAY_{day + 1}.txt").write_text("".join(lines))
    (published, _), (written, _) = public_data(days), public_data(table)
    assert [periods.name for periods in published] == ["resident 1", "resident 2"]
    for one, other in zip(published, written, strict=True):
        assert one.before.counts().tolist() == other.before.counts().tolist()
        assert one.after.transitions().tolist() == other.after.transitions().tolist()


def test_missing_minutes_split_the_series(tmp_path: Path) -> None:
    write_power(tmp_path / "household_power_3days.csv", powers(1200))
    ((periods,), missing) = public_data(tmp_path)
    assert periods.before.gaps == 1
    assert periods.before.size == 570
    assert periods.before.states == ("<1", "1..2", "2..3", "3..4", ">=4")
    assert len(missing) == 1


def test_the_time_of_day_is_fitted_by_the_quarter_hour(tmp_path: Path) -> None:
    write_house(tmp_path)
    (periods,), _ = public_data(tmp_path, residents=1)
    cycle = FITS["time of day"](periods.before)
    assert isinstance(cycle, CycleChain)
    assert len(cycle.transitions) == QUARTERS


def test_phases_of_long_series_are_fitted_to_the_last_values() -> None:
    series = made_up(MarkovChain([[0.9, 0.1], [0.4, 0.6]]), length=2000, people=3)
    kept = latest(series)
    assert kept.size == 3000
    assert [len(stretch) for stretch in kept.stretches] == [1000, 2000]
    assert FITS["2 phases"](made_up(MarkovChain([[0.9, 0.1], [0.4, 0.6]]), length=300)).hidden_chains


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"real needs a folder with public data, got none: .*--data FOLDER"):
        reproduce("real", tmp_path)
    with pytest.raises(DataError, match=r"has none of the files that real needs.*Put into that folder: aras_house1"):
        reproduce("real", tmp_path / "out", data=tmp_path)
    with pytest.raises(InputError, match=r"must be a folder, got .*not there"):
        public_data(tmp_path / "nowhere")
    with pytest.raises(ParameterError, match="a folder of public data is only for real"):
        reproduce("contagion", tmp_path, data=tmp_path)
    (tmp_path / "household_power_3days.csv").write_text("Date;Power\n16/12/2006;secret\n")
    with pytest.raises(DataError, match=r"household_power_3days\.csv cannot be read.*Global_active_power") as problem:
        public_data(tmp_path)
    assert "secret" not in str(problem.value)
    assert not (tmp_path / "out").exists()
