"""Known values: worked examples of the papers, and of the statements in docs/theory."""

import math

import numpy as np
import pytest

from quiltwork import Count, Histogram, MarkovChain, MixingClass, NotCoveredError, calibrate, plan
from quiltwork.influence.quilts.spectral import spectral_influence
from quiltwork.influence.quilts.tables import ChainTables

STICKY = [[0.99, 0.01], [0.02, 0.98]]
LAZY = [[0.9, 0.1], [0.4, 0.6]]


@pytest.mark.parametrize(("transition", "scale", "digits"), [(LAZY, 12.83996, 5), (STICKY, 275.14, 2)])
def test_exact_quilts_on_long_stationary_chains(transition: list[list[float]], scale: float, digits: int) -> None:
    """Statement 4 (A Theorem 4.4): ε = 1, count query."""
    chain = MarkovChain(transition, initial="stationary")
    for length in (1000, 10**9, None):
        found = calibrate(Count("1"), belief=chain, epsilon=1.0, length=length, mechanism="quilt-exact")
        assert round(found.noise_scale, digits) == scale


def test_gap_counts_multiplicity() -> None:
    """Statement 5 (C Lemma 2.3): P P* has eigenvalues 1, 1, .25, so the gap is 0 and the lemma does not apply."""
    chain = MarkovChain([[0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]])
    P, back = chain.transition, chain.time_reversal().transition
    assert np.allclose(np.sort(np.linalg.eigvals(P @ back).real), [0.25, 1, 1])
    assert chain.gap == pytest.approx(0, abs=1e-12)
    assert chain.irreducible
    assert chain.aperiodic
    with pytest.raises(NotCoveredError, match=r"gap is 0.*quilt-exact"):
        calibrate(Count("1"), belief=chain, epsilon=1.0, length=1000, mechanism="quilt-approx")
    assert calibrate(Count("1"), belief=chain, epsilon=1.0, length=1000).noise_scale < 1000


def test_the_printed_lemma_would_be_false() -> None:
    """C Lemma 2.3 as printed: without the repeated eigenvalue the "bound" at distance 40 is 3.06e-6; it is 4.77e-6."""
    chain = MarkovChain([[0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]])
    printed = spectral_influence(np.array([40]), pi_min=chain.pi_min, gap=0.75, reversible=False)[0]
    tables = ChainTables(chain.transition)
    tables.extend(40)
    truth = tables.right(40)[39].max()
    assert printed == pytest.approx(3.06e-6, rel=1e-3)
    assert truth == pytest.approx(4.77e-6, rel=1e-3)


def test_spectral_influence_by_hand() -> None:
    """A Lemma 4.7 at π_min = .2, g = .5, distance 10: Δ = 5 exp(-5)."""
    delta = 5 * math.exp(-5)
    found = spectral_influence(np.array([10]), pi_min=0.2, gap=0.5, reversible=True)[0]
    assert found == pytest.approx(math.log((1 + delta) / (1 - delta)), rel=1e-12)
    assert found >= math.log((1 + delta) / (1 - delta))
    general = spectral_influence(np.array([20]), pi_min=0.2, gap=0.5, reversible=False)[0]
    assert general == pytest.approx(found, rel=1e-12)


def test_independent_values_need_entry_noise_only() -> None:
    chain = MarkovChain([[0.3, 0.7], [0.3, 0.7]], initial="stationary")
    assert calibrate(Count("1"), belief=chain, epsilon=0.5, length=100).noise_scale == pytest.approx(2.0)


def test_histogram_needs_twice_the_noise_of_a_count() -> None:
    alike = MarkovChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], initial="stationary")
    one = calibrate(Count("1"), belief=alike, epsilon=1.0, length=1).noise_scale
    assert calibrate(Histogram(), belief=alike, epsilon=1.0, length=1).noise_scale == pytest.approx(2 * one)


def test_a_histogram_of_two_states_needs_the_noise_of_a_count() -> None:
    chain = MarkovChain(LAZY, initial="stationary")
    count = calibrate(Count("1"), belief=chain, epsilon=1.0, length=500)
    both = calibrate(Histogram(), belief=chain, epsilon=1.0, length=500)
    assert both.noise_scale == pytest.approx(2 * count.noise_scale)  # on two numbers that keep their total
    errors = [
        plan(query, belief=chain, epsilon=1.0, length=500, mechanisms=["curve"]) for query in ("count:1", "histogram")
    ]
    assert errors[0].offers[0].error_95 == errors[1].offers[0].error_95


def test_mixing_class_needs_as_much_as_its_slowest_chain() -> None:
    """π_min and gap of the chain itself: the class contains it, so it cannot need less."""
    chain = MarkovChain(LAZY, initial="stationary")
    known = MixingClass(2, pi_min=0.2, gap=0.5, reversible=True)
    own = calibrate(Count("1"), belief=chain, epsilon=1.0, length=500, mechanism="quilt-approx")
    whole = calibrate(Count("1"), belief=known, epsilon=1.0, length=500, mechanism="quilt-approx")
    assert whole.noise_scale == pytest.approx(own.noise_scale, rel=1e-6)
