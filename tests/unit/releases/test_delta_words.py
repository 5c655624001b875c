"""What is said about δ, and how large it may be."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import LAZY
from shell import as_page, run

from quiltwork import Accountant, Ledger, ReleaseRecord, Session, calibrate, plan, release, save_belief
from quiltwork.data import Series
from quiltwork.errors import ParameterError
from quiltwork.influence.delta import check_delta_for, large_delta

WANTED: dict[str, Any] = {"belief": LAZY, "epsilon": 1.0, "noise": "gaussian"}
ANYWAY: dict[str, Any] = WANTED | {"anyway": True}


def people(count: int) -> Series:
    return Series.from_codes([np.array([0, 1, 0])] * count, states=["0", "1"])


def test_delta_is_far_below_one_in_the_number_of_people() -> None:
    release(people(100), "count:1", **ANYWAY, delta=1e-3)
    with pytest.raises(ParameterError, match="for 101 people") as refused:
        release(people(101), "count:1", **ANYWAY, delta=1e-3)
    assert "Use 0.0009 or less" in str(refused.value)
    session = Session(people(101), belief=LAZY, ledger=Ledger.in_memory(belief=LAZY, budget=1.0, delta=1e-3))
    for noise in ("laplace", "gaussian"):
        with pytest.raises(ParameterError, match="number of people"):
            session.release("count:1", epsilon=0.1, noise=noise, anyway=True)
    assert not session.statement().releases()
    for count in (1, 7, 12_345, 10**6):
        check_delta_for(1 / (10 * count), count)
        with pytest.raises(ParameterError):
            check_delta_for(1.01 / (10 * count), count)


def test_a_large_delta_warns() -> None:
    (warning,) = large_delta(2e-4)
    assert "one person in 5,000" in warning
    assert warning in release(people(5), "count:1", **ANYWAY, delta=2e-4).notes
    assert not any("δ is above" in note for note in release(people(5), "count:1", **ANYWAY, delta=1e-4).notes)
    assert warning in plan("count:1", **WANTED, delta=2e-4, length=10**6, mechanisms=["curve"]).warnings
    assert not plan("count:1", **WANTED, delta=1e-4, length=10**6, mechanisms=["curve"]).warnings


def test_gaussian_noise_is_named_everywhere(tmp_path: Path) -> None:
    made = release(people(50), "frequencies", **ANYWAY, delta=1e-6)
    assert "a standard deviation of" in made.explain()
    assert "certain has a probability of at most 1e-06" in made.explain()
    told = made.to_dict()
    assert (told["noise"], told["delta"]) == ("gaussian", 1e-6)
    assert told["delta_meaning"] in made.explain()
    made.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Gaussian noise of standard deviation" in page
    assert page.count("This holds up to δ = 1e-06") >= 1
    shown = as_page(made)
    assert "ε = 1, δ = 1e-06" in shown
    assert "Gaussian noise of standard deviation" in shown
    assert "Gaussian noise of" in as_page(calibrate("count:1", **WANTED, delta=1e-6))
    records = [ReleaseRecord(query="count:1", noise="gaussian", noise_scale=100.0)]
    assert "δ = 1e-06" in as_page(Accountant(LAZY, length=9, releases=records, delta=1e-6).composed())
    assert "Room for" in as_page(Ledger.in_memory(belief=LAZY, budget=1.0, delta=1e-6))
    pure = release(people(50), "frequencies", belief=LAZY, epsilon=1.0, anyway=True).to_dict()
    assert not {"delta", "delta_meaning"} & set(pure)
    assert pure["noise"] == "laplace-total"


def test_the_command_takes_the_usual_delta(tmp_path: Path) -> None:
    save_belief(LAZY, tmp_path / "belief.json")
    (tmp_path / "data.csv").write_text("value\n" + "0\n1\n0\n" * 300)
    asked = ["--query", "count:1", "--epsilon", 1, "--noise", "gaussian", "--json"]
    planned = json.loads(run("plan", tmp_path / "belief.json", "--length", 900, *asked, code=0).stdout)
    assert planned["delta"] == 1e-6
    data = ["release", tmp_path / "data.csv", "--column", "value", "--belief", tmp_path / "belief.json"]
    made = json.loads(run(*data, *asked, code=0).stdout)
    assert (made["noise"], made["delta"], made["guarantee"]) == ("gaussian", 1e-6, "approximate pufferfish")
    warned = run(*data, *asked[:-1], "--delta", 1e-3, code=0)
    assert "warning: δ is above 0.0001" in " ".join(warned.stderr.split())
    assert "δ is above" not in warned.stdout
