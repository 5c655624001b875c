"""The command, as a user meets it: exit codes, one line on stderr, one JSON object on stdout."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from shell import answer, run

BELIEF: dict[str, Any] = {
    "kind": "chain",
    "states": ["sit", "walk"],
    "transition": [[0.9, 0.1], [0.4, 0.6]],
    "initial": "stationary",
}


@pytest.fixture
def belief(tmp_path: Path) -> Path:
    path = tmp_path / "belief.json"
    path.write_text(json.dumps(BELIEF))
    return path


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    path = tmp_path / "diary.csv"
    who = ["ann"] * 60 + ["bob"] * 60
    pl.DataFrame({"who": who, "doing": ["sit", "sit", "walk"] * 40, "t": list(range(60)) * 2}).write_csv(path)
    return path


def test_version_and_help() -> None:
    assert run("--version").stdout.startswith("quiltwork 0.")
    for command in (
        (),
        ("plan",),
        ("release",),
        ("belief",),
        ("belief", "fit"),
        ("belief", "show"),
        ("audit",),
        ("demo",),
    ):
        done = run(*command, "--help")
        assert done.returncode == 0
        assert "Usage" in done.stdout


def test_plan(belief: Path) -> None:
    made = answer("plan", belief, "--query", "count:walk", "--length", 1000, "--epsilon", 1)
    assert (made["query"], made["epsilon"], made["length"], made["lipschitz"]) == ("count:walk", 1.0, 1000, 1.0)
    curve, exact, approx, _, group, gk16, audited, entry = made["mechanisms"]
    assert round(exact["noise_scale"], 5) == 12.83996
    assert round(curve["noise_scale"], 4) == 3.3364
    assert {"node", "left", "right", "max_influence", "nearby"} <= set(exact["detail"])
    assert exact["detail"]["left"] == exact["detail"]["right"] == 5
    assert exact["guarantee"] == approx["guarantee"] == group["guarantee"] == "pufferfish"
    assert entry["guarantee"] == "none"
    assert "spectral norm" in gk16["refused"]
    assert exact["error_95"] == 38
    assert exact["seconds"] > 0
    assert "--mechanism audited" in audited["refused"]
    text = run("plan", belief, "--query", "histogram", "--length", "any", "--epsilon", 1, "--mechanism", "quilt-exact")
    assert "25.6799" in text.stdout
    assert "quilt-approx" not in text.stdout


def test_release(belief: Path, diary: Path, tmp_path: Path) -> None:
    common = ("release", diary, "--column", "doing", "--belief", belief, "--epsilon", 1, "--subject", "who")
    found = answer(*common, "--query", "histogram", "--time", "t", "--out", tmp_path / "report.html")
    assert set(found["value"]) == {"sit", "walk"}
    assert {"noise_scale", "error_95", "epsilon", "mechanism", "guarantee", "ledger"} <= set(found)
    report = (tmp_path / "report.html").read_text()
    assert "<svg" in report
    assert "http://" not in report.replace("http://www.w3.org", "")
    assert "https://" not in report
    shown = run(*common, "--query", "frequencies", "--segment", "1:30").stdout
    assert "95 %" in shown
    assert "Theorem" in shown
    missing = tmp_path / "holes.csv"
    missing.write_text("doing\nsit\n\nwalk\nNA\n")
    refused = run("release", missing, *common[2:-2], "--query", "histogram")
    assert refused.returncode == 2


def test_belief_commands(diary: Path, belief: Path, tmp_path: Path) -> None:
    done = run("belief", "fit", diary, "--column", "doing", "--subject", "who", "--out", tmp_path / "new.json")
    assert done.returncode == 0
    assert "must not come from the data it is to protect" in done.stderr
    assert answer("belief", "show", tmp_path / "new.json")["states"] == ["sit", "walk"]
    bounds = answer("belief", "fit", diary, "--column", "doing", "--confidence", 0.9)
    assert bounds["kind"] == "interval"
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


def test_demo(tmp_path: Path) -> None:
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "private histogram" in done.stdout
    assert "sleep" in done.stdout
    assert (tmp_path / "quiltwork-report.html").exists()
    run("demo", "--files", tmp_path / "sample")
    again = answer(
        "release", tmp_path / "sample/diary.parquet", "--column", "activity", "--subject", "person", "--time", "time",
        "--belief", tmp_path / "sample/belief.json", "--query", "count:sleep", "--epsilon", 2,
    )  # fmt: skip
    assert again["length"] == 2688


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


def test_delta_is_labelled(belief: Path, diary: Path) -> None:
    made = answer("plan", belief, "--query", "count:walk", "--length", 30, "--epsilon", 1, "--delta", 0.2)
    guarantees = {m["mechanism"]: m.get("guarantee") for m in made["mechanisms"]}
    assert guarantees["wasserstein"] == "approximate pufferfish"
    assert guarantees["quilt-exact"] == "pufferfish"
    common = ("release", diary, "--column", "doing", "--belief", belief, "--query", "count:walk", "--epsilon", 1)
    found = answer(*common, "--subject", "who", "--mechanism", "wasserstein", "--delta", 0.2)
    assert (found["guarantee"], found["detail"]["delta"]) == ("approximate pufferfish", 0.2)
    assert run(*common, "--delta", 0.2).returncode == 2


def test_awkward_names_and_places(belief: Path, tmp_path: Path) -> None:
    belief.write_text(json.dumps({**BELIEF, "states": ["[/u]", "[red]x"]}))
    data = tmp_path / "d.csv"
    data.write_text("s\n[/u]\n[red]x\n")
    common = ("release", data, "--column", "s", "--belief", belief, "--query", "histogram", "--epsilon", 1)
    assert "[/u]" in run(*common).stdout
    assert run("belief", "show", belief).returncode == 0
    for wrong in (data, tmp_path / "x.txt", tmp_path / "no" / "x.html"):
        done = run(*common, "--out", wrong)
        assert (done.returncode, done.stdout) == (2, ""), wrong
    assert data.read_text().startswith("s\n")
    for wrong in (data, tmp_path / "no" / "x.json", tmp_path / "x.toml"):
        assert run("belief", "fit", data, "--column", "s", "--out", wrong).returncode == 2
    assert run("demo", "--files", data).returncode == 2
    assert set(answer("demo", "--files", tmp_path / "sample")) == {
        "diary",
        "belief",
        "stationary",
        "households",
        "household",
    }
    for bare in ((), ("belief",)):
        done = run(*bare)
        assert done.returncode == 2
        assert len(done.stderr.strip().splitlines()) == 1
    assert answer(*common, "--out", tmp_path / "r.html")["report"].endswith("r.html")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["plan", "BELIEF", "--query", "count:run", "--length", "9", "--epsilon", "1"], 2, "Choose from sit, walk"),
        (["plan", "BELIEF", "--query", "median", "--length", "9", "--epsilon", "1"], 2, "Known: count:STATE"),
        (["plan", "BELIEF", "--query", "histogram", "--length", "0", "--epsilon", "1"], 2, "got 0"),
        (["plan", "BELIEF", "--query", "histogram", "--length", "x", "--epsilon", "1"], 2, "got 'x'"),
        (["plan", "BELIEF", "--query", "histogram", "--length", "9", "--epsilon", "0"], 2, "epsilon must be"),
        (["plan", "BELIEF", "--query", "histogram", "--length", "9", "--epsilon", "inf"], 2, "got inf"),
        (["plan", "BELIEF", "--query", "histogram", "--length", "9", "--epsilon", "nan"], 2, "got nan"),
        (["plan", "BELIEF", "--query", "histogram", "--length", "9", "--epsilon", "one"], 2, "--epsilon"),
        (["plan", "BELIEF", "--query", "histogram", "--length", "9"], 2, "--epsilon"),
        (["plan", "NOWHERE", "--query", "histogram", "--length", "9", "--epsilon", "1"], 2, "cannot be read"),
        (["plan", "BELIEF", "--query", "sum", "--length", "9", "--epsilon", "1"], 2, "number for every state"),
        (["plan", "BELIEF", "--query", "histogram", "--length", "9", "--epsilon", "1", "--mechanism", "m"], 2, "'m'"),
        (["plan", "BELIEF", "--query", "sum", "--length", "any", "--epsilon", "1", "--mechanism", "group"], 2, "sum"),
        (["plan", "BELIEF", "--query", "histogram", "--length", "any", "--epsilon", "1", "--mechanism", "group"],
         4, "length"),
        (["release", "DATA", "--column", "x", "--belief", "BELIEF", "--query", "histogram", "--epsilon", "1"],
         2, "'doing'"),
        (["release", "DATA", "--column", "t", "--belief", "BELIEF", "--query", "histogram", "--epsilon", "1"],
         2, "row 1"),
        (["release", "DATA", "--column", "doing", "--belief", "BELIEF", "--query", "histogram", "--epsilon", "1",
          "--mechanism", "entry"], 4, "no guarantee"),
        (["release", "DATA", "--column", "doing", "--belief", "BELIEF", "--query", "histogram", "--epsilon", "1",
          "--segment", "5"], 2, "A:B"),
        (["release", "NOWHERE", "--column", "doing", "--belief", "BELIEF", "--query", "histogram", "--epsilon", "1"],
         2, "cannot be read"),
        (["belief", "fit", "DATA", "--column", "nope"], 2, "'nope'"),
        (["nonsense"], 2, "nonsense"),
        (["audit", "BELIEF", "--query", "transitions", "--length", "5", "--noise-scale", "1"], 4, "adds up"),
        (["audit", "BELIEF", "--query", "histogram", "--length", "5", "--noise-scale", "0"], 2, "noise scale"),
        (["audit", "BELIEF", "--query", "histogram", "--length", "5", "--noise-scale", "1", "--know", "x"], 2, "'x'"),
        (["audit", "BELIEF", "--query", "histogram", "--noise-scale", "1", "--releases", "0"], 2, "at least 1"),
        (["audit", "BELIEF", "--query", "count:sit", "--length", "9999999", "--noise-scale", "1"], 4, "too large"),
    ],
)  # fmt: skip
def test_failures_are_one_line_and_an_exit_code(
    belief: Path, diary: Path, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    places = {"BELIEF": str(belief), "DATA": str(diary), "NOWHERE": str(tmp_path / "nowhere.csv")}
    before = sorted(tmp_path.iterdir())
    done = run(*[places.get(a, a) for a in arguments])
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert message in done.stderr
    assert sorted(tmp_path.iterdir()) == before


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
    assert "The most is told about" in text
    releases.write_text('[{"mechanism": "wasserstein", "epsilon": 1}, {"mechanism": "wasserstein", "epsilon": 1}]')
    refused = run("compose", belief, releases, "--length", 1000, code=4)
    assert "no theorem says" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    releases.write_text('[{"mechanism": "curve", "noise_scale": 1, "lipschitz": 1, "segment": [5, 2000]}]')
    assert "within the 1,000 values" in run("compose", belief, releases, "--length", 1000, code=2).stderr


def test_plan_for_several_releases(tmp_path: Path) -> None:
    belief = tmp_path / "belief.json"
    belief.write_text('{"kind": "chain", "transition": [[0.9, 0.1], [0.4, 0.6]], "initial": "stationary"}')
    asked = ["plan", belief, "--query", "count:1", "--length", 1000, "--epsilon", 1, "--releases", 10]
    found = json.loads(run(*asked, "--json").stdout)
    by_name = {offer["mechanism"]: offer for offer in found["mechanisms"]}
    assert found["releases"] == 10
    assert by_name["curve"]["noise_scale"] == pytest.approx(33.36, rel=0.01)
    assert by_name["curve"]["rule"] == "influence-curve"
    assert by_name["quilt-exact"]["noise_scale"] > 200
    assert "no theorem" in by_name["wasserstein"]["refused"]
    assert "would need" in run(*asked).stdout
    assert "releases must be" in run(*asked[:-1], 0, code=2).stderr


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
    assert "no Bayesian promise" in offers["quilt-exact"]["refused"]
    made = json.loads(run("reproduce", "bayesian-counterexamples", "--out", tmp_path / "r", "--json", code=0).stdout)
    assert len(made["rows"]) == 2
    assert "Known:" in run("reproduce", "nothing", code=2).stderr
    releases = tmp_path / "releases.json"
    releases.write_text('[{"noise_scale": 5, "query": "count:1"}, {"noise_scale": 5, "query": "count:1"}]')
    compose = ["compose", belief, releases, "--length", 50, "--json"]
    both = [json.loads(run(*compose, *more, code=0).stdout)["epsilon"] for more in ((), ("--guarantee", "bayesian"))]
    assert both[0] < both[1]
