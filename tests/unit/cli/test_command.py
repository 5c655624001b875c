"""The command, as a user meets it: exit codes, one line on stderr, one JSON object on stdout."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from examples import BELIEF
from shell import answer, run

from quiltwork.cli import app
from quiltwork.cli.listed import LISTED


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
    common = ("release", "--anyway", data, "--column", "s", "--belief", belief, "--query", "histogram", "--epsilon", 1)
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
        (["plan", "BELIEF", "--query", "mode", "--length", "9", "--epsilon", "1"], 2, "Known: count:STATE"),
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


@pytest.mark.parametrize(
    ("arguments", "code", "content"),
    [
        (["release", "DATA", "--column", "doing", "--belief", "BELIEF", "--query", "histogram", "--epsilon", "5",
          "--ledger", "LEDGER"], 3, {"kind": "budget", "requested": 5.0, "remaining": 1.0, "short": 4.0}),
        (["release", "DATA", "--column", "doing", "--belief", "BELIEF", "--query", "histogram", "--epsilon", "1",
          "--mechanism", "entry"], 4, {"kind": "not-covered"}),
        (["release", "NOWHERE", "--column", "doing", "--belief", "BELIEF", "--query", "histogram", "--epsilon", "1"],
         2, {"kind": "data"}),
        (["plan", "BELIEF", "--query", "count:wlak", "--length", "9", "--epsilon", "1"], 2, {"kind": "query"}),
        (["audit", "BELIEF", "--length", "9"], 2, {"kind": "usage"}),
    ],
)  # fmt: skip
def test_refusals_in_json(
    belief: Path, diary: Path, tmp_path: Path, arguments: list[str], code: int, content: dict[str, Any]
) -> None:
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    run("ledger", "create", ledger, "--belief", belief, "--budget", 1, code=0)
    places = {"BELIEF": belief, "DATA": diary, "NOWHERE": tmp_path / "nowhere.csv", "LEDGER": ledger}
    done = run(*[places.get(a, a) for a in arguments], "--json", code=code)
    refused = json.loads(done.stdout)
    assert done.stderr == f"error: {refused.pop('error')}\n"
    assert refused.pop("exit_code") == code
    assert refused.pop("kind") == content.pop("kind")
    assert refused == pytest.approx(content, rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plam"], "Did you mean 'plan'? See quiltwork --help."),
        (["plan", "BELIEF", "--legth", "9"], "Did you mean --length? See quiltwork plan --help."),
        (["plan", "BELIEF", "--guarantee", "bayes"], "Did you mean 'bayesian'?"),
        (["plan", "BELIEF", "--query", "count:wlak", "--length", "9", "--epsilon", "1"], "Did you mean 'walk'?"),
        (["plan", "BELIEF", "--query", "histogram", "--length", "9", "--epsilon", "1", "--mechanism", "curv"],
         "Did you mean 'curve'?"),
        (["plan", "BELIEF", "--query", "histogram", "--length", "9", "--epsilon", "1", "--secrets", "state:set"],
         "Did you mean 'sit'?"),
        (["release", "DATA", "--column", "Doing", "--belief", "BELIEF", "--query", "histogram", "--epsilon", "1"],
         "Did you mean 'doing'?"),
        (["release", "DATA", "--column", "doing", "--belief", "BELIEF", "--query", "histogram", "--epsilon", "1",
          "--window", "weekdays"], "Did you mean 'weekday'?"),
        (["release", "DATA", "--column", "doing", "--belief", "DATA", "--query", "histogram", "--epsilon", "1"],
         "it seems to hold data"),
        (["release", "DATA", "--column", "doing", "--time", "t", "--belief", "BELIEF", "--query", "histogram",
          "--epsilon", "1"], "If times start again with each person"),
        (["reproduce", "figure-3"], "Did you mean 'figure-2'?"),
    ],
)  # fmt: skip
def test_the_nearest_name_is_offered(belief: Path, diary: Path, arguments: list[str], said: str) -> None:
    done = run(*[{"BELIEF": belief, "DATA": diary}.get(a, a) for a in arguments], code=2)
    assert said in done.stderr


def test_files_that_cannot_be_used_come_with_a_next_step(belief: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("")
    asked = ("--query", "histogram", "--length", 5, "--epsilon", 1, "--mechanism", "group")
    new = tmp_path / "new"
    for arguments, said in (
        (("plan", tmp_path / "beleif.json", *asked), "Did you mean"),
        (("plan", tmp_path / "empty.json", *asked), "got an empty file. Check that it was written to the end"),
        (("plan", tmp_path, *asked), "it is a folder. Name a file in it"),
        (("plan", belief, *asked, "--out", new / "r.html"), f"mkdir -p {new}"),
        (("belief", "every", belief, 2, "--out", new / "b.json"), f"Create its folder first: mkdir -p {new}"),
        (("ledger", "create", new / "l.db", "--belief", belief, "--budget", 1), f"mkdir -p {new}"),
        (("ledger", "show", tmp_path / "belief.jso"), "belief.json? Create it first"),
        (("reproduce", "bayesian-counterexamples", "--out", belief), "Choose a name that is not taken"),
    ):
        assert said in run(*arguments, code=2).stderr, arguments


def test_an_unused_column_of_people_is_pointed_out(belief: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("user_id,doing\na,sit\na,walk\nb,sit\n")
    common = (
        "release",
        "--anyway",
        data,
        "--column",
        "doing",
        "--belief",
        belief,
        "--query",
        "histogram",
        "--epsilon",
        1,
    )
    done = run(*common, "--json", code=0)
    assert "warning: column 'user_id' is not used" in done.stderr
    assert "--subject user_id" in done.stderr
    assert json.loads(done.stdout)["subjects"] == 1
    assert "warning: column" not in run(*common, "--subject", "user_id").stderr


def test_help_has_examples_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    commands: dict[str, Any] = {}

    def walk(command: Any, path: str) -> None:
        for name, child in getattr(command, "commands", {}).items():
            walk(child, f"{path} {name}".strip())
        if not hasattr(command, "commands"):
            commands[path] = command

    walk(typer.main.get_command(app), "")
    assert set(commands) == {path for path, listed in LISTED.items() if listed.where}
    for path, command in commands.items():
        shown = run(*path.split(), "--help", code=0).stdout.split("Examples:\n")[1]
        assert max(map(len, shown.splitlines())) <= 80
        options = {name for parameter in command.params for name in parameter.opts}
        assert command.help.startswith(LISTED[path].says)
        assert LISTED[path].examples
        for example in LISTED[path].examples:
            assert all(line in shown for line in example.splitlines())
            words = shlex.split(example.replace("\\\n", " "))
            assert words[: 1 + len(path.split())] == ["quiltwork", *path.split()]
            assert {word for word in words if re.match("--", word)} <= options, example


def test_shells_complete_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "bash"))  # whatever started the tests
    assert "_QUILTWORK_COMPLETE=complete_bash" in run("--show-completion", code=0).stdout
    for name, value in (("_QUILTWORK_COMPLETE", "complete_bash"), ("COMP_CWORD", "2")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_WORDS", "quiltwork release --sep")
    assert run(code=0).stdout.split() == ["--separator"]
