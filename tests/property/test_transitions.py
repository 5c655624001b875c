"""Transitions: neighbours share them, so that n values move n + 1 of them (Statement 49), against enumeration."""

import itertools
import math
from pathlib import Path

import numpy as np
import polars as pl
from effort import examples
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from strategies import chains, epsilons

from quiltwork import (
    Accountant,
    Ledger,
    MarkovChain,
    NotCoveredError,
    ReleaseRecord,
    Session,
    Transitions,
    calibrate,
    read_series,
    release,
)
from quiltwork.influence.curve.any_start import AnyStart

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


@settings(max_examples=examples(12), deadline=None)
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


@settings(max_examples=examples(10), deadline=None)
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


@settings(max_examples=examples(14), deadline=None)
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
        composed = account.add(ReleaseRecord(query=query, noise_scale=scale, segment=(first, last))).composed()
        within = paths[:, first - 1 : last]
        if query == "transitions":
            answers.append(tables(within, k))
        else:
            answers.append(np.array([np.bincount(row, minlength=k) for row in within], dtype=float))
        scales.append(np.full(answers[-1].shape[1], scale))
    exact = exact_loss(chain, np.hstack(answers), np.hstack(scales), length, rng)
    assert exact <= composed.epsilon * (1 + 1e-9)


def test_long_series_need_hardly_more_than_twice_the_noise_of_a_count() -> None:
    slow = MarkovChain([[0.99, 0.01], [0.02, 0.98]], initial="stationary")
    linked = calibrate(Transitions(), belief=slow, epsilon=1.0, mechanism="curve").noise_scale
    count = calibrate("count:0", belief=slow, epsilon=1.0, mechanism="curve").noise_scale
    assert 2 * count < linked < 2.1 * count


def test_neighbours_in_another_order_share_nothing(tmp_path: Path) -> None:
    """Under a second reading n neighbours of the first may move 2n transitions, and the ledger says so."""
    share, memory, length = 0.02, 0.6, 10
    leave = (1 - memory) * share
    chain = MarkovChain(
        [[1 - leave, leave], [(1 - memory) * (1 - share), share + memory * (1 - share)]],
        initial="stationary",
        states=["0", "1"],
    )
    order = [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]  # neighbours of the first reading are far apart in the second
    rows = pl.DataFrame({"v": ["0", "1"] * 5, "first": range(length), "second": np.argsort(order)})
    readings = [
        read_series(rows, column="v", states=["0", "1"], time=time, unsorted="sort") for time in ("first", "second")
    ]
    ledger = Ledger.create(str(tmp_path / "ledger.db"), belief=chain, budget=5.0)
    Session(readings[0], belief=chain, ledger=ledger).release("count:1", epsilon=1e-6, anyway=True)
    later = Session(readings[1], belief=chain, ledger=ledger)
    single = release(readings[1], "transitions", belief=chain, epsilon=0.05, mechanism="curve", anyway=True).noise_scale
    scale = later.release("transitions", epsilon=0.05, anyway=True).noise_scale
    assert scale > single  # what it takes to cost no more than 0.05
    paths = np.array(list(itertools.product((0, 1), repeat=length)))
    weights = np.array([1 - share, share])[paths[:, 0]]
    for t in range(1, length):
        weights = weights * chain.transition[paths[:, t - 1], paths[:, t]]
    seen = paths[:, order]
    counts = [((seen[:, :-1] == a) & (seen[:, 1:] == b)).sum(axis=1) for a in (0, 1) for b in (0, 1)]

    def told(scale: float) -> float:
        worst = 0.0
        for signs in itertools.product((1, -1), repeat=4):  # outputs far out in each direction
            tilt = weights * np.exp(sum(sign * count for sign, count in zip(signs, counts, strict=True)) / scale)
            for t in range(length):
                of = [tilt[paths[:, t] == x].sum() / weights[paths[:, t] == x].sum() for x in (0, 1)]
                worst = max(worst, abs(math.log(of[0] / of[1])))
        return worst

    assert told(scale) <= later.spent()
    assert told(single) > 0.05 * 1.05  # what the release is worth in its own order
