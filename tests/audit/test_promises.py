"""Every mechanism against the exact audit on random chains: its loss never exceeds ε, and the test has teeth."""

from typing import Any

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import chains, epsilons, with_some_start

from quiltwork import (
    Calibration,
    ChainSet,
    Count,
    Histogram,
    InputError,
    JointTable,
    MarkovChain,
    Noisy,
    NotCoveredError,
    Query,
    Series,
    Sum,
    audit,
    calibrate,
    release,
)
from quiltwork.calibration.mechanisms.wasserstein import line_distance
from quiltwork.laws.exact import Statistic, chain_laws
from quiltwork.question import bind

MECHANISMS = ["quilt-exact", "quilt-approx", "wasserstein", "audited"]


def wasserstein(query: Query, **options: Any) -> Calibration:
    return calibrate(query, mechanism="wasserstein", **options)


@settings(max_examples=examples(72))
@given(chains(max_states=4), st.integers(1, 12), epsilons, st.sampled_from(MECHANISMS))
def test_audited_loss_is_within_epsilon(chain: MarkovChain, length: int, epsilon: float, mechanism: str) -> None:
    believed = with_some_start(chain)
    query: Query = Sum() if len(chain.states) == 3 else Count("0")
    try:
        scale = calibrate(query, belief=believed, epsilon=epsilon, length=length, mechanism=mechanism).noise_scale
    except NotCoveredError:
        assert mechanism == "quilt-approx"
        return
    assert scale > 0
    assert audit(believed, [Noisy(query, scale)], length=length).epsilon <= epsilon * (1 + 1e-9)


def test_a_mutant_with_too_little_noise_is_caught() -> None:
    """Noise divided by 1.5 breaks the promise somewhere for each mechanism that is tight, and by 4 for quilts."""
    rng = np.random.default_rng(3)
    caught = dict.fromkeys(MECHANISMS, 0)
    for _ in range(40):
        P = 0.7 * np.eye(2) + 0.3 * rng.dirichlet(np.ones(2), size=2)
        chain = MarkovChain(P, initial="stationary")
        for mechanism in MECHANISMS:
            scale = calibrate(Count("0"), belief=chain, epsilon=1.0, length=3, mechanism=mechanism).noise_scale
            caught[mechanism] += audit(chain, [Noisy(Count("0"), scale / 1.5)], length=3).epsilon > 1.0
    assert all(caught.values()), caught


@settings(max_examples=examples(14))
@given(chains(max_states=3), st.integers(1, 8), epsilons)
def test_audited_is_the_least(chain: MarkovChain, length: int, epsilon: float) -> None:
    believed = with_some_start(chain)
    least = calibrate(Count("0"), belief=believed, epsilon=epsilon, length=length, mechanism="audited").noise_scale
    for mechanism in ("quilt-exact", "wasserstein", "group"):
        other = calibrate(Count("0"), belief=believed, epsilon=epsilon, length=length, mechanism=mechanism).noise_scale
        assert least <= other * (1 + 1e-8)


@settings(max_examples=examples(24))
@given(chains(max_states=3), st.integers(1, 6))
def test_distances_against_plain_transport(chain: MarkovChain, length: int) -> None:
    """The least w for which mass can be moved within w, by greedy filling in exact order."""
    laws = chain_laws(with_some_start(chain), [Statistic(bind("count:0", chain).only)], length)
    values = laws.points[:, 0]
    for law in laws.logs:
        present = [np.exp(row) for row in law if np.isfinite(row).any()]
        for mu in present:
            for nu in present:
                with np.errstate(divide="ignore"):
                    found = line_distance(values, np.log(mu), np.log(nu))
                expected = next(w for w in range(length + 1) if _movable(mu, nu, w))
                assert found == expected


def _movable(mu: np.ndarray, nu: np.ndarray, w: int) -> bool:
    room = nu.copy()
    for s, mass in enumerate(mu):
        left = mass
        for t in range(max(0, s - w), min(len(nu), s + w + 1)):
            moved = min(left, room[t])
            room[t] -= moved
            left -= moved
        if left > 1e-12:
            return False
    return True


def test_known_value_of_flu_in_a_clique() -> None:
    """Statement 6 (A Theorem 3.2): W = 2, where group privacy would need 4."""
    masses = {0: 0.1, 1: 0.15, 2: 0.5, 3: 0.15, 4: 0.1}
    rows = []
    for code in range(16):
        bits = [code >> n & 1 for n in range(4)]
        ways = [1, 4, 6, 4, 1][sum(bits)]
        rows.append((tuple("ill" if bit else "well" for bit in bits), masses[sum(bits)] / ways))
    table = JointTable({f"p{n}": ["well", "ill"] for n in range(4)}, rows)
    found = wasserstein(Count("ill"), belief=table, epsilon=1.0, length=None)
    assert found.noise_scale == pytest.approx(2.0, rel=1e-8)
    assert audit(table, [Noisy(Count("ill"), found.noise_scale)]).epsilon <= 1.0


@pytest.mark.parametrize("length", [1, 5, 40])
def test_independent_values_need_global_sensitivity(length: int) -> None:
    row = [0.2, 0.3, 0.5]
    chain = MarkovChain([row] * 3, initial=row)
    for query, sensitivity in ((Count("0"), 1.0), (Sum(), 2.0)):
        found = wasserstein(query, belief=chain, epsilon=0.5, length=length)
        assert found.noise_scale == pytest.approx(sensitivity / 0.5, rel=1e-8)


def test_tails_decide_the_distance() -> None:
    """A mass of e^-600 that must move far counts, at either end."""
    logs = np.full((2, 10), -np.inf)
    logs[0, 4] = logs[1, 4] = 0.0
    logs[1, 0] = -600.0
    assert line_distance(np.arange(10), logs[0], logs[1]) == 4
    assert line_distance(np.arange(10), logs[0, ::-1], logs[1, ::-1]) == 4


def test_a_hole_in_the_middle_is_seen_without_slack() -> None:
    """Both tails agree to thirteen digits, and yet a little mass must move by 50."""
    laws = np.array([[0.5, 1e-13, 0.5 - 1e-13], [0.5, 0.0, 0.5]])
    with np.errstate(divide="ignore"):
        logs = np.log(laws)
    assert line_distance(np.array([0, 50, 100]), logs[0], logs[1], slack=0.0) == 50


def test_joint_tables_are_not_series() -> None:
    coins = JointTable({"x": "01", "y": "01"}, [((a, b), 0.25) for a in "01" for b in "01"])
    assert calibrate("count:1", belief=coins, epsilon=1.0).noise_scale == pytest.approx(1, rel=1e-8)
    assert calibrate("count:1", belief=coins, epsilon=1.0, mechanism="group").noise_scale == pytest.approx(2)
    with pytest.raises(InputError, match="number of variables"):
        calibrate("count:1", belief=coins, epsilon=1.0, length=1, mechanism="group")
    with pytest.raises(InputError, match="mapping of variables"):
        release(["1", "0"], "count:1", belief=coins, epsilon=1.0, mechanism="wasserstein", anyway=True)


@pytest.mark.parametrize("mechanism", ["wasserstein", "audited"])
def test_neither_is_monotone_in_the_length(mechanism: str) -> None:
    """Alternating values: two are nearly as good as none, so a release over several lengths takes the largest."""
    chain = MarkovChain([[0.05, 0.95], [0.95, 0.05]], initial="stationary")
    three = MarkovChain([[0.098, 0.293, 0.609], [0.772, 0.222, 0.006], [0.946, 0.045, 0.009]], initial="stationary")
    belief, query = (chain, Count("1")) if mechanism == "audited" else (three, Count("1"))
    scales = [
        calibrate(query, belief=belief, epsilon=1.0, length=n, mechanism=mechanism).noise_scale for n in (1, 2, 3, 4)
    ]
    assert scales != sorted(scales)
    held = Series.from_values(["1"] * 10, states=belief.states, subject=list("abbcccdddd"))
    found = release(held, query, belief=belief, epsilon=1.0, mechanism=mechanism, anyway=True)
    assert found.noise_scale == pytest.approx(max(scales), rel=1e-9)


def test_delta_leaves_out_mass_and_says_so() -> None:
    chain = MarkovChain([[0.95, 0.05], [0.1, 0.9]], initial="stationary")
    full = wasserstein(Count("1"), belief=chain, epsilon=1.0, length=30)
    loose = wasserstein(Count("1"), belief=chain, epsilon=1.0, length=30, delta=0.3)
    assert loose.noise_scale < full.noise_scale
    assert loose.guarantee == "approximate pufferfish"
    assert "δ = 0.3" in loose.explain()
    assert loose.detail()["delta"] == 0.3
    assert "δ" not in full.explain()
    for wrong in (1e-300, -0.1, 1.0):
        with pytest.raises(InputError, match="delta must be 0"):
            wasserstein(Count("1"), belief=chain, epsilon=1.0, length=30, delta=wrong)


@settings(max_examples=examples(14))
@given(chains(max_states=3), st.integers(1, 6), st.sampled_from([0.01, 0.1, 0.3]))
def test_delta_keeps_its_weaker_promise(chain: MarkovChain, length: int, delta: float) -> None:
    """P(S | a) ≤ e^ε P(S | b) + δ for the worst set S of lattice cells of a finely discretised output."""
    believed = with_some_start(chain)
    scale = wasserstein(Count("0"), belief=believed, epsilon=1.0, length=length, delta=delta).noise_scale
    laws = chain_laws(believed, [Statistic(bind("count:0", believed).only)], length)
    outputs = np.arange(-60, length + 61)
    decay = np.exp(-1 / scale)
    kernel = (1 - decay) / (1 + decay) * decay ** np.abs(laws.points[:, [0]] - outputs)
    for law in laws.logs:
        present = [np.exp(row) @ kernel for row in law if np.isfinite(row).any()]
        for p in present:
            for q in present:
                assert np.maximum(p - np.e * q, 0).sum() <= delta * (1 + 1e-9) + 1e-9


def test_what_wasserstein_refuses() -> None:
    three = MarkovChain(np.full((3, 3), 1 / 3), initial="stationary")
    for query, belief, length, said in (
        (Histogram(), three, 60, "several numbers"),
        (Histogram(), three.with_start("any"), 5, "needs a start"),
        (Count("0"), three, None, "length"),
    ):
        with pytest.raises(NotCoveredError, match=said):
            wasserstein(query, belief=belief, epsilon=1.0, length=length)
    independent = wasserstein(Histogram(), belief=three, epsilon=1.0, length=5)
    assert independent.noise_scale == pytest.approx(2.0)  # its sensitivity


def test_histograms_of_two_states_take_the_noise_of_a_count() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    both = wasserstein(Histogram(), belief=chain, epsilon=1.0, length=20).noise_scale
    assert both == pytest.approx(2 * wasserstein(Count("0"), belief=chain, epsilon=1.0, length=20).noise_scale)
    assert audit(chain, [Noisy(Histogram(), both, noise="laplace-total")], length=20).epsilon <= 1.0
    assert audit(chain, [Noisy(Histogram(), both)], length=20).epsilon <= 1.0  # independent noise on both
    pair = ChainSet([chain, MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")])
    assert wasserstein(Histogram(), belief=pair, epsilon=1.0, length=20).noise_scale == pytest.approx(both)


def test_without_slack_both_tails_are_compared_exactly() -> None:
    with np.errstate(divide="ignore"):
        logs = np.log([[0.3, 1e-12, 0.7 - 1e-12], [0.3, 0.0, 0.7]])
    values = np.array([0, 5, 100])
    assert line_distance(values, logs[0], logs[1], slack=0.0) == 95
    assert line_distance(100 - values[::-1], logs[0, ::-1], logs[1, ::-1], slack=0.0) == 95
    assert line_distance(values, logs[0], logs[1]) == 0
