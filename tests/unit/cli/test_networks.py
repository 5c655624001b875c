"""Commands on networks."""

import json
from pathlib import Path
from typing import Any

import pytest
from shell import answer, run

from quiltwork import BayesianNetwork, InputError, load_belief, parse_query, read_records, release


def _plan_of_a_chain(folder: Path) -> Any:
    path = folder / "chain.json"
    path.write_text(json.dumps({"kind": "chain", "transition": [[0.5, 0.5], [0.5, 0.5]]}))
    return run("plan", path, "--query", "histogram", "--epsilon", 1, code=2)


def test_the_command_takes_networks(garden: Path, tmp_path: Path) -> None:
    made = answer("plan", garden, "--query", "count:yes over rain", "--epsilon", 1, "--out", tmp_path / "plan.html")
    quilts = next(m for m in made["mechanisms"] if m["mechanism"] == "quilt-exact")
    assert quilts["detail"]["node"] in ("rain", "sprinkler", "wet grass")
    assert quilts["detail"]["complete"] is True
    assert "quilt" in (tmp_path / "plan.html").read_text()
    exact = answer("audit", garden, "--query", "count:yes over rain", "--noise-scale", quilts["noise_scale"])
    assert exact["epsilon"] <= 1 + 1e-9
    assert exact["node"] in ("rain", "sprinkler", "wet grass")
    knowing = answer("audit", garden, "--query", "count:yes over rain", "--noise-scale", 2, "--know", "sprinkler=on")
    assert knowing["epsilon"] > 0
    leaked = answer("leakage", garden, "--query", "count:yes over rain", "--noise-scale", 2)
    assert leaked["method"] == "enumeration"
    assert leaked["epsilon"] >= knowing["epsilon"]
    data = tmp_path / "gardens.csv"
    data.write_text("rain,sprinkler,wet grass\nno,off,dry\nyes,on,wet\n")
    options = ("--belief", garden, "--query", "count:yes over rain", "--epsilon", 1)
    released = answer("release", "--anyway", data, *options, "--out", tmp_path / "release.html")
    assert released["guarantee"] == "pufferfish"
    assert "Parents above children" in (tmp_path / "release.html").read_text()
    log = tmp_path / "releases.json"
    log.write_text(json.dumps([released["record"], released["record"]]))
    composed = answer("compose", garden, log)
    assert composed["rule"] in ("influence-curve", "group")  # one variable was asked about
    assert 1 <= composed["epsilon"] <= 2 * (1 + 1e-6)
    log.write_text(json.dumps([{"mechanism": "quilt-exact", "epsilon": 1}, {"mechanism": "quilt-exact", "epsilon": 2}]))
    refused = run("compose", garden, log, code=4)
    assert "release 1 does not say" in refused.stderr
    log.write_text(json.dumps([released["record"] | {"segment": [1, 2]}]))
    assert "has no segment" in run("compose", garden, log, code=2).stderr
    assert "got --segment" in run("release", "--anyway", data, *options, "--segment", "1:2", code=2).stderr
    assert (
        "need the column with the values"
        in run("release", "--anyway", data, *options, "--variable", "rain", code=2).stderr
    )
    assert answer("belief", "show", garden)["variables"] == 3
    histogram = ("--query", "histogram", "--epsilon", 1)
    small = answer("plan", garden, *histogram, "--quilt-size", 1, "--mechanism", "quilt-exact")
    assert small["mechanisms"][0]["detail"]["quilt_size"] == 1
    assert "from 1 to 8" in run("plan", garden, *histogram, "--quilt-size", 9, code=2).stderr
    assert "a length is needed" in _plan_of_a_chain(tmp_path).stderr
    wrong = run("plan", garden, "--query", "histogram", "--epsilon", 1, "--length", 7, code=2)
    assert "7 for 3 variables" in wrong.stderr


def test_means_are_divided_by_what_was_asked(garden: Path, tmp_path: Path) -> None:
    data = tmp_path / "gardens.csv"
    data.write_text("rain,sprinkler,wet grass\n" + "no,off,dry\nyes,on,wet\n" * 50)
    options = ("--belief", garden, "--query", "frequencies over rain", "--epsilon", 1)
    made = answer("release", "--anyway", data, *options, "--out", tmp_path / "r.html")
    assert made["noise_scale"] == pytest.approx(made["record"]["noise_scale"] / 100)
    shown = (tmp_path / "r.html").read_text()
    assert f">{made['noise_scale']:.4g}<" in shown
    audited = answer(
        "audit", garden, "--query", "frequencies over rain", "--noise-scale", made["noise_scale"], "--values", 100
    )
    assert audited["epsilon"] <= 1 + 1e-9


def test_small_mistakes_get_an_answer(garden: Path, tmp_path: Path) -> None:
    wrong: list[tuple[tuple[object, ...], int, str]] = [
        (("plan", garden, "--query", "sum over rain=1e200", "--epsilon", 1), 2, "between 1e-50 and 1e50"),
        (("plan", garden, "--query", "count:yes over rain=0", "--epsilon", 1), 2, "leaves the variable out"),
        (("plan", garden, "--query", "transitions over rain", "--epsilon", 1), 2, "need a series"),
        (("plan", garden, "--query", "histogram", "--epsilon", 1, "--quilt-size", 0), 2, "from 1 to 8"),
        (
            ("plan", garden, "--query", "histogram", "--epsilon", 1, "--guarantee", "bayesian", "--mechanism", "curve"),
            4,
            "Use group",
        ),
        (("leakage", garden, "--query", "count:yes", "--noise-scale", 1, "--seconds", 0), 2, "must be positive"),
        (("audit", garden, "--query", "mean", "--noise-scale", 1, "--values", 0), 2, "at least 1"),
    ]
    for arguments, code, said in wrong:
        assert said in run(*arguments, code=code).stderr
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "twice.json").write_text('{"kind": "mixing", "states": 2, "states": 3, "pi_min": 0.1, "gap": 0.2}')
    (tmp_path / "none.json").write_text('{"kind": "network"}')
    for name, said in (("deep", "nested"), ("twice", "'states' twice"), ("none", "bif")):
        with pytest.raises(InputError, match=said):
            load_belief(tmp_path / f"{name}.json")
    assert load_belief(garden.with_suffix(".bif")) == load_belief(garden)
    (tmp_path / "twice.csv").write_text("rain,rain,sprinkler,wet grass\nno,yes,off,dry\n")
    network = load_belief(garden)
    assert isinstance(network, BayesianNetwork)
    with pytest.raises(InputError, match="'rain' for columns 1 and 2 of 4"):
        read_records(tmp_path / "twice.csv", belief=network)
    with pytest.raises(InputError, match="mapping of variables"):
        release([["no", "off", "dry"]], "count:no", belief=network, epsilon=1.0, anyway=True)
    assert parse_query("histogram  over  rain , sprinkler").text == "histogram over rain,sprinkler"
    assert parse_query("tally: rain = yes | no").text == "tally:rain=yes|no"
