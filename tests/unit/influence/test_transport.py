"""Shipments: routes, groups, derivatives and the solver, against plain linear programmes and the exact audit."""

import itertools

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog
from strategies import transitions

from quiltwork import Count, IntervalChain, MarkovChain, MixingClass, Noisy, audit, calibrate
from quiltwork.auditor import smallest_scale
from quiltwork.influence.curve import sides
from quiltwork.influence.curve.constant import InfluenceCurve
from quiltwork.influence.curve.ratios import mixing_sides
from quiltwork.influence.curve.sides import Frontier
from quiltwork.influence.curve.solve import Equation, alike
from quiltwork.influence.curve.steps import Kernel, scalar_step
from quiltwork.influence.curve.transport import Routes, Shipments, Ways, shortest
from quiltwork.question import bind

Array = np.ndarray


def programme(a: Array, b: Array, D: Array) -> float:
    """max a·v with b·v = 1 and v[y] ≤ exp(D[y,z]) v[z], by a plain linear programme."""
    k = len(a)
    rows = []
    for y, z in itertools.permutations(range(k), 2):
        row = np.zeros(k)
        row[y], row[z] = 1.0, -np.exp(D[y, z])
        rows.append(row)
    solved = linprog(-a, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=b[None], b_eq=[1.0])
    assert solved.fun is not None
    return float(np.log(-solved.fun))


def random_chain(rng: np.random.Generator, k: int, speed: float) -> Array:
    rows = rng.dirichlet(np.full(k, rng.choice([0.3, 1.0, 5.0])), k)
    return (1 - speed) * np.eye(k) + speed * rows


def random_differences(rng: np.random.Generator, k: int) -> Array:
    D = rng.uniform(0, rng.choice([0.01, 1.0, 4.0]), size=(k, k))
    np.fill_diagonal(D, 0.0)
    return D


def ceiling(k: int, height: float = 10.0) -> Array:
    return height * (1 - np.eye(k))


@settings(max_examples=examples(12))
@given(transitions(min_states=3, max_states=5), st.integers(0, 10**6))
def test_routes_prove_no_less_than_the_linear_programme(P: Array, seed: int) -> None:
    """Found under one D and followed under another."""
    rng, k = np.random.default_rng(seed), len(P)
    D, other = (shortest(random_differences(rng, k)) for _ in range(2))
    routes = Routes(k * k, k)
    first = Shipments.of(P, D).smallest(ceiling(k), near=ceiling(k) / 2, precision=1e-9, routes=routes)
    again = Shipments.of(P, D).along(routes, ceiling(k), near=first, precision=1e-9)
    assert np.all(again <= first * (1 + 1e-6) + 1e-9)
    elsewhere = Shipments.of(P, other).along(routes, ceiling(k), near=first, precision=1e-9)
    assert Shipments.of(P, other).hold(elsewhere * (1 + 1e-9) + 1e-12, routes)
    for a, b in itertools.permutations(range(k), 2):
        assert first[a, b] >= programme(P[a], P[b], D) - 1e-7
        assert elsewhere[a, b] >= programme(P[a], P[b], other) - 1e-7


@settings(max_examples=examples(10))
@given(transitions(min_states=3, max_states=5), st.integers(0, 10**6))
def test_groups_are_never_below_their_states(P: Array, seed: int) -> None:
    rng, k = np.random.default_rng(seed), len(P)
    D, groups = shortest(random_differences(rng, k)), rng.integers(0, 2, size=k)
    groups = np.unique(groups, return_inverse=True)[1]
    between = np.array([[D[np.ix_(groups == g, groups == h)].max() for h in set(groups)] for g in set(groups)])
    together = Shipments.of(P, between, groups).smallest(ceiling(k), near=ceiling(k) / 2, precision=1e-9)
    for a, b in itertools.permutations(range(k), 2):
        assert together[a, b] >= programme(P[a], P[b], D) - 1e-7


def test_weights_are_the_derivative() -> None:
    rng = np.random.default_rng(3)
    P, D, k = random_chain(rng, 6, 0.7), shortest(1 + rng.random((6, 6)) * (1 - np.eye(6))), 6
    np.fill_diagonal(D, 0.0)
    routes = Routes(k * k, k)
    claims = Shipments.of(P, D).smallest(ceiling(k), near=ceiling(k) / 2, precision=1e-12, routes=routes)
    moved = 1e-6 * rng.random((k, k)) * (1 - np.eye(k))
    ahead = Shipments.of(P, D + moved).along(routes, ceiling(k), near=claims, precision=1e-12)
    expected = (Shipments.of(P, D).weights(routes, claims) @ moved.ravel()).reshape(k, k)
    assert (ahead - claims)[~np.eye(k, dtype=bool)] == pytest.approx(expected[~np.eye(k, dtype=bool)], rel=1e-3)


def test_ways_add_up() -> None:
    D = random_differences(np.random.default_rng(5), 7)
    ways = Ways.of(D)
    assert (ways.steps() @ D.ravel()).reshape(7, 7) == pytest.approx(ways.difference, rel=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_solutions_are_fixed_points_by_the_linear_programme(seed: int) -> None:
    """At every time scale: what is proved is not raised by an exact step, and an exact step hardly lowers most of it.

    Shipping nearest first is not always the best plan.
    """
    rng = np.random.default_rng(seed)
    k, speed = int(rng.integers(3, 6)), float(rng.choice([1.0, 0.1, 1e-2, 1e-4]))
    P = random_chain(rng, k, speed)
    profile = rng.uniform(0.05, 0.3) * speed * shortest(random_differences(rng, k) + ceiling(k, 0.2))
    np.fill_diagonal(profile, 0.0)
    known = ceiling(k, 60.0)
    equation = Equation(P, profile)
    solution = equation.solved(known, np.zeros((k, k)), 1e-6)
    proved = equation.proved(solution, known)
    assert proved is not None
    assert solution.settled
    D = shortest(profile + proved)
    exact = np.array([[0.0 if a == b else programme(P[a], P[b], D) for b in range(k)] for a in range(k)])
    assert np.all(exact <= proved + 1e-7)
    assert np.median(proved - exact) <= 1e-3 * proved.max()
    assert np.max(proved - exact) <= 0.15 * proved.max()


@pytest.mark.parametrize("seed", range(6))
def test_slow_chains_stay_within_epsilon_and_near_the_least(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    k, speed, length = int(rng.integers(3, 5)), float(rng.choice([0.3, 0.05])), 120
    chain = MarkovChain(random_chain(rng, k, speed), initial="stationary")
    scale = calibrate("count:0", belief=chain, epsilon=1.0, mechanism="curve").noise_scale
    assert audit(chain, [Noisy(Count("0"), scale)], length=length).epsilon <= 1.0 + 1e-9
    bounded = calibrate("count:0", belief=chain, epsilon=1.0, length=length, mechanism="curve").noise_scale
    least = smallest_scale(Count("0"), belief=chain, epsilon=1.0, length=length)
    assert least * (1 - 1e-9) <= bounded <= 1.5 * least


def band(states: int) -> Array:
    """Stay .8, else to the two neighbours on each side alike, 1e-4 spread evenly."""
    distance = np.abs(np.subtract.outer(np.arange(states), np.arange(states)))
    near = ((distance > 0) & (distance <= 2)).astype(float)
    P = 0.8 * np.eye(states) + 0.2 * near / near.sum(axis=1, keepdims=True)
    return np.asarray((1 - 1e-4) * P + 1e-4 / states)


def test_a_slow_band_is_solved_at_its_own_time_scale() -> None:
    chain = MarkovChain(band(25), initial="stationary")
    found = calibrate("histogram", belief=chain, epsilon=1.0, mechanism="curve")
    assert found.noise_scale <= 1_220
    assert "limit" not in found.reason.sentence()
    assert InfluenceCurve(chain).at(bind("histogram", chain).table()[0] / found.noise_scale).epsilon <= 1.002


def test_a_search_that_comes_to_its_limit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quiltwork.influence.curve.solve.MOST_ROUNDS", 0)
    chain = MarkovChain(band(9), initial="stationary")
    found = calibrate("histogram", belief=chain, epsilon=1.0, mechanism="curve")
    assert "limit" in found.reason.sentence() or "quilts" in found.theorem


def test_many_states_go_by_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer are told apart, so that the noise is no less, but still below that of one number for all pairs."""
    rng = np.random.default_rng(8)
    chain = MarkovChain(random_chain(rng, 20, 1.0), initial="stationary")
    apart = calibrate("count:0", belief=chain, epsilon=1.0, mechanism="curve").noise_scale
    monkeypatch.setattr(sides, "MOST_PAIRWISE", 10)
    monkeypatch.setattr(sides, "MOST_GROUPS", 6)
    found = calibrate("count:0", belief=chain, epsilon=1.0, mechanism="curve")
    quilts = calibrate("count:0", belief=chain, epsilon=1.0, mechanism="quilt-exact").noise_scale
    assert apart * (1 - 1e-2) <= found.noise_scale < quilts / 2
    assert audit(chain, [Noisy(Count("0"), found.noise_scale)], length=60).epsilon <= 1.0 + 1e-9


def test_groups_join_what_is_near() -> None:
    place = np.array([0.0, 0.1, 5.0, 5.1, 9.0])
    groups = alike(np.abs(np.subtract.outer(place, place)), 3)
    assert groups[0] == groups[1] != groups[2] == groups[3] != groups[4]


def test_the_largest_ratio_of_an_unbounded_difference_is_kept() -> None:
    """The last set of the search is empty where nothing comes on top: its ratio 0/0 is none."""
    rows = np.array([[0.9, 0.1], [0.4, 0.6]])
    assert scalar_step(Kernel.of(rows), np.inf) == pytest.approx(np.log(np.array([[1, 2.25], [6, 1]])), abs=1e-9)
    chain = IntervalChain(rows - 0.01, np.minimum(rows + 0.01, 1.0))
    future = InfluenceCurve(chain).future
    assert future.step(1, np.inf).max() >= np.log(6)


@pytest.mark.parametrize("seed", range(20))
def test_mixing_classes_cover_their_chains(seed: int) -> None:
    """Δ of Statement 44, for reversible and other chains, against the ratios of powers."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    joint = rng.random((k, k)) + (0.2 if seed % 2 else 0.0)
    joint = joint + joint.T if seed % 3 else joint
    chain = MarkovChain(joint / joint.sum(axis=1, keepdims=True), initial="stationary")
    future, _ = mixing_sides(k, pi_min=chain.pi_min, gap=chain.gap, reversible=chain.reversible)
    law = chain.stationary
    past = law[None, :] * chain.transition.T / law[:, None]
    for m, rows in itertools.product((1, 2, 5, 9), (chain.transition, past)):
        power = np.linalg.matrix_power(rows, m)
        largest = np.log(power[:, None, :] / power[None, :, :]).max()
        assert future.step(m, np.inf).max() >= largest - 1e-9
        for difference in (1e-3, 0.1, 1.0, 4.0, 40.0):
            truth = scalar_step(Kernel.of(power), difference).max()  # Statement 51
            assert future.step(m, difference).max() >= truth - 1e-9
            assert min(_largest(frontier, difference) for frontier in future.frontiers(m)) >= truth - 1e-9


def _largest(frontier: Frontier, difference: float) -> float:
    gain = np.expm1(difference)
    return float(np.log((1 + frontier.above * gain) / (1 + frontier.below * gain)).max())


def test_mean_squares_by_hand() -> None:
    """Two states, π = (1/2, 1/2), P = I - (1 - ρ)/2: the step of Statement 51 is the true one."""
    future, _ = mixing_sides(2, pi_min=0.5, gap=0.3, reversible=True)
    rows = np.array([[0.85, 0.15], [0.15, 0.85]])
    assert future.step(1, 0.8).max() == pytest.approx(scalar_step(Kernel.of(rows), 0.8).max(), rel=1e-6)


@pytest.mark.parametrize("initial", ["any", "stationary"])
@pytest.mark.parametrize("seed", range(6))
def test_noise_of_a_mixing_class_hides_every_moment_of_its_chains(seed: int, initial: str) -> None:
    rng = np.random.default_rng(seed)
    joint = rng.random((3, 3)) + 2 * np.eye(3)
    joint = joint + joint.T if seed % 2 else joint
    chain = MarkovChain(joint / joint.sum(axis=1, keepdims=True), initial="stationary")
    known = MixingClass(3, pi_min=chain.pi_min, gap=chain.gap, reversible=chain.reversible, initial=initial)
    calibration = calibrate("count:0", belief=known, epsilon=1.0, mechanism="curve")
    assert calibration.certificate is not None
    assert calibration.certificate.verify(known) <= 1.0
    for start in ("stationary", [1.0, 0.0, 0.0]) if initial == "any" else ("stationary",):
        started = MarkovChain(chain.transition, initial=start)
        assert audit(started, [Noisy(Count("0"), calibration.noise_scale)], length=30).epsilon <= 1.0


def test_mixing_classes_need_less_than_published() -> None:
    belief = MixingClass(4, pi_min=0.1, gap=0.5, reversible=True)
    found = calibrate("count:0", belief=belief, epsilon=1.0, mechanism="curve").noise_scale
    assert found < calibrate("count:0", belief=belief, epsilon=1.0, mechanism="quilt-approx").noise_scale / 2


def test_what_is_proved_has_room_for_the_error_of_its_rows() -> None:
    """Rows that are off by the error, in every direction that raises a step: still no more than was proved."""
    P, error = band(9), 1e-7
    profile = 0.01 * (1 - np.eye(9))
    equation = Equation(P, profile, error=error)
    known = ceiling(9, 60.0)
    proved = equation.proved(equation.solved(known, np.zeros((9, 9)), 1e-6), known)
    assert proved is not None
    step = Shipments.of(P, shortest(profile + proved)).smallest(known, near=proved, precision=1e-10)
    assert np.all((step + error <= proved * (1 + 1e-9)) | np.eye(9, dtype=bool))


def plain_plan(a: Array, b: Array, ratio: float, D: Array) -> float:
    """Ship the excess to the deficits, of all pairs the nearest first: what room is left, negative if it fails."""
    excess, room = np.maximum(a - ratio * b, 0.0), np.maximum(ratio * b - a, 0.0)
    for pair in np.argsort(D, axis=None, kind="stable"):
        y, z = divmod(int(pair), len(D))
        sent = min(excess[y], room[z] / np.exp(D[y, z]))
        excess[y], room[z] = excess[y] - sent, room[z] - sent * np.exp(D[y, z])
    return float(-excess.sum() if excess.sum() > 1e-15 else room.sum())


@pytest.mark.parametrize("states", [2, 9, 40, 90])
def test_claims_are_those_of_a_plain_plan(states: int) -> None:
    """All pairs in one sorted list: more than a word of bits, and more than one thread."""
    rng = np.random.default_rng(states)
    P, D = random_chain(rng, states, 0.6), shortest(random_differences(rng, states))
    claims = Shipments.of(P, D).smallest(ceiling(states), near=ceiling(states) / 2, precision=1e-9)
    for a, b in [(0, 1), (1, 0), (states - 1, 0), (states // 2, states - 1)]:
        assert plain_plan(P[a], P[b], np.exp(claims[a, b] * (1 + 1e-8) + 1e-10), D) >= 0
        assert plain_plan(P[a], P[b], np.exp(claims[a, b] * (1 - 1e-7) - 1e-10), D) < 0


def test_outlines_are_near_what_is_proved() -> None:
    rng = np.random.default_rng(8)
    chain = MarkovChain(rng.dirichlet(np.ones(70), 70), initial="stationary")
    curve, profile = InfluenceCurve(chain), ceiling(70, 0.3)
    outline = curve.outline(profile)
    assert outline == pytest.approx(curve.at(profile).epsilon, rel=0.05)
    slow = MarkovChain(random_chain(rng, 70, 0.01), initial="stationary")
    assert InfluenceCurve(slow).outline(profile) is None
    assert curve.outline(profile * (np.arange(70) == 0)) is None


def test_searches_end_whatever_they_start_from() -> None:
    rows = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    shipments = Shipments.of(rows, 1.0 - np.eye(3))
    known = 2.0 * (1.0 - np.eye(3))
    for start in (np.nan, 0.0, 1e-300, 1e300, np.inf):
        found = shipments.smallest(known, near=np.full((3, 3), start), precision=1e-9)
        assert np.all(found <= known)
    assert not shipments.hold(np.full((3, 3), np.nan))


def test_no_precision_is_too_fine_to_end() -> None:
    rows = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    shipments = Shipments.of(rows, 1.0 - np.eye(3))
    known = 2.0 * (1.0 - np.eye(3))
    found = shipments.smallest(known, near=known / 2, precision=1e-93)
    assert np.all(found <= shipments.smallest(known, near=known / 2, precision=1e-9) * (1 + 1e-9))


def test_profiles_of_almost_nothing_end() -> None:
    chain = MarkovChain([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], initial="stationary")
    for size in (1e-100, 1e-200, 1e-300):
        assert InfluenceCurve(chain).at(size * (1.0 - np.eye(3))).epsilon < 1e-9
