"""The influence curve along the cliques of a network: known values, what it says, and exact laws along cliques."""

import numpy as np
import pytest
from examples import ASIA, CANCER

from quiltwork import (
    Accountant,
    BayesianNetwork,
    Count,
    Histogram,
    NetworkSet,
    Noisy,
    NotCoveredError,
    Over,
    ReleaseRecord,
    audit,
    calibrate as calibrate_noise,
    plan,
)
from quiltwork.auditor import smallest_scale
from quiltwork.beliefs.graph import Graph
from quiltwork.calibration.record import Calibration
from quiltwork.influence.curve import cliques
from quiltwork.laws import exact
from quiltwork.samples.contagion import contagion_belief


def calibrate(network: BayesianNetwork | NetworkSet, query: str, epsilon: float) -> Calibration:
    return calibrate_noise(query, belief=network, epsilon=epsilon, mechanism="curve")


def test_differences_too_large_for_floats_are_not_made_smaller() -> None:
    agree = np.full((2, 2, 2), 0.5)
    network = BayesianNetwork(
        {"a": "01", "b": "01", "c": "01"},
        parents={"b": ["a"], "c": ["a", "b"]},
        tables={"a": [0.5, 0.5], "b": np.array([[1, 0], [0.3, 0.7]]), "c": agree},
    )
    query = Over(Count("1"), ["a", "b"])
    for scale in (0.0014, 0.00125, 0.0002):
        told = Accountant(network, releases=[ReleaseRecord(query=query, noise_scale=scale)]).composed().epsilon
        assert told >= 2 / scale + np.log(0.7)


@pytest.mark.parametrize(("network", "state", "expected"), [(ASIA, "yes", 3.965), (CANCER, "True", 1.878)])
def test_counts_need_hardly_more_than_the_least_possible(network: BayesianNetwork, state: str, expected: float) -> None:
    scale = calibrate(network, f"count:{state}", 1.0).noise_scale
    least = smallest_scale(Count(state), belief=network, epsilon=1.0, length=None)
    assert least == pytest.approx(expected, abs=1e-3)
    assert least <= scale <= 1.01 * least
    quilts = calibrate_noise(f"count:{state}", belief=network, epsilon=1.0, mechanism="quilt-exact").noise_scale
    assert scale < 0.7 * quilts


def test_the_curve_is_the_default_and_composes() -> None:
    one = calibrate_noise("count:yes", belief=ASIA, epsilon=1.0)
    assert (one.mechanism, one.guarantee) == ("curve", "pufferfish")
    assert "hardest to keep apart" in one.reason.sentence()
    assert set(one.detail()) >= {"node", "pair", "own", "others", "clique"}
    reveals = one.detail()["reveals"]
    assert list(reveals) == list(ASIA.variables)
    assert reveals["lung"] == pytest.approx(one.detail()["own"], rel=1e-3)
    assert max(reveals, key=reveals.__getitem__) == one.detail()["node"] == "lung"
    record = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=one.noise_scale, query="count:yes")
    composed = Accountant(ASIA, releases=[record] * 3).composed()
    assert composed.rule == "influence-curve"
    assert audit(ASIA, [Noisy(Count("yes"), one.noise_scale)] * 3).epsilon <= composed.epsilon
    third = ReleaseRecord(noise_scale=3 * one.noise_scale, query="count:yes")
    assert Accountant(ASIA, releases=[third] * 3).composed().epsilon == pytest.approx(1.0, rel=1e-4)


def test_sets_of_networks_and_households() -> None:
    other = BayesianNetwork(
        CANCER.variables, parents=CANCER.parents, tables=CANCER.tables | {"Smoker": np.array([0.6, 0.4])}
    )
    alone = [calibrate(network, "count:True", 1.0).noise_scale for network in (CANCER, other)]
    both = calibrate(NetworkSet([CANCER, other]), "count:True", 1.0)
    assert both.noise_scale == pytest.approx(max(alone), rel=1e-4)
    household = contagion_belief()
    scale = calibrate(household, "count:yes", 1.0).noise_scale
    assert smallest_scale(Count("yes"), belief=household, epsilon=1.0, length=None) <= scale < 2.297  # quilts


def test_too_many_states_are_looked_at_coarsely_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    close = calibrate(ASIA, "histogram", 1.0)
    monkeypatch.setattr(cliques, "MOST_STATES", 4)
    coarse = calibrate(ASIA, "histogram", 1.0)
    assert close.noise_scale < coarse.noise_scale <= 16.0 * (1 + 1e-9)
    assert "too many states" in coarse.reason.sentence()
    assert coarse.detail()["coarse"] > 0
    assert audit(ASIA, [Noisy(Histogram(), coarse.noise_scale)]).epsilon <= 1.0
    monkeypatch.setattr(cliques, "MOST_WORK", 0)
    assert coarse.noise_scale <= calibrate(ASIA, "histogram", 1.0).noise_scale <= 16.0 * (1 + 1e-9)


def test_exact_laws_of_dozens_of_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve copies of a network side by side, each with a few variables: the least noise is that of one of them."""
    names = [f"{name}{n}" for n in range(12) for name in CANCER.variables]
    many = BayesianNetwork(
        {name: CANCER.variables[name.rstrip("0123456789")] for name in names},
        parents={
            name: [parent + name.removeprefix(plain) for parent in CANCER.parents[plain]]
            for name, plain in ((name, name.rstrip("0123456789")) for name in names)
        },
        tables={name: CANCER.tables[name.rstrip("0123456789")] for name in names},
    )
    assert len(many.variables) == 60
    one = smallest_scale(Count("True"), belief=CANCER, epsilon=1.0, length=None)
    assert smallest_scale(Count("True"), belief=many, epsilon=1.0, length=None) == pytest.approx(one, rel=1e-6)
    monkeypatch.setattr(exact, "MOST_NUMBERS", 100)
    with pytest.raises(NotCoveredError, match="3 variables with 2\\^3 entries and 37 possible answers"):
        audit(many, [Noisy(Count("True"), 2.0)])


def test_separate_parts_are_separate_trees() -> None:
    assert Graph(((), (), (1,))).cliques.edges == ()
    assert Graph(((), (), (1,))).cliques.cliques == ((0,), (1, 2))


def test_exact_laws_with_what_is_known_and_several_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    releases = [Noisy(Histogram(), 4.0), Noisy(Over(Count("yes"), {"lung": "2", "smoke": "-1"}), 3.0)]
    by_records = [audit(ASIA, releases[:1]), audit(ASIA, releases[1:], know={"smoke": "yes"}), audit(ASIA, releases)]
    monkeypatch.setattr(exact, "FEW_RECORDS", 0)
    by_cliques = [audit(ASIA, releases[:1]), audit(ASIA, releases[1:], know={"smoke": "yes"}), audit(ASIA, releases)]
    for one, other in zip(by_records, by_cliques, strict=True):
        assert one.epsilon == pytest.approx(other.epsilon, rel=1e-9)
        assert (one.node, one.pair) == (other.node, other.pair)
    planned = plan("count:yes", belief=ASIA, epsilon=1.0)
    assert {offer.mechanism for offer in planned.offers if offer.refused is None} >= {"curve", "audited", "wasserstein"}
    monkeypatch.setattr("quiltwork.calibration.calibrate.QUICK_WORK", 1.0)
    slow = plan("count:yes", belief=ASIA, epsilon=1.0)
    assert "would take" in str(next(offer for offer in slow.offers if offer.mechanism == "audited").refused)


def test_parts_that_share_nothing_add_up() -> None:
    """The law of the whole sum, though nothing joins the parts."""
    two = BayesianNetwork({"a": "01", "b": "01", "c": "01"}, tables={name: [0.5, 0.5] for name in "abc"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "FEW_RECORDS", 0)
        told = audit(two, [Noisy(Count("1"), 1.0)]).epsilon
    assert told == pytest.approx(audit(two, [Noisy(Count("1"), 1.0)]).epsilon, rel=1e-12)
