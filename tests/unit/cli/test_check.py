"""Audit, compose, leakage and reproduce."""

import json
from pathlib import Path
from unittest import mock

import pytest
from shell import answer, run


def test_audit(belief: Path, tmp_path: Path) -> None:
    pair = tmp_path / "pair.json"
    chain = {"kind": "chain", "transition": [[0.99, 0.01], [0.1, 0.9]], "initial": [0.1, 0.9]}
    pair.write_text(json.dumps(chain))
    common = ("audit", pair, "--query", "count:1", "--length", 2, "--noise-scale", 1)
    assert answer(*common)["epsilon"] == pytest.approx(1.9176648, abs=1e-7)
    two = answer(*common, "--releases", 2)
    assert two["epsilon"] == pytest.approx(3.8476323, abs=1e-7)
    assert {"epsilon", "node", "pair", "output"} <= set(two)
    known = answer(*common, "--know", "2=1", "--segment", "1:1", "--out", tmp_path / "audit.html")
    assert known["epsilon"] == pytest.approx(1.0)
    assert (tmp_path / "audit.html").read_text().count("<svg") == 2
    drawn = run(*common, "--releases", 2, "--out", tmp_path / "two.html")
    assert "Attained at time 1" in drawn.stdout
    joint = {"kind": "joint", "variables": {"a": ["0", "1"]}, "table": [{"a": "0", "p": 0.5}, {"a": "1", "p": 0.5}]}
    belief.write_text(json.dumps(joint))
    assert answer("audit", belief, "--query", "count:1", "--noise-scale", 2)["node"] == "a"
    assert answer("belief", "show", belief)["outcomes"] == 2


def test_compose(tmp_path: Path) -> None:
    belief, releases = tmp_path / "belief.json", tmp_path / "releases.json"
    belief.write_text('{"kind": "chain", "transition": [[0.9, 0.1], [0.4, 0.6]], "initial": "stationary"}')
    releases.write_text(
        '[{"mechanism": "curve", "epsilon": 0.5, "noise_scale": 6.7, "lipschitz": 1, "segment": [1, 400]},'
        ' {"mechanism": "curve", "epsilon": 0.5, "noise_scale": 6.7, "lipschitz": 1, "segment": [300, 700]}]'
    )
    page = tmp_path / "together.html"
    done = run("compose", belief, releases, "--length", 1000, "--budget", 1.5, "--out", page, "--json")
    found = json.loads(done.stdout)
    assert found["rule"] == "influence-curve"
    assert found["epsilon"] == pytest.approx(1.0, abs=0.05)
    assert [set(rule) for rule in found["rules"]] == [{"rule", "applies", "epsilon", "why"}] * len(found["rules"])
    names = {"sequential-quilt", "same-quilts", "separate-segments", "far-segments", "divergence", "influence-curve"}
    assert names | {"bayesian"} <= {rule["rule"] for rule in found["rules"]}
    assert "<svg" in page.read_text()
    assert "budget 1.5" in page.read_text()
    text = run("compose", belief, releases, "--length", 1000, "--budget", 0.5).stdout
    assert "exceeded by" in text
    assert "The privacy loss is largest at" in text
    releases.write_text('[{"mechanism": "wasserstein", "epsilon": 1}, {"mechanism": "wasserstein", "epsilon": 1}]')
    refused = run("compose", belief, releases, "--length", 1000, code=4)
    assert "no theorem bounds" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    releases.write_text('[{"mechanism": "curve", "noise_scale": 1, "lipschitz": 1, "segment": [5, 2000]}]')
    assert "within the 1,000 values" in run("compose", belief, releases, "--length", 1000, code=2).stderr


def test_leakage_and_bayesian_plans(tmp_path: Path) -> None:
    belief = tmp_path / "belief.json"
    belief.write_text('{"kind": "chain", "transition": [[0.99, 0.01], [0.1, 0.9]], "initial": [0.1, 0.9]}')
    asked = ["leakage", belief, "--query", "count:1", "--noise-scale", 1]
    found = json.loads(run(*asked, "--length", 2, "--releases", 2, "--json", code=0).stdout)
    assert {"epsilon", "node", "knows", "method"} <= set(found)
    assert found["epsilon"] == pytest.approx(3.847632, abs=1e-6)
    assert (found["node"], found["knows"], found["method"]) == (1, {}, "enumeration")
    assert "The worst adversary attacks time" in run(*asked, "--length", 6, code=0).stdout
    assert json.loads(run(*asked, "--length", "any", "--json", code=0).stdout)["method"] == "projective"
    assert "releases must be" in run(*asked, "--length", 2, "--releases", 0, code=2).stderr
    assert "at most 400" in run(*asked, "--length", 1000, "--method", "enumeration", code=4).stderr
    plan = ["plan", belief, "--query", "count:1", "--length", 100, "--epsilon", 1, "--guarantee", "bayesian"]
    offers = {o["mechanism"]: o for o in json.loads(run(*plan, "--json", code=0).stdout)["mechanisms"]}
    assert offers["curve"]["guarantee"] == "bayesian"
    assert "no Bayesian guarantee" in offers["quilt-exact"]["refused"]
    made = json.loads(run("reproduce", "bayesian-counterexamples", "--out", tmp_path / "r", "--json", code=0).stdout)
    assert len(made["rows"]) == 2
    assert "Known:" in run("reproduce", "nothing", code=2).stderr
    releases = tmp_path / "releases.json"
    releases.write_text('[{"noise_scale": 5, "query": "count:1"}, {"noise_scale": 5, "query": "count:1"}]')
    compose = ["compose", belief, releases, "--length", 50, "--json"]
    both = [json.loads(run(*compose, *more, code=0).stdout)["epsilon"] for more in ((), ("--guarantee", "bayesian"))]
    assert both[0] < both[1]


def test_the_command(tmp_path: Path) -> None:
    run("demo", "--files", tmp_path, code=0)
    own = ["--data", tmp_path / "diary.parquet", "--column", "activity", "--subject", "person", "--time", "time"]
    asked = ["reproduce", "activity", "--quick", "--out", tmp_path / "made", *own, "--belief", tmp_path / "belief.json"]
    assert "Add --yes if you may see and keep them" in run(*asked, code=2).stderr
    asking = mock.patch("quiltwork.cli.check.can_ask", return_value=True)
    with asking, mock.patch("typer.confirm", return_value=False) as confirm:
        assert "Nothing was read or shown" in run(*asked, code=130).stderr
    assert "true shares of your own data, without noise" in confirm.call_args.args[0]
    elsewhere = ["nowhere.parquet" if word == tmp_path / "diary.parquet" else word for word in asked]
    with asking, mock.patch("typer.confirm", return_value=True):
        assert "nowhere.parquet cannot be read" in run(*elsewhere, code=2).stderr
    assert not (tmp_path / "made").exists()
    found = answer(*asked, "--yes")
    assert found["name"] == "activity"
    assert "true shares of your own data" in found["remarks"][0]
    assert "--yes without --data" in run("reproduce", "activity", "--yes", code=2).stderr
    assert "only some of them" in run("reproduce", "activity", "--data", "x.csv", code=2).stderr
    assert "--gap" in run("reproduce", "sequential", "--gap", "1h", code=2).stderr
    assert "figure-2" in run("reproduce", "nothing", code=2).stderr


def test_public_data_comes_from_a_folder(tmp_path: Path) -> None:
    assert "Give --data FOLDER with aras_house1.csv.gz" in run("reproduce", "real", code=2).stderr
    asked = ["reproduce", "real", "--data", tmp_path, "--out", tmp_path / "made"]
    assert "has none of the files that real needs" in run(*asked, code=2).stderr
    assert "real takes --data alone" in run(*asked, "--column", "power", code=2).stderr
    assert "real takes --data alone" in run(*asked, "--yes", code=2).stderr
    assert not (tmp_path / "made").exists()
