"""Options that say how a file is written and what its values are called, for every command that reads data."""

import json
from pathlib import Path

import pytest
from shell import answer, run


@pytest.fixture
def lamp(tmp_path: Path) -> tuple[Path, Path]:
    """A lamp that is off (0) or on (1), every quarter of an hour, as a German spreadsheet exports it."""
    belief, data = tmp_path / "lamp.json", tmp_path / "lamp.csv"
    chain = {"kind": "chain", "states": ["off", "on"], "transition": [[0.9, 0.1], [0.4, 0.6]], "initial": "any"}
    belief.write_text(json.dumps(chain | {"step": "15min"}))
    rows = [f"{1 + n // 96}.2.2024;{n % 96 // 4:02}:{15 * (n % 4):02};{n % 3 % 2};{n % 7},5" for n in range(192)]
    data.write_text("Datum;Zeit;an;Watt\n" + "\n".join(rows) + "\n")
    return belief, data


def test_one_way_of_reading_for_every_command(lamp: tuple[Path, Path], tmp_path: Path) -> None:
    belief, data = lamp
    names = tmp_path / "names.csv"
    names.write_text("value,state\n0,off\n1,on\n")
    reading = ("--column", "an", "--time", "Datum,Zeit", "--date-format", "dd.mm.yyyy", "--recode", names)
    fitted = answer("belief", "fit", data, *reading)
    assert (fitted["states"], fitted["step"]) == (["off", "on"], "15min")
    assert answer("belief", "check", belief, data, *reading)["verdict"]
    asked = ("--belief", belief, "--query", "mean", "--epsilon", 1, "--state-values", "off=0,on=60.5")
    days = answer("release", data, *reading, *asked, "--window", "day")
    assert list(days["value"]) == ["2024-02-01", "2024-02-02"]
    assert days["record"]["reading"]["recode"] == {"0": "off", "1": "on"}
    assert days["record"]["reading"]["time"] == "Datum,Zeit"
    planned = answer("plan", belief, *asked[2:], "--length", 192, "--values", 96)
    best = min(offer["noise_scale"] for offer in planned["mechanisms"] if offer.get("guarantee") == "pufferfish")
    assert days["noise_scale"] >= best * (1 - 1e-9)
    levels = answer("belief", "fit", data, "--column", "Watt", "--bins", "2,4", "--time", "Datum,Zeit", *reading[4:6])
    assert levels["states"] == ["<2", "2..4", ">=4"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--query", "mean", "--state-values", "of=0,on=1"), "got 'of'. Did you mean 'off'? Its states: off, on"),
        (("--query", "mean", "--state-values", "on=1"), "got state 'off' without one"),
        (("--query", "mean"), "--state-values off=0,on=1.5"),
        (("--query", "histogram", "--state-values", "off=0,on=1"), "for mean and sum, got query 'histogram'"),
        (("--query", "histogramm"), "Did you mean histogram?"),
        (("--query", "count"), "Did you mean count:STATE?"),
    ],
)
def test_numbers_for_states_are_checked(lamp: tuple[Path, Path], given: tuple[str, ...], message: str) -> None:
    done = run("plan", lamp[0], "--epsilon", 1, "--length", 10, *given, code=2)
    assert message in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.json", '{"0": "off", "0": "on"}', "must name each once"),
        ("r.json", "[1]", "must be one object of names"),
        ("r.toml", "0 = ", "must be TOML"),
        ("r.csv", "0,off\n", "First line: value,state"),
        ("r.csv", "value,state\n0,off,1\n", "two columns in every line"),
        ("r.txt", "", "must end in .json, .toml or .csv"),
    ],
)
def test_files_of_names_are_checked(lamp: tuple[Path, Path], name: str, content: str, message: str) -> None:
    belief, data = lamp
    file = belief.with_name(name)
    file.write_text(content)
    done = run("belief", "check", belief, data, "--column", "an", "--recode", file, code=2)
    assert message in done.stderr


def test_names_in_toml(lamp: tuple[Path, Path]) -> None:
    file = lamp[0].with_name("r.toml")
    file.write_text('0 = "off"\n"*" = "on"\n')
    assert answer("belief", "fit", lamp[1], "--column", "an", "--recode", file)["states"] == ["off", "on"]
