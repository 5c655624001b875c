"""What if the belief is wrong, on the command line."""

import json
from pathlib import Path

import pytest
from examples import BELIEF
from shell import answer, run


@pytest.fixture
def slower(tmp_path: Path) -> Path:
    path = tmp_path / "slower.json"
    path.write_text(json.dumps(BELIEF | {"transition": [[0.95, 0.05], [0.2, 0.8]]}))
    return path


def test_the_same_noise_under_another_belief(belief: Path, slower: Path, tmp_path: Path) -> None:
    asked = ("--query", "count:walk", "--noise-scale", 3.33641)
    found = answer("belief", "compare", belief, slower, *asked)
    assert found["epsilon"] == pytest.approx(1.0, abs=1e-5)
    assert found["epsilon_other"] == pytest.approx(2.4508, abs=1e-3)
    assert found["stays"][3] == {"times": 2.0, "epsilon": pytest.approx(found["epsilon_other"])}
    page = tmp_path / "compared.html"
    said = run("belief", "compare", belief, slower, *asked, "--out", page, code=0).stdout
    assert "If the other belief is true: ε = 2.451" in said
    assert "1.2 times as long" in said
    assert "<svg" in page.read_text()
    alone = answer("belief", "compare", belief, *asked)
    assert alone["epsilon_other"] is None
    exact = answer("belief", "compare", belief, slower, *asked, "--length", 20, "--exact")
    assert exact["rule_other"] == "audit"
    assert exact["epsilon_other"] < found["epsilon_other"]


def test_plans_show_it_too(belief: Path, slower: Path) -> None:
    asked = ("--query", "histogram", "--length", 100, "--epsilon", 1, "--mechanism", "curve", "--mechanism", "gk16")
    offers = answer("plan", belief, *asked, "--also", slower)["mechanisms"]
    assert offers[0]["epsilon_other"] > 1.5
    assert offers[1].get("epsilon_other") is None
    assert "ε if other" in run("plan", belief, *asked, "--also", slower, code=0).stdout


def test_longer_stays_are_not_left_out_in_silence(tmp_path: Path) -> None:
    """A belief that goes round has none that could be longer."""
    path = tmp_path / "round.json"
    tables = [[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.3, 0.7]]]
    path.write_text(json.dumps({"kind": "cycle", "states": ["sit", "walk"], "transitions": tables, "initial": "any"}))
    said = run("belief", "compare", path, "--query", "histogram", "--noise-scale", 9, code=0).stdout
    assert "Longer stays are computed for chains only. Name another belief" in said
