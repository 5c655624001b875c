"""Real values on the command line."""

import json
from pathlib import Path

import pytest
from shell import answer, run

BELIEF = {"kind": "gaussian", "step": "5min", "distance": 1.0, "unit": "kW", "correlation": {"decay": "90min"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run("demo", "--files", tmp_path, code=0)
    (tmp_path / "ar1.json").write_text(json.dumps(BELIEF | {"correlation": {"ar1": 0.9}, "step": 1}))
    return tmp_path


def asked(folder: Path, *more: object) -> list[object]:
    reading = ["--column", "kw", "--subject", "home", "--time", "time"]
    return ["release", folder / "power.parquet", *reading, "--belief", folder / "power.json", *more]


def test_a_profile_of_the_day(folder: Path) -> None:
    made = answer(*asked(folder, "--query", "mean", "--epsilon", "1", "--window", "hour-of-day"))
    assert list(made["value"])[:2] == ["00:00", "01:00"]
    assert len(made["value"]) == 24
    assert made["detail"]["distance"] == 1.0
    assert made["error_95"] < 0.25
    evening, night = made["value"]["19:00"], made["value"]["03:00"]
    assert evening > night


def test_what_is_hidden_is_said(folder: Path) -> None:
    done = run(*asked(folder, "--query", "above:2:1", "--epsilon", "1", "--out", folder / "report.html"), code=0)
    assert "two values at most 1 kW apart" in done.stdout
    assert "decay=90min" in (folder / "report.html").read_text()


def test_distances_are_compared(folder: Path) -> None:
    distances = ["--distance", "0.5", "--distance", "2"]
    made = answer("plan", folder / "power.json", "--query", "mean", "--epsilon", "1", "--length", "4032", *distances)
    one, other = made["distances"]
    assert other["noise_scale"] == pytest.approx(4 * one["noise_scale"])
    shown = run("plan", folder / "power.json", "--query", "mean", "--epsilon", "1", "--length", "4032", *distances)
    assert "distance" in shown.stdout
    refused = run(
        "plan", folder / "belief.json", "--query", "histogram", "--epsilon", "1", "--length", "9", "--distance", "1"
    )
    assert "a distance is for beliefs about real values" in refused.stderr


def test_a_ledger_of_real_values(folder: Path) -> None:
    url = f"sqlite:///{folder}/ledger.db"
    run("ledger", "create", url, "--belief", folder / "power.json", "--budget", "1", code=0)
    first = answer(*asked(folder, "--query", "mean", "--epsilon", "0.5", "--ledger", url))
    assert first["ledger"]["spent"] == pytest.approx(0.5, abs=1e-5)
    for query in ("trend --by-subject", "above:2:1 --segment 1:2016"):
        words = query.split()
        run(*asked(folder, "--query", words[0], *words[1:], "--epsilon", "0.2", "--ledger", url), code=0)
    refused = run(*asked(folder, "--query", "sum", "--epsilon", "0.5", "--ledger", url))
    assert refused.returncode == 3
    assert "would exceed the budget" in refused.stderr
    run("ledger", "verify", url, code=0)
    together = answer("compose", folder / "power.json", _records(folder, first), "--length", "4032")
    assert together["epsilon"] == pytest.approx(0.5, abs=1e-5)
    assert together["rule"] == "influence-curve"


def _records(folder: Path, made: dict[str, object]) -> Path:
    path = folder / "releases.json"
    path.write_text(json.dumps([made["record"]]))
    return path


def test_exact_losses_and_known_values(folder: Path) -> None:
    common = ["--query", "sum", "--noise-scale", "19"]
    found = answer("audit", folder / "ar1.json", *common, "--length", "500")
    assert found["epsilon"] == pytest.approx(1.0, abs=1e-3)
    run("audit", folder / "ar1.json", *common, "--length", "50", "--out", folder / "audit.html", code=0)
    known = answer("audit", folder / "ar1.json", *common, "--length", "3", "--know", "2=known")
    assert known["epsilon"] == pytest.approx(1 / 19)
    leaked = answer("leakage", folder / "ar1.json", *common, "--length", "any")
    assert leaked["epsilon"] == pytest.approx(1.0)
    assert answer("leakage", folder / "ar1.json", *common, "--length", "4")["method"] == "enumeration"


def test_units_that_do_not_fit_are_refused(folder: Path) -> None:
    for more, message in (
        (["--bins", "1,2"], "bins are for beliefs about levels"),
        (["--every", "1h", "--take", "mean"], "the belief is about steps of 5min"),
        (["--mechanism", "wasserstein"], "is about states"),
    ):
        refused = run(*asked(folder, "--query", "mean", "--epsilon", "1", *more))
        assert refused.returncode in (2, 4)
        assert message in refused.stderr
