"""Transitions: neighbours share them, so that n values move n + 1 of them (Statement 49), against enumeration."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import chains, epsilons

from quiltwork import Accountant, MarkovChain, NotCoveredError, ReleaseRecord, Transitions, calibrate
from quiltwork.influence.curve.any_start import AnyStart
from quiltwork.influence.curve.profile import links
from quiltwork.queries.parse import query_from_dict

Array = NDArray[np.float64]


def paths_of(states: int, length: int) -> NDArray[np.int64]:
    return np.array(list(itertools.product(range(states), repeat=length)))


def tables(paths: NDArray[np.int64], states: int) -> Array:
    """The number of each transition on each path."""
    moves = paths[:, :-1] * states + paths[:, 1:]
    return np.array([np.bincount(row, minlength=states**2) for row in moves], dtype=float)


def starts(chain: MarkovChain, rng: np.random.Generator) -> list[Array]:
    if chain.start == "given":
        return [np.asarray(chain.initial)]
    if chain.start == "stationary":
        return [chain.stationary]
    k = len(chain.states)
    return [*np.eye(k), *rng.dirichlet(np.full(k, 0.5), size=4)]


def exact_loss(chain: MarkovChain, answers: Array, scales: Array, length: int, rng: np.random.Generator) -> float:
    """The largest log-ratio at all true answers and some others, by enumeration; a scale for each number."""
    k = len(chain.states)
    paths, worst = paths_of(k, length), 0.0
    around = rng.uniform(-1, length + 1, size=(100, answers.shape[1])) if answers.shape[1] else answers[:1]
    seen = np.vstack([np.unique(answers, axis=0), around])
    noise = np.exp(-(np.abs(seen[:, None, :] - answers[None, :, :]) / scales).sum(axis=2))
    for start in starts(chain, rng):
        weight = start[paths[:, 0]] * np.prod(chain.transition[paths[:, :-1], paths[:, 1:]], axis=1)
        for t, (a, b) in itertools.product(range(length), itertools.permutations(range(k), 2)):
            laws = [weight * (paths[:, t] == s) for s in (a, b)]
            if min(law.sum() for law in laws) > 0:
                above, below = (noise @ law / law.sum() for law in laws)
                worst = max(worst, float(np.log(above / below).max()))
    return worst


@settings(max_examples=60, deadline=None)
@given(chains(max_states=3), epsilons, st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_calibrated_noise_hides_every_moment(chain: MarkovChain, epsilon: float, length: int, seed: int) -> None:
    rng, k = np.random.default_rng(seed), len(chain.states)
    for known in (length, None):
        try:
            found = calibrate("transitions", belief=chain, epsilon=epsilon, length=known, mechanism="curve")
        except NotCoveredError:
            continue  # nothing is promised
        answers = tables(paths_of(k, length), k)
        assert exact_loss(chain, answers, np.full(k * k, found.noise_scale), length, rng) <= epsilon * (1 + 1e-9)
        if found.certificate is not None:
            assert found.verify(chain) <= epsilon


@settings(max_examples=40, deadline=None)
@given(chains(max_states=2), epsilons, st.integers(6, 8), st.integers(0, 2**32 - 1))
def test_later_nodes_are_covered_too(chain: MarkovChain, epsilon: float, length: int, seed: int) -> None:
    try:
        found = calibrate("transitions", belief=chain, epsilon=epsilon, mechanism="curve")
    except NotCoveredError:
        return  # nothing is promised
    k = len(chain.states)
    answers = tables(paths_of(k, length), k)
    scales = np.full(k * k, found.noise_scale)
    assert exact_loss(chain, answers, scales, length, np.random.default_rng(seed)) <= epsilon * (1 + 1e-9)


def test_an_earlier_value_in_place_of_the_start_belongs_to_two_transitions() -> None:
    """Statement 47 with transitions: what leads into that value is told with it."""
    P = np.array([[0.3405, 0.2245, 0.435], [0.1533, 0.5162, 0.3305], [0.3604, 0.4093, 0.2303]])
    profile = 0.879 * (1 - np.eye(3))
    plain, linked = (side.bound(profile).values.max() for side in (AnyStart(P), AnyStart(P).linked(0.879)))
    assert plain < linked < 1.01 * plain


@settings(max_examples=60, deadline=None)
@given(chains(max_states=3), st.integers(2, 5), st.data())
def test_totals_with_transitions_are_never_too_small(chain: MarkovChain, length: int, data: st.DataObject) -> None:
    rng, k = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))), len(chain.states)
    paths, account = paths_of(k, length), Accountant(chain, length=length)
    answers, scales = [], []
    for _ in range(data.draw(st.integers(1, 3))):
        query = data.draw(st.sampled_from(["transitions", "transitions", "histogram"]))
        first = data.draw(st.integers(1, length))
        last = data.draw(st.integers(first, length))
        scale = data.draw(st.floats(0.5, 20.0))
        composed = account.add(ReleaseRecord(query=query, noise_scale=scale, segment=(first, last)))
        within = paths[:, first - 1 : last]
        if query == "transitions":
            answers.append(tables(within, k))
        else:
            answers.append(np.array([np.bincount(row, minlength=k) for row in within], dtype=float))
        scales.append(np.full(answers[-1].shape[1], scale))
    exact = exact_loss(chain, np.hstack(answers), np.hstack(scales), length, rng)
    assert exact <= composed.epsilon * (1 + 1e-9)


def test_long_series_need_about_half_of_what_single_values_would() -> None:
    slow = MarkovChain([[0.99, 0.01], [0.02, 0.98]], initial="stationary")
    linked, alone = (
        calibrate(Transitions(linked=linked), belief=slow, epsilon=1.0, mechanism="curve").noise_scale
        for linked in (True, False)
    )
    histogram = calibrate("histogram", belief=slow, epsilon=1.0, mechanism="curve").noise_scale
    assert 0.5 * alone < linked < 0.52 * alone
    assert histogram < linked < 1.05 * histogram


def test_what_was_recorded_before_keeps_its_sensitivity() -> None:
    before = query_from_dict({"kind": "transitions"})
    assert before.sensitivity(["a", "b"]).tolist() == [[0.0, 4.0], [4.0, 0.0]]
    now = query_from_dict(Transitions().to_dict())
    assert now == Transitions()
    assert links(now.sensitivity(["a", "b"])) == 2.0
    assert before.lipschitz(["a", "b"]) == now.lipschitz(["a", "b"]) == 4.0
