"""Profiles that change along time: never below the loss of random outputs, by enumeration over all series."""

import itertools

import numpy as np
import oracle
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import chains, with_some_start

from quiltwork import Belief, ChainSet, Count, IntervalChain, MarkovChain, MixingClass, Noisy, audit
from quiltwork.errors import ParameterError
from quiltwork.influence.curve import timeline
from quiltwork.influence.curve.constant import InfluenceCurve
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time

Array = np.ndarray


def random_law(rng: np.random.Generator, k: int, *, zeros: bool) -> Array:
    weights = rng.exponential(size=k) ** rng.choice([1, 3])
    if zeros and rng.random() < 0.4:
        weights[rng.permutation(k)[: rng.integers(0, k)]] = 0.0
    return np.asarray(weights / weights.sum())


def random_chain(rng: np.random.Generator, k: int, *, zeros: bool = True) -> Array:
    P = np.array([random_law(rng, k, zeros=zeros) for _ in range(k)])
    if rng.random() < 0.4:
        stay = rng.choice([0.5, 0.9, 0.99])
        P = stay * np.eye(k) + (1 - stay) * P
    if rng.random() < 0.2:
        P = 0.9 * np.roll(np.eye(k), 1, axis=1) + 0.1 * P
    return P


def random_metric(rng: np.random.Generator, k: int, size: float) -> Array:
    """What a query's sensitivity may look like: distances between random points."""
    points = rng.normal(size=(k, 2)) * rng.integers(0, 2, size=(k, 1))
    D = np.abs(points[:, None, :] - points[None, :, :]).sum(axis=2)
    if rng.random() < 0.3:
        D = (~np.eye(k, dtype=bool)).astype(float)
    return np.asarray(size * D)


def losses(start: Array, kernels: list[Array], profile: list[Array], outputs: int, rng: np.random.Generator) -> Array:
    """The loss at each time of random output densities that are log-Lipschitz by the profile; shape (outputs, time)."""
    length, k = len(profile), len(start)
    paths = np.array(list(itertools.product(range(k), repeat=length)))
    mass = start[paths[:, 0]].copy()
    for t, P in enumerate(kernels):
        mass *= P[paths[:, t], paths[:, t + 1]]
    distance = sum(own[paths[:, t][:, None], paths[:, t][None, :]] for t, own in enumerate(profile))
    found = np.zeros((outputs, length))
    for n in range(outputs):
        heights = rng.uniform(0, rng.choice([1.0, 5.0, 20.0]), size=len(paths)) * rng.integers(0, 2, size=len(paths))
        if rng.random() < 0.3:  # as a count with noise: far out on one side everything adds up
            heights = -sum(rng.choice([-1, 1]) * own[paths[:, t], rng.integers(k)] for t, own in enumerate(profile))
        output = np.exp(np.min(heights[None, :] + distance, axis=1))
        for t in range(length):
            joint = np.array([(mass * output)[paths[:, t] == x].sum() for x in range(k)])
            law = np.array([mass[paths[:, t] == x].sum() for x in range(k)])
            means = np.log(joint[law > 0] / law[law > 0])
            found[n, t] = means.max() - means.min()
    return found


def random_belief(rng: np.random.Generator, k: int, length: int) -> tuple[Belief, Array, list[Array]]:
    """A belief, and one of the laws that it allows: a start and a kernel for each step."""
    kind = rng.choice(["stationary", "given", "any", "set", "interval", "mixing"])
    P = random_chain(rng, k, zeros=kind != "mixing")
    start = random_law(rng, k, zeros=True)
    chain = MarkovChain(P)
    if kind == "stationary" and len(chain._closed) == 1:
        return chain.with_start("stationary"), chain.stationary, [P] * (length - 1)
    if kind == "given":
        return chain.with_start(start), start, [P] * (length - 1)
    if kind == "set":
        return ChainSet([chain, MarkovChain(random_chain(rng, k))]), start, [P] * (length - 1)
    if kind == "interval":
        # the chain moves within its bounds from step to step
        other = random_chain(rng, k)
        weights = rng.choice([0.02, 0.2, 1.0]) * rng.random((length - 1, k, 1))
        kernels = [np.asarray(P + w * (other - P)) for w in weights]
        stack = np.array([P, *kernels])
        return IntervalChain(stack.min(axis=0), stack.max(axis=0)), start, kernels
    if kind == "mixing" and chain.irreducible and chain.gap > 1e-6:
        known = MixingClass(k, pi_min=chain.pi_min * 0.999, gap=chain.gap * 0.999, reversible=chain.reversible)
        return known, start, [P] * (length - 1)
    return chain, start, [P] * (length - 1)


@pytest.mark.parametrize("seed", range(examples(6)))
def test_no_random_output_loses_more_than_the_curve_says(seed: int) -> None:
    """20 x 20 beliefs and profiles, 25 outputs each: 10,000 cases; the endless profile is checked along the way."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        k, length = (2, int(rng.integers(1, 7))) if rng.random() < 0.5 else (3, int(rng.integers(1, 5)))
        belief, start, kernels = random_belief(rng, k, length)
        pieces = [random_metric(rng, k, rng.choice([0.0, 0.1, 0.5, 2.0])) for _ in range(2)]
        profile = [pieces[rng.integers(2)] for _ in range(length)]
        asked = Profile.of([(own, (t, t)) for t, own in enumerate(profile, 1)], length=length)
        bound = loss_along_time(belief, asked)
        seen = losses(start, kernels, profile, 25, rng)
        at = np.array([bound.at(t) for t in range(1, length + 1)])
        assert np.all(seen <= at * (1 + 1e-9) + 1e-9), (belief, belief.to_dict())
        members = belief.members if isinstance(belief, ChainSet) else (belief,)
        endless = max(InfluenceCurve(member).at(np.max(profile, axis=0)).epsilon for member in members)
        assert bound.epsilon <= endless * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("track", ["_one_number", "_by_stretch", "_node_by_node"])
def test_each_track_alone_holds(track: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The three ways to a bound, each by itself, with stretches and gaps."""
    monkeypatch.setattr(timeline, "_tracks", lambda *_: [getattr(timeline, track)])
    rng = np.random.default_rng(5)
    for _ in range(60):
        k = int(rng.integers(2, 4))
        length = int(rng.integers(2, 7 if k == 2 else 5))
        belief, start, kernels = random_belief(rng, k, length)
        own = random_metric(rng, k, rng.choice([0.2, 1.0]))
        profile = [own * on for on in rng.integers(0, 2, size=length)]
        asked = Profile.of([(one, (t, t)) for t, one in enumerate(profile, 1)], length=length)
        bound = loss_along_time(belief, asked)
        seen = losses(start, kernels, profile, 10, rng)
        assert np.all(seen <= np.array([bound.at(t) for t in range(1, length + 1)]) * (1 + 1e-9) + 1e-9)


@settings(max_examples=examples(10))
@given(chains(max_states=3), st.integers(2, 30), st.data())
def test_audited_loss_of_segments_is_within_the_curve(chain: MarkovChain, length: int, data: st.DataObject) -> None:
    """Two counts on segments that may overlap, by the exact audit."""
    known = with_some_start(chain)
    segments = []
    for _ in range(2):
        first = data.draw(st.integers(1, length))
        segments.append((first, data.draw(st.integers(first, min(length, first + 8)))))
    scales = [data.draw(st.sampled_from([0.5, 3.0, 20.0])) for _ in range(2)]
    sensitivity = oracle.changes(Count("0"), chain.states)
    asked = Profile.of([(sensitivity / s, seg) for s, seg in zip(scales, segments, strict=True)], length=length)
    true = audit(
        known, [Noisy(Count("0"), s, seg) for s, seg in zip(scales, segments, strict=True)], length=length
    ).epsilon
    assert true <= loss_along_time(chain, asked).epsilon * (1 + 1e-8) + 1e-9


def product_losses(start: Array, P: Array, factors: Array) -> Array:
    """The loss at every time of an output whose density is a product of factors g_t(x_t); forward and backward."""
    length, k = factors.shape
    before, after, law = np.ones((length, k)), np.ones((length, k)), np.zeros((length, k))
    joint, law[0] = start.copy(), start
    for t in range(length):
        if t:
            joint, law[t] = (joint * factors[t - 1]) @ P, law[t - 1] @ P
            joint /= joint.sum()
        before[t] = joint
    for t in range(length - 2, -1, -1):
        after[t] = P @ (factors[t + 1] * after[t + 1])
        after[t] /= after[t].max()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(before * factors * after / law)
    possible = law > 1e-12
    return np.asarray(np.where(possible, logs, -np.inf).max(axis=1) - np.where(possible, logs, np.inf).min(axis=1))


@pytest.mark.parametrize("seed", range(examples(6)))
def test_product_outputs_on_long_series(seed: int) -> None:
    """Three and four states, stretches and gaps beyond what is followed node by node: at every single time."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 5))
    P = random_chain(rng, k)
    chain = MarkovChain(P)
    start = random_law(rng, k, zeros=True)
    kind = seed % 3
    if kind == 1:
        chain = chain.with_start(start)
    if kind == 2 and len(chain._closed) == 1:
        chain, start = chain.with_start("stationary"), chain.stationary
    levels = [random_metric(rng, k, size) for size in (0.02, 0.3, 2.0)] + [np.zeros((k, k))] * 2
    lengths = rng.choice([1, 2, 3, 4, 6, 40, 130, 260], size=6).tolist()
    chosen = [levels[n] for n in rng.integers(0, 5, size=6)]
    lengths.append(max(1, 420 - sum(lengths)))
    chosen.append(levels[3])
    profile = [own for own, count in zip(chosen, lengths, strict=True) for _ in range(count)]
    ends = np.cumsum([0, *lengths])
    parts = [(own, (int(a) + 1, int(b))) for own, a, b in zip(chosen, ends[:-1], ends[1:], strict=True)]
    found = loss_along_time(chain, Profile.of(parts, length=len(profile)))
    at = np.array([found.at(t) for t in range(1, len(profile) + 1)])
    for n in range(60):
        # far out in the noise every value pulls the same way; or stretch by stretch, or value by value
        signs, towards = rng.choice([-1, 1], size=len(profile)), rng.integers(0, k, size=len(profile))
        if n % 3 < 2:
            towards[:] = towards[0]
        if n % 3 == 0:
            signs[:] = signs[0]
        elif n % 3 == 1:
            signs = np.repeat(rng.choice([-1, 1], size=len(lengths)), lengths)
        factors = np.exp([s * own[:, z] for s, own, z in zip(signs, profile, towards, strict=True)])
        assert np.all(product_losses(start, P, factors) <= at * (1 + 1e-7) + 1e-7)


def plain_recursion(P: Array, back: Array, lambdas: list[float]) -> Array:
    """λ + R + L of two states at every time by the scalar step, one node after the other, every set by itself."""

    def walk(kernel: Array, own: list[float]) -> list[float]:
        R = [0.0]
        for most in own[:-1]:
            gain = np.expm1(most + R[-1])
            ratios = [(1 + kernel[a, y] * gain) / (1 + kernel[1 - a, y] * gain) for a in (0, 1) for y in (0, 1)]
            R.append(float(np.log(max(ratios))))
        return R

    future, past = walk(P, lambdas[::-1])[::-1], walk(back, lambdas)
    return np.array(lambdas) + future + past


@pytest.mark.parametrize("seed", range(examples(5)))
def test_long_series_agree_with_the_plain_recursion(seed: int) -> None:
    """Stretches and gaps of all sorts of lengths, fast and slow chains: neither below nor much above."""
    rng = np.random.default_rng(seed)
    p, q = 10.0 ** rng.uniform(-3, -0.1, size=2)
    chain = MarkovChain([[1 - p, p], [q, 1 - q]], initial="stationary")
    lengths = rng.choice([1, 2, 5, 8, 9, 40, 127, 128, 129, 130, 257, 400, 513, 641, 700], size=7)
    levels = rng.choice([0.0, 0.001, 0.02, 0.3, 2.0], size=7)
    lambdas = np.repeat(levels, lengths).tolist()
    parts, begun = [], 1
    for count, level in zip(lengths.tolist(), levels.tolist(), strict=True):
        parts.append((level * (1 - np.eye(2)), (begun, begun + count - 1)))
        begun += count
    found = loss_along_time(chain, Profile.of(parts, length=len(lambdas)))
    at = np.array([found.at(t) for t in range(1, len(lambdas) + 1)])
    plain = plain_recursion(chain.transition, chain.transition, lambdas)  # two states: the chain is reversible
    assert at.max() <= plain.max() * (1 + 1e-4) + 1e-6
    # within a stretch the two differ where several values share a block, and only upwards
    assert np.all(at <= np.maximum.reduce([np.roll(plain, n) for n in range(-130, 131)]) * (1 + 1e-3) + 0.5)


@pytest.mark.parametrize("seed", range(examples(3)))
def test_audited_loss_of_long_segments_is_within_the_curve(seed: int) -> None:
    """At every time, for counts on long segments with gaps, beyond what is followed node by node."""
    rng = np.random.default_rng(seed)
    p, q = 10.0 ** rng.uniform(-2.5, -0.2, size=2)
    chain = MarkovChain([[1 - p, p], [q, 1 - q]], initial="stationary")
    if seed % 2:
        chain = chain.with_start([0.9, 0.1])
    cuts = np.sort(rng.choice(np.arange(1, 400), size=4, replace=False)).tolist()
    cuts[1], cuts[3] = min(cuts[1], cuts[0] + 140), min(cuts[3], cuts[2] + 25)
    segments, scales = [(cuts[0], cuts[1]), (cuts[2], cuts[3])], rng.choice([2.0, 10.0, 50.0], size=2).tolist()
    true = audit(chain, [Noisy(Count("1"), s, g) for s, g in zip(scales, segments, strict=True)], length=400)
    sensitivity = oracle.changes(Count("1"), chain.states)
    asked = Profile.of([(sensitivity / s, g) for s, g in zip(scales, segments, strict=True)], length=400)
    found = loss_along_time(chain, asked)
    at = np.array([found.at(t) for t in range(1, 401)])
    assert np.all(np.array(true.by_node) <= at * (1 + 1e-7) + 1e-7)


def test_long_series_cost_no_more_than_their_stretches() -> None:
    """Beyond the nodes followed one by one, the bound is that of every length, and gaps forget."""
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    count = oracle.changes(Count("1"), chain.states)
    endless = InfluenceCurve(chain).at(count / 5).epsilon
    for length in (2_000, 10**7, 10**12):
        found = loss_along_time(chain, Profile.constant(count / 5, length=length))
        assert found.epsilon == pytest.approx(endless, rel=1e-5)
        assert len(found.first) < 2_000
    far = Profile.of([(count / 5, (1, 10**6)), (count / 5, (5 * 10**6, 10**7))], length=10**7)
    assert loss_along_time(chain, far).epsilon == pytest.approx(endless, rel=1e-5)
    assert loss_along_time(chain, far).at(3 * 10**6) < 1e-6
    near = Profile.of([(count / 5, (1, 10**6)), (count / 5, (10**6 + 1, 10**7))], length=10**7)
    assert loss_along_time(chain, near).epsilon == pytest.approx(endless, rel=1e-5)


def test_short_series_need_less_than_long_ones() -> None:
    chain = MarkovChain([[0.99, 0.01], [0.02, 0.98]], initial="stationary")
    count = oracle.changes(Count("1"), chain.states)
    found = [loss_along_time(chain, Profile.constant(count / 50, length=n)).epsilon for n in (1, 5, 50, 500, 5_000)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(1 / 50)
    assert found[1] < found[4] / 10


def test_a_chain_that_never_forgets_adds_up() -> None:
    """Two states that never change: all that was asked counts, and no more."""
    chain = MarkovChain(np.eye(2), initial=[0.5, 0.5])
    count = oracle.changes(Count("1"), chain.states)
    for length in (10, 1_000, 10**5):
        assert loss_along_time(chain, Profile.constant(count / length, length=length)).epsilon == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("parts", "length", "words"),
    [
        ([([[0, -1], [1, 0]], None)], 5, "not negative"),
        ([([[0, np.nan], [1, 0]], None)], 5, "NaN"),
        ([([[0, np.inf], [1, 0]], None)], 5, "finite"),
        ([([[0, 1, 1], [1, 0, 1]], None)], 5, "square"),
        ([([[0, 1], [1, 0]], (4, 2))], 5, "not end before it starts"),
        ([([[0, 1], [1, 0]], (0, 2))], 5, "not end before it starts"),
        ([([[0, 1], [1, 0]], (4, 6))], 5, "within the 5 values"),
        ([([[0, 1], [1, 0]], (4, 6))], None, "length"),
        ([([[0, 1], [1, 0]], None), ([[0, 1, 1], [1, 0, 1], [1, 1, 0]], None)], 5, "same states"),
        ([], 5, "needs a part"),
    ],
)
def test_profiles_that_cannot_be(parts: list[tuple[object, object]], length: int | None, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Profile.of(parts, length=length)  # type: ignore[arg-type]


def test_profiles_add() -> None:
    one = Profile.constant([[0, 1], [1, 0]], length=10)
    two = Profile.of([([[0, 2], [2, 0]], (3, 5))], length=10)
    both = one + two
    assert [(s.first, s.last, round(float(s.matrix.max()), 9)) for s in both.stretches] == [
        (1, 2, 1.0),
        (3, 5, 3.0),
        (6, 10, 1.0),
    ]
    assert float(both.stretches[1].matrix.max()) >= 3.0
    with pytest.raises(ParameterError, match="same length"):
        one + Profile.constant([[0, 1], [1, 0]], length=9)
