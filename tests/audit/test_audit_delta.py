"""The exact δ: against sums over all series and outputs, against the exact loss, and below what calibration claims."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import chains, with_some_start
from typer.testing import CliRunner

from quiltwork import (
    BayesianNetwork,
    ChainSet,
    Count,
    GaussianBelief,
    Histogram,
    JointTable,
    MarkovChain,
    Noisy,
    NotCoveredError,
    audit,
    calibrate,
    save_belief,
)
from quiltwork.auditor import exact_delta
from quiltwork.auditor.adversaries import leakage
from quiltwork.cli import app
from quiltwork.errors import ParameterError
from quiltwork.types import Noise

LAZY = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
REACH = 44


def drawn(answers: np.ndarray, scale: float, noise: Noise) -> np.ndarray:
    """The law of each answer with noise, on whole numbers from -REACH to REACH."""
    steps = np.arange(-REACH, REACH + 1) - answers[:, None]
    everywhere = np.arange(-40 * REACH, 40 * REACH + 1)

    def weights(at: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(-((at / scale) ** 2) / 2 if noise == "gaussian" else -np.abs(at) / scale))

    return np.asarray(weights(steps) / weights(everywhere).sum())


def all_series(chain: MarkovChain, length: int) -> tuple[np.ndarray, np.ndarray]:
    series = np.array(list(itertools.product(range(len(chain.states)), repeat=length)))
    start = chain.stationary if chain.start == "stationary" else np.asarray(chain.initial)
    return series, start[series[:, 0]] * np.prod(chain.transition[series[:, :-1], series[:, 1:]], axis=1)


Laws = list[tuple[np.ndarray, np.ndarray]]


def given_secrets(records: np.ndarray, probability: np.ndarray, outputs: np.ndarray) -> Laws:
    """The laws of outputs given every two values of every variable."""
    pairs: Laws = []
    for values in records.T:
        given_value = []
        for value in np.unique(values):
            own = np.where(values == value, probability, 0.0)
            if own.sum() > 0:
                given_value.append(own @ outputs / own.sum())
        pairs += itertools.permutations(given_value, 2)
    return pairs


def by_force(pairs: Laws, epsilon: float) -> float:
    """The largest sum of (p - e^ε q)₊."""
    return max((float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in pairs), default=0.0)


def joint(answers: list[np.ndarray], noisy: list[Noisy]) -> np.ndarray:
    """The law of all outputs together, given each record."""
    together = np.ones((len(answers[0]), 1))
    for own, release in zip(answers, noisy, strict=True):
        outputs = drawn(own, release.noise_scale, release.noise)
        together = (together[:, :, None] * outputs[:, None, :]).reshape(len(own), -1)
    return together


NOISES = st.tuples(st.sampled_from([0.7, 1.3, 2.0]), st.sampled_from(["gaussian", "laplace"]), st.integers(0, 2))


@given(
    chain=chains(max_states=3),
    length=st.integers(1, 3),
    asked=st.lists(NOISES, min_size=1, max_size=2),
    same=st.booleans(),
)
@settings(max_examples=examples(16))
def test_chains_by_force(chain: MarkovChain, length: int, asked: list[tuple[float, Noise, int]], same: bool) -> None:
    """One or two counts with equal or different noise, of all values or of some."""
    chain = with_some_start(chain)
    series, probability = all_series(chain, length)
    answers, noisy = [], []
    for n, (scale, noise, begun) in enumerate(asked if not same else asked[:1] * len(asked)):
        state, first = (0 if same else n % len(chain.states)), min(begun + 1, length)
        answers.append((series[:, first - 1 :] == state).sum(axis=1))
        noisy.append(Noisy(Count(chain.states[state]), scale, (first, length), noise))
    pairs = given_secrets(series, probability, joint(answers, noisy))
    for epsilon in (0.3, 1.5):
        at = exact_delta(chain, noisy, epsilon=epsilon, length=length)
        expected = by_force(pairs, epsilon)
        assert at.at_least - 1e-9 <= expected <= at.at_most + 1e-12
        assert at.at_most <= expected + 1e-9 * (1 + math.exp(epsilon))
    told = audit(chain, noisy, length=length, delta=0.01)
    assert by_force(pairs, told.epsilon) <= 0.01 * (1 + 1e-9)
    assert told.epsilon_at_least is not None
    assert told.epsilon_at_least <= told.epsilon
    if told.epsilon < 5:  # beyond, what is cut off of a law counts e^ε times
        assert told.epsilon_at_least == pytest.approx(told.epsilon, rel=1e-4, abs=1e-6)
    if told.epsilon > 0.01:
        assert by_force(pairs, told.epsilon * 0.999) > 0.01 * (1 - 1e-5)
    for one in told.curve:
        assert one.at_least - 1e-7 <= by_force(pairs, one.epsilon) <= one.at_most + 1e-9


@given(chain=chains(max_states=3), length=st.integers(1, 3), odds=st.floats(0.01, 0.99), noise=NOISES)
@settings(max_examples=examples(8), deadline=None)
def test_no_start_has_more(chain: MarkovChain, length: int, odds: float, noise: tuple[float, Noise, int]) -> None:
    noisy = [Noisy(Count(chain.states[0]), noise[0], noise=noise[1])]
    whole = exact_delta(chain.with_start("any"), noisy, epsilon=0.5, length=length)
    told = audit(chain.with_start("any"), noisy, length=length, delta=0.01)
    for first, second in itertools.permutations(range(len(chain.states)), 2):
        start = np.zeros(len(chain.states))
        start[first], start[second] = odds, 1 - odds
        held = chain.with_start(start)
        series, probability = all_series(held, length)
        pairs = given_secrets(series, probability, joint([(series == 0).sum(axis=1)], noisy))
        assert by_force(pairs, 0.5) <= whole.at_most + 1e-12
        assert by_force(pairs, told.epsilon) <= 0.01 * (1 + 1e-9)
    assert whole.at_least <= whole.at_most <= whole.at_least * 1.01 + 1e-7
    assert told.start is None or sum(p for _, p in told.start) == pytest.approx(1)


def test_joint_tables_and_networks_by_force() -> None:
    records = np.array(list(itertools.product(range(2), repeat=3)))
    probability = np.random.default_rng(3).dirichlet(np.full(8, 0.5))
    names = dict.fromkeys("xyz", ("0", "1"))
    rows = [(tuple(map(str, record)), float(p)) for record, p in zip(records, probability, strict=True)]
    noisy = [Noisy(Count("1"), 1.5, noise="gaussian"), Noisy(Count("1"), 2.0)]
    pairs = given_secrets(records, probability, joint([records.sum(axis=1)] * 2, noisy))
    table = JointTable(names, rows)
    expected = by_force(pairs, 0.8)
    assert exact_delta(table, noisy, epsilon=0.8).at_most == pytest.approx(expected, rel=1e-6)
    assert audit(table, noisy, delta=expected).epsilon == pytest.approx(0.8, rel=1e-5)
    chain = BayesianNetwork(
        names, parents={"y": ["x"], "z": ["y"]}, tables={"x": [0.8, 0.2], **dict.fromkeys("yz", LAZY.transition)}
    )
    as_series = exact_delta(LAZY, noisy, epsilon=0.8, length=3)
    assert exact_delta(chain, noisy, epsilon=0.8).at_most == pytest.approx(as_series.at_most, rel=1e-9)


BELIEFS = [LAZY, ChainSet([LAZY, LAZY.with_start([0.2, 0.8])]), LAZY.with_start("any")]


@pytest.mark.parametrize("belief", BELIEFS, ids=repr)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-2), (1.0, 1e-6)])
def test_calibration_is_never_exceeded(belief: Any, epsilon: float, delta: float) -> None:
    scale = calibrate("count:1", belief=belief, epsilon=epsilon, delta=delta, noise="gaussian", length=6).noise_scale
    told = audit(belief, [Noisy(Count("1"), scale, noise="gaussian")], length=6, delta=delta)
    assert 0 < told.epsilon <= epsilon
    assert exact_delta(belief, [Noisy(Count("1"), scale, noise="gaussian")], epsilon=epsilon, length=6).at_most <= delta
    root = [Noisy(Count("1"), scale * 2, noise="gaussian")] * 4  # squares add up
    assert audit(belief, root, length=6, delta=delta).epsilon <= epsilon


@pytest.mark.parametrize("belief", [LAZY, LAZY.with_start("any")], ids=repr)
def test_without_delta_it_is_the_exact_loss(belief: MarkovChain) -> None:
    noisy = [Noisy(Count("1"), 1.5), Noisy(Count("1"), 3.0, segment=(2, 3))]
    pure = audit(belief, noisy, length=4).epsilon
    rel = 1e-9 if belief.initial is not None else 2e-3
    assert audit(belief, noisy, length=4, delta=1e-60).epsilon == pytest.approx(pure, rel=rel)
    assert audit(belief, noisy, length=4, delta=1e-3).epsilon < pure
    assert exact_delta(belief, noisy, epsilon=pure * 1.01, length=4).at_most < 1e-7


def test_many_releases_are_one_sum() -> None:
    once = audit(LAZY, [Noisy(Count("1"), 10.0, noise="gaussian")], length=30, delta=1e-6)
    many = audit(LAZY, [Noisy(Count("1"), 50.0, noise="gaussian")] * 25, length=30, delta=1e-6)
    assert many.epsilon == pytest.approx(once.epsilon, rel=1e-3)


def test_what_is_refused() -> None:
    noisy = [Noisy(Count("1"), 2.0, noise="gaussian")]
    with pytest.raises(NotCoveredError, match="its loss is infinite"):
        audit(LAZY, noisy, length=3)
    with pytest.raises(NotCoveredError, match="its loss is infinite"):
        leakage(LAZY, noisy, length=3)
    with pytest.raises(NotCoveredError, match="too many outputs"):
        audit(LAZY, [Noisy(Count("1"), 1e9, noise="gaussian")], length=3, delta=1e-6)
    with pytest.raises(NotCoveredError, match="too many outputs"):
        audit(LAZY, [Noisy(Histogram(), s, noise="gaussian") for s in (90.0, 91.0)], length=30, delta=1e-6)
    with pytest.raises(NotCoveredError, match="no epsilon"):
        audit(LAZY, [Noisy(Count("1"), 1e-4)], length=3, delta=1e-6)
    with pytest.raises(ParameterError, match="delta must be"):
        audit(LAZY, noisy, length=3, delta=0.9)
    with pytest.raises(ParameterError, match="laplace-total or gaussian"):
        Noisy(Count("1"), 2.0, noise="cauchy")  # type: ignore[arg-type]
    real = GaussianBelief({"ar1": 0.5}, distance=1.0)
    with pytest.raises(NotCoveredError, match="states"):
        audit(real, [Noisy(oracle.asked("sum", real), 2.0)], length=3, delta=1e-6)


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "belief.json"
    save_belief(LAZY, path)
    words = ["audit", str(path), "--query", "count:1", "--length", "5", "--noise-scale", "15.2", "--noise", "gaussian"]
    run = CliRunner().invoke(app, [*words, "--delta", "1e-6", "--json"])
    told = json.loads(run.stdout)
    assert (told["delta"], told["noise"]) == (1e-6, "gaussian")
    assert 0 < told["epsilon_at_least"] <= told["epsilon"] < 1
    assert "never relies" in told["about_delta"]
    report = tmp_path / "audit.html"
    said = CliRunner().invoke(app, [*words, "--delta", "1e-6", "--out", str(report)]).stdout
    assert "randomness of the data itself" in " ".join(said.split())
    assert report.exists()
    assert CliRunner().invoke(app, words).exit_code != 0
