"""Belief files about numbers: fit, check, show, every, compare and new."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.signal import lfilter
from shell import answer, run


@pytest.fixture
def power(tmp_path: Path) -> Path:
    chance = np.random.default_rng(1).standard_normal(24 * 40)
    rhythm = 3 * np.sin(2 * np.pi * np.arange(len(chance)) / 24)
    times = [datetime(2024, 1, 1) + timedelta(hours=n) for n in range(len(chance))]
    path = tmp_path / "power.csv"
    pl.DataFrame({"time": times, "kw": lfilter([0.8], [1.0, -0.6], chance) + rhythm}).write_csv(path)
    return path


def options(data: Path) -> list[object]:
    return [data, "--column", "kw", "--time", "time"]


def test_fit_check_and_show(power: Path, tmp_path: Path) -> None:
    belief, page = tmp_path / "belief.json", tmp_path / "check.html"
    done = run("belief", "fit", *options(power), "--gaussian", "--distance", 1, "--unit", "kW", "--out", belief, code=0)
    assert "do not fit a belief on the data that you want to protect" in done.stderr
    assert "an assumption, not a finding" in done.stderr
    assert "the mean of each time of day was taken out" in done.stderr
    assert "listed lag" in done.stdout
    content = json.loads(belief.read_text())
    assert (content["kind"], content["step"], content["distance"], content["unit"]) == ("gaussian", "1h", 1.0, "kW")
    assert set(content["correlation"]) == {"at_most", "decay"}
    found = answer("belief", "check", belief, *options(power), "--out", page)
    assert set(found) == {
        "verdict", "forgets_too_fast", "remedy", "lags", "values", "subjects", "step", "notes", "contradicts", "rhythm",
        "shape", "spread", "report", "outcome", "levels_differ", "would_show",
    }  # fmt: skip
    assert found["forgets_too_fast"] is False
    assert set(found["lags"][0]) == {
        "lag", "state", "data", "belief", "memory_data", "memory_belief", "band", "exceeds", "first", "last", "below",
    }  # fmt: skip
    assert page.read_text().count("<svg") == 2
    raw = run("belief", "check", belief, *options(power), "--rhythm", "none", code=0)
    assert "The belief forgets too fast" in raw.stdout
    assert "too fast" in raw.stdout
    assert "Spread:" in raw.stdout
    shown = run("belief", "show", belief, "--out", tmp_path / "show.html", code=0)
    assert "Differences of up to 1 kW at any one moment are hidden" in shown.stdout
    assert (tmp_path / "show.html").read_text().count("<svg") == 1
    assert answer("belief", "show", belief)["class"] is True


def test_json_is_the_belief(power: Path) -> None:
    plain, wide = (
        answer("belief", "fit", *options(power), "--gaussian", "--distance", 2, *more)
        for more in ((), ("--margin", 3, "--confidence", 0.99))
    )
    assert plain["kind"] == "gaussian"
    assert len(wide["correlation"]["at_most"]) > len(plain["correlation"]["at_most"])


def test_new_every_and_compare(tmp_path: Path) -> None:
    belief, every = tmp_path / "new.json", tmp_path / "every.json"
    made = run("belief", "new", "--distance", 1, "--unit", "kW", "--decay", "2h", "--step", "1min", "--out", belief)
    assert made.returncode == 0
    assert json.loads(belief.read_text())["correlation"] == {"decay": "2h"}
    assert "a belief about numbers in steps of 10min" in run("belief", "every", belief, 10, "--out", every).stdout
    found = answer("belief", "compare", belief, belief, "--query", "sum", "--noise-scale", 500)
    assert found["epsilon"] == found["epsilon_other"] > 0
    assert "falls to 1/e every 2 h" in run("belief", "show", belief, code=0).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--gaussian"], "needs a distance"),
        (["--distance", 1], "--distance is for numbers"),
        (["--rhythm", "day"], "--rhythm is for numbers"),
        (["--gaussian", "--distance", 1, "--cycle", "day"], "--cycle is for states"),
        (["--gaussian", "--distance", 1, "--bins", "1,2"], "bins are for beliefs about levels"),
        (["--gaussian", "--distance", -1], "distance must be a positive number"),
        (["--gaussian", "--distance", 1, "--margin", 0], "margin must be from 1 to 100"),
    ],
)
def test_what_does_not_go_together(power: Path, words: list[object], message: str) -> None:
    done = run("belief", "fit", *options(power), *words, code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_kind_refusals(belief: Path, tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.json"
    numbers.write_text('{"kind": "gaussian", "step": "1h", "distance": 1, "correlation": {"ar1": 0.5}}')
    text = tmp_path / "text.csv"
    text.write_text("x\n" + "sit\nwalk\n" * 20)
    rhythm = run("belief", "check", belief, text, "--column", "x", "--rhythm", "day", code=2)
    assert "--rhythm is for numbers" in rhythm.stderr
    assert "finite numbers" in run("belief", "check", numbers, text, "--column", "x", code=2).stderr
    assert "needs a distance and a decay" in run("belief", "new", "--distance", 1, code=2).stderr
    both = ["--distance", 1, "--decay", 3, "--state", "sit=2"]
    assert "about states or about numbers" in run("belief", "new", *both, code=2).stderr
