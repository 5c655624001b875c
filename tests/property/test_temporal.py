"""Temporal privacy leakage, the baseline of a benchmark: against enumeration, and against the influence curve."""

import doctest
import itertools
import math

import instead
import numpy as np
import pytest
import scaling
import temporal
from effort import examples
from numpy.typing import NDArray
from temporal import Passing, step_epsilon, temporal_leakage

from quiltwork import MarkovChain, entry_epsilon, entry_guarantee

Array = NDArray[np.float64]
SEEDS = range(examples(20))


def random_rows(rng: np.random.Generator, states: int, *, zeros: bool = False) -> Array:
    P = rng.dirichlet(np.full(states, 0.7), size=states)
    if zeros:
        P = np.where((rng.random(P.shape) < 0.3) & ~np.eye(states, dtype=bool), 0.0, P)
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def plain_passing(P: Array, leakage: float) -> float:
    """The definition: every two rows, every set of states."""
    worst = 0.0
    for a, b in itertools.permutations(range(len(P)), 2):
        for chosen in itertools.product((0, 1), repeat=len(P)):
            v = np.where(np.array(chosen) == 1, math.exp(leakage), 1.0)
            worst = max(worst, math.log(P[a] @ v / (P[b] @ v)))
    return worst


def enumerated_losses(chain: MarkovChain, epsilon: float, length: int) -> Array:
    """The exact loss about each value if every step says its state, or any other with the same smaller chance."""
    k = len(chain.states)
    told = (np.ones((k, k)) + (math.exp(epsilon) - 1) * np.eye(k)) / (k - 1 + math.exp(epsilon))
    paths = list(itertools.product(range(k), repeat=length))
    start = chain.stationary
    weights = [start[p[0]] * math.prod(chain.transition[y, z] for y, z in itertools.pairwise(p)) for p in paths]
    joint = np.zeros((len(paths), length, k))  # of outputs, and the value at each time
    for n, output in enumerate(paths):
        for path, weight in zip(paths, weights, strict=True):
            chance = weight * math.prod(told[y, w] for y, w in zip(path, output, strict=True))
            joint[n, range(length), path] += chance
    given = joint / joint.sum(axis=0)
    ratios = np.log(given[:, :, :, None] / given[:, :, None, :])
    return np.asarray(ratios.max(axis=(0, 2, 3)))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_is_the_worst_of_all_sets(seed: int) -> None:
    rng = np.random.default_rng([1, seed])
    P = random_rows(rng, int(rng.integers(1, 6)), zeros=seed % 2 == 0)
    for leakage in (0.0, float(rng.uniform(0.01, 1)), 5.0, 40.0):
        assert Passing(P)(leakage) == pytest.approx(plain_passing(P, leakage), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_enumeration_never_finds_more(seed: int) -> None:
    rng = np.random.default_rng([2, seed])
    states = int(rng.integers(2, 4))
    chain = MarkovChain(random_rows(rng, states), initial="stationary")
    epsilon, length = float(rng.uniform(0.1, 2)), int(rng.integers(1, 5))
    bound = temporal_leakage(chain, epsilon, length)
    assert (enumerated_losses(chain, epsilon, length) <= bound * (1 + 1e-9)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_two_states_that_tend_to_stay_reach_it(seed: int) -> None:
    rng = np.random.default_rng([3, seed])
    p, q = sorted(rng.uniform(0.02, 0.98, size=2))
    chain = MarkovChain([[1 - p, p], [1 - q, q]], initial="stationary")
    epsilon = float(rng.uniform(0.1, 2))
    assert temporal_leakage(chain, epsilon, 4) == pytest.approx(enumerated_losses(chain, epsilon, 4), rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_curve_says_no_more(seed: int) -> None:
    rng = np.random.default_rng([4, seed])
    chain = MarkovChain(random_rows(rng, int(rng.integers(2, 6))), initial="stationary")
    epsilon, length = float(rng.uniform(0.1, 2)), int(rng.integers(1, 30))
    ours, theirs = (
        entry_guarantee(chain, epsilon, length=length).epsilon,
        temporal_leakage(chain, epsilon, length).max(),
    )
    assert ours <= theirs * (1 + 1e-6)


def test_the_epsilon_of_a_step_keeps_the_limit() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    allowed = step_epsilon(chain, 1.0, 100)
    assert temporal_leakage(chain, allowed, 100).max() <= 1.0
    assert allowed == pytest.approx(entry_epsilon(chain, 1.0, length=100).epsilon_dp, rel=1e-4)


def test_examples_of_the_benchmarks_are_true() -> None:
    for module in (temporal, instead, scaling):
        assert doctest.testmod(module) == (0, doctest.testmod(module).attempted)
