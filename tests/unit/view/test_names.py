"""Names from outside: checked on entry, never obeyed by a terminal or a page; and nothing that is spent is lost."""

import json
from pathlib import Path

import pytest
from shell import answer, run, without_reader

from quiltwork import BayesianNetwork, InputError, JointTable, MarkovChain, Session, release, save_belief
from quiltwork.errors import visible
from quiltwork.view.charts.style import styled, to_svg
from quiltwork.view.html import page
from quiltwork.view.view import Sentences, View

NASTY = ["a\x01", "a\ufffe", "a\ud800", "a\x1b[2J", "a\u202e", "a\u2066", "a\x9b", "a\n", "a\t", "\x00", "a\U0001ffff"]
P = [[0.9, 0.1], [0.4, 0.6]]


@pytest.mark.parametrize("name", NASTY)
def test_names_are_checked_on_entry(name: str) -> None:
    with pytest.raises(InputError, match=r"the name of a state must be printable, got one with U\+"):
        MarkovChain(P, states=[name, "b"])
    with pytest.raises(InputError, match=r"the name of a variable must be printable"):
        BayesianNetwork({name: "01"}, tables={name: [0.5, 0.5]})
    with pytest.raises(InputError, match=r"the name of a state must be printable"):
        JointTable({"x": [name, "b"]}, [((name,), 1.0)])
    chain = MarkovChain(P, states=["sit", "walk"])
    session = Session(["sit", "walk"], belief=chain, budget=1.0)
    with pytest.raises(InputError, match="printable"):
        Session(["sit", "walk"], belief=chain, budget=1.0, who=name)
    assert session.spent() == 0.0


def test_names_of_many_languages_are_welcome() -> None:
    names = ["歩く", "ходить", "être assis", "🚶‍♀️", "می‌نشیند"]
    chain = MarkovChain([[0.2] * 5] * 5, initial="stationary", states=names)
    assert set(release(names * 3, "histogram", belief=chain, epsilon=1.0, anyway=True).value) == set(names)


def test_subjects_are_checked_before_anything_is_spent(tmp_path: Path) -> None:
    save_belief(MarkovChain(P, initial="stationary", states=["sit", "walk"]), tmp_path / "belief.json")
    data, ledger = tmp_path / "data.csv", tmp_path / "ledger.db"
    data.write_text("who,what\n" + "".join(f"a\x01,{what}\nb,{what}\n" for what in ("sit", "walk")))
    asked: tuple[object, ...] = (
        "release",
        "--anyway",
        data,
        "--column",
        "what",
        "--subject",
        "who",
        "--belief",
        tmp_path / "belief.json",
    )
    asked = (*asked, "--query", "histogram", "--epsilon", 0.5, "--ledger", ledger, "--out", tmp_path / "r.html")
    run("ledger", "create", ledger, "--belief", tmp_path / "belief.json", "--budget", 1, code=0)
    refused = run(*asked, "--by-subject", code=2)
    assert "the name of a subject must be printable, got one with U+0001" in refused.stderr
    assert answer("ledger", "show", ledger)["spent"] == 0.0
    assert run(*asked).returncode == 0  # names that are not shown do no harm


def test_a_chart_never_ends_the_process() -> None:
    import altair as alt

    for name in NASTY:
        rows = [{"name": name, "value": 1}]
        chart = alt.Chart(alt.InlineData(rows)).mark_bar().encode(y="name:N", x="value:Q")
        assert "<svg" in to_svg(styled(chart))


def test_pages_and_terminals_do_not_obey() -> None:
    for name in NASTY[3:7]:
        assert visible(name).isprintable()
        shown = page(name, View(name, blocks=[Sentences([name])]))
        assert not any(sign in shown for sign in ("\x1b", "\u202e", "\u2066", "\x9b"))


@pytest.mark.parametrize("as_json", [False, True])
def test_a_report_that_fails_is_a_warning(as_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value is printed first: a report that cannot be written does not lose it."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no drawing today")

    monkeypatch.setattr("quiltwork.view.report.write_report", broken)
    chain = MarkovChain(P, initial="stationary", states=["sit", "walk"], step=1)
    save_belief(chain, tmp_path / "belief.json")
    (tmp_path / "data.csv").write_text("what\nsit\nwalk\n")
    asked: tuple[object, ...] = (
        "release",
        "--anyway",
        tmp_path / "data.csv",
        "--column",
        "what",
        "--belief",
        tmp_path / "belief.json",
    )
    asked = (*asked, "--query", "histogram", "--epsilon", 1, "--out", tmp_path / "report.html")
    done = run(*asked, *(["--json"] if as_json else []))
    assert done.returncode == 0
    assert "warning: the report could not be written (RuntimeError)" in done.stderr
    assert "sit" in done.stdout
    if as_json:
        assert set(json.loads(done.stdout)["value"]) == {"sit", "walk"}


def test_values_that_cannot_be_printed_go_to_standard_error(tmp_path: Path) -> None:
    import subprocess
    import sys

    save_belief(MarkovChain(P, initial="stationary", states=["sit", "walk"], step=1), tmp_path / "belief.json")
    (tmp_path / "data.csv").write_text("what\n" + "sit\nwalk\n" * 50)
    command = [
        sys.executable,
        "-c",
        "from quiltwork.cli import main; main()",
        "release",
        str(tmp_path / "data.csv"),
        "--anyway",
    ]
    command += ["--column", "what", "--belief", str(tmp_path / "belief.json"), "--query", "histogram", "--epsilon", "1"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0
    assert '"value": {"sit":' in done.stderr
    piped = without_reader(*command[3:])
    assert "quiltwork kept" in piped.stderr  # so does one whose reader has gone: it was paid for
    assert '"value": {"sit":' in piped.stderr
