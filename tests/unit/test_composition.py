"""Composition: each rule's condition and bound, against the exact audit where that is possible."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chains

from quiltwork import (
    Accountant,
    ChainSet,
    Count,
    IntervalChain,
    JointTable,
    MarkovChain,
    MixingClass,
    Noisy,
    NotCoveredError,
    ReleaseRecord,
    audit,
    calibrate,
    entry_epsilon,
    entry_guarantee,
)
from quiltwork.accounting.case import Case
from quiltwork.accounting.record import load_releases
from quiltwork.accounting.rules import RULES
from quiltwork.auditor import leakage
from quiltwork.errors import InputError, ParameterError

LAZY = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")


@st.composite
def counts(draw: st.DrawFn, length: int) -> Noisy:
    """A noisy count on a segment."""
    first = draw(st.integers(1, length))
    segment = (first, draw(st.integers(first, length)))
    return Noisy(Count("0"), draw(st.sampled_from([0.5, 2.0, 10.0])), segment)


def quilts(epsilon: float, length: int = 1000, mechanism: str = "quilt-exact", **more: object) -> ReleaseRecord:
    scale = calibrate("count:1", belief=LAZY, epsilon=epsilon, length=length, mechanism=mechanism).noise_scale
    return ReleaseRecord(mechanism=mechanism, epsilon=epsilon, noise_scale=scale, lipschitz=1.0, **more)  # type: ignore[arg-type]


def finding(releases: list[ReleaseRecord], rule: str, belief: object = LAZY, length: int = 1000) -> tuple[object, str]:
    found = next(r for r in RULES if r.name == rule)
    accountant = Accountant(belief, length=length, releases=releases)  # type: ignore[arg-type]
    case = Case(accountant.terms, accountant.total)
    why = found.applies(case)
    return (None, why) if why is not None else (found.bound(case), "")


def test_quilt_releases_add_up_and_the_curve_is_below() -> None:
    composed = Accountant(LAZY, length=1000, releases=[quilts(0.5), quilts(0.3), quilts(0.2)]).composed()
    by_rule = {f.rule: f.epsilon for f in composed.rules}
    assert by_rule["sequential-quilt"] == pytest.approx(1.0)
    assert by_rule["same-quilts"] is None
    assert composed.rule == "influence-curve"
    assert composed.epsilon < 0.3
    assert finding([quilts(0.5)] * 3, "same-quilts")[0] == pytest.approx(1.5)


def test_sequential_quilts_checks_its_condition() -> None:
    assert (
        "not by the Markov Quilt"
        in finding([quilts(0.5), ReleaseRecord(mechanism="wasserstein", epsilon=1.0)], "sequential-quilt")[1]
    )
    assert "different segments" in finding([quilts(0.5), quilts(0.5, segment=(1, 500))], "sequential-quilt")[1]
    assert (
        "needs"
        in finding(
            [ReleaseRecord(mechanism="quilt-exact", epsilon=0.5, noise_scale=1.0, lipschitz=1.0)], "sequential-quilt"
        )[1]
    )
    assert "does not say its epsilon" in finding([ReleaseRecord(mechanism="quilt-exact")], "sequential-quilt")[1]
    unsaid = ReleaseRecord(mechanism="quilt-exact", epsilon=0.5)
    assert "does not say its noise_scale" in finding([unsaid], "sequential-quilt")[1]
    bounds = IntervalChain([[0.8, 0.1], [0.3, 0.5]], [[0.9, 0.2], [0.5, 0.7]])
    assert "max-influence" in finding([quilts(0.5)], "sequential-quilt", bounds)[1]


def test_theorem_3_1_is_the_corrected_one() -> None:
    """Theory section 7.1: printed 11.709, the truth can reach 12.046, corrected 12.303."""
    chain = MarkovChain([[0.999, 0.001], [0.99, 0.01]], initial=[0.5, 0.5])
    a, b = (
        ReleaseRecord(mechanism="other", epsilon=10.0, segment=(1, 1)),
        ReleaseRecord(mechanism="other", epsilon=8.0, segment=(2, 2)),
    )
    composed = Accountant(chain, length=2, releases=[a, b]).composed()
    assert composed.rule == "separate-segments"
    assert composed.epsilon == pytest.approx(12.303, abs=1e-3)
    true = audit(chain, [Noisy(Count("1"), 0.1, (1, 1)), Noisy(Count("1"), 1 / 8, (2, 2))], length=2).epsilon
    assert 11.9 < true < composed.epsilon


@settings(max_examples=60)
@given(chains(max_states=3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.data())
def test_separate_segments_cover_the_audited_loss(
    chain: MarkovChain, one: int, gap: int, other: int, data: st.DataObject
) -> None:
    """Of every value, also of those between the segments."""
    known = chain if chain.initial is not None else chain.with_start(np.full(len(chain.states), 1 / len(chain.states)))
    length = one + gap + other
    segments = [(1, one), (one + gap, length)] if gap > 1 else [(1, one), (one + 1, length)]
    scales = [data.draw(st.sampled_from([0.3, 1.0, 5.0])) for _ in segments]
    noisy = [Noisy(Count("0"), scale, segment) for scale, segment in zip(scales, segments, strict=True)]
    records = [
        ReleaseRecord(mechanism="other", epsilon=max(audit(known, [n], length=length).epsilon, 1e-9), segment=segment)
        for n, segment in zip(noisy, segments, strict=True)
    ]
    true = audit(known, noisy, length=length).epsilon
    bound, why = finding(records, "separate-segments", known, length)
    assert why == ""
    assert true <= bound * (1 + 1e-9) + 1e-9  # type: ignore[operator]


def test_segments_that_are_not_separate() -> None:
    record = ReleaseRecord(mechanism="other", epsilon=1.0, segment=(1, 10))
    assert (
        "overlap"
        in finding([record, ReleaseRecord(mechanism="other", epsilon=1.0, segment=(10, 20))], "separate-segments")[1]
    )
    assert "whole series" in finding([record, ReleaseRecord(mechanism="other", epsilon=1.0)], "separate-segments")[1]
    assert "two releases" in finding([record] * 3, "separate-segments")[1]
    entry = ReleaseRecord(mechanism="entry", epsilon=1.0, segment=(11, 20))
    assert "no Pufferfish guarantee" in finding([record, entry], "separate-segments")[1]


def test_far_segments_cost_no_more_than_one() -> None:
    known = MixingClass(2, pi_min=0.2, gap=0.5, reversible=True)
    scale = calibrate("count:1", belief=known, epsilon=1.0, length=100, mechanism="quilt-approx").noise_scale
    near = [
        ReleaseRecord(mechanism="quilt-approx", epsilon=1.0, noise_scale=scale, lipschitz=1.0, segment=segment)
        for segment in ((1, 100), (150, 249))
    ]
    far = [
        near[0],
        ReleaseRecord(mechanism="quilt-approx", epsilon=1.0, noise_scale=scale, lipschitz=1.0, segment=(300, 399)),
    ]
    assert finding(far, "far-segments", known)[0] == 1.0
    assert "gap of 50" in finding(near, "far-segments", known)[1]
    assert "quilt-approx" in finding([quilts(1.0), quilts(1.0)], "far-segments")[1]
    short = [
        ReleaseRecord(mechanism="quilt-approx", epsilon=1.0, noise_scale=5.0, lipschitz=1.0, segment=segment)
        for segment in ((1, 5), (20, 24))
    ]
    assert "two-sided" in finding(short, "far-segments", known)[1]
    short = [
        ReleaseRecord(mechanism="quilt-approx", epsilon=1.0, noise_scale=1.0, lipschitz=1.0, segment=segment)
        for segment in ((1, 5), (20, 24))
    ]
    assert "needs" in finding(short, "far-segments", known)[1]


def test_divergence_is_exact_and_covers_the_truth() -> None:
    """Theory section 4's two values: one release 1.9177, two 3.8476, more than twice one."""
    chain = MarkovChain([[0.99, 0.01], [0.1, 0.9]], initial=[0.1, 0.9])
    noisy = Noisy(Count("1"), 1.0)
    alone, both = (audit(chain, [noisy] * n, length=2).epsilon for n in (1, 2))
    assert both > 2 * alone
    record = ReleaseRecord(mechanism="audited", epsilon=alone, noise_scale=1.0, lipschitz=1.0, query="count:1")
    bound, why = finding([record, record], "divergence", chain, 2)
    assert why == ""
    assert both <= bound  # type: ignore[operator]
    independent = MarkovChain([[0.3, 0.7], [0.3, 0.7]], initial="stationary")
    parts = [
        ReleaseRecord(
            mechanism="audited", epsilon=1.0, noise_scale=1.0, lipschitz=1.0, segment=segment, query="count:1"
        )
        for segment in ((1, 2), (3, 4))
    ]
    assert finding(parts, "divergence", independent, 4)[0] == pytest.approx(2.0, abs=1e-6)
    vouched = ReleaseRecord(mechanism="other", epsilon=alone, query="count:1", noise_scale=1.0)
    assert finding([vouched, vouched], "divergence", chain, 2)[0] == pytest.approx(bound)
    made = calibrate("count:1", belief=LAZY, epsilon=1.0, length=1001)
    long = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=made.noise_scale, query="count:1")
    assert "at most 200" in finding([long], "divergence", LAZY, 1001)[1]
    lie = ReleaseRecord(mechanism="audited", epsilon=0.1, noise_scale=1.0, lipschitz=1.0, query="count:1")
    assert "release 1 says epsilon = 0.1" in finding([lie], "divergence", chain, 2)[1]
    assert "query" in finding([ReleaseRecord(mechanism="other", epsilon=0.1)], "divergence", chain, 2)[1]
    anywhere = chain.with_start("any")
    noise = calibrate("count:1", belief=anywhere, epsilon=1.0, length=2).noise_scale
    long = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=noise, query="count:1")
    assert "first value" in finding([long], "divergence", anywhere, 2)[1]


def test_bayesian_promises_add_only_without_a_shared_unknown() -> None:
    whole = ReleaseRecord(mechanism="other", epsilon=1.0, guarantee="bayesian")
    parts = [ReleaseRecord(mechanism="other", epsilon=1.0, segment=s, guarantee="bayesian") for s in ((1, 2), (3, 4))]
    coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    assert finding(parts, "bayesian", coin, 4)[0] == pytest.approx(2.0)
    assert finding(parts, "bayesian-parallel", coin, 4)[0] == 1.0
    for rule in ("bayesian", "bayesian-parallel"):
        assert "at time 2 shows in the result about time 3" in finding(parts, rule, LAZY, 4)[1]
        assert "several results depend on the values at times 1 to 4" in finding([whole, whole], rule, coin, 4)[1]
        assert "does not promise" in finding([quilts(1.0)], rule)[1]
    assert finding([whole, whole], "bayesian", coin, 1)[0] == pytest.approx(2.0)
    lie = ReleaseRecord(
        mechanism="curve", epsilon=0.01, noise_scale=0.5, lipschitz=1.0, segment=(1, 2), guarantee="bayesian"
    )
    assert "guarantees" in finding([lie, parts[1]], "bayesian-parallel", coin, 4)[1]


@settings(max_examples=40)
@given(chains(max_states=3), st.integers(1, 4), st.data())
def test_a_bayesian_accountant_covers_every_adversary(chain: MarkovChain, length: int, data: st.DataObject) -> None:
    """Profiles add, in sequence and over segments; the exact leakage of both releases together stays below."""
    known = chain if chain.initial is not None else chain.with_start(np.full(len(chain.states), 1 / len(chain.states)))
    noisy = [data.draw(counts(length)) for _ in range(2)]
    records = [ReleaseRecord(noise_scale=n.noise_scale, query=n.query, segment=n.segment) for n in noisy]
    composed = Accountant(chain, length=length, releases=records, guarantee="bayesian").composed()
    assert leakage(known, noisy, length=length).epsilon <= composed.epsilon * (1 + 1e-8) + 1e-9
    assert composed.epsilon >= Accountant(chain, length=length, releases=records).composed().epsilon - 1e-9


def test_a_bayesian_accountant_uses_no_pufferfish_theorem() -> None:
    composed = Accountant(LAZY, length=1000, releases=[quilts(0.5)], guarantee="bayesian").composed()
    assert composed.rule == "influence-curve"
    assert {f.rule for f in composed.rules if f.applies} == {"influence-curve", "group"}
    with pytest.raises(ParameterError, match="pufferfish or bayesian"):
        Accountant(LAZY, guarantee="other")  # type: ignore[arg-type]


@settings(max_examples=60)
@given(chains(max_states=3), st.integers(2, 12), st.data())
def test_the_accountant_covers_the_audited_loss(chain: MarkovChain, length: int, data: st.DataObject) -> None:
    known = chain if chain.initial is not None else chain.with_start(np.full(len(chain.states), 1 / len(chain.states)))
    noisy = [data.draw(counts(length)) for _ in range(2)]
    records = [ReleaseRecord(noise_scale=n.noise_scale, lipschitz=1.0, segment=n.segment) for n in noisy]
    composed = Accountant(chain, length=length, releases=records).composed()
    assert audit(known, noisy, length=length).epsilon <= composed.epsilon * (1 + 1e-8) + 1e-9


def test_ten_releases_within_one_budget() -> None:
    """ε = 1 in all: each within 1 % of ten times the noise of one; quilts by C 3.7 beside it."""
    one = calibrate("count:1", belief=LAZY, epsilon=1.0).noise_scale
    assert one == pytest.approx(3.33641, abs=1e-4)
    ten = [ReleaseRecord(mechanism="curve", epsilon=None, noise_scale=10 * one, lipschitz=1.0)] * 10
    composed = Accountant(LAZY, length=1000, releases=ten).composed()
    assert composed.epsilon <= 1.0 + 1e-6
    assert composed.epsilon >= 0.99
    by_quilts = calibrate("count:1", belief=LAZY, epsilon=0.1, mechanism="quilt-exact").noise_scale
    assert by_quilts > 6 * 10 * one


def test_a_dry_run_changes_nothing() -> None:
    accountant = Accountant(LAZY, length=100)
    assert accountant.composed().epsilon == 0.0
    release = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=3.4, lipschitz=1.0, segment=(1, 50))
    tried = accountant.dry_run(release)
    assert not accountant.releases
    assert accountant.add(release).epsilon == tried.epsilon
    assert list(accountant.releases) == [release]
    with pytest.raises(NotCoveredError, match="no theorem"):
        accountant.add(ReleaseRecord(mechanism="wasserstein", epsilon=1.0))
    assert list(accountant.releases) == [release]


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
    made = calibrate("frequencies", belief=chain, epsilon=1.0, length=8)
    truth = ReleaseRecord(
        mechanism="curve", epsilon=1.0, noise_scale=made.noise_scale / 8, lipschitz=2.0 / 8, query="frequencies"
    )
    assert finding([truth], "single-release", chain, 8)[0] == pytest.approx(1.0)
    quilt = ReleaseRecord(
        mechanism="quilt-exact", epsilon=1.0, noise_scale=1.0, lipschitz=1.0, query="count:1", guarantee="bayesian"
    )
    assert "says epsilon" in finding([quilt], "single-release", chain, 8)[1]


@pytest.mark.parametrize("length", [5, 300, 5_000, None])
@pytest.mark.parametrize("query", ["histogram", "count:0"])
@pytest.mark.parametrize("start", ["stationary", "any", [0.2, 0.3, 0.5]])
def test_what_is_planned_stays_within_its_budget(length: int | None, query: str, start: object) -> None:
    """Ten times the noise, ten releases: the accountant computes anew and must not come to more."""
    P = [[0.7, 0.2, 0.1], [0.15, 0.6, 0.25], [0.05, 0.3, 0.65]]
    chain = MarkovChain(P, initial=start)  # type: ignore[arg-type]
    scale = calibrate(query, belief=chain, epsilon=1.0, length=length).noise_scale
    ten = [ReleaseRecord(mechanism="curve", epsilon=None, noise_scale=10 * scale, query=query)] * 10
    assert Accountant(chain, length=length, releases=ten).composed().epsilon <= 1.0 + 1e-9
    if length == 5:  # the same on a segment of a longer series
        segment = [ReleaseRecord(mechanism="curve", epsilon=None, noise_scale=scale, query=query, segment=(41, 45))]
        assert Accountant(chain.with_start("any"), length=1000, releases=segment).composed().epsilon <= 1.3


def test_one_release_keeps_its_promise() -> None:
    vouched = ReleaseRecord(mechanism="other", epsilon=1.0)
    assert Accountant(LAZY, length=10, releases=[vouched]).composed().epsilon >= 1.0
    with pytest.raises(NotCoveredError, match="does not say the query and the noise_scale by which wasserstein"):
        Accountant(LAZY, length=10, releases=[ReleaseRecord(mechanism="wasserstein", epsilon=1.0)]).composed()
    flu = JointTable({"x": "01", "y": "01"}, [((a, b), 0.45 if a == b else 0.05) for a in "01" for b in "01"])
    record = ReleaseRecord(mechanism="wasserstein", epsilon=1.0, noise_scale=2.0, query="count:1")
    assert Accountant(flu, length=2, releases=[record]).composed().rule == "single-release"
    both = Accountant(flu, length=2, releases=[record, record]).composed()
    assert both.rule == "group"
    assert both.epsilon == pytest.approx(2.0)


@pytest.mark.parametrize(
    "belief",
    [
        MarkovChain([[0.9, 0.1], [0.4, 0.6]]),
        ChainSet([LAZY, MarkovChain([[0.8, 0.2], [0.3, 0.7]])]),
        IntervalChain([[0.8, 0.1], [0.3, 0.5]], [[0.9, 0.2], [0.5, 0.7]]),
        MixingClass(2, pi_min=0.2, gap=0.5),
    ],
)
def test_every_chain_belief_composes(belief: object) -> None:
    records = [
        ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=30.0, lipschitz=1.0, segment=s)
        for s in ((1, 300), (200, 700), None)
    ]
    composed = Accountant(belief, length=1000, releases=records).composed()  # type: ignore[arg-type]
    assert 0.1 < composed.epsilon < 20
    assert composed.losses is not None
    first, last = composed.losses.worst
    assert 1 <= first <= last <= 1000


def test_entry_level_guarantees_are_the_curve_and_its_inverse() -> None:
    found = entry_guarantee(LAZY, 0.3, length=1000)
    assert found.epsilon == pytest.approx(1.001, abs=1e-3)
    assert "3.337 times" in found.explain()
    back = entry_epsilon(LAZY, found.epsilon)
    assert back.epsilon_dp == pytest.approx(0.3, rel=1e-5)
    assert entry_guarantee(LAZY, back.epsilon_dp).epsilon <= found.epsilon
    coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    assert entry_guarantee(coin, 0.7).epsilon == pytest.approx(0.7, abs=1e-9)
    stuck = MarkovChain(np.eye(2))
    with pytest.raises(NotCoveredError, match="any length"):
        entry_guarantee(stuck, 0.1)
    assert entry_guarantee(stuck, 0.1, length=50).epsilon == pytest.approx(5.0)
    assert entry_epsilon(stuck, 5.0, length=50).epsilon_dp == pytest.approx(0.1)
    with pytest.raises(ParameterError, match="epsilon must be"):
        entry_guarantee(LAZY, -1)


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
        ({"length": 0}, "from 1 on"),
        ({"reading": {"colum": "x"}}, "colum"),
        ({"segment": [5, 6], "length": 4}, "within its length"),
        ({"query": {"kind": "magic"}}, "kind"),
        ({"query": {"kind": "count"}}, "cannot be read"),
        ({"segment": [5, 2]}, "forward"),
        ({"segment": [0, 2]}, "forward"),
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
        ("[" * 100_000, "JSON"),
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
