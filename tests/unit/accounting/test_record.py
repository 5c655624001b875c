"""The record of a release: all that composition needs, written down whole, and nothing that cannot be."""

import dataclasses
import json
import math
from pathlib import Path

import pytest
from accounts import told
from examples import COIN, LAZY

from quiltwork import (
    Accountant,
    BayesianNetwork,
    Count,
    Custom,
    DynamicNetwork,
    InputError,
    Ledger,
    MarkovChain,
    Noisy,
    Over,
    ReleaseRecord,
    Series,
    Sum,
    audit,
    release,
)
from quiltwork.accounting.record import load_releases
from quiltwork.errors import ParameterError
from quiltwork.question import query_from_dict


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"mechanism": "magic"}, "not known"),
        ({"epsilon": 0}, "positive"),
        ({"epsilon": "1"}, "positive"),
        ({"noise_scale": float("nan")}, "positive"),
        ({"noise_scale": 10**400}, "positive"),
        ({"query": 7}, "query"),
        ({"query": "counts"}, "not known"),
        ({"lipschitz": -1}, "positive"),
        ({"lipschitz": 0}, "positive"),
        ({"delta": 1.5}, "from 0 to below 1"),
        ({"start": "late"}, "start of a release"),
        ({"length": 0}, "from 1 to"),
        ({"reading": {"colum": "x"}}, "colum"),
        ({"segment": [5, 6], "length": 4}, "within its length"),
        ({"query": {"kind": "magic"}}, "kind"),
        ({"query": {"kind": "count"}}, "cannot be read"),
        ({"segment": [5, 2]}, "not end before it starts"),
        ({"segment": [0, 2]}, "not end before it starts"),
        ({"segment": [1]}, "first, last"),
        ({"segment": "1:5"}, "first, last"),
        ({"segment": [1, 2.5]}, "first, last"),
        ({"guarantee": "none"}, "bayesian"),
        ({"sigma": 1}, "sigma"),
    ],
)
def test_records_that_cannot_be(record: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        ReleaseRecord.from_dict(record)


def test_release_files_that_cannot_be(tmp_path: Path) -> None:
    file = tmp_path / "releases.json"
    for text, words in (
        ("[", "must be JSON"),
        ("{}", "list of objects"),
        ("[]", "must list a release"),
        ("[1]", "release 1 .* object"),
        ("[" * 100_000, "nested"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=words):
            load_releases(file)
    with pytest.raises(InputError, match="cannot be read"):
        load_releases(tmp_path / "nothing.json")
    file.write_text(json.dumps([{"mechanism": "curve", "noise_scale": 3.4, "lipschitz": 1, "segment": [1, 96]}]))
    assert load_releases(file)[0].segment == (1, 96)
    with pytest.raises(ParameterError, match="within the 50 values"):
        Accountant(LAZY, length=50, releases=load_releases(file))
    with pytest.raises(ParameterError, match="length of the series"):
        Accountant(LAZY, releases=load_releases(file))


@pytest.mark.parametrize(
    ("transition", "mechanism", "truth"),
    [([[0.2, 0.8], [0.0, 1.0]], "group", 0.988), ([[0.4935, 0.5065], [0.0013, 0.9987]], "curve", 0.978)],
)
def test_a_forgotten_start_stays_forgotten(transition: list[list[float]], mechanism: str, truth: float) -> None:
    """Two leading missing values: the first value seen has not the law of the start."""
    chain = MarkovChain(transition, initial=[1.0, 0.0])
    series = Series.from_values([None, None, "0", "1"], states=chain.states, missing="split")
    made = release(series, "count:1", belief=chain, epsilon=1.0, mechanism=mechanism, anyway=True)
    record = ReleaseRecord.from_dict(made.record().to_dict())
    assert (record.start, record.gaps) == ("any", "late")
    exact = max(
        audit(chain, [Noisy(Count("1"), record.noise_scale or 0.0, (n + 1, n + 2))], length=n + 2).epsilon
        for n in range(40)
    )
    for length in (2, 4, 100):
        assert told(chain, record, length=length) >= max(exact * (1 - 1e-9), truth)


def test_a_start_said_to_be_any_is_not_the_beliefs() -> None:
    chain = MarkovChain([[0.2, 0.8], [0.0, 1.0]], initial=[1.0, 0.0])
    record = ReleaseRecord(query="count:1", noise_scale=2.0)
    assert told(chain, record, length=2) < told(chain, dataclasses.replace(record, start="any"), length=2)
    later = dataclasses.replace(record, start="any", segment=(2, 2))  # a later segment is calibrated so
    assert later.started


def test_a_function_is_known_by_its_constant() -> None:
    changes = Custom(
        lambda runs: sum(int((r[1:] != r[:-1]).sum()) for r in runs), constant=2, integer=True, name="changes"
    )
    made = release(["0", "1"] * 20, changes, belief=LAZY, epsilon=1.0, anyway=True)
    record = ReleaseRecord.from_dict(made.record().to_dict())
    assert told(LAZY, record, length=40) <= 1.0 * (1 + 1e-6)
    asked = record.asked(LAZY)
    assert asked is not None
    with pytest.raises(InputError, match="cannot be asked of these values"):
        asked.only.evaluate(Series.from_values(["0"], states=LAZY.states))
    for wrong in ([[0.0, 1.0]], [[0.0, 1.0], [2.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]], -1.0, "x", None):
        with pytest.raises(InputError, match="sensitivity"):
            query_from_dict({"kind": "declared", "name": "x", "sensitivity": wrong})


def test_nothing_gives_budget_back() -> None:
    ledger = Ledger.in_memory(belief=COIN, budget=1.0)
    for wrong in ({"noise_scale": -1.0}, {"noise_scale": math.nan}, {"lipschitz": -1.0}, {"epsilon": -1.0}):
        with pytest.raises(InputError, match="positive"):
            ReleaseRecord.from_dict({"query": "count:1", "noise_scale": 1.0, "length": 5} | wrong)
    with pytest.raises(InputError, match="sensitivity"):
        ReleaseRecord.from_dict({"query": {"kind": "declared", "name": "x", "sensitivity": [[0, -1], [-1, 0]]}})
    with pytest.raises(InputError, match="must be a Release or a ReleaseRecord"):
        ledger.reserve({"noise_scale": 1.0}, {})  # type: ignore[arg-type]
    assert ledger.spent() == 0.0


def test_a_record_says_all_of_its_query() -> None:
    """Also what its text does not: the values of a sum, and a variable whose name looks like a weight."""
    network = BayesianNetwork({"A": ["1", "2", "3"]}, tables={"A": [0.4, 0.3, 0.3]})
    queries = [Sum({"1": 0, "2": 100, "3": 100}), Count("2")]
    made = [release([{"A": "1"}], query, belief=network, epsilon=1.0, anyway=True) for query in queries]
    records = [ReleaseRecord.from_dict(one.record().to_dict()) for one in made]
    assert [record.query.to_dict() for record in records] == [query.to_dict() for query in queries]  # type: ignore[union-attr]
    exact = audit(network, [Noisy(q, one.noise_scale) for q, one in zip(queries, made, strict=True)]).epsilon
    assert Accountant(network, releases=records).composed().epsilon >= exact - 1e-9
    odd = BayesianNetwork({"a=2": "01", "a": "01"}, tables={"a=2": [0.5, 0.5], "a": [0.5, 0.5]})
    asked = release([{"a=2": "0", "a": "1"}], Over(Sum(), ["a=2"]), belief=odd, epsilon=1.0, anyway=True).record()
    profile = ReleaseRecord.from_dict(asked.to_dict()).profile(odd)
    assert profile is not None
    assert [bool(matrix.any()) for matrix in profile] == [True, False]


def test_a_profile_is_remembered_for_one_belief_only() -> None:
    """A step of records over time is a state of the chain of steps, but it consists of several values."""
    network = DynamicNetwork(
        {"a": "01", "b": "01"},
        parents={"b": ["a"]},
        tables={"a": [0.5, 0.5], "b": [[0.99, 0.01], [0.01, 0.99]]},
        initial="stationary",
    )
    record = ReleaseRecord(lipschitz=1.0, noise_scale=2.0, length=5)
    fresh = Accountant(network, length=5, releases=[dataclasses.replace(record)]).composed().epsilon
    Accountant(network.as_chain_of_steps(), length=5, releases=[record]).composed()
    assert Accountant(network, length=5, releases=[record]).composed().epsilon == fresh > 0.9
