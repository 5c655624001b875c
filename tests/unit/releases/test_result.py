"""Releases: value, accuracy, reason; nothing of the data but the noisy value."""

import json

import pytest
from examples import CHAIN, DATA

from quiltwork import Count, Frequencies, Histogram, MarkovChain, Mean, Sum, Transitions, release


def test_values_come_in_the_form_that_people_read() -> None:
    assert isinstance(release(DATA, Count("10"), belief=CHAIN, epsilon=1.0).value, int)
    assert set(release(DATA, Histogram(), belief=CHAIN, epsilon=1.0).value) == {"0", "10"}
    assert release(DATA, Sum(), belief=CHAIN, epsilon=1.0).value % 10 == 0
    assert set(release(DATA, Transitions(), belief=CHAIN, epsilon=1.0).value["0"]) == {"0", "10"}
    shares = release(DATA, Frequencies(), belief=CHAIN, epsilon=1.0)
    assert shares.noise_scale == pytest.approx(2 * 3.33641 / 1200, rel=1e-5)
    assert sum(shares.value.values()) == pytest.approx(1, abs=2 * shares.error(1 - 1e-9))
    assert shares.error(1 - 1e-9) < 0.2


def test_noisy_values_are_near_the_truth() -> None:
    """With probability 1 - 1e-9 each."""
    for query, truth in ((Count("10"), 300), (Sum(), 3000), (Mean(), 2.5)):
        found = release(DATA, query, belief=CHAIN, epsilon=1.0)
        assert abs(found.value - truth) <= found.error(1 - 1e-9)


def test_accuracy_is_about_the_noise() -> None:
    found = release(DATA, Histogram(), belief=CHAIN, epsilon=1.0)
    assert found.error(0.95) == 20
    assert found.error(0.5) < found.error(0.95) < found.error(0.95, simultaneous=True)
    text = found.explain()
    assert "confidence interval" not in text
    assert "noise only" in text
    assert "0 and 10 are the hardest to keep apart" in text or "10 and 0 are the hardest" in text
    quilts = release(DATA, Histogram(), belief=CHAIN, epsilon=1.0, mechanism="quilt-exact")
    assert quilts.error(0.95) == 77
    assert "Theorem 4.4 of Wang" in quilts.explain()
    assert "5 steps before and 5 steps after" in quilts.explain()
    json.dumps(found.to_dict())


def test_an_answer_that_no_value_can_change_gets_no_noise() -> None:
    single = MarkovChain([[1]], states=["here"])
    found = release(["here"] * 5, Histogram(), belief=single, epsilon=1.0)
    assert found.value == {"here": 5}
    assert found.error() == 0


def test_shares_and_means_explain_their_own_noise() -> None:
    found = release(DATA, Mean(), belief=CHAIN, epsilon=1.0)
    assert "divided by the 1,200 values" in found.explain()
    assert f"{found.noise_scale:.6g}" in found.explain()
