"""What ordinary differential privacy is worth under a belief, and the inverse."""

import numpy as np
import pytest
from examples import LAZY

from quiltwork import BayesianNetwork, MarkovChain, NotCoveredError, entry_epsilon, entry_guarantee
from quiltwork.errors import ParameterError
from quiltwork.samples import contagion_belief


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


def test_ordinary_dp_on_networks() -> None:
    from quiltwork import entry_epsilon, entry_guarantee

    tree = BayesianNetwork.from_chain(MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[0.5, 0.5]), 4)
    found = entry_guarantee(tree, 0.3)
    assert found.epsilon > 0.3
    assert entry_epsilon(tree, found.epsilon).epsilon_dp == pytest.approx(0.3, rel=1e-3)
    assert entry_guarantee(contagion_belief(), 0.3).epsilon > 0.3


@pytest.mark.parametrize("length", [None, 1, 1000])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_where_nothing_is_secret_no_largest_epsilon_exists(length: int | None, delta: float) -> None:
    one_state = MarkovChain([[1.0]])
    assert entry_guarantee(one_state, 5.0, length=length).epsilon == 0.0
    with pytest.raises(NotCoveredError, match="nothing that is secret"):
        entry_epsilon(one_state, 1.0, length=length, delta=delta)


def test_sizes_beyond_all_measure_are_refused() -> None:
    absorbing = MarkovChain([[1.0, 0.0], [0.5, 0.5]], initial=[0.0, 1.0])
    with pytest.raises(NotCoveredError, match="any length"):
        entry_epsilon(absorbing, 1e100)
    with pytest.raises(ParameterError, match="at most 1e"):
        entry_guarantee(LAZY, 1.7e308, length=1000)
