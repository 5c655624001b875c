"""A ledger is about its own secrets: releases for fewer are charged for all of them."""

import json
import sqlite3
from pathlib import Path

import pytest
from shell import answer, run

from quiltwork import (
    Accountant,
    BudgetError,
    Count,
    InputError,
    Ledger,
    MarkovChain,
    Noisy,
    NotCoveredError,
    ReleaseRecord,
    Secrets,
    Session,
    audit,
    calibrate,
    save_belief,
)
from quiltwork.errors import LedgerError

CHAIN = MarkovChain(
    [[0.95, 0.03, 0.02], [0.03, 0.95, 0.02], [0.3, 0.3, 0.4]],
    initial="stationary",
    states=["sleep", "work", "shop"],
    step=1,
)
SOME = Secrets.pairs(("sleep", "shop"))
DATA = ["sleep", "work", "work", "shop"] * 100


def test_old_ledgers_and_records_are_about_everything(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    Ledger.create(str(file), belief=CHAIN, budget=1.0)
    row = json.loads(sqlite3.connect(file).execute("SELECT content FROM quiltwork_rows").fetchone()[0])
    assert "secrets" not in row
    assert Ledger(str(file)).terms.secrets.everything
    assert "secrets" not in ReleaseRecord(query="histogram", noise_scale=1.0).to_dict()
    limited = ReleaseRecord(query="histogram", noise_scale=1.0, secrets=Secrets.state("shop"))
    assert limited.to_dict()["secrets"] == "state:shop"
    assert ReleaseRecord.from_dict(limited.to_dict()) == limited


def test_a_release_for_fewer_secrets_is_charged_for_the_ledgers() -> None:
    session = Session(DATA, belief=CHAIN, budget=10.0)
    result = session.histogram(epsilon=1.0, secrets="state:shop", anyway=True)
    assert result.calibration.secrets == Secrets.state("shop")
    assert session.releases()[0]["secrets"] == "state:shop"
    assert any("state:shop" in note and "all" in note for note in result.notes)
    alone = Accountant(CHAIN, releases=[ReleaseRecord(query="histogram", noise_scale=result.noise_scale)]).composed()
    assert session.spent() == pytest.approx(alone.epsilon, rel=1e-3)
    assert session.spent() > 1.02
    small = Session(DATA, belief=CHAIN, budget=1.0)
    with pytest.raises(BudgetError):
        small.histogram(epsilon=1.0, secrets="state:shop", anyway=True)
    assert small.spent() == 0


def test_a_ledger_for_fewer_secrets_takes_what_is_told_about_them() -> None:
    session = Session(DATA, belief=CHAIN, budget=1.0, secrets="state:shop")
    first = session.histogram(epsilon=0.5, anyway=True)
    assert first.calibration.secrets == Secrets.state("shop")
    assert session.spent() <= 0.5
    before = session.spent()
    session.histogram(
        epsilon=0.4, secrets="all", anyway=True
    )  # for more secrets than the ledger's: it tells less about those
    assert session.spent() - before < 0.4
    with pytest.raises(LedgerError, match="for other secrets"):
        Session(DATA, belief=CHAIN, ledger=session.ledger, secrets="all")
    assert Session(DATA, belief=CHAIN, ledger=session.ledger).secrets == Secrets.state("shop")


def test_a_claim_about_fewer_secrets_is_not_taken_over() -> None:
    some = calibrate(
        "count:work", belief=CHAIN, epsilon=1.0, length=50, mechanism="audited", secrets="pairs:sleep|shop"
    )
    record = ReleaseRecord(
        mechanism="audited",
        epsilon=1.0,
        query="count:work",
        noise_scale=some.noise_scale,
        length=50,
        secrets=SOME,
    )
    own = Accountant(CHAIN, length=50, releases=[record], secrets="pairs:sleep|shop").composed()
    assert own.epsilon <= 1.0 + 1e-6
    every = Accountant(CHAIN, length=50, releases=[record]).composed()
    assert every.epsilon > 1.5
    single = next(finding for finding in every.rules if finding.rule == "single-release")
    assert single.why is not None
    assert "for the secrets pairs:sleep|shop only" in single.why
    vouched = ReleaseRecord(mechanism="other", epsilon=1.0, secrets=SOME)
    with pytest.raises(NotCoveredError):
        Accountant(CHAIN, length=50, releases=[vouched]).composed()
    assert Accountant(CHAIN, length=50, releases=[vouched], secrets="pairs:sleep|shop").composed().epsilon == 1.0
    # a claim about everything is one about some
    whole = ReleaseRecord(mechanism="other", epsilon=1.0)
    assert Accountant(CHAIN, length=50, releases=[whole], secrets="state:shop").composed().epsilon == 1.0


def test_promises_about_some_pairs_are_not_joined_at_values_between_them() -> None:
    """Theorems about separate segments need promises about every pair of the values at their ends (Statement 63)."""
    some = [
        ReleaseRecord(mechanism="other", epsilon=0.5, segment=segment, secrets=SOME) for segment in ((1, 5), (20, 25))
    ]
    with pytest.raises(NotCoveredError):
        Accountant(CHAIN, length=30, releases=some, secrets=SOME).composed()
    every = [ReleaseRecord(mechanism="other", epsilon=0.5, segment=segment) for segment in ((1, 5), (20, 25))]
    assert Accountant(CHAIN, length=30, releases=every, secrets=SOME).composed().rule == "separate-segments"


def test_secrets_that_a_belief_does_not_have_are_refused() -> None:
    with pytest.raises(InputError, match="one of the belief's states"):
        Ledger.in_memory(belief=CHAIN, budget=1.0, secrets="state:school")
    ledger = Ledger.in_memory(belief=CHAIN, budget=1.0)
    with pytest.raises(InputError, match="one of the belief's states"):
        ledger.reserve(ReleaseRecord(query="histogram", noise_scale=9.0, secrets=Secrets.state("school")), {})
    with pytest.raises(InputError, match="cannot be read"):
        ReleaseRecord.from_dict({"query": "histogram", "secrets": {"parts": [{"kind": "state"}]}})


def test_a_changed_first_row_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    Ledger.create(str(file), belief=CHAIN, budget=1.0)
    with sqlite3.connect(file) as database:
        content = json.loads(database.execute("SELECT content FROM quiltwork_rows").fetchone()[0])
        changed = json.dumps(content | {"secrets": "state:shop"}, sort_keys=True, separators=(",", ":"))
        database.execute("UPDATE quiltwork_rows SET content = ?", (changed,))
    with pytest.raises(LedgerError, match="row 1 was changed"):
        Ledger(str(file))


def test_a_segment_and_a_budget_need_what_holds_beyond_the_release() -> None:
    session = Session(DATA, belief=CHAIN, budget=9.0, secrets="state:shop")
    with pytest.raises(NotCoveredError, match="values beyond those released are secret too"):
        session.histogram(epsilon=1.0, mechanism="quilt-exact", anyway=True)
    part = session.histogram(epsilon=1.0, segment=(20, 60), anyway=True)
    assert part.calibration.length is None
    assert session.spent() <= 1.0


def test_values_after_the_last_release_are_part_of_what_was_spent() -> None:
    """Statement 63: a count of work tells nothing between sleep and shop of one value, but much about the next one."""
    chain = MarkovChain(
        [[0.98, 0.01, 0.01], [0.01, 0.5, 0.49], [0.01, 0.01, 0.98]], initial="stationary", states=CHAIN.states
    )
    noisy = [Noisy(Count("work"), 0.3, (1, 1))]
    assert audit(chain, [Noisy(Count("work"), 0.3)], length=1, secrets=SOME).epsilon == pytest.approx(0.0, abs=1e-9)
    later = audit(chain, noisy, length=3, secrets=SOME)
    assert later.epsilon > 0.3
    ledger = Ledger.in_memory(belief=chain, budget=100.0, secrets=SOME)
    ledger.reserve(ReleaseRecord(query="count:work", noise_scale=0.3, length=1), {})
    assert ledger.spent() >= later.epsilon
    claim = ReleaseRecord(mechanism="audited", epsilon=0.1, query="count:work", noise_scale=0.3, length=1, secrets=SOME)
    ledger = Ledger.in_memory(belief=chain, budget=100.0, secrets=SOME)
    ledger.reserve(claim, {})
    assert ledger.spent() >= later.epsilon  # its own promise is about the one value only
    assert Accountant(chain, length=1, releases=[claim], secrets=SOME).composed().epsilon <= 0.1 + 1e-6
    assert len(ledger.losses().first) >= 1


def test_on_the_command_line(tmp_path: Path) -> None:
    belief, data, ledger = tmp_path / "belief.json", tmp_path / "data.csv", tmp_path / "ledger.db"
    save_belief(CHAIN, belief)
    data.write_text("activity\n" + "\n".join(DATA) + "\n")
    made = answer("ledger", "create", ledger, "--belief", belief, "--budget", 2, "--secrets", "state:shop")
    assert made["secrets"] == "state:shop"
    common = ["--column", "activity", "--belief", belief, "--query", "histogram", "--epsilon", 0.5]
    released = answer("release", "--anyway", data, *common, "--ledger", ledger)
    assert released["secrets"] == released["record"]["secrets"] == "state:shop"
    assert "will think it at most 62.3 % likely" in released["meaning"]
    text = run("release", "--anyway", data, *common, "--ledger", ledger, code=0).stdout
    assert "Secret: whether a value is shop, or any single other state." in text
    assert "at most 88.1 % likely" in text  # all that the budget allows
    assert "secret: state:shop" in run("ledger", "show", ledger).stdout
    (tmp_path / "releases.json").write_text(json.dumps([released["record"]]))
    arguments = ["compose", belief, tmp_path / "releases.json", "--length", 400]
    some, every = answer(*arguments, "--secrets", "state:shop"), answer(*arguments)
    assert some["epsilon"] < every["epsilon"]
    assert some["secrets"] == "state:shop"
    planned = answer(
        "plan", belief, "--query", "count:shop", "--length", 30, "--epsilon", 1, "--secrets", "sets:shop|*"
    )
    assert planned["secrets"] == "sets:shop|*"
    audited = ["audit", belief, "--query", "count:shop", "--length", 9, "--noise-scale", 2]
    exact = answer(
        *audited, "--secrets", "sets:sleep,work|*", "--secret-times", "2:4", "--out", tmp_path / "audit.html"
    )
    assert exact["pair"] in (["sleep or work", "shop"], ["shop", "sleep or work"])
    assert exact["epsilon"] < answer(*audited)["epsilon"]
    known = answer(
        "leakage", belief, "--query", "count:shop", "--length", 3, "--noise-scale", 2, "--secrets", "state:shop"
    )
    assert known["secrets"] == "state:shop"
    assert "time of day" in run("plan", belief, *common[4:], "--length", 9, "--secret-times", "8h-18h", code=4).stderr
