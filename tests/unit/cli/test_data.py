"""Commands on data of any size: windows, subjects, gaps, levels, patterns."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from shell import answer, run

from quiltwork import MarkovChain, save_belief

BEGUN = datetime(2024, 3, 4, 22)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two people, half-hourly, with a pause; in two files."""
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"], step="30min")
    save_belief(chain, tmp_path / "belief.json")
    for who in ("ann", "bob"):
        steps = [*range(8), *range(12, 16)]
        frame = pl.DataFrame(
            {
                "who": [who] * len(steps),
                "at": [BEGUN + timedelta(minutes=30 * n) for n in steps],
                "what": ["sit", "sit", "walk", "sit"] * 3,
                "watts": [float(n) for n in range(len(steps))],
            }
        )
        frame.write_parquet(tmp_path / f"{who}.parquet")
        frame.write_csv(tmp_path / f"{who}.csv")
    return tmp_path


def asked(folder: Path, *more: object, files: str = "*.parquet") -> list[object]:
    common = ["--column", "what", "--subject", "who", "--time", "at", "--belief", folder / "belief.json"]
    # at this ε noise of a scale below 0.01 is 0
    return ["release", folder / files, *common, "--query", "histogram", "--epsilon", 2000, *more]


@pytest.mark.parametrize("files", ["*.parquet", "*.csv"])
def test_windows_by_day(folder: Path, files: str) -> None:
    found = answer(*asked(folder, "--gap", "30min", "--window", "day", files=files))
    assert found["value"] == {"2024-03-04": {"sit": 6, "walk": 2}, "2024-03-05": {"sit": 12, "walk": 4}}
    assert [part["values"] for part in found["parts"]] == [8, 16]
    assert found["notes"] == []


def test_windows_of_values_and_subjects(folder: Path) -> None:
    found = answer(*asked(folder, "--gap", "1h", "--window", "10", "--by-subject"))
    assert list(found["value"]) == ["ann 1:10", "ann 11:20", "bob 1:10", "bob 11:20"]
    text = run(*asked(folder, "--gap", "1h", "--by-subject"), code=0).stdout
    assert "ann" in text
    assert "values" in text


def test_gaps_are_not_bridged(folder: Path) -> None:
    base = ["transitions" if word == "histogram" else word for word in asked(folder)]
    whole, split = answer(*base), answer(*base, "--gap", "30min")
    assert sum(sum(row.values()) for row in whole["value"].values()) == 22
    assert sum(sum(row.values()) for row in split["value"].values()) == 20
    assert "not evenly spaced" in whole["notes"][0]
    assert split["notes"] == []


def test_levels_and_steps(folder: Path) -> None:
    options = ["--column", "watts", "--bins", "6", "--every", "1h", "--take", "mean"]
    run("belief", "every", folder / "belief.json", 2, "--out", folder / "belief.json", code=0)
    found = answer(*asked(folder, *options))
    assert found["value"] == {"sit": 6, "walk": 6}


def test_a_windowed_release_is_one_row_of_the_ledger(folder: Path) -> None:
    url = f"sqlite:///{folder / 'ledger.db'}"
    run("ledger", "create", url, "--belief", folder / "belief.json", "--budget", "2500", code=0)
    found = answer(*asked(folder, "--gap", "30min", "--window", "day", "--ledger", url))
    assert found["ledger"]["spent"] <= 2000
    assert len(answer("ledger", "show", url)["releases"]) == 1


def test_a_report_of_windows(folder: Path) -> None:
    run(*asked(folder, "--gap", "30min", "--window", "day", "--out", folder / "days.html"), code=0)
    page = (folder / "days.html").read_text()
    assert "2024-03-05" in page
    assert "<svg" in page


def test_what_records_do_not_have(folder: Path) -> None:
    (folder / "joint.json").write_text(
        json.dumps(
            {"kind": "joint", "variables": {"x": ["0", "1"]}, "table": [{"x": "0", "p": 0.5}, {"x": "1", "p": 0.5}]}
        )
    )
    (folder / "x.csv").write_text("x\n0\n1\n")
    options = ["--belief", folder / "joint.json", "--query", "count:1", "--epsilon", "1"]
    for wrong in (["--window", "2"], ["--gap", "1h"], ["--bins", "2"], ["--by-subject"], ["--engine", "spark"]):
        done = run("release", folder / "x.csv", *options, *wrong, code=2)
        assert "records" in done.stderr


def test_options_that_do_not_fit(folder: Path) -> None:
    for wrong, message in (
        (["--window", "fortnight"], "window must be"),
        (["--gap", "soon"], "gap must be"),
        (["--bins", "3,1"], "bins must be"),
        (["--master", "local[2]"], "a master is only for Spark"),
        (["--mechanism", "wasserstein", "--window", "3"], "does not cover"),
    ):
        done = run(*asked(folder, *wrong), code=4 if "wasserstein" in wrong else 2)
        assert message in done.stderr


def test_levels_are_fitted_by_their_edges(folder: Path) -> None:
    options = ["--subject", "who", "--time", "at", "--bins", "4,8", "--gap", "30min"]
    fitted = answer("belief", "fit", folder / "*.parquet", "--column", "watts", *options)
    assert fitted["states"] == ["<4", "4..8", ">=8"]
