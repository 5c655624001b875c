"""The same noise under other beliefs."""

from typing import Any

import pytest
from examples import LAZY, WARD

from quiltwork import ChainSet, IntervalChain, MarkovChain, QuiltworkError, audit, calibrate, compare, plan
from quiltwork.accounting.compare import distance_between, plan_under
from quiltwork.auditor import Noisy
from quiltwork.fitting import lasting_longer
from quiltwork.question import parse_query

SLOW = lasting_longer(LAZY, 2)


def test_noise_made_for_a_belief_has_its_epsilon_and_more_under_a_slower_one() -> None:
    scale = calibrate("histogram", belief=LAZY, epsilon=1.0, length="any").noise_scale
    found = compare("histogram", belief=LAZY, other=SLOW, noise_scale=scale, length="any")
    assert found.epsilon == pytest.approx(1.0, rel=1e-6)
    losses = dict(found.stays)
    assert losses[2.0] == found.epsilon_other
    assert found.epsilon < losses[1.1] < losses[1.2] < losses[1.5] < losses[2.0] < losses[3.0]  # type: ignore[operator]
    needed = calibrate("histogram", belief=SLOW, epsilon=found.epsilon_other or 0, length="any").noise_scale
    assert needed == pytest.approx(scale, rel=1e-4)


def test_exact_losses_are_those_of_the_audit_and_never_above_the_curve() -> None:
    found = compare("count:1", belief=LAZY, other=SLOW, noise_scale=3.0, length=20, exact=True, longer=())
    bound = compare("count:1", belief=LAZY, other=SLOW, noise_scale=3.0, length=20, longer=())
    assert found.epsilon == audit(LAZY, [Noisy(parse_query("count:1"), 3.0, None)], length=20).epsilon
    assert found.epsilon <= bound.epsilon
    assert found.epsilon_other is not None
    assert bound.epsilon_other is not None
    assert found.epsilon_other <= bound.epsilon_other


def test_other_kinds_and_orders() -> None:
    bounds = IntervalChain([[0.85, 0.05], [0.35, 0.55]], [[0.95, 0.15], [0.45, 0.65]])
    found = compare("histogram", belief=LAZY, other=bounds, noise_scale=10.0, length="any", longer=())
    assert found.epsilon_other is not None
    assert found.epsilon_other > found.epsilon
    assert found.distance is None
    swapped = MarkovChain([[0.6, 0.4], [0.1, 0.9]], initial="stationary", states=["1", "0"])
    found = compare("count:1", belief=LAZY, other=swapped, noise_scale=5.0, length=4)
    assert found.epsilon_other == pytest.approx(found.epsilon)
    assert found.distance == pytest.approx(0.0, abs=1e-12)
    records = compare("count:no over flu", belief=WARD, other=WARD, noise_scale=2.0)
    assert records.epsilon == records.epsilon_other
    assert records.stays == ()
    with pytest.raises(QuiltworkError, match="same states"):
        compare("histogram", belief=LAZY, other=MarkovChain([[0.5, 0.5], [0.5, 0.5]], states="ab"), noise_scale=5.0)
    with pytest.raises(QuiltworkError, match="positive, finite"):
        compare("histogram", belief=LAZY, noise_scale=0.0)


def test_distances() -> None:
    other = MarkovChain([[0.8, 0.2], [0.4, 0.6]])
    plain = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    assert distance_between(plain, plain, length=50) == 0
    assert distance_between(plain, other, length=None) is None
    assert distance_between(plain, MarkovChain([[1, 0], [0.4, 0.6]]), length=3) is None
    assert distance_between(LAZY, other, length=3) is None  # any start is not near a given one
    near = distance_between(plain, ChainSet([plain, other]), length=3)
    assert near == distance_between(plain, other, length=3)
    assert distance_between(ChainSet([plain, other]), other, length=3) == 0


@pytest.mark.parametrize("query", ["histogram", "frequencies", "count:1"])
def test_plans_show_the_other_belief(query: str) -> None:
    made = plan(query, belief=LAZY, epsilon=1.0, length=200, mechanisms=["curve", "group", "entry"])
    losses = plan_under(made, belief=LAZY, other=SLOW)
    same = plan_under(made, belief=LAZY, other=LAZY)
    assert same["curve"] == pytest.approx(1.0, rel=1e-5)
    assert losses["curve"] is not None
    assert losses["curve"] > 1.3
    shared = plan(query, belief=LAZY, epsilon=1.0, length=200, mechanisms=["curve"], releases=3)
    assert plan_under(shared, belief=LAZY, other=LAZY)["curve"] == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize(
    ("query", "more"),
    [
        ("stays:1", {"window": 5}),
        (["stays", "count:1"], {"window": 5}),
        ("count:1", {"delta": 1e-6, "noise": "gaussian"}),
        ("frequencies", {"delta": 1e-6, "noise": "gaussian"}),
        ("stays", {"delta": 1e-6, "noise": "gaussian", "releases": 3}),
        ("count:1", {"guarantee": "bayesian"}),
    ],
)
def test_plans_under_the_same_belief_keep_their_promise_whatever_is_planned(query: Any, more: dict[str, Any]) -> None:
    made = plan(query, belief=LAZY, epsilon=1.0, length=200, mechanisms=["curve"], **more)
    assert plan_under(made, belief=LAZY, other=LAZY)["curve"] == pytest.approx(1.0, rel=1e-3)
