"""Mechanisms on networks: width, households, quilts, rare starts."""

import math
import sys

import numpy as np
import pytest

from quiltwork import (
    BayesianNetwork,
    Count,
    InputError,
    MarkovChain,
    Noisy,
    NotCoveredError,
    Sum,
    audit,
    calibrate,
    plan,
)
from quiltwork.samples import contagion_belief, household_network


def dense(count: int) -> BayesianNetwork:
    names = [f"v{n}" for n in range(count)]
    half = [0.5, 0.5]
    tables = {name: np.full((2,) * n + (2,), 0.5) if n < 6 else half for n, name in enumerate(names)}
    parents = {name: names[:n] if n < 6 else [] for n, name in enumerate(names)}
    return BayesianNetwork(dict.fromkeys(names, "01"), parents=parents, tables=tables)


def test_a_dense_network_says_its_width_and_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    network = dense(7)
    assert network.width == (6, 6.0)
    monkeypatch.setattr("quiltwork.influence.quilts.inference.WIDEST", 5.0)
    with pytest.raises(NotCoveredError, match=r"width 5: a table of 6 variables with 2\^6 entries: the limit is 2\^5"):
        calibrate(Count("1"), belief=network, epsilon=1.0, mechanism="quilt-exact")
    offers = {offer.mechanism: offer for offer in plan(Count("1"), belief=network, epsilon=1.0).offers}
    assert "width 5" in (offers["quilt-exact"].refused or "")
    assert offers["group"].noise_scale == pytest.approx(6.0)


def test_without_pyagrum_the_install_command_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyagrum", None)
    with pytest.raises(InputError, match=r'pip install "quiltwork\[networks\]"'):
        calibrate(Count("yes"), belief=contagion_belief(), epsilon=1.0)
    tree = BayesianNetwork.from_chain(MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[0.5, 0.5]), 3)
    assert calibrate(Count("1"), belief=tree, epsilon=1.0).mechanism == "curve"


def test_the_household_of_the_paper() -> None:
    """Four people, infected with probabilities (.1, .15, .5, .15, .1) on 0..4: W = 2, group privacy 4 (A section 3)."""
    household = contagion_belief()
    infected = household.all_outcomes.codes.sum(axis=1)
    law = [math.fsum(np.exp(household.all_outcomes.logs[infected == n])) for n in range(5)]
    assert law == pytest.approx([0.1, 0.15, 0.5, 0.15, 0.1])
    scales = {
        name: calibrate(Count("yes"), belief=household, epsilon=1.0, mechanism=name).noise_scale
        for name in ("wasserstein", "group", "quilt-exact", "audited")
    }
    assert scales["wasserstein"] == pytest.approx(2.0)
    assert scales["group"] == pytest.approx(4.0)
    assert scales["audited"] <= scales["quilt-exact"] <= scales["group"]
    for name, scale in scales.items():
        assert audit(household, [Noisy(Count("yes"), scale)]).epsilon <= 1 + 1e-6, name


def test_independent_households_need_no_more_than_the_hardest() -> None:
    laws = {("a", "b", "c", "d"): (0.1, 0.15, 0.5, 0.15, 0.1), ("e", "f"): (0.6, 0.1, 0.3)}
    street = household_network(laws)
    for name in ("wasserstein", "group", "quilt-exact"):
        alone = [
            calibrate(Count("yes"), belief=household_network({who: law}), epsilon=1.0, mechanism=name).noise_scale
            for who, law in laws.items()
        ]
        together = calibrate(Count("yes"), belief=street, epsilon=1.0, mechanism=name).noise_scale
        assert together == pytest.approx(max(alone))
    with pytest.raises(InputError, match="law of 3 numbers"):
        household_network({("a", "b"): (0.5, 0.5)})


def test_quilt_size_is_for_networks() -> None:
    with pytest.raises(InputError, match="for quilt-exact on a network"):
        calibrate("count:0", belief=MarkovChain([[0.5, 0.5], [0.5, 0.5]]), epsilon=1.0, length=3, quilt_size=2)


@pytest.mark.parametrize(
    ("transition", "start", "length"),
    [
        ([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.01, 0.0, 0.99]], [0.5, 0.5, 1e-17], 6),
        ([[1 - 1e-30, 1e-30], [0.5, 0.5]], [1.0, 1e-17], 6),
        ([[1 - 1e-20, 1e-20], [0.1, 0.9]], [1 - 3e-16, 3e-16], 8),
    ],
)
def test_a_rare_start_is_not_taken_for_the_stationary_one(
    transition: list[list[float]], start: list[float], length: int
) -> None:
    states = ["0", "1", "100"][: len(start)]
    path = BayesianNetwork.from_chain(MarkovChain(transition, initial=start, states=states), length)
    for guarantee in ("pufferfish", "bayesian"):
        made = calibrate(Sum(), belief=path, epsilon=1.0, guarantee=guarantee)
        assert audit(path, [Noisy(Sum(), made.noise_scale)]).epsilon <= 1 + 1e-9
