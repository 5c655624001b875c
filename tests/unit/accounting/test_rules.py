"""Composition: each rule's condition and bound, against the exact audit where that is possible."""

import pytest
from accounts import finding, quilts
from effort import examples
from examples import LAZY
from hypothesis import given, settings, strategies as st
from strategies import chains, with_some_start

from quiltwork import Accountant, Count, IntervalChain, MarkovChain, MixingClass, Noisy, ReleaseRecord, audit, calibrate


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
    """C Theorem 3.1: printed 11.709, the truth can reach 12.046, corrected 12.303."""
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


@settings(max_examples=examples(14))
@given(chains(max_states=3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.data())
def test_separate_segments_cover_the_audited_loss(
    chain: MarkovChain, one: int, gap: int, other: int, data: st.DataObject
) -> None:
    """Of every value, also of those between the segments."""
    known = with_some_start(chain)
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
    """C Theorem 3.6 on the two values of C Theorem 3.4: one release 1.9177, two 3.8476, more than twice one."""
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
        assert "does not guarantee" in finding([quilts(1.0)], rule)[1]
    assert finding([whole, whole], "bayesian", coin, 1)[0] == pytest.approx(2.0)
    lie = ReleaseRecord(
        mechanism="curve", epsilon=0.01, noise_scale=0.5, lipschitz=1.0, segment=(1, 2), guarantee="bayesian"
    )
    assert "guarantees" in finding([lie, parts[1]], "bayesian-parallel", coin, 4)[1]
