"""The slowest chains that data allow."""

import numpy as np
import pytest

from quiltwork import MarkovChain, QuiltworkError, calibrate, fit_chain
from quiltwork.fitting import forgotten_after, lasting_longer, slowest_within
from quiltwork.fitting.slower import _slowest_for, memory

COUNTS = np.array([[450.0, 45, 5], [45, 400, 5], [5, 5, 40]])


def test_memory_is_the_sum_of_differences_of_laws() -> None:
    P = COUNTS / COUNTS.sum(axis=1, keepdims=True)
    power, total = np.eye(3), np.zeros((3, 3, 3))
    for _ in range(3000):
        total += power[:, None, :] - power[None, :, :]
        power = power @ P
    assert memory(P) == pytest.approx(np.abs(total).sum(axis=2))


def test_the_slowest_chain_is_as_unlikely_as_allowed_and_no_other_is_slower() -> None:
    visits = COUNTS.sum(axis=1)
    best = COUNTS / visits[:, None]
    slow = _slowest_for(best, visits, (0, 2), 2.0)
    likelihood = float((COUNTS * np.log(slow / best)).sum())
    assert -2.0 - 1e-6 <= likelihood <= -2.0 + 1e-3
    rng = np.random.default_rng(0)
    for _ in range(300):  # other chains that the counts allow
        other = rng.normal(size=(3, 3)) * np.sqrt(best / visits[:, None])
        other = np.maximum(best + other - best * other.sum(axis=1, keepdims=True), 1e-6)
        other /= other.sum(axis=1, keepdims=True)
        if float((COUNTS * np.log(other / best)).sum()) >= -2.0:
            assert memory(other)[0, 2] <= memory(slow)[0, 2] * 1.02


def test_noise_for_the_class_covers_the_true_chain() -> None:
    """Data simulated from a known chain: in 19 of 20 runs and more, the class needs at least the true chain's noise."""
    P = np.array([[0.9, 0.1], [0.15, 0.85]])
    truth = calibrate("histogram", belief=MarkovChain(P), epsilon=1.0, length="any").noise_scale
    rng, runs, covered, point = np.random.default_rng(7), 40, 0, 0
    for _ in range(runs):
        counts, state = np.zeros((2, 2)), 0
        for u in rng.random(400):
            after = int(u > P[state, 0])
            counts[state, after] += 1
            state = after
        fit = fit_chain(counts)
        enough = calibrate("histogram", belief=fit.within(0.95), epsilon=1.0, length="any").noise_scale
        covered += enough >= truth
        point += calibrate("histogram", belief=fit.chain, epsilon=1.0, length="any").noise_scale >= truth
    assert covered >= 0.95 * runs
    assert point < 0.8 * runs  # the fitted chain alone does not


def test_memory_of_every_pair_is_covered() -> None:
    P = np.array([[0.9, 0.08, 0.02], [0.05, 0.9, 0.05], [0.02, 0.18, 0.8]])
    rng, runs, covered = np.random.default_rng(3), 100, 0
    for _ in range(runs):
        counts, state = np.zeros((3, 3)), 0
        for u in rng.random(800):
            after = int(np.searchsorted(P[state].cumsum(), u))
            counts[state, min(after, 2)] += 1
            state = min(after, 2)
        slow = slowest_within(counts, confidence=0.95)
        covered += bool(np.all(np.max([memory(chain) for chain in slow], axis=0) >= memory(P)))
    assert covered >= 0.95 * runs


def test_longer_and_shorter_stays() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[0.3, 0.7], states=["sit", "walk"])
    longer = lasting_longer(chain, 4)
    assert longer.transition.tolist() == [[0.975, 0.025], [0.1, 0.9]]
    assert longer.start == "given"
    assert longer.states == chain.states
    assert lasting_longer(longer, 0.25).transition.round(12).tolist() == chain.transition.tolist()
    for factor in (0.1, 0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(QuiltworkError, match="at least"):
            lasting_longer(chain, factor)


def test_forgetting_takes_as_many_steps_as_powers_say() -> None:
    for P in ([[0.9, 0.1], [0.4, 0.6]], [[0.99, 0.01], [0.005, 0.995]], [[0.5, 0.5], [0.5, 0.5]]):
        chain = MarkovChain(P)
        after = forgotten_after(chain)
        assert after is not None
        powers = [np.linalg.matrix_power(chain.transition, n) for n in (after - 1, after)]
        before, now = (float(np.abs(p[0] - p[1]).sum() / 2) for p in powers)
        assert now <= 0.05 < before
    assert forgotten_after(MarkovChain([[1, 0], [0, 1]])) is None
    assert forgotten_after(MarkovChain([[0, 1], [1, 0]])) is None


def test_confidence_is_refused_where_nothing_can_be_said() -> None:
    with pytest.raises(QuiltworkError, match="above 0 and below 1"):
        slowest_within(COUNTS, confidence=1.0)
    with pytest.raises(QuiltworkError, match="never forgets"):
        slowest_within(np.array([[5.0, 0], [0, 5]]), confidence=0.9)
