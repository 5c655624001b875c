"""A question of somebody's own, added in one place, is asked everywhere."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from shell import run

from quiltwork import (
    Accountant,
    MarkovChain,
    Noisy,
    Query,
    ReleaseRecord,
    Session,
    audit,
    bayesian_leakage,
    parse_query,
    plan,
    release,
    save_belief,
)
from quiltwork.question.query import KINDS, Kind
from quiltwork.question.question import Part, Question

CHAIN = MarkovChain([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6]], initial="stationary", states=["a", "b", "c"])


def ends() -> Query:
    """How often the first and the last state occur."""
    return Query("ends")


def _ends(query: Query, states: tuple[str, ...]) -> Question:
    steps = np.eye(len(states), dtype=np.int64)[[0, -1]]
    return Question(query=query, parts=(Part(None, states, steps),), labels=((states[0],), (states[-1],)))


@pytest.fixture(autouse=True)
def one_more() -> Iterator[None]:
    KINDS["ends"] = Kind(ends, lambda _: "ends", {"ends": ("", lambda _: ends())}, _ends)
    yield
    del KINDS["ends"]


def test_it_is_asked_everywhere(tmp_path: Path) -> None:
    assert parse_query("ends") == ends()
    found = plan("ends", belief=CHAIN, epsilon=1.0, length=7)
    assert found.best is not None
    values = ["a", "a", "b", "c", "c", "c", "b"] * 40
    result = release(values, "ends", belief=CHAIN, epsilon=200.0)
    assert result.value == {"a": 80, "c": 120}
    assert len(release(values, "ends", belief=CHAIN, epsilon=200.0, window=70).parts) == 4
    record = ReleaseRecord.from_dict(json.loads(json.dumps(result.record().to_dict())))
    assert Accountant(CHAIN, length=280).dry_run(record).epsilon <= 200 * (1 + 1e-9)
    once = next(offer for offer in found.offers if offer.mechanism == "curve").noise_scale
    assert once is not None
    assert audit(CHAIN, [Noisy("ends", once)], length=7).epsilon <= 1.0
    assert bayesian_leakage(CHAIN, "ends", noise_scale=10.0, length=4).epsilon > 0
    session = Session(values, belief=CHAIN, budget=100.0)
    together = session.release(["ends", "histogram", "count:a"], epsilon=50.0)
    assert together.value["ends"]["a"] == together.value["histogram"]["a"]  # it follows from the histogram
    assert "ends" in result.save(tmp_path / "report.html").read_text()
    save_belief(CHAIN, tmp_path / "belief.json")
    shown = run("plan", tmp_path / "belief.json", "--query", "ends", "--length", 96, "--epsilon", 1, "--json", code=0)
    assert json.loads(shown.stdout)["query"] == "ends"
