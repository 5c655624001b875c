"""Claims that are not believed: an epsilon counts only if the noise bears it out."""

import dataclasses
import json
from pathlib import Path

import pytest
from accounts import finding, told, why
from examples import COIN, LAZY
from shell import answer, run

from quiltwork import (
    Accountant,
    Count,
    InputError,
    JointTable,
    Ledger,
    MarkovChain,
    Mean,
    Noisy,
    NotCoveredError,
    ReleaseRecord,
    Series,
    Session,
    Sum,
    audit,
    calibrate,
    release,
    save_belief,
)
from quiltwork.accounting.case import Basis
from quiltwork.accounting.checks import by_mechanism

SWAP = MarkovChain([[0.0, 0.0, 1 - 1e-6, 1e-6], [0.0, 0.0, 0.9, 0.1], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]],
                   initial=[1e-9, 1 - 1e-9, 0.0, 0.0], states=list("abzo"))  # fmt: skip


def test_an_epsilon_that_the_noise_belies_is_not_believed() -> None:
    """Said to be 0.01, but with noise for 5."""
    lie = ReleaseRecord(mechanism="curve", epsilon=0.01, noise_scale=0.5, lipschitz=1.0)
    assert Accountant(LAZY, length=500, releases=[lie]).composed().epsilon > 5
    assert "guarantees 5.1" in finding([lie], "single-release", length=500)[1]
    parts = [
        ReleaseRecord(mechanism="curve", epsilon=0.01, noise_scale=0.5, lipschitz=1.0, segment=s, query="count:1")
        for s in ((1, 40), (60, 100))
    ]
    assert Accountant(LAZY, length=100, releases=parts).composed().epsilon > 5
    for mechanism in ("wasserstein", "audited", "group"):
        parts = [
            ReleaseRecord(mechanism=mechanism, epsilon=0.01, noise_scale=0.5, lipschitz=1.0, segment=s, query="count:1")
            for s in ((1, 40), (60, 100))
        ]
        assert "release 1 says" in finding(parts, "separate-segments", length=100)[1]
    truth = [
        ReleaseRecord(mechanism="audited", epsilon=1.0, noise_scale=3.4, lipschitz=1.0, segment=s, query=Count("1"))
        for s in ((1, 40), (60, 100))
    ]
    assert finding(truth, "separate-segments", length=100)[1] == ""


def test_shares_are_checked_as_the_counts_they_are_made_of() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.1, 0.9]], initial="stationary")
    lie = ReleaseRecord(
        mechanism="curve", epsilon=0.2, noise_scale=10.5219, lipschitz=2.0, query="frequencies"
    )  # noise for 1.0 on counts
    assert "says epsilon = 0.2" in finding([lie], "single-release", chain, 8)[1]
    assert Accountant(chain, length=8, releases=[lie]).composed().epsilon > 0.99
    made = calibrate("histogram", belief=chain, epsilon=1.0, length=8)
    truth = ReleaseRecord(
        mechanism="curve", epsilon=1.0, noise_scale=made.noise_scale / 8, lipschitz=2.0 / 8, query="frequencies"
    )
    assert finding([truth], "single-release", chain, 8)[0] == pytest.approx(1.0)
    quilt = ReleaseRecord(
        mechanism="quilt-exact", epsilon=1.0, noise_scale=1.0, lipschitz=1.0, query="count:1", guarantee="bayesian"
    )
    assert "says epsilon" in finding([quilt], "single-release", chain, 8)[1]


def test_a_delta_stays_with_its_release() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[0.5, 0.5])
    within = release(
        ["0", "1"] * 5, "count:1", belief=chain, epsilon=1.0, mechanism="wasserstein", delta=0.1, anyway=True
    ).record()
    assert within.delta == 0.1
    made = calibrate("count:1", belief=chain, epsilon=1.0, length=10, mechanism="wasserstein", delta=0.5)
    record = ReleaseRecord.from_dict(within.to_dict() | {"delta": 0.5, "noise_scale": made.noise_scale})
    exact = audit(chain, [Noisy(Count("1"), made.noise_scale)], length=10).epsilon
    assert exact > 1.0
    assert told(chain, record, length=10) >= exact
    assert "only up to delta = 0.5" in why(chain, record, length=10)
    with pytest.raises(NotCoveredError, match="delta"):
        Ledger.in_memory(belief=chain, budget=5.0).reserve(record, {})


def test_noise_is_checked_against_the_query() -> None:
    lie = {"mechanism": "quilt-exact", "epsilon": 0.1, "noise_scale": 0.01, "query": "count:1"}
    assert told(LAZY, ReleaseRecord.from_dict(lie), length=1000) == pytest.approx(103.58, abs=0.01)
    assert "quilt-exact needs 210.5" in why(LAZY, ReleaseRecord.from_dict(lie), length=1000, rule="sequential-quilt")
    with pytest.raises(InputError, match=r"at least what its query says \(2\), got 1"):
        told(LAZY, ReleaseRecord.from_dict(lie | {"query": "histogram", "lipschitz": 1.0}), length=10)
    with pytest.raises(InputError, match="lipschitz of a release must be a finite, positive number, got 0"):
        ReleaseRecord.from_dict(lie | {"lipschitz": 0})
    more = ReleaseRecord(query="count:1", noise_scale=1.0, lipschitz=3.0)
    assert told(COIN, more, length=10) == pytest.approx(3.0)  # a larger constant is taken at its word


def test_what_cannot_be_checked_is_not_believed() -> None:
    """A claimed epsilon of 0.1 counts for nothing if the noise tells more."""
    lie = ReleaseRecord(mechanism="wasserstein", epsilon=0.1, noise_scale=0.001, query="count:1")
    anywhere = LAZY.with_start("any")
    assert told(anywhere, lie, length=4) > 1000
    assert "but tells" in why(anywhere, lie, length=4)
    long = dataclasses.replace(lie, noise_scale=3.0)
    assert told(LAZY, long, length=5000) > 1.0
    for mechanism in ("curve", "quilt-exact", "quilt-approx", "group", "gk16", "wasserstein", "audited"):
        claim = dataclasses.replace(lie, mechanism=mechanism)
        assert told(LAZY, claim, length=12) > 100
        assert why(LAZY, claim, length=12)


def test_answers_by_window_are_more_than_their_sum() -> None:
    """Each value is seen, while their sum is always the same: no theorem may look at the sum."""
    values: dict[str, float | str] = {"a": 0, "b": 4, "z": 2, "o": 3}
    made = release(list("bzo"), Sum(values), belief=SWAP, epsilon=2.2, window=1, mechanism="curve", anyway=True)
    assert made.record().window == 1
    assert Accountant(SWAP, length=3, releases=[made.record()] * 4).composed().epsilon >= 10.0228
    assert "an answer for each window" in why(SWAP, *[made.record()] * 4, length=3, rule="divergence")


def test_shorter_series_count_too() -> None:
    """At length 3 the sum tells nearly nothing, at length 2 it does."""
    series = Series.from_values(list("bzobz"), states=SWAP.states, subject=[1, 1, 1, 2, 2])
    session = Session(series, belief=SWAP, budget=1000.0)
    for _ in range(8):
        made = session.release(Sum({"a": 0, "b": 1, "z": 0, "o": 1}), epsilon=1.2, mechanism="audited", anyway=True)
    record = made.record()
    assert (record.length, record.lengths) == (3, (2,))
    assert told(SWAP, record, length=3) == pytest.approx(1.2)
    assert session.spent() >= 14.2326
    lie = dataclasses.replace(record, epsilon=1.04)  # enough for length 3 alone
    assert told(SWAP, lie, length=3) > 1.19
    assert told(SWAP, dataclasses.replace(lie, lengths=()), length=3) == pytest.approx(1.04)
    many = dataclasses.replace(record, lengths=tuple(range(1, 40)))
    assert many.lengths == "many"
    assert ReleaseRecord.from_dict(many.to_dict()).to_dict() == many.to_dict()
    assert "many lengths" in why(SWAP, many, length=40)


def test_with_gaps_mechanisms_are_run_again_as_they_were() -> None:
    """Values at times 1, 3, 5 and 7 of a chain that alternates are all alike; side by side they cancel out."""
    swap = MarkovChain([[0.0, 1.0], [1.0, 0.0]], initial="stationary")
    claim = ReleaseRecord(
        mechanism="wasserstein", epsilon=1.0, noise_scale=1.0001, query="count:1", gaps="dependent", length=4
    )
    assert told(swap, claim, length=4) >= 3.99
    assert "does not cover series with gaps" in why(swap, claim, length=4)
    for mechanism in ("wasserstein", "gk16"):
        claim = dataclasses.replace(claim, mechanism=mechanism, noise_scale=1e6)
        assert "does not cover series with gaps" in str(by_mechanism(claim, Basis(COIN), 4))
    for mechanism in ("wasserstein", "audited", "gk16"):
        near = MarkovChain([[0.5, 0.5], [0.45, 0.55]], initial="stationary")
        series = Series.from_values(["0", None, "1"], states=near.states, missing="split")
        with pytest.raises(NotCoveredError, match=r"gaps|start"):
            release(series, "count:1", belief=near, epsilon=1.0, mechanism=mechanism, anyway=True)


def test_what_is_said_to_change_more_than_it_can_is_taken_at_its_word() -> None:
    for query in (Sum({"0": 1, "1": 1}), Mean({"0": 1, "1": 1})):
        assert told(COIN, ReleaseRecord(query=query, noise_scale=1.0), length=3) == 0.0
        assert told(COIN, ReleaseRecord(query=query, noise_scale=0.1, lipschitz=5.0), length=3) == pytest.approx(50.0)


def test_a_name_does_not_stand_for_its_noise() -> None:
    for mechanism in ("curve", "quilt-exact", "quilt-approx", "group"):
        claim = ReleaseRecord(mechanism=mechanism, epsilon=0.0001)
        with pytest.raises(NotCoveredError, match="does not say its noise_scale"):
            told(LAZY, claim, claim, length=100)
    long = ReleaseRecord(mechanism="other", epsilon=0.001, noise_scale=16.0, query="histogram")
    assert told(LAZY, long, length=2688) > 0.1  # its noise is known, and too long to be audited


def test_the_larger_claim_of_an_entry_release_counts() -> None:
    for noise in (100.0, 0.1):
        entry = ReleaseRecord(mechanism="entry", epsilon=5.0, noise_scale=noise, lipschitz=1.0)
        assert told(COIN, entry, length=3) == pytest.approx(max(5.0, 1 / noise))


def test_a_mechanism_that_is_not_ours(tmp_path: Path) -> None:
    """Its owner vouches for its epsilon: composed by C Theorem 3.1 (corrected) and C Theorem 3.6."""
    chain = MarkovChain([[0.999, 0.001], [0.99, 0.01]], initial=[0.5, 0.5])
    save_belief(chain, tmp_path / "belief.json")
    file = tmp_path / "releases.json"
    contents = [
        {"mechanism": "other", "epsilon": 10, "segment": [1, 1]},
        {"mechanism": "other", "epsilon": 8, "segment": [2, 2]},
    ]
    file.write_text(json.dumps(contents))
    composed = answer("compose", tmp_path / "belief.json", file, "--length", 2)
    assert composed["rule"] == "separate-segments"
    assert composed["epsilon"] == pytest.approx(12.303, abs=1e-3)
    file.write_text(json.dumps(contents[:1] * 2))
    refused = run("compose", tmp_path / "belief.json", file, "--length", 2, code=4)
    assert "no theorem" in refused.stderr
    lie = ReleaseRecord(mechanism="other", epsilon=0.1, query="count:1", noise_scale=1.0)
    with pytest.raises(NotCoveredError, match=r"says epsilon = 0\.1, but tells"):
        told(chain, lie, length=2)
    for more in ({"noise_scale": 100.0, "lipschitz": 1.0}, {"query": Sum({"0": 1, "1": 1})}):
        vouched = ReleaseRecord(mechanism="other", epsilon=5.0, **more)
        assert told(COIN, vouched, length=10) == 5.0  # the larger of two claims counts


def test_a_delta_of_an_entry_release_is_not_lost() -> None:
    with pytest.raises(NotCoveredError, match=r"only up to delta = 0\.5"):
        told(COIN, ReleaseRecord(mechanism="entry", epsilon=1.0, delta=0.5), length=10)


def test_a_false_epsilon_is_not_believed_on_a_joint_table() -> None:
    table = JointTable({"x": "01", "y": "01"}, [(("0", "0"), 0.5), (("1", "1"), 0.5)])
    exact = audit(table, [Noisy(Count("1"), 0.5)]).epsilon
    for mechanism in ("wasserstein", "audited", "group"):
        claim = ReleaseRecord(mechanism=mechanism, epsilon=0.01, noise_scale=0.5, query="count:1")
        composed = Accountant(table, releases=[claim]).composed()
        assert composed.epsilon == pytest.approx(4.0)
        assert composed.rule == "group"
        assert "epsilon = 0.01, but tells 4" in next(f.why or "" for f in composed.rules if f.rule == "single-release")
        honest = ReleaseRecord(mechanism=mechanism, epsilon=exact, noise_scale=0.5, query="count:1")
        assert Accountant(table, releases=[honest]).composed().epsilon == pytest.approx(exact)


def test_a_release_by_quilts_that_tells_nothing_is_no_trouble() -> None:
    one_state = MarkovChain([[1.0]], initial="stationary", states=["a"])
    record = ReleaseRecord(mechanism="quilt-exact", epsilon=1.0, query="histogram", noise_scale=1.0)
    assert Accountant(one_state, length=3, releases=[record]).composed().epsilon == 0.0
