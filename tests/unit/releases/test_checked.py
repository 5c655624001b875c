"""What a check of the belief found stands beside ε, and a refuted belief is not used without saying so."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shell import answer, run

from quiltwork import (
    Ledger,
    MarkovChain,
    NotCoveredError,
    Session,
    check_belief,
    load_belief,
    release,
    save_belief,
)
from quiltwork.beliefs.checked import Checked
from quiltwork.errors import BeliefError
from quiltwork.view.of_release import of_release
from quiltwork.view.report import write_report
from quiltwork.view.things import as_html

STATES = ["sit", "walk"]
FORGETFUL = MarkovChain([[0.6, 0.4], [0.4, 0.6]], initial="stationary", states=STATES, step=1)
STICKY = (["sit"] * 12 + ["walk"] * 9) * 60
DATA = (["sit"] * 3 + ["walk"] * 2) * 200


@pytest.fixture(scope="module")
def refuted() -> Checked:
    return check_belief(FORGETFUL, STICKY).checked(FORGETFUL)


def test_a_refuted_belief_is_refused_and_nothing_is_spent(refuted: Checked) -> None:
    assert refuted.outcome == "refuted"
    session = Session(DATA, belief=FORGETFUL, budget=1.0, check=refuted)
    with pytest.raises(NotCoveredError, match="refuted by public data") as told:
        session.count("walk", epsilon=0.5)
    assert "despite_check=" in str(told.value)
    assert session.spent() == 0
    made = session.count("walk", epsilon=0.5, despite_check=True)
    assert made.checked == refuted
    assert session.releases()[0]["check"] == "checked, refuted"


@pytest.mark.parametrize("outcome", ["refuted", "holds", None])
def test_the_verdict_is_in_every_shell(outcome: str | None, refuted: Checked, tmp_path: Path) -> None:
    checked = None if outcome is None else Checked(**refuted.to_dict() | {"outcome": outcome})
    made = release(DATA, "count:walk", belief=FORGETFUL, epsilon=1.0, check=checked, despite_check=True)
    words = "not checked" if outcome is None else f"checked, {outcome}"
    assert words.capitalize() in made.explain()
    assert words in as_html(made)
    assert any((outcome or words) == card for card, _ in of_release(made).to_dict()["cards"])
    assert made.to_dict()["check"] == (None if checked is None else checked.to_dict())
    page = write_report(tmp_path / "report.html", release=made, verify=False).read_text()
    head, signed = page.partition("<h2>Result</h2>")[0], page.partition("<h2>Signatures</h2>")[2]
    assert words.capitalize() in head
    assert words.capitalize() in signed
    assert ("made although public data refuted its belief" in signed) is (outcome == "refuted")
    assert ("Released despite its check" in head) is (outcome == "refuted")


def test_a_check_is_saved_in_the_belief_file_until_that_changes(refuted: Checked, tmp_path: Path) -> None:
    file = tmp_path / "belief.json"
    save_belief(FORGETFUL, file)
    (tmp_path / "public.csv").write_text("doing\n" + "\n".join(STICKY) + "\n")
    (tmp_path / "data.csv").write_text("doing\n" + "\n".join(DATA) + "\n")
    assert "Saved in" in run("belief", "check", file, tmp_path / "public.csv", "--column", "doing", "--save").stdout
    held = load_belief(file)
    assert held.fingerprint == FORGETFUL.fingerprint
    assert held.checked is not None
    assert held.checked.values == refuted.values == len(STICKY)
    asked: list[Any] = ["release", tmp_path / "data.csv", "--column", "doing", "--belief", file]
    asked += ["--query", "count:walk", "--epsilon", 1]
    refused = run(*asked, code=4)
    assert "--despite-check" in refused.stderr
    assert answer(*asked, "--despite-check")["check"]["outcome"] == "refuted"
    save_belief(held, file)  # it stays with the belief
    content = json.loads(file.read_text())
    assert content["checked"]["outcome"] == "refuted"
    file.write_text(json.dumps(content | {"transition": [[0.7, 0.3], [0.4, 0.6]]}))
    assert load_belief(file).checked is None  # the check was of another belief
    file.write_text(json.dumps(content | {"checked": {"outcome": "fine"}}))
    with pytest.raises(BeliefError, match="belief check --save"):
        load_belief(file)


def test_a_refutation_stays(refuted: Checked) -> None:
    """Otherwise one could look for public data that agree."""
    agreed = Checked(**refuted.to_dict() | {"outcome": "holds"})
    belief = MarkovChain(FORGETFUL.transition, initial="stationary", states=STATES, step=1)
    belief.checked = refuted
    with pytest.raises(NotCoveredError, match="refuted"):
        release(DATA, "count:walk", belief=belief, epsilon=1.0, check=agreed)
    belief.checked = agreed
    with pytest.raises(NotCoveredError, match="refuted"):
        release(DATA, "count:walk", belief=belief, epsilon=1.0, check=refuted)
    assert release(DATA, "count:walk", belief=belief, epsilon=1.0).checked == agreed


def test_levels_that_differ_are_said_beside_epsilon() -> None:
    """The noise is for the belief's shares, so a memory that holds is not all there is to say."""
    rng = np.random.default_rng(3)
    values = [0]
    for drawn in rng.random(5999):
        values.append(int(drawn < 0.05) if values[-1] == 0 else int(drawn < 0.85))
    believed = MarkovChain([[0.9, 0.1], [0.1, 0.9]], initial="stationary", states=STATES, step=1)
    found = check_belief(believed, [STATES[n] for n in values])
    assert not found.forgets_too_fast
    assert found.checked(believed).words == "checked, levels differ"


def test_the_command_checks_before_it_spends(tmp_path: Path) -> None:
    save_belief(FORGETFUL, tmp_path / "belief.json")
    (tmp_path / "public.csv").write_text("doing\n" + "\n".join(STICKY) + "\n")
    (tmp_path / "data.csv").write_text("doing\n" + "\n".join(DATA) + "\n")
    Ledger.create(str(tmp_path / "ledger.db"), belief=FORGETFUL, budget=2.0).close()
    asked: list[Any] = ["release", tmp_path / "data.csv", "--column", "doing", "--belief", tmp_path / "belief.json"]
    asked += ["--query", "count:walk", "--epsilon", 1, "--ledger", tmp_path / "ledger.db"]
    run(*asked, "--check", tmp_path / "public.csv", code=4)
    assert answer("ledger", "show", tmp_path / "ledger.db")["spent"] == 0
    shown = run(*asked, "--check", tmp_path / "public.csv", "--despite-check", code=0).stdout
    assert "Belief: Checked, refuted" in shown
    assert answer("ledger", "show", tmp_path / "ledger.db")["releases"][0]["check"] == "checked, refuted"
    assert "refuted" in run("ledger", "show", tmp_path / "ledger.db").stdout
