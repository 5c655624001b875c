"""Chains: stationary laws, structure, reversal, counts."""

import numpy as np
import pytest
from hypothesis import assume, given
from strategies import transitions

from quiltwork import InputError, MarkovChain


@given(transitions())
def test_stationary_law_is_stationary(P: np.ndarray) -> None:
    chain = MarkovChain(P)
    assume(len(chain._closed) == 1)
    assert np.allclose(chain.stationary @ chain.transition, chain.stationary, atol=1e-14)
    assert chain.stationary.sum() == pytest.approx(1)


def test_stationary_law_keeps_tiny_entries_accurate() -> None:
    """A birth and death chain over forty orders of magnitude: detailed balance gives the law exactly."""
    k = 21
    P = np.diag(np.full(k - 1, 0.001), 1) + np.diag(np.full(k - 1, 0.1), -1)
    P += np.diag(1 - P.sum(axis=1))
    expected = 0.01 ** np.arange(k)
    assert MarkovChain(P).stationary == pytest.approx(expected / expected.sum(), rel=1e-11, abs=0)


def test_structure() -> None:
    cycle = MarkovChain(np.roll(np.eye(3), 1, axis=1))
    assert (cycle.irreducible, cycle.period, cycle.aperiodic, cycle.reversible) == (True, 3, False, False)
    assert cycle.gap == pytest.approx(0, abs=1e-12)
    absorbing = MarkovChain([[0.5, 0.5], [0, 1]])
    assert (absorbing.irreducible, absorbing.aperiodic) == (False, True)
    assert absorbing.stationary.tolist() == [0, 1]
    with pytest.raises(InputError, match="irreducible"):
        _ = absorbing.gap
    single = MarkovChain([[1]])
    assert (single.gap, single.pi_min, single.irreducible) == (1.0, 1.0, True)


@given(transitions(zeros=False))
def test_time_reversal_twice_is_the_chain(P: np.ndarray) -> None:
    chain = MarkovChain(P)
    assert chain.time_reversal().time_reversal().transition == pytest.approx(chain.transition, rel=1e-9)
    assert 0 <= chain.gap <= 1


def test_from_counts() -> None:
    with pytest.raises(InputError, match="counts row 2 must have a positive entry"):
        MarkovChain.from_counts([[1, 1], [0, 0]])
    assert MarkovChain.from_counts([[1, 1], [0, 0]], smoothing=1).transition[1].tolist() == [0.5, 0.5]
    with pytest.raises(InputError, match="smoothing"):
        MarkovChain.from_counts([[1]], smoothing=-1)
