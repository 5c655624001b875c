"""Releases: value, accuracy, reason; nothing of the data but the noisy value."""

import json

import pytest
from examples import CHAIN, DATA

from quiltwork import (
    Accountant,
    Count,
    Frequencies,
    Histogram,
    MarkovChain,
    Mean,
    Records,
    ReleaseRecord,
    Session,
    Sum,
    Transitions,
    release,
)
from quiltwork.samples.contagion import contagion_belief


def test_values_come_in_the_form_that_people_read() -> None:
    assert isinstance(release(DATA, Count("10"), belief=CHAIN, epsilon=1.0, anyway=True).value, int)
    assert set(release(DATA, Histogram(), belief=CHAIN, epsilon=1.0, anyway=True).value) == {"0", "10"}
    assert release(DATA, Sum(), belief=CHAIN, epsilon=1.0, anyway=True).value % 10 == 0
    assert set(release(DATA, Transitions(), belief=CHAIN, epsilon=1.0, anyway=True).value["0"]) == {"0", "10"}
    shares = release(DATA, Frequencies(), belief=CHAIN, epsilon=1.0, anyway=True)
    assert shares.noise_scale == pytest.approx(2 * 3.33641 / 1200, rel=1e-5)  # twice that of one count
    assert sum(shares.value.values()) == pytest.approx(1, abs=1e-15)
    assert shares.error(1 - 1e-9) < 0.2


def test_noisy_values_are_near_the_truth() -> None:
    """With probability 1 - 1e-9 each."""
    for query, truth in ((Count("10"), 300), (Sum(), 3000), (Mean(), 2.5)):
        found = release(DATA, query, belief=CHAIN, epsilon=1.0, anyway=True)
        assert abs(found.value - truth) <= found.error(1 - 1e-9)


def test_accuracy_is_about_the_noise() -> None:
    found = release(DATA, Histogram(), belief=CHAIN, epsilon=1.0, anyway=True)
    assert found.error(0.95) == 10
    assert found.error(0.5) < found.error(0.95) == found.error(0.95, simultaneous=True)  # one number has noise
    text = found.explain()
    assert "confidence interval" not in text
    assert "error of the noise" in text
    assert "0 and 10 are the hardest to keep apart" in text or "10 and 0 are the hardest" in text
    quilts = release(DATA, Histogram(), belief=CHAIN, epsilon=1.0, mechanism="quilt-exact", anyway=True)
    assert quilts.error(0.95) == 38
    assert "Theorem 4.4 of Wang" in quilts.explain()
    assert "5 steps before and 5 steps after" in quilts.explain()
    json.dumps(found.to_dict())


def test_an_answer_that_no_value_can_change_gets_no_noise() -> None:
    single = MarkovChain([[1]], states=["here"])
    found = release(["here"] * 5, Histogram(), belief=single, epsilon=1.0, anyway=True)
    assert found.value == {"here": 5}
    assert found.error() == 0


def test_shares_and_means_explain_their_own_noise() -> None:
    found = release(DATA, Mean(), belief=CHAIN, epsilon=1.0, anyway=True)
    assert "divided by the 1,200 values" in found.explain()
    assert f"{found.noise_scale:.6g}" in found.explain()


def test_shares_of_two_states_are_one_count() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])
    values = ["sit", "sit", "walk", "sit"] * 250
    shares = release(values, Frequencies(), belief=chain, epsilon=1.0, anyway=True)
    count = release(values, "count:sit", belief=chain, epsilon=1.0, anyway=True)
    histogram = release(values, Histogram(), belief=chain, epsilon=1.0, anyway=True)
    assert shares.noise_scale * 1000 == pytest.approx(2 * count.noise_scale) == pytest.approx(histogram.noise_scale)
    assert histogram.error() == count.error() == pytest.approx(1000 * shares.error())
    assert shares.value["sit"] + shares.value["walk"] == pytest.approx(1.0, abs=1e-15)
    assert shares.labels == ("sit", "walk")
    assert ReleaseRecord.from_dict(shares.record().to_dict()) == shares.record()
    account = Accountant(chain)
    assert account.add(shares.record()).epsilon <= 1.0 + 1e-12
    windows = release(values, "frequencies", belief=chain, epsilon=1.0, window=500, anyway=True)
    assert all(sum(part.value.values()) == pytest.approx(1.0) for part in windows.parts)


def test_shares_of_two_states_by_hand_count_as_two_numbers() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])
    by_hand = ReleaseRecord(query="frequencies", noise_scale=0.01, lipschitz=0.002, length=1000)
    profile = by_hand.profile(chain)
    assert profile is not None
    assert float(profile[0].max()) == pytest.approx(0.2)


def test_records_take_the_least_noise_where_no_budget_is_kept() -> None:
    household = contagion_belief()
    people = [dict.fromkeys(household.variables, "no"), dict.fromkeys(household.variables, "yes")]
    alone = release(people, "count:yes", belief=household, epsilon=1.0, anyway=True)
    assert alone.calibration.mechanism == "audited"
    assert "least for a single release" in alone.explain()
    budgeted = Session(Records.from_rows(people, variables=household.variables), belief=household, budget=2.0)
    kept = budgeted.count("yes", epsilon=1.0, anyway=True)
    assert kept.calibration.mechanism == "curve"
    assert alone.noise_scale < kept.noise_scale


def test_one_draw_is_one_number_at_once() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])
    shares = release(["sit", "walk"] * 100, "frequencies", belief=chain, epsilon=1.0, anyway=True)
    assert shares.error(simultaneous=True) == shares.error()
    assert "at once" not in shares.explain()
