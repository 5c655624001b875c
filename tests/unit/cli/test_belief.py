"""The belief commands."""

import json
from pathlib import Path

import polars as pl
import pytest
from examples import BELIEF, SPRINKLER
from shell import answer, run
from typer.testing import CliRunner

from quiltwork import load_belief
from quiltwork.cli import app

FIT = ("--column", "doing", "--subject", "who")


def test_belief_commands(diary: Path, belief: Path, tmp_path: Path) -> None:
    done = run("belief", "fit", diary, *FIT, "--out", tmp_path / "new.json")
    assert done.returncode == 0
    assert "do not fit a belief on the data that you want to protect" in done.stderr
    assert "visits" in done.stderr
    assert answer("belief", "show", tmp_path / "new.json")["states"] == ["sit", "walk"]
    shown = run("belief", "show", belief).stdout
    assert "stationary" in shown
    assert "0.5" in shown
    for other in (
        {"kind": "set", "members": [BELIEF, BELIEF]},
        {"kind": "mixing", "states": 3, "pi_min": 0.1, "gap": 0.5},
        {"kind": "chain", "transition": [[1, 0], [0, 1]]},
    ):
        belief.write_text(json.dumps(other))
        assert run("belief", "show", belief).returncode == 0


def test_fits_add_nothing_and_classes_are_asked_for(diary: Path) -> None:
    plain = answer("belief", "fit", diary, *FIT)
    assert plain["transition"] == [[0.5, 0.5], [1.0, 0.0]]
    assert answer("belief", "fit", diary, *FIT, "--smoothing", 1)["transition"][1][1] > 0
    wider = answer("belief", "fit", diary, *FIT, "--confidence", 0.9)
    assert wider["kind"] == "set"
    assert wider["members"][0] | {"step": wider["step"]} == plain
    assert max(member["transition"][0][0] for member in wider["members"]) > 0.5
    assert answer("belief", "fit", diary, *FIT, "--confidence", 0.9, "--intervals")["kind"] == "interval"
    longer = answer("belief", "fit", diary, *FIT, "--stays", 2)
    assert [member["transition"][0][0] for member in longer["members"]] == [0.5, 0.75]
    more = answer("belief", "fit", diary, *FIT, "--states", "sit,walk,run")
    assert more["states"] == ["sit", "walk", "run"]
    assert more["transition"][0][0] == 0.5
    for wrong in (
        ["--intervals"],
        ["--stays", 1],
        ["--confidence", 2],
        ["--intervals", "--confidence", 0.9, "--stays", 2],
    ):
        run("belief", "fit", diary, *FIT, *wrong, code=2)
    assert "of the belief's states" in run("belief", "fit", diary, *FIT, "--states", "sit", code=2).stderr


@pytest.fixture
def meter(tmp_path: Path) -> Path:
    path = tmp_path / "meter.csv"
    pl.DataFrame({"watts": [(n * 37) % 300 + n / 1000 for n in range(600)]}).write_csv(path)
    return path


def test_numbers_need_levels_and_levels_have_means(meter: Path, tmp_path: Path) -> None:
    refused = run("belief", "fit", meter, "--column", "watts", code=2)
    assert "different numbers" in refused.stderr
    assert "--bins LOW:HIGH:LEVELS" in refused.stderr
    levels, fitted = ("--column", "watts", "--bins", "0:300:3"), tmp_path / "levels.json"
    run("belief", "fit", meter, *levels, "--out", fitted, code=0)
    made = answer("release", meter, *levels, "--belief", fitted, "--query", "mean", "--epsilon", 50)
    assert abs(made["value"] - 150) < 20


def test_beliefs_are_shown_in_words_and_pictures(belief: Path, tmp_path: Path) -> None:
    page = tmp_path / "belief.html"
    shown = run("belief", "show", belief, "--out", page).stdout
    assert "10 steps" in shown
    assert "forgets  after 5 steps" in shown
    assert "█0.90" in shown
    assert "<svg" in page.read_text()
    assert answer("belief", "show", belief)["forgets_after"] == 5
    garden = tmp_path / "garden.bif"
    garden.write_text(SPRINKLER)
    named = run("belief", "show", garden, "--out", page).stdout
    assert "dry, damp, wet" in named
    assert "wet grass" in page.read_text()
    belief.write_text(json.dumps({"kind": "set", "members": [BELIEF, BELIEF]}))
    run("belief", "show", belief, "--out", page, code=0)
    assert "Chain 2 of 2" in page.read_text()


def test_a_belief_from_words(tmp_path: Path) -> None:
    path = tmp_path / "day.json"
    words = ("--state", "sleep=7h", "--state", "walk=30min", "--state", "sit=1h", "--step", "15min")
    run("belief", "new", *words, "--follows", "sleep=sit", "--follows", "walk=sit:3,sleep:1", "--out", path, code=0)
    made = load_belief(path)
    assert made.states == ("sleep", "walk", "sit")
    assert made.chains[0].transition[1].tolist() == pytest.approx([0.125, 0.5, 0.375])
    assert answer("belief", "new", "--state", "on=3", "--state", "off=9")["states"] == ["on", "off"]
    for wrong in (
        ["--state", "on"],
        ["--state", "on=3", "--state", "on=9"],
        ["--state", "on=3", "--state", "off=9", "--follows", "on=off:x"],
        ["--state", "on=3h", "--state", "off=9"],
    ):
        assert run("belief", "new", *wrong, code=2).stderr.startswith("error: ")


def test_the_wizard_asks(tmp_path: Path) -> None:
    path = tmp_path / "asked.json"
    typed = ["15min", "sleep", "walk", "sit", "", "7h", "30min", "1h", "sit", "sit:3,sleep:1", "", str(path), ""]
    done = CliRunner().invoke(app, ["belief", "new"], input="\n".join(typed))
    assert done.exit_code == 0, done.output
    made = load_belief(path).chains[0]
    assert made.transition[0].tolist() == pytest.approx([1 - 1 / 28, 0, 1 / 28])
    assert made.transition[2].tolist() == pytest.approx([0.125, 0.125, 0.75])
