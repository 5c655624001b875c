"""The fast search against the plain reference, and what must hold between calibrations."""

import itertools

import numpy as np
import pytest
import reference
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import chains, distributions, epsilons, transitions

from quiltwork import ChainSet, Count, MarkovChain, NotCoveredError, calibrate
from quiltwork.beliefs.chain import REVERSIBLE_TOLERANCE
from quiltwork.calibration.mechanisms.quilt import exact_quilt


def noise(belief: MarkovChain | ChainSet, epsilon: float, length: int | None, mechanism: str = "quilt-exact") -> float:
    return calibrate(Count("0"), belief=belief, epsilon=epsilon, length=length, mechanism=mechanism).noise_scale


@settings(max_examples=examples(36))
@given(chains(min_states=1), st.integers(1, 14), epsilons)
def test_exact_equals_the_plain_reference(chain: MarkovChain, length: int, epsilon: float) -> None:
    expected = reference.quilt_score(chain.transition, chain.initial, length, epsilon)
    found = exact_quilt(chain, epsilon, length).score
    assert found == pytest.approx(expected, rel=1e-9)
    assert found >= expected * (1 - 1e-15)


@settings(max_examples=examples(6))
@given(chains(max_states=4), st.integers(15, 24), epsilons)
def test_exact_equals_the_plain_reference_on_longer_series(chain: MarkovChain, length: int, epsilon: float) -> None:
    expected = reference.quilt_score(chain.transition, chain.initial, length, epsilon)
    assert exact_quilt(chain, epsilon, length).score == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_given_starts_settle_soundly(seed: int) -> None:
    """Beyond the nodes followed one by one, the bound for all the rest is never below the plain reference."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    P = 0.8 * np.eye(k) + 0.2 * rng.dirichlet(np.ones(k), size=k)
    chain = MarkovChain(P, initial=np.eye(k)[0])
    powers = reference.powers(P, 130)
    found = exact_quilt(chain, 2.0, 120).score
    nodes = [reference.node_score(powers, np.eye(k)[0], i, 120, 2.0) for i in (1, 5, 20, 60, 70, 90, 119, 120)]
    assert found >= max(nodes) * (1 - 1e-12)
    assert found <= noise(chain.with_start("any"), 2.0, 120) * (1 + 1e-9)


@given(chains(), st.integers(1, 60), epsilons, st.randoms(use_true_random=False))
def test_permuting_states_changes_nothing(chain: MarkovChain, length: int, epsilon: float, random: object) -> None:
    order = np.random.default_rng(hash(str(random)) % 2**32).permutation(len(chain.states))
    other = MarkovChain(chain.transition[np.ix_(order, order)])
    if chain.start == "stationary":
        other = other.with_start("stationary")
    elif chain.initial is not None:
        other = other.with_start(chain.initial[order])
    assert exact_quilt(other, epsilon, length).score == pytest.approx(
        exact_quilt(chain, epsilon, length).score, rel=1e-9
    )


@settings(max_examples=examples(10))
@given(chains(), st.integers(1, 10**6), epsilons, st.floats(1, 4))
def test_noise_never_rises_with_epsilon(chain: MarkovChain, length: int, epsilon: float, factor: float) -> None:
    assert noise(chain, epsilon * factor, length) <= noise(chain, epsilon, length) * (1 + 1e-12)


@settings(max_examples=examples(10))
@given(chains(), st.integers(1, 10**6), st.integers(0, 10**6), epsilons)
def test_noise_never_falls_with_length_and_stays_within_group(
    chain: MarkovChain, length: int, more: int, epsilon: float
) -> None:
    shorter, longer = noise(chain, epsilon, length), noise(chain, epsilon, length + more)
    assert shorter <= longer * (1 + 1e-8)
    assert longer <= noise(chain, epsilon, length + more, "group") * (1 + 1e-12)
    assert shorter >= 1 / epsilon


@given(transitions(zeros=False), st.sampled_from(["stationary", "any", "given"]), st.integers(1, 10**5), epsilons)
def test_exact_never_needs_more_than_approximate(P: np.ndarray, start: str, length: int, epsilon: float) -> None:
    chain = MarkovChain(P, initial=np.eye(len(P))[0] if start == "given" else start)
    assert noise(chain, epsilon, length) <= noise(chain, epsilon, length, "quilt-approx") * (1 + 1e-8)


@settings(max_examples=examples(12))
@given(transitions(), st.data(), st.integers(1, 10**5), epsilons)
def test_any_start_covers_every_start(P: np.ndarray, data: st.DataObject, length: int, epsilon: float) -> None:
    whole = noise(MarkovChain(P), epsilon, length)
    start = data.draw(distributions(len(P)))
    assert noise(MarkovChain(P, initial=start), epsilon, length) <= whole * (1 + 1e-8)


@given(chains(max_states=3), chains(max_states=3), st.integers(1, 1000), epsilons)
def test_a_larger_set_never_needs_less(one: MarkovChain, two: MarkovChain, length: int, epsilon: float) -> None:
    if one.states != two.states:
        two = one.with_start("any")
    both = noise(ChainSet([one, two]), epsilon, length)
    assert both == max(noise(one, epsilon, length), noise(two, epsilon, length))


@given(transitions(zeros=False, max_states=4), epsilons)
def test_any_length_is_the_limit_of_long_series(P: np.ndarray, epsilon: float) -> None:
    chain = MarkovChain(P)
    assert noise(chain, epsilon, None) == pytest.approx(noise(chain, epsilon, 10**9), rel=1e-9)


def test_chains_that_never_forget_need_group_privacy() -> None:
    for P in (np.eye(3), np.roll(np.eye(3), 1, axis=1), np.array([[1, 0], [0.5, 0.5]])):
        chain = MarkovChain(P)
        assert noise(chain, 1.0, 10**9) == pytest.approx(10**9, rel=1e-6)
        with pytest.raises(NotCoveredError, match="any length"):
            noise(chain, 1.0, None)


def test_a_periodic_chain_with_known_phase_is_better_than_group() -> None:
    P = [[0, 0, 0.3, 0.7], [0, 0, 0.6, 0.4], [0.5, 0.5, 0, 0], [0.2, 0.8, 0, 0]]
    known = MarkovChain(P, initial=[1, 0, 0, 0])
    assert noise(known, 1.0, 10**9) == noise(known, 1.0, 1000)
    assert noise(known, 1.0, 1000) < 7
    assert noise(MarkovChain(P, initial="stationary"), 1.0, 1000) == pytest.approx(1000)


def test_very_slow_chains_are_planned_within_the_grid_of_distances() -> None:
    slow = MarkovChain([[1 - 1e-6, 1e-6], [2e-6, 1 - 2e-6]], initial="stationary")
    fast = MarkovChain([[1 - 1e-3, 1e-3], [2e-3, 1 - 2e-3]], initial="stationary")
    assert noise(slow, 1.0, None) / noise(fast, 1.0, None) == pytest.approx(1000, rel=0.02)


def test_underflowing_powers_count_as_zero() -> None:
    """Entries of 1e-200 underflow in powers; the answer may fall back to group privacy, never shrink."""
    P = np.array([[1 - 1e-200, 1e-200], [0.5, 0.5]])
    for start in ("any", [1, 0], [0.5, 0.5]):
        assert noise(MarkovChain(P, initial=start), 1.0, 50) >= reference.quilt_score(
            P, None if start == "any" else np.array(start, dtype=float), 12, 1.0
        ) * (1 - 1e-12)


def test_reversibility_is_judged_tightly() -> None:
    assert REVERSIBLE_TOLERANCE <= 1e-12
    assert MarkovChain([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]).reversible
    assert not MarkovChain([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]).reversible


@settings(max_examples=examples(10))
@given(st.data())
def test_the_result_together_with_remote_values(data: st.DataObject) -> None:
    """C Lemma 1.2 (Statement 64): whoever also sees the quilt and all beyond it learns no more than ε."""
    chain = data.draw(chains(max_states=3, zeros=False))
    start = np.full(len(chain.states), 1 / len(chain.states)) if chain.initial is None else np.asarray(chain.initial)
    chain, length, epsilon = chain.with_start(start), data.draw(st.integers(2, 5)), data.draw(epsilons)
    scale = calibrate("count:0", belief=chain, epsilon=epsilon, length=length, mechanism="quilt-exact").noise_scale
    P = reference.powers(chain.transition, length)
    listed = reference.paths(chain.transition, start, length)
    seen, p = np.array([path for path, _ in listed]), np.array([q for _, q in listed])
    density = np.exp(-np.abs((seen == 0).sum(axis=1)[:, None] - np.arange(length + 1)[None]) / scale)
    for i in range(1, length + 1):
        best, quilt = length / epsilon, (None, None)  # type: tuple[float, tuple[int | None, int | None]]
        for a, b in itertools.product([None, *range(1, i)], [None, *range(1, length - i + 1)]):
            e = reference.influence(P, start, i, a, b)
            card = (i if a is None else a) + (length + 1 - i if b is None else b) - 1
            if (a or b) and e < epsilon and card / (epsilon - e) < best:
                best, quilt = card / (epsilon - e), (a, b)
        left = 0 if quilt[0] is None else i - quilt[0]
        right = length + 1 if quilt[1] is None else i + quilt[1]
        beyond = [t - 1 for t in range(1, length + 1) if t <= left or t >= right]
        for known in {tuple(row) for row in seen[:, beyond].tolist()}:
            there = (seen[:, beyond] == np.array(known)).all(axis=1) if beyond else np.ones(len(p), dtype=bool)
            joint = []
            for x in range(len(chain.states)):
                secret = seen[:, i - 1] == x
                if p[secret & there].sum() > 0:  # a value that rules a secret out would have infinite influence
                    joint.append((p[secret & there] @ density[secret & there]) / p[secret].sum())
            for one, other in itertools.permutations(joint, 2):
                assert float(np.log(one / other).max()) <= epsilon * (1 + 1e-9)
