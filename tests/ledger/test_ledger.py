"""The ledger: never overspent, never lost, and every change is seen. On SQLite and on PostgreSQL."""

import itertools
import json
import math
import os
import sqlite3
import stat
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from shell import answer, run

from quiltwork import (
    Accountant,
    BayesianNetwork,
    BudgetError,
    Count,
    DynamicNetwork,
    Histogram,
    InputError,
    Ledger,
    MarkovChain,
    NotCoveredError,
    Records,
    ReleaseRecord,
    Series,
    Session,
    Sum,
    save_belief,
)
from quiltwork.accounting.record import SMALLEST
from quiltwork.accounting.total import Total
from quiltwork.errors import LedgerError, NotInstalledError
from quiltwork.ledger import schema, verify_export
from quiltwork.numeric import add_up
from quiltwork.samples import contagion_belief

CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])
DATA = ["sit", "sit", "walk", "sit"] * 250
CONTEND = Path(__file__).parent / "contend.py"
COIN = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])


def contend(*arguments: object) -> str:
    done = subprocess.run([sys.executable, CONTEND, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_session_spends_and_refuses(url: str) -> None:
    session = Session(DATA, belief=CHAIN, budget=1.0, ledger=url, who="ann")
    made = session.count("walk", epsilon=0.5, anyway=True)
    assert abs(made.value - 250) <= made.error(0.999999999)
    assert made.ledger is not None
    assert made.ledger["row"] == 2
    assert session.spent() == pytest.approx(0.5, rel=1e-5)
    before = session.statement()
    with pytest.raises(BudgetError) as refused:
        session.histogram(epsilon=0.7, anyway=True)
    assert session.statement().to_dict() == before.to_dict()
    error = refused.value
    assert error.exit_code == 3
    assert error.remaining == pytest.approx(0.5, rel=1e-3)
    assert error.short_by == pytest.approx(error.requested - error.remaining, rel=1e-6)
    assert f"short by {error.short_by:.6g}" in str(error)
    fits = float(str(error).split("ε = ")[-1].split(" or less")[0])
    assert 0.3 < fits <= 0.500002
    assert session.histogram(epsilon=fits, anyway=True).value
    assert session.spent() <= 1.0
    assert session.remaining() < 0.03
    listed = session.releases()
    assert [(one["query"], one["outcome"], one["who"]) for one in listed] == [
        ("count:walk", "released", "ann"),
        ("histogram", "released", "ann"),
    ]
    assert listed[0]["theorem"].startswith("influence curve")
    assert "Spent" in session.explain()
    assert "count:walk by curve, ε = 0.5 (ann)" in session.explain()
    again = Session(DATA, belief=CHAIN, ledger=url, who="bob")
    assert again.spent() == session.spent()
    assert again.ledger.verify() == []


def test_the_bound_is_the_accountants(url: str) -> None:
    """The kept sum tells what the accountant tells, for releases on segments that overlap."""
    session = Session(DATA, belief=CHAIN, budget=5.0, ledger=url)
    made = [
        session.count("walk", epsilon=0.5, segment=(1, 300), anyway=True),
        session.histogram(epsilon=0.4, segment=(200, 700), anyway=True),
        session.count("sit", epsilon=0.3, anyway=True),
    ]
    records = [
        ReleaseRecord(noise_scale=one.noise_scale, query=one.record().query, segment=segment)
        for one, segment in zip(made, ((1, 300), (200, 700), None), strict=True)
    ]
    composed = Accountant(CHAIN, length=1000, releases=records).composed()
    assert session.spent() == pytest.approx(composed.epsilon, rel=1e-6)
    assert session.statement().rule == "influence-curve"


def test_quilt_releases_add_up_where_that_is_less() -> None:
    session = Session(DATA, belief=CHAIN, budget=5.0)
    session.count("walk", epsilon=0.5, mechanism="quilt-exact", anyway=True)
    session.count("walk", epsilon=0.5, mechanism="quilt-exact", anyway=True)
    assert session.spent() <= 1.0 + 1e-9
    only = Session(DATA, belief=CHAIN, budget=5.0)
    only.count("walk", epsilon=1.0, mechanism="group", anyway=True)
    assert only.spent() <= 1.0 + 1e-9


@pytest.mark.parametrize("mechanism", ["curve", "quilt-exact", "group", "audited", "wasserstein"])
def test_one_release_costs_no_more_than_its_epsilon(mechanism: str) -> None:
    session = Session(DATA[:40], belief=CHAIN, budget=0.5)
    session.count("walk", epsilon=0.5, mechanism=mechanism, anyway=True)
    assert session.spent() <= 0.5


def test_exactly_as_many_as_there_is_room_for(url: str) -> None:
    """12 processes ask 25 times each, with room for exactly 100: never 101, and never one refused too early."""
    Ledger.create(url, belief=COIN, budget=1.0)
    assert contend("many", url, 12, 25) == "100"
    ledger = Ledger(url)
    assert ledger.verify() == []
    now = ledger.statement()
    assert len(now.releases()) == 100
    assert now.to_dict()["without_outcome"] == 0
    assert now.spent <= 1.0


def test_what_was_shown_is_never_lost(tmp_path: Path) -> None:
    """50 processes killed at random moments: everything that was shown is in the ledger, and counts."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    Ledger.create(url, belief=COIN, budget=10_000.0)
    contend("kill", url, 50, tmp_path, 1)
    ledger = Ledger(url)
    assert ledger.verify() == []
    now = ledger.statement()
    recorded = {one["row"]: one["noise_scale"] for one in now.releases()}
    shown = [line.split() for file in tmp_path.glob("*.txt") for line in file.read_text().splitlines()]
    assert len(shown) >= 25
    for row, scale in shown:
        assert recorded[int(row)] == float(scale)
    record = ReleaseRecord(noise_scale=float(shown[0][1]), query="count:1")
    assert now.spent >= Accountant(COIN, length=2, releases=[record] * len(shown)).composed().epsilon
    assert len(recorded) >= len(shown)


def test_a_crash_on_the_way_counts_as_spent(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(DATA, belief=CHAIN, budget=1.0, ledger=url)

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("power cut")

    monkeypatch.setattr(sys.modules["quiltwork.releases.prepared"], "add_noise", broken)
    with pytest.raises(RuntimeError, match="power cut"):
        session.count("walk", epsilon=0.5, anyway=True)
    monkeypatch.undo()
    assert session.spent() == pytest.approx(0.5, rel=1e-5)
    assert session.statement().to_dict()["without_outcome"] == 1
    assert "no outcome recorded: it counts" in session.explain()
    assert session.ledger.verify() == []


def test_nothing_is_drawn_before_it_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(DATA, belief=CHAIN, budget=1.0)
    happened: list[str] = []

    def noted(name: str, work: Any) -> Any:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            happened.append(name)
            return work(*arguments, **options)

        return wrapped

    for target, name in (
        ("quiltwork.calibration.series.calibrated", "calibrate"),
        ("quiltwork.ledger.book.Ledger.reserve", "reserve"),
        ("quiltwork.question.question.Question.evaluate", "count"),
        ("quiltwork.releases.prepared.add_noise", "noise"),
        ("quiltwork.ledger.book.Ledger.complete", "record"),
    ):
        module, _, attribute = target.rpartition(".")
        owner: Any = sys.modules.get(module)
        if owner is None:
            above, _, inner = module.rpartition(".")
            owner = getattr(sys.modules[above], inner)
        monkeypatch.setattr(owner, attribute, noted(name, getattr(owner, attribute)))
    session.count("walk", epsilon=0.5, anyway=True)
    assert happened == ["calibrate", "count", "reserve", "noise", "record"]
    happened.clear()
    with pytest.raises(BudgetError):
        session.count("walk", epsilon=5.0, anyway=True)
    assert happened == ["calibrate", "count", "reserve"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE quiltwork_rows SET content = replace(content, '0.3', '0.1') WHERE number = 3", "row 3 was changed"),
        ("UPDATE quiltwork_rows SET time = '2020' WHERE number = 2", "row 2 was changed"),
        ("UPDATE quiltwork_rows SET content = replace(content, '2.0', '9.0') WHERE number = 1", "row 1 was changed"),
        ("DELETE FROM quiltwork_rows WHERE number = 3", "row 3 is missing"),
        ("DELETE FROM quiltwork_rows WHERE number >= 4", "outcome of row 4"),
        ("UPDATE quiltwork_rows SET hash = previous WHERE number = 3", "row 3 was changed"),
        ("UPDATE quiltwork_outcomes SET number = 9 WHERE number = 3", "outcome of row 9"),
        ("UPDATE quiltwork_outcomes SET time = '2020' WHERE number = 3", "outcome of row 3"),
        ("UPDATE quiltwork_kept SET sum = (SELECT sum FROM quiltwork_kept) || 'x'", "sum"),
        ("UPDATE quiltwork_kept SET epsilon = 0.0", "kept sum is not that of the last release"),
    ],
)
def test_every_change_is_seen(change: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    session = Session(DATA, belief=CHAIN, budget=2.0, ledger=path)
    for _ in range(3):
        session.count("walk", epsilon=0.3, anyway=True)
    session.ledger.close()
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()
    problems = []
    try:
        problems = Ledger(str(path)).verify()
        Ledger(str(path)).spent()
    except InputError as problem:
        problems.append(str(problem))
    assert any(said in problem for problem in problems), problems
    done = run("ledger", "verify", path)
    shown = run("ledger", "show", path)
    assert 2 in (done.returncode, shown.returncode)


def test_exports_are_checked_too(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    session = Session(DATA, belief=CHAIN, budget=2.0, ledger=path)
    for _ in range(3):
        session.count("walk", epsilon=0.3, anyway=True)
    file = tmp_path / "ledger.jsonl"
    assert answer("ledger", "export", path, "--out", file)["rows"] == 4
    head = answer("ledger", "verify", file)["head"]
    assert answer("ledger", "verify", path, "--head", head)["whole"] is True
    printed = run("ledger", "export", path, code=0).stdout
    assert printed == file.read_text()
    lines = file.read_text().splitlines()
    for wrong, said in (
        ([*lines[:3], lines[3].replace('"epsilon": 0.3', '"epsilon": 0.2'), *lines[4:]], "row 4 was changed"),
        ([*lines[:4], lines[4].replace("T", " "), *lines[5:]], "outcome of row 2 was changed"),
        ([*lines[:2], *lines[3:]], "row 3 is missing"),
        ([*lines[:2], lines[3], lines[2], *lines[4:]], "row 3 is missing"),
        ([*lines, "{}"], "line 8"),
        ([], "no rows"),
    ):
        file.write_text("\n".join(wrong))
        assert said in run("ledger", "verify", file, code=2).stderr
    file.write_text("\n".join(lines[:3]))
    assert run("ledger", "verify", file, code=0).stdout.startswith("3 rows, whole")
    assert "cut off" in run("ledger", "verify", file, "--head", head, code=2).stderr
    assert "cannot be read" in run("ledger", "verify", tmp_path / "absent.jsonl", code=2).stderr
    assert "end in .jsonl" in run("ledger", "export", path, "--out", tmp_path / "x.txt", code=2).stderr


def test_an_export_that_adds_up_wrongly_is_seen() -> None:
    """Somebody writes all rows anew, hashes included, but with less noise than was used."""
    from quiltwork.ledger import Row

    session = Session(DATA, belief=CHAIN, budget=2.0)
    session.count("walk", epsilon=0.3, anyway=True)
    session.count("walk", epsilon=0.3, anyway=True)
    old, outcomes = session.ledger.rows()
    new: list[Row] = []
    for row in old:
        content = dict(row.content)
        if row.number == 3:
            content["record"] = content["record"] | {"noise_scale": 2 * content["record"]["noise_scale"]}
        new.append(Row.after(new[-1] if new else None, row.kind, row.time, content))
    assert verify_export(new, [])
    assert verify_export(old, outcomes) == []


def test_a_new_file_is_its_owners_only(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        Session(DATA, belief=CHAIN, budget=1.0, ledger=tmp_path / "ledger.db").count("walk", epsilon=0.1, anyway=True)
        modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("ledger.db*")}
    finally:
        os.umask(old)
    assert modes == {0o600}


def test_a_ledger_is_for_one_belief_budget_and_guarantee(url: str) -> None:
    Session(DATA, belief=CHAIN, budget=1.0, ledger=url).count("walk", epsilon=0.1, anyway=True)
    other = MarkovChain([[0.8, 0.2], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])
    for options, said in (
        ({"belief": other, "budget": 1.0}, "another belief"),
        ({"belief": CHAIN, "budget": 2.0}, "another budget"),
        ({"belief": CHAIN, "guarantee": "bayesian"}, "another guarantee"),
    ):
        with pytest.raises(LedgerError, match=said):
            Session(DATA, ledger=url, **options)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(url, belief=CHAIN, budget=1.0)
    assert len(Ledger(url).statement().releases()) == 1


def test_ledgers_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "made.db"
    Ledger.create(str(made), belief=CHAIN, budget=1.0).close()
    (tmp_path / "noise.db").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "empty.db").touch()
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (a)").connection.close()
    for address, said in (
        (f"sqlite:///{tmp_path}/absent.db", "does not exist"),
        (f"sqlite:///{tmp_path}/noise.db", "not a ledger, or is damaged"),
        (f"sqlite:///{tmp_path}/empty.db", "is empty"),
        (f"sqlite:///{tmp_path}/other.db", "is empty"),
        ("postgresql://nobody:hidden@127.0.0.1:1/x", "does not answer"),
        ("mysql://x/y", "SQLite or PostgreSQL"),
        ("http//:::", "cannot be opened|does not exist"),
    ):
        with pytest.raises(LedgerError, match=said) as problem:
            Ledger(address)
        assert "hidden" not in str(problem.value)
    read_only = Ledger(f"sqlite:///file:{made}?mode=ro&uri=true")
    with pytest.raises(LedgerError, match="may not be written to"):
        Session(DATA, belief=CHAIN, ledger=read_only).count("walk", epsilon=0.1, anyway=True)
    with pytest.raises(LedgerError, match="cannot be created"):
        Ledger.create(f"{tmp_path}/no/such/folder.db", belief=CHAIN, budget=1.0)
    connection = sqlite3.connect(made)
    connection.execute("INSERT INTO quiltwork_version VALUES (99, '2099')")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="newer version, got tables of version 99"):
        Ledger(str(made))
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "quiltwork.ledger.postgresql", raising=False)
    with pytest.raises(NotInstalledError, match=r'pip install "quiltwork\[postgresql\]"'):
        Ledger("postgresql://x/y")


def test_a_ledger_is_made_whole_or_not_at_all(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(schema.TABLES, "quiltwork_last", "NONSENSE (")
    with pytest.raises(LedgerError):
        Ledger.create(url, belief=CHAIN, budget=1.0)
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="is empty"):
        Ledger(url)
    Ledger.create(url, belief=CHAIN, budget=1.0).close()
    assert Ledger(url).verify() == []


positive = st.floats(min_value=5e-324, max_value=1e300, allow_subnormal=True)


@settings(max_examples=examples(72), deadline=None)
@given(st.lists(positive, min_size=2, max_size=30))
def test_no_positive_spend_is_lost_to_rounding(numbers: list[float]) -> None:
    total = np.array(0.0)
    for number in numbers:
        more = add_up(total, np.array(number))
        assert more > total
        total = more
    exact = sum((Fraction(n) for n in numbers), Fraction(0))
    assert Fraction(float(total)) >= exact
    assert float(total) <= float(exact) * (1 + len(numbers) * 2**-52) + 5e-324 * len(numbers)


@settings(max_examples=examples(14), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 40), st.integers(1, 40), st.floats(0.5, 1e300), st.booleans()), min_size=1, max_size=8
    )
)
def test_the_kept_sum_is_the_sum(parts: list[tuple[int, int, float, bool]]) -> None:
    kept = Total.nothing(CHAIN)
    exact = [Fraction(0)] * 41
    for a, b, scale, whole in parts:
        first, last = (1, 40) if whole else (min(a, b), max(a, b))
        record = ReleaseRecord(
            noise_scale=scale, query="count:sit", length=40, segment=None if whole else (first, last)
        )
        kept = kept.plus(record, CHAIN)
        for t in range(first, last + 1):
            exact[t] += 1 / Fraction(scale)
    for t in range(1, 41):
        at = max(n for n, begun in enumerate(kept.firsts) if begun <= t)
        assert Fraction(float(kept.sums[at][0, 1])) >= exact[t]
        assert float(kept.sums[at][0, 1]) <= float(exact[t]) * (1 + 1e-14) + len(parts) * SMALLEST
    assert Total.from_bytes(kept.to_bytes()).to_bytes() == kept.to_bytes()
    assert kept.within(kept.stretched(1.01))
    assert not kept.stretched(1.01).within(kept)


def test_gaps_make_the_profile_hold_everywhere() -> None:
    series = Series.from_values(["sit", None, "walk", "sit"] * 50, states=CHAIN.states, missing="split")
    session = Session(series, belief=CHAIN, budget=3.0)
    session.count("walk", epsilon=0.5, anyway=True)
    session.count("walk", epsilon=0.5, anyway=True)
    assert 0.9 < session.spent() < 1.2
    with pytest.raises(InputError, match="with gaps"):
        session.count("walk", epsilon=0.1, segment=(1, 10), anyway=True)


def test_records_have_a_budget_too(url: str) -> None:
    household = contagion_belief()
    rows = [dict.fromkeys(household.variables, "yes")] * 3
    session = Session(Records.from_rows(rows, variables=household.variables), belief=household, budget=2.0, ledger=url)
    session.count("yes", epsilon=1.0, anyway=True)
    session.release("count:yes over ann", epsilon=0.5, anyway=True)
    assert 1.0 < session.spent() <= 1.5 * (1 + 1e-12)
    with pytest.raises(BudgetError):
        session.histogram(epsilon=2.0, anyway=True)
    with pytest.raises(InputError, match="no segments"):
        session.count("yes", epsilon=0.1, segment=(1, 2), anyway=True)
    tree = BayesianNetwork.from_chain(MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[0.5, 0.5]), 3)
    small = Session([{"X1": "0", "X2": "1", "X3": "0"}], belief=tree, budget=1.0)
    small.count("1", epsilon=0.4, anyway=True)
    small.count("1", epsilon=0.4, anyway=True)
    assert small.statement().rule in ("influence-curve", "all values hidden together")
    assert session.ledger.verify() == []


def test_bayesian_sessions() -> None:
    session = Session(DATA, belief=CHAIN, budget=1.0, guarantee="bayesian")
    session.count("walk", epsilon=0.4, anyway=True)
    session.count("walk", epsilon=0.4, anyway=True)
    assert 0.79 < session.spent() < 0.9
    assert session.releases()[0]["mechanism"] == "curve"


def test_plans_and_odd_requests() -> None:
    session = Session(DATA, belief=CHAIN, budget=1.0)
    assert session.plan("histogram", epsilon=1.0).best is not None
    assert session.mean({"sit": 0, "walk": 1}, epsilon=0.2, anyway=True).value is not None
    assert session.sum({"sit": 0, "walk": 1}, epsilon=0.2, anyway=True).divisor == 1
    assert sum(session.frequencies(epsilon=0.1, anyway=True).value.values()) == pytest.approx(1, abs=1)
    assert set(session.transitions(epsilon=0.05, anyway=True).value) == {"sit", "walk"}
    with pytest.raises(InputError, match="needs a budget"):
        Session(DATA, belief=CHAIN)
    with pytest.raises(InputError, match="budget"):
        Session(DATA, belief=CHAIN, budget=math.inf)
    with pytest.raises(NotCoveredError, match="comparison only"):
        session.count("walk", epsilon=0.1, mechanism="entry", anyway=True)
    assert session.release(Sum({"sit": 0, "walk": 1}), epsilon=0.01, anyway=True).value is not None
    assert session.release(Histogram(), epsilon=0.01, anyway=True).value
    assert session.release(Count("walk"), epsilon=0.01, anyway=True).value is not None


def test_the_command_keeps_a_budget(tmp_path: Path) -> None:
    save_belief(CHAIN, tmp_path / "belief.json")
    (tmp_path / "data.csv").write_text("did\n" + "\n".join(DATA) + "\n")
    url = f"sqlite:///{tmp_path}/ledger.db"
    created = answer("ledger", "create", url, "--belief", tmp_path / "belief.json", "--budget", 1)
    assert created["remaining"] == 1.0
    common = (
        "release",
        "--anyway",
        tmp_path / "data.csv",
        "--column",
        "did",
        "--belief",
        tmp_path / "belief.json",
        "--query",
    )
    made = answer(*common, "count:walk", "--epsilon", 0.6, "--ledger", url, "--who", "ann")
    assert made["ledger"]["remaining"] == pytest.approx(0.4, abs=1e-5)
    refused = run(*common, "count:walk", "--epsilon", 0.6, "--ledger", url, code=3)
    assert len(refused.stderr.splitlines()) == 1
    for word in ("requested 0.6", "remaining 0.4", "short by"):
        assert word in refused.stderr
    assert "Recorded as row 3" in run(*common, "count:walk", "--epsilon", 0.3, "--ledger", url, code=0).stdout
    part = answer(*common, "count:walk", "--epsilon", 0.05, "--segment", "11:20", "--ledger", url)
    assert part["ledger"]["row"] == 4
    shown = run("ledger", "show", url, code=0).stdout
    assert "█" in shown
    assert "count:walk" in shown
    listed = answer("ledger", "show", url)
    assert listed["releases"][0]["who"] == "ann"
    assert listed["releases"][2]["segment"] == [11, 20]
    assert (
        "exists already"
        in run("ledger", "create", url, "--belief", tmp_path / "belief.json", "--budget", 1, code=2).stderr
    )
    assert "does not exist" in run("ledger", "show", tmp_path / "absent.db", code=2).stderr
    delta = run(
        *common, "count:walk", "--epsilon", 0.01, "--mechanism", "wasserstein", "--delta", 0.01, "--ledger", url
    )
    assert delta.returncode == 4
    assert json.loads(run("ledger", "export", url, code=0).stdout.splitlines()[0])["kind"] == "opened"


def test_a_report_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    save_belief(CHAIN, tmp_path / "belief.json")
    (tmp_path / "data.csv").write_text("did\n" + "\n".join(DATA) + "\n")
    ledger = Ledger.create(str(tmp_path / "ledger.db"), belief=CHAIN, budget=1.0)
    common = (
        "release",
        "--anyway",
        tmp_path / "data.csv",
        "--column",
        "did",
        "--belief",
        tmp_path / "belief.json",
        "--query",
    )
    for wrong in (tmp_path / "no" / "r.html", tmp_path, tmp_path / "r.txt"):
        run(*common, "count:walk", "--epsilon", 0.1, "--ledger", tmp_path / "ledger.db", "--out", wrong, code=2)
    assert ledger.statement().releases() == []
    assert "without --ledger" in run(*common, "count:walk", "--epsilon", 0.1, "--who", "ann", code=2).stderr


@pytest.mark.parametrize("column", ["epsilon = 0.01", "rule = 'x'", "ceiling = sum", "number = 9"])
def test_the_kept_sum_cannot_be_changed_behind_the_rows(column: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    session = Session(["0", "1"], belief=COIN, budget=1.0, ledger=path)
    for _ in range(70):  # from 64 on the ceiling is above the sum
        session.count("1", epsilon=0.01, anyway=True)
    session.ledger.close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE quiltwork_kept SET {column}")  # noqa: S608
    connection.close()
    assert Ledger(str(path)).verify()
    with pytest.raises(LedgerError):
        Session(["0", "1"], belief=COIN, ledger=path).count("1", epsilon=0.01, anyway=True)


def test_odd_addresses_and_names() -> None:
    for address, said in (
        ("", "in a file or on a server"),
        ("sqlite://", "in a file or on a server"),
        ("sqlite:///:memory:", "in a file or on a server"),
        ("sqlite:///file:zz?mode=memory&uri=true", "in a file or on a server"),
        ("sqlite://x", "three slashes"),
        ("postgresql://u:pw@h:x/d", "cannot be read"),
        ("ledger.jsonl", "is a database"),
        (None, "must be text"),
    ):
        with pytest.raises(LedgerError, match=said):
            Ledger.create(address, belief=CHAIN, budget=1.0)  # type: ignore[arg-type]
    with pytest.raises(LedgerError) as problem:
        Ledger("postgresql://u:secretpw@localhost:1/d?password=topsecret&sslpassword=other")
    for secret in ("secretpw", "topsecret", "other"):
        assert secret not in str(problem.value)
    for name in ("", "a\nb", "\x1b[31mred", "x" * 101, 5):
        with pytest.raises(InputError, match="printable"):
            Session(DATA, belief=CHAIN, budget=1.0, who=name)  # type: ignore[arg-type]
    session = Session(DATA, belief=CHAIN, budget=1.0)
    for segment in ("1:10", (1, 2, 3), (1.5, 3), True):
        with pytest.raises(InputError, match="segment must be"):
            session.count("walk", epsilon=0.1, segment=segment, anyway=True)
    with pytest.raises(LedgerError, match="a budget must be"):
        Session(DATA, belief=CHAIN, budget=0.0)
    with pytest.raises(BudgetError, match="or less would fit"):
        session.count("walk", epsilon=1e9, anyway=True)


def test_a_changed_row_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    session = Session(DATA, belief=CHAIN, budget=2.0, ledger=path, who="bob")
    session.count("walk", epsilon=0.3, anyway=True)
    session.count("walk", epsilon=0.3, anyway=True)
    session.ledger.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE quiltwork_rows SET content = replace(content, 'bob', 'eve') WHERE number = 2")
    connection.close()
    with pytest.raises(LedgerError, match="row 2 was changed"):
        Ledger(str(path)).statement()
    export = tmp_path / "e.jsonl"
    rows, outcomes = Ledger(str(path)).rows()
    lines = [json.dumps(one.to_dict()) for one in rows] + [json.dumps(one.to_dict()) for one in outcomes]
    export.write_text("\n".join([lines[0], lines[1].replace("0.3", "1e999", 1), *lines[2:]]))
    assert "row 2 was changed" in run("ledger", "verify", export, code=2).stderr
    export.write_text("\n".join([lines[0].replace("{", '{"extra": 1, ', 1), *lines[1:]]))
    assert "line 1" in run("ledger", "verify", export, code=2).stderr
    export.write_text(lines[0])
    assert "whole hash" in run("ledger", "verify", export, "--head", "abc", code=2).stderr


def test_threads_share_one_ledger(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    session = Session(["0", "1"], belief=COIN, budget=0.5, ledger=tmp_path / "ledger.db")

    def ask(_: int) -> bool:
        try:
            session.count("1", epsilon=0.01, anyway=True)
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(80))) == 50
    assert session.ledger.verify() == []


def test_a_stretched_ceiling_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    session = Session(["0", "1"], belief=COIN, budget=1.0, ledger=path)
    session.count("1", epsilon=0.5, anyway=True)
    session.ledger.close()
    connection = sqlite3.connect(path)
    (old,) = connection.execute("SELECT ceiling FROM quiltwork_kept").fetchone()
    connection.execute("UPDATE quiltwork_kept SET ceiling = ?", (Total.from_bytes(old).stretched(1e6).to_bytes(),))
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="was changed"):
        Session(["0", "1"], belief=COIN, ledger=path).count("1", epsilon=0.9, anyway=True)
    assert Ledger(str(path)).verify()


def test_a_larger_budget_in_the_first_row_is_refused(tmp_path: Path) -> None:
    from quiltwork.ledger import Row

    path = tmp_path / "ledger.db"
    session = Session(["0", "1"], belief=COIN, budget=2.0, ledger=path)
    session.count("1", epsilon=0.5, anyway=True)
    (first, _), _ = session.ledger.rows()
    session.ledger.close()
    forged = Row.after(None, "opened", first.time, {**first.content, "budget": 200.0})
    for digest in (first.hash, forged.hash):
        connection = sqlite3.connect(path)
        connection.execute("UPDATE quiltwork_rows SET content = ?, hash = ? WHERE number = 1", (forged.text, digest))
        connection.commit()
        connection.close()
        with pytest.raises(LedgerError, match=r"changed|does not follow"):
            Session(["0", "1"], belief=COIN, ledger=path).count("1", epsilon=20.0, anyway=True)


def test_noise_never_vanishes() -> None:
    from quiltwork import Custom

    session = Session(["1", "1", "1", "0"], belief=COIN, budget=1.0)
    for constant, epsilon in ((1e-300, 1e30), (5e-324, 10.0), (1e-200, 1e200), (1e300, 1e-10)):
        query = Custom(lambda runs, c=constant: c * sum(int(run.sum()) for run in runs), constant=constant)  # type: ignore[misc]
        for mechanism in ("quilt-exact", "group", "curve"):
            with pytest.raises(InputError, match="does not fit"):
                session.release(query, epsilon=epsilon, mechanism=mechanism, anyway=True)


def test_quilts_after_many_releases_and_releases_that_tell_nothing() -> None:
    session = Session(["0", "1"], belief=COIN, budget=2.0)
    for n in range(1, 71):
        made = session.count("1", epsilon=0.01, mechanism="quilt-exact", anyway=True)
        assert made.ledger is not None
        assert made.ledger["spent"] >= 0.01 * n * (1 - 1e-9)
    sticky = MarkovChain([[0, 1], [0.5, 0.5]], initial=[0.5, 0.5], states=["0", "1"])
    exact = Session(["0", "1", "0", "1", "0"], belief=sticky, budget=0.5)
    exact.count("1", epsilon=0.5, mechanism="audited", anyway=True)
    exact.sum({"0": 1, "1": 1}, epsilon=0.1, anyway=True)
    assert exact.spent() <= 0.5
    assert exact.ledger.verify() == []
    two = Session(["0", "1"], belief=COIN, budget=0.02)
    two.count("1", epsilon=0.01, anyway=True)
    two.count("1", epsilon=0.01, anyway=True)


def test_the_note_that_a_release_was_made_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(DATA, belief=CHAIN, budget=1.0)

    def full(*_: object, **__: object) -> None:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(Ledger, "complete", full)
    assert session.count("walk", epsilon=0.1, anyway=True).value is not None
    assert session.statement().to_dict()["without_outcome"] == 1


def test_steps_that_are_still_to_come_are_hidden_too(tmp_path: Path) -> None:
    """A step may depend on several variables of the last one: what is spent does not rise when the series goes on."""
    both = [[[0.999, 0.001], [0.999, 0.001]], [[0.999, 0.001], [0.001, 0.999]]]
    belief = DynamicNetwork(
        {"a": "01", "b": "01"},
        parents={"a": ["a@before", "b@before"]},
        tables={"a": both, "b": [0.5, 0.5]},
        initial=BayesianNetwork({"a": "01", "b": "01"}, tables={"a": [0.5, 0.5], "b": [0.5, 0.5]}),
    )
    ledger = Ledger.create(f"sqlite:///{tmp_path}/steps.db", belief=belief, budget=2.0)
    released = Session([{"a": "1", "b": "0"}], belief=belief, ledger=ledger).release(
        "count:1", epsilon=1.0, anyway=True
    )
    scale, told = released.calibration.noise_scale, [0.0, 0.0]
    for a, b, y in itertools.product((0, 1), repeat=3):
        told[y] += both[a][b][y] * math.exp((a + b) / scale) / sum(both[c][d][y] for c in (0, 1) for d in (0, 1))
    spent = ledger.spent()
    assert math.log(told[1] / told[0]) <= spent
    later = Session([{"a": "1", "b": "0"}, {"a": "0", "b": "0"}], belief=belief, ledger=ledger)
    later.release("count:1", epsilon=1e-9, anyway=True)
    assert ledger.spent() == pytest.approx(spent, abs=1e-6)
