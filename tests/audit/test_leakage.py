"""Bayesian leakage: against every adversary by brute force, and the projective bound above it."""

import itertools
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import chains, with_some_start

from quiltwork import (
    Belief,
    ChainSet,
    Count,
    Histogram,
    IntervalChain,
    JointTable,
    MarkovChain,
    MixingClass,
    Noisy,
    NotCoveredError,
    Series,
    audit,
    bayesian_leakage,
    calibrate,
    release,
)
from quiltwork.auditor import adversaries, audit_mechanism, leakage
from quiltwork.errors import ParameterError
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
from quiltwork.papers.reproduce import reproduce
from quiltwork.question import Frequencies, Sum

C34 = MarkovChain([[0.99, 0.01], [0.1, 0.9]], initial=[0.1, 0.9])
SAME = JointTable({"x": "01", "y": "01"}, [((a, b), 0.495 if a == b else 0.005) for a in "01" for b in "01"])


def brute_force(chain: MarkovChain, noisy: list[Noisy], length: int) -> float:
    """Every set K of known values with all their states, by the exact audit given what is known."""
    worst = 0.0
    for count in range(length):
        for known in itertools.combinations(range(1, length + 1), count):
            for states in itertools.product(chain.states, repeat=count):
                try:
                    found = audit(chain, noisy, length=length, know=dict(zip(known, states, strict=True)))
                except ParameterError:
                    continue  # cannot be
                worst = max(worst, found.epsilon)
    return worst


def test_known_values() -> None:
    """C Theorem 3.4, also against B Theorem 1: one release 1.917665, two 3.847632, more than twice one."""
    one = leakage(C34, [Noisy(Count("1"), 1.0)], length=2)
    two = leakage(C34, [Noisy(Count("1"), 1.0)] * 2, length=2)
    assert one.epsilon == pytest.approx(1.917665, abs=1e-6)
    assert two.epsilon == pytest.approx(3.847632, abs=1e-6)
    assert (one.node, dict(one.knows), one.complete) == (1, {}, True)
    profile = 1 - np.eye(2)
    for times, found in ((1, one), (2, two)):
        bound = loss_along_time(C34, Profile.constant(times * profile, length=2), guarantee="bayesian").epsilon
        assert found.epsilon <= bound <= 1.01 * found.epsilon


@settings(max_examples=examples(12))
@given(chains(max_states=3), st.integers(1, 4), st.sampled_from([0.3, 1.0, 5.0]), st.booleans())
def test_intervals_are_enough(chain: MarkovChain, length: int, scale: float, part: bool) -> None:
    known = with_some_start(chain)
    noisy = [Noisy(Count("0"), scale, (1, max(1, length - 1)) if part else None)]
    found = leakage(known, noisy, length=length)
    assert found.complete
    assert found.epsilon == pytest.approx(brute_force(known, noisy, length), abs=1e-9)
    if found.node is not None:  # and the adversary named does learn that much
        named = audit(known, noisy, length=length, know={int(t): s for t, s in found.knows.items()})
        assert named.epsilon >= found.epsilon - 1e-9


def test_a_joint_table_goes_through_all_sets() -> None:
    once = leakage(SAME, [Noisy(Count("1"), 1.0)])
    assert once.complete
    rng = np.random.default_rng(3)
    weights = rng.dirichlet(np.ones(16))
    table = JointTable(
        dict.fromkeys("abcd", "01"), list(zip(itertools.product("01", repeat=4), weights.tolist(), strict=True))
    )
    found = leakage(table, [Noisy(Count("1"), 2.0)])
    worst = 0.0
    for count in range(4):
        for names in itertools.combinations("abcd", count):
            for states in itertools.product("01", repeat=count):
                known = dict(zip(names, states, strict=True))
                worst = max(worst, audit(table, [Noisy(Count("1"), 2.0)], know=known).epsilon)
    assert found.epsilon == pytest.approx(worst, abs=1e-9)
    assert found.looked == found.adversaries


def test_a_search_that_is_stopped_says_how_far_it_got(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = itertools.count()  # the clock goes on by a second whenever it is looked at
    with monkeypatch.context() as patched:
        patched.setattr(adversaries, "time", SimpleNamespace(monotonic=lambda: next(looks)))
        found = leakage(C34, [Noisy(Count("1"), 0.7)], length=12, seconds=3)
    assert not found.complete
    assert 3 <= found.looked < found.adversaries
    assert "Stopped early" in " ".join(found.lines())
    whole = leakage(C34, [Noisy(Count("1"), 0.7)], length=12)
    assert whole.complete
    assert found.epsilon <= whole.epsilon


def test_shares_are_counts_divided_by_the_same_number() -> None:
    counts = leakage(C34, [Noisy(Histogram(), 2.0)], length=4)
    shares = leakage(C34, [Noisy(Frequencies(), 0.5)], length=4)
    assert shares.epsilon == pytest.approx(counts.epsilon)
    assert leakage(C34, [Noisy(Sum(), 1.0)], length=4).epsilon > 0


def test_states_too_unlikely_for_floats_are_possible_all_the_same() -> None:
    """A value of probability 1e-50 at each step: after twelve of them below what a float can hold."""
    e = 1e-50
    chain = MarkovChain([[0.9 * e, 0.1 * e, 1 - e], [0.1 * e, 0.9 * e, 1 - e], [0, 0, 1]], initial=[0.5, 0.5, 0])
    found = [leakage(chain, [Noisy(Count("1"), 1.0, (n - 1, n))], length=n).epsilon for n in (4, 12)]
    assert found[0] == pytest.approx(found[1], abs=1e-6)


def test_what_is_not_covered() -> None:
    noisy = [Noisy(Count("1"), 1.0)]
    with pytest.raises(NotCoveredError, match="projective"):
        leakage(C34.with_start("any"), noisy, length=4)
    with pytest.raises(NotCoveredError, match="at most 400"):
        leakage(C34, noisy, length=10_000)
    with pytest.raises(ParameterError, match="needs a release"):
        leakage(C34, [], length=4)
    both = leakage(ChainSet([C34, C34.with_start([0.5, 0.5])]), noisy, length=3)
    assert both.member in (1, 2)


def attained(P: np.ndarray, start: np.ndarray, length: int, profile: np.ndarray, rng: np.random.Generator) -> float:
    """The largest loss over all i, K and x_K of many product outputs: each factor within the profile of any other."""
    k = len(P)
    tilts = [np.exp(s * profile[:, z]) for z in range(k) for s in (-1, 1)]
    tilts += [np.exp(profile.max() * np.array(c)) for c in itertools.product((0.0, 1.0), repeat=k)]
    worst = 0.0
    for n in range(40):
        chosen = rng.integers(len(tilts), size=length) if n % 2 else np.full(length, rng.integers(len(tilts)))
        factors = np.array([tilts[c] for c in chosen])
        for first in range(length):
            for last in range(first, length):
                befores = [start] if first == 0 else list(P)
                afters = [np.ones(k)] if last == length - 1 else [P[:, y] for y in range(k)]
                for before, after in itertools.product(befores, afters):
                    worst = max(worst, interval_loss(P, before, after, factors[first : last + 1]))
    return worst


def interval_loss(P: np.ndarray, before: np.ndarray, after: np.ndarray, factors: np.ndarray) -> float:
    """The largest loss of any value of an interval, with the values on both sides known; forward and backward."""
    count = len(factors)
    with_output, without = [before], [before]
    for t in range(1, count):
        with_output.append((with_output[-1] * factors[t - 1]) @ P)
        without.append(without[-1] @ P)
    back, plain = [after], [after]
    for t in range(count - 1, 0, -1):
        back.append(P @ (factors[t] * back[-1]))
        plain.append(P @ plain[-1])
    worst = 0.0
    for t in range(count):
        law = without[t] * plain[count - 1 - t]
        joint = with_output[t] * factors[t] * back[count - 1 - t]
        seen = law > 0
        if seen.sum() > 1:
            means = np.log(joint[seen] / law[seen])
            worst = max(worst, float(means.max() - means.min()))
    return worst


def test_the_projective_bound_is_above_every_adversary_and_often_near() -> None:
    """Random chains: never below, and within 5 % of what outputs attain on at least a tenth of them."""
    rng = np.random.default_rng(17)
    near = 0
    tried = examples(60)
    for _ in range(tried):
        k, length = int(rng.integers(2, 4)), int(rng.integers(2, 7))
        P = rng.dirichlet(np.ones(k) * rng.choice([0.5, 1.0, 3.0]), size=k)
        start = rng.dirichlet(np.ones(k))
        size = float(rng.choice([0.1, 0.5, 2.0]))
        profile = size * (1 - np.eye(k))
        bound = loss_along_time(
            MarkovChain(P, initial=start), Profile.constant(profile, length=length), guarantee="bayesian"
        ).epsilon
        truth = attained(P, start, length, profile, rng)
        assert truth <= bound * (1 + 1e-9)
        near += truth >= 0.95 * bound
    assert near >= tried / 10


def test_the_parallel_example() -> None:
    """Against B Theorem 2: each value by randomised response with ε = 1; together 1.976622, not 1."""
    flip = {(a, b): [p * q for p in _response(a) for q in _response(b)] for a, b in itertools.product("01", repeat=2)}
    assert audit_mechanism(SAME, flip).epsilon == pytest.approx(1.976622, abs=1e-6)
    chain = MarkovChain([[0.99, 0.01], [0.01, 0.99]], initial=[0.5, 0.5])
    bound = loss_along_time(chain, Profile.constant(1 - np.eye(2), length=2), guarantee="bayesian").epsilon
    assert 1.976622 <= bound <= 1.99


def _response(state: str) -> list[float]:
    keep = math.e / (1 + math.e)
    return [keep, 1 - keep] if state == "0" else [1 - keep, keep]


@pytest.mark.parametrize(
    "belief",
    [
        C34,
        C34.with_start("stationary"),
        C34.with_start("any"),
        ChainSet([C34, MarkovChain([[0.8, 0.2], [0.3, 0.7]])]),
        IntervalChain([[0.8, 0.1], [0.3, 0.5]], [[0.9, 0.2], [0.5, 0.7]]),
        MixingClass(2, pi_min=0.2, gap=0.5, reversible=True),
    ],
)
@pytest.mark.parametrize("length", [1, 3, 1000, None])
def test_calibrated_noise_keeps_the_bayesian_promise(belief: Belief, length: int | None) -> None:
    found = calibrate("count:1", belief=belief, epsilon=1.0, length=length, guarantee="bayesian")
    assert found.guarantee == "bayesian"
    assert "knows any other values" in found.explain()
    assert found.verify(belief) <= 1.0
    assert found.noise_scale >= calibrate("count:1", belief=belief, epsilon=1.0, length=length).noise_scale * 0.999
    bound = bayesian_leakage(belief, "count:1", noise_scale=found.noise_scale, length=length, method="projective")
    assert bound.epsilon <= 1.0 + 1e-9
    if length == 3 and isinstance(belief, MarkovChain) and belief.initial is not None:
        assert leakage(belief, [Noisy(Count("1"), found.noise_scale)], length=3).epsilon <= 1.0 + 1e-9


def test_releases_with_a_bayesian_promise() -> None:
    chain = C34.with_start("stationary")
    made = release(["0", "1"] * 50, "count:1", belief=chain, epsilon=1.0, guarantee="bayesian", anyway=True)
    assert made.record().guarantee == "bayesian"
    assert made.calibration.guarantee == "bayesian"
    gaps = release(
        Series.from_values(["0", None, "1"] * 9, states=["0", "1"], missing="split"),
        "count:1",
        belief=chain,
        epsilon=1.0,
        guarantee="bayesian",
        anyway=True,
    )
    assert gaps.calibration.length is None
    with pytest.raises(NotCoveredError, match="no Bayesian guarantee"):
        calibrate("count:1", belief=chain, epsilon=1.0, mechanism="quilt-exact", guarantee="bayesian")
    group = calibrate("count:1", belief=chain, epsilon=1.0, length=7, mechanism="group", guarantee="bayesian")
    assert group.noise_scale == pytest.approx(7.0)
    with pytest.raises(ParameterError, match="pufferfish or bayesian"):
        calibrate("count:1", belief=chain, epsilon=1.0, guarantee="other")  # type: ignore[arg-type]


def test_the_method_is_chosen_by_what_is_possible() -> None:
    exact = bayesian_leakage(C34, "count:1", noise_scale=1.0, length=5)
    bound = bayesian_leakage(C34, "count:1", noise_scale=1.0, length=5, method="projective")
    assert (exact.method, bound.method) == ("enumeration", "projective")
    assert exact.epsilon <= bound.epsilon
    assert bayesian_leakage(C34, "frequencies", noise_scale=0.01, length=1000).method == "projective"
    with pytest.raises(NotCoveredError, match="at most 400"):
        bayesian_leakage(C34, "count:1", noise_scale=1.0, length=1000, method="enumeration")
    with pytest.raises(NotCoveredError, match="any length"):
        bayesian_leakage(MarkovChain(np.eye(2)), "count:1", noise_scale=1.0)
    with pytest.raises(ParameterError, match="needs a length"):
        bayesian_leakage(C34, "mean", noise_scale=1.0)
    with pytest.raises(ParameterError, match="at least 1"):
        bayesian_leakage(C34, "count:1", noise_scale=1.0, length=3, releases=0)
    assert "against every adversary" in " ".join(bound.lines())


def test_the_counterexamples_are_reproduced(tmp_path: Path) -> None:
    made = reproduce("bayesian-counterexamples", tmp_path)
    sequential, parallel = made.rows
    assert sequential["true leakage"] == pytest.approx(3.847632, abs=1e-6)
    assert parallel["true leakage"] == pytest.approx(1.976622, abs=1e-6)
    for row in made.rows:
        assert row["printed promise"] < row["true leakage"] <= row["quiltwork"]
    assert all(file.stat().st_size > 100 for file in made.files)
    with pytest.raises(ParameterError, match=r"Known: figure-2, .*bayesian-counterexamples"):
        reproduce("figure-99", tmp_path)
