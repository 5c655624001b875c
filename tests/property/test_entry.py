"""Ordinary differential privacy that is zero-concentrated: the theorem by enumeration, and OpenDP's measurements."""

import itertools
import math

import numpy as np
import pytest
from effort import examples
from examples import LAZY
from hypothesis import given, settings, strategies as st
from strategies import chains, with_some_start

from quiltwork import (
    Accountant,
    BayesianNetwork,
    MarkovChain,
    NotCoveredError,
    ReleaseRecord,
    entry_epsilon,
    entry_guarantee,
)
from quiltwork.errors import ParameterError

ORDERS = 1 + np.geomspace(1e-4, 1e4, 4000)


def series_and_laws(chain: MarkovChain, length: int) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """All series, and their laws given each two values at each time."""
    k = len(chain.states)
    series = np.array(list(itertools.product(range(k), repeat=length)))
    start = chain.stationary if chain.start == "stationary" else np.asarray(chain.initial)
    probability = start[series[:, 0]] * np.prod(chain.transition[series[:, :-1], series[:, 1:]], axis=1)
    pairs = []
    for time in range(length):
        of_state = [np.where(series[:, time] == state, probability, 0.0) for state in range(k)]
        laws = [law / law.sum() for law in of_state if law.sum() > 0]
        pairs += list(itertools.permutations(laws, 2))
    return series, pairs


def exact_delta(outputs: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]], epsilon: float) -> float:
    return max(
        (float(np.maximum(p @ outputs - math.exp(epsilon) * (q @ outputs), 0).sum()) for p, q in pairs), default=0.0
    )


def noisy_counts(counts: np.ndarray, sigma: float) -> np.ndarray:
    """Discrete Gaussian noise on a count, one row for each series; ρ = 1 / (2σ²)."""
    reach = int(12 * sigma) + 8
    steps = np.arange(-reach, reach + counts.max() + 1)
    weights = np.exp(-((steps[None, :] - counts[:, None]) ** 2) / (2 * sigma**2))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@given(
    chain=chains(max_states=3),
    length=st.integers(1, 4),
    sigma=st.sampled_from([0.8, 2.0, 6.0]),
    delta=st.sampled_from([0.2, 0.03, 1e-3, 1e-6]),
)
@settings(max_examples=examples(6))
def test_gaussian_noise_on_a_count_keeps_its_promise(
    chain: MarkovChain, length: int, sigma: float, delta: float
) -> None:
    chain = with_some_start(chain)
    series, pairs = series_and_laws(chain, length)
    try:
        found = entry_guarantee(chain, rho=1 / (2 * sigma**2), delta=delta, length=length)
    except NotCoveredError:
        return
    outputs = noisy_counts((series == 0).sum(axis=1), sigma)
    assert exact_delta(outputs, pairs, found.epsilon) <= delta * (1 + 1e-9)


@given(chain=chains(max_states=3), length=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=examples(4))
def test_any_mechanism_keeps_its_promise(chain: MarkovChain, length: int, seed: int) -> None:
    """Few outputs with arbitrary laws that are ε_0 apart for one value: they are ε_0²/2-zero-concentrated."""
    chain, rng = with_some_start(chain), np.random.default_rng(seed)
    series, pairs = series_and_laws(chain, length)
    differ = (series[:, None, :] != series[None, :, :]).sum(axis=2) == 1
    for width, delta in ((0.1, 1e-3), (0.6, 0.1)):
        outputs = np.exp(width * rng.standard_normal((len(series), 4)))
        outputs /= outputs.sum(axis=1, keepdims=True)
        logs = np.log(outputs)
        epsilon_dp = float(np.abs(logs[:, None, :] - logs[None, :, :])[differ].max())
        try:
            found = entry_guarantee(chain, rho=epsilon_dp**2 / 2, delta=delta, length=length)
        except NotCoveredError:
            continue
        assert exact_delta(outputs, pairs, found.epsilon) <= delta * (1 + 1e-9)


def apart(P: np.ndarray, Q: np.ndarray) -> float:
    """The smallest m with D_α ≤ α m²/2 at many orders."""
    logs = ORDERS[:, None] * np.log(P) + (1 - ORDERS[:, None]) * np.log(Q)
    top = logs.max(axis=1)
    divergences = (top + np.log(np.exp(logs - top[:, None]).sum(axis=1))) / (ORDERS - 1)
    return math.sqrt(2 * max(0.0, float((divergences / ORDERS).max())))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=examples(40))
def test_zero_concentrated_distances_add_up(seed: int) -> None:
    """The triangle inequality of Statement 82."""
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.full(int(rng.integers(2, 6)), rng.choice([0.5, 2.0, 20.0])), size=3) + 1e-9
    P, R, Q = laws / laws.sum(axis=1, keepdims=True)
    assert apart(P, Q) <= (apart(P, R) + apart(R, Q)) * (1 + 1e-3) + 1e-6


def test_there_and_back() -> None:
    asked = entry_epsilon(LAZY, 1.0, delta=1e-6)
    assert asked.rho is not None
    back = entry_guarantee(LAZY, rho=asked.rho, delta=1e-6)
    assert 1 - 1e-3 < back.epsilon <= 1.0
    assert "(1, 1e-06)-Pufferfish" in back.explain()
    independent = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    assert (
        entry_guarantee(independent, rho=0.01, delta=1e-6).epsilon < entry_guarantee(LAZY, rho=0.01, delta=1e-6).epsilon
    )
    record = ReleaseRecord(noise="gaussian", noise_scale=1 / math.sqrt(2 * asked.rho), lipschitz=1.0, length=1000)
    told = Accountant(LAZY, length=1000, releases=[record], delta=1e-6).composed()
    assert told.epsilon == pytest.approx(1.0, rel=1e-3)
    tree = BayesianNetwork.from_chain(LAZY.with_start([0.5, 0.5]), 4)
    wanted = entry_epsilon(tree, 1.0, delta=1e-5)
    assert wanted.rho is not None
    assert entry_guarantee(tree, rho=wanted.rho, delta=1e-5).epsilon == pytest.approx(1.0, rel=1e-3)


def test_what_says_too_little_is_refused() -> None:
    with pytest.raises(NotCoveredError, match=r"says too little.*for groups.*Give the rho"):
        entry_guarantee(LAZY, epsilon_dp=1.0, delta=1e-6)
    with pytest.raises(ParameterError, match="needs a delta"):
        entry_guarantee(LAZY, rho=0.1)
    with pytest.raises(ParameterError, match="rho must be"):
        entry_guarantee(LAZY, rho=-1.0, delta=1e-6)
    with pytest.raises(ParameterError, match="one of epsilon_dp, rho and measurement"):
        entry_guarantee(LAZY)
    with pytest.raises(ParameterError, match="measurement of OpenDP"):
        entry_guarantee(LAZY, measurement=3.0)
    with pytest.raises(NotCoveredError, match="any length"):
        entry_guarantee(MarkovChain(np.eye(2)), rho=0.1, delta=1e-6)
    with pytest.raises(NotCoveredError, match="no useful guarantee"):
        entry_guarantee(MarkovChain(np.eye(2)), rho=1e4, delta=1e-6, length=1000)


def test_measurements_of_opendp() -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    domain = dp.vector_domain(dp.atom_domain(bounds=(0, 1)), size=1000)
    total = dp.t.make_sum(domain, dp.symmetric_distance())
    pure, gaussian = total >> dp.m.then_laplace(4.0), total >> dp.m.then_gaussian(16.0)
    assert entry_guarantee(LAZY, measurement=pure) == entry_guarantee(LAZY, epsilon_dp=0.25)
    found = entry_guarantee(LAZY, measurement=gaussian, delta=1e-6)
    assert found == entry_guarantee(LAZY, rho=1 / 512, delta=1e-6)
    approximate = dp.c.make_zCDP_to_approxDP(gaussian)
    for weaker in (approximate, dp.c.make_fix_delta(approximate, 1e-6), dp.c.make_approximate(gaussian)):
        with pytest.raises(NotCoveredError, match="for groups"):
            entry_guarantee(LAZY, measurement=weaker, delta=1e-6)
    number = dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=16.0)
    with pytest.raises(ParameterError, match="needs a distance"):
        entry_guarantee(LAZY, measurement=number, delta=1e-6)
    assert entry_guarantee(LAZY, measurement=number, distance=1, delta=1e-6) == found
