"""The command, as a user meets it: exit codes, one line on stderr, one JSON object on stdout."""

import json
from pathlib import Path

import pytest
from examples import BELIEF
from shell import answer, run


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
    for group in ((), ("belief",), ("ledger",)):
        assert "..." not in run(*group, "--help").stdout.split("Commands:")[1]  # no summary is cut off


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
        "power",
        "measured",
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
         2, "other columns"),
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
