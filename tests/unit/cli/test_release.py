"""Plan, release and demo."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from shell import answer, run, without_reader


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


def test_delta_is_labelled(belief: Path, diary: Path) -> None:
    made = answer("plan", belief, "--query", "count:walk", "--length", 30, "--epsilon", 1, "--delta", 0.2)
    guarantees = {m["mechanism"]: m.get("guarantee") for m in made["mechanisms"]}
    assert guarantees["wasserstein"] == "approximate pufferfish"
    assert guarantees["quilt-exact"] == "approximate pufferfish"  # Gaussian noise is the smaller here
    pure = answer("plan", belief, "--query", "count:walk", "--length", 30, "--epsilon", 1, "--noise", "laplace")
    assert {m.get("guarantee") for m in pure["mechanisms"]} == {"pufferfish", "none", None}
    common = ("release", diary, "--column", "doing", "--belief", belief, "--query", "count:walk", "--epsilon", 1)
    found = answer(*common, "--subject", "who", "--mechanism", "wasserstein", "--delta", 0.01)
    assert (found["guarantee"], found["detail"]["delta"]) == ("approximate pufferfish", 0.01)
    wide = answer(*common, "--subject", "who", "--delta", 1e-6, "--noise", "gaussian")
    assert (wide["guarantee"], wide["record"]["noise"], wide["record"]["delta"]) == (
        "approximate pufferfish",
        "gaussian",
        1e-6,
    )
    assert run(*common, "--delta", 0.2).returncode == 2


def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("demo")
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if line and not line.startswith("Compiling")]
    assert told == [
        "Reading the sample diary ...",
        "Comparing mechanisms ...",
        "Releasing ...",
        "Drawing the report ...",
    ]
    assert "in steps of 15min" in done.stdout
    assert "private histogram" in done.stdout
    assert "sleep" in done.stdout
    assert (tmp_path / "quiltwork-report.html").exists()
    run("demo", "--files", tmp_path / "sample")
    again = answer(
        "release", tmp_path / "sample/diary.parquet", "--column", "activity", "--subject", "person", "--time", "time",
        "--belief", tmp_path / "sample/belief.json", "--query", "count:sleep", "--epsilon", 2,
    )  # fmt: skip
    assert again["length"] == 2688


WITHOUT = """
import sys
sys.modules["altair"] = None  # as if it were not installed
sys.path.insert(0, sys.argv[1])
from shell import answer, run, without_reader
from quiltwork import MarkovChain
from quiltwork.errors import NotInstalledError

install, ledger = 'pip install "quiltwork[pictures]"', "sqlite:///ledger.db"
belief, diary = sys.argv[2:]
assert install in run("demo", code=0).stdout
run("ledger", "create", ledger, "--belief", belief, "--budget", 2, code=0)
asked = ("release", diary, "--column", "doing", "--subject", "who", "--time", "t", "--belief", belief)
asked += ("--query", "histogram", "--epsilon", 1, "--ledger", ledger, "--out")
run(*asked, "table.csv", code=0)
assert install in run(*asked, "report.html", code=2).stderr
assert 0.9 < answer("ledger", "show", ledger)["spent"] < 1.1  # the report was refused before anything was spent
for words in (("belief", "show", belief), ("plan", belief, "--query", "histogram", "--length", 9, "--epsilon", 1)):
    run(*words, code=0)
    assert install in run(*words, "--out", "page.html", code=2).stderr
chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
assert chain._repr_html_() is None
try:
    chain.plot()
except NotInstalledError as problem:
    print(problem)
"""


def test_all_but_pictures_works_without_what_draws(belief: Path, diary: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT, str(Path(__file__).parents[2]), str(belief), str(diary)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'pip install "quiltwork[pictures]"' in done.stdout, done.stderr


@pytest.mark.parametrize("form", ["table", "json", "csv"])
@pytest.mark.parametrize("out", ["kept.csv", None])
def test_a_value_outlives_its_reader(form: str, out: str | None, belief: Path, diary: Path, tmp_path: Path) -> None:
    """As in ``quiltwork release .. | true``: the value was paid for."""
    words = [diary, "--column", "doing", "--subject", "who", "--time", "t", "--belief", belief, "--query", "histogram"]
    words += ["--epsilon", "1", "--format", form, *([] if out is None else ["--out", out])]
    done = without_reader("release", *words, cwd=tmp_path)
    told = done.stderr
    assert done.returncode == 0, told
    if out is None:
        assert '"noise_scale"' in told
    else:
        assert "cannot be written" not in told
        assert (tmp_path / out).read_text().startswith("query,")


def test_tables_out(belief: Path, diary: Path, tmp_path: Path) -> None:
    asked: tuple[object, ...] = ("release", diary, "--column", "doing", "--subject", "who", "--time", "t")
    asked = (*asked, "--belief", belief, "--query", "histogram", "--epsilon", 1)
    printed = run(*asked, "--format", "csv", code=0).stdout.splitlines()
    assert printed[0].startswith("query,state,value,error_95")
    assert len(printed) == 3
    assert run(*asked, "--format", "markdown", code=0).stdout.startswith("| query | state | released |")
    assert set(json.loads(run(*asked, "--format", "json", code=0).stdout)["value"]) == {"sit", "walk"}
    table, page = tmp_path / "result.parquet", tmp_path / "result.html"
    found = answer(*asked, "--out", table, "--out", page)
    assert (found["report"], found["files"]) == (str(page), [str(table), str(page)])
    assert table.read_bytes()[:4] == b"PAR1"
    shown = run(*asked, "--out", tmp_path / "result.csv", code=0).stdout
    assert f"Written: {tmp_path / 'result.csv'}" in shown
    refused = run(*asked, "--json", "--format", "csv", code=2)
    assert "one form can be printed" in refused.stderr
    refused = run(*asked, "--out", diary, code=2)
    assert "a file of its own" in refused.stderr
