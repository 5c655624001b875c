"""Sensitivities of questions against all pairs of short series: never too small, and as small as they can be."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import oracle
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from strategies import chains, epsilons

from quiltwork import MarkovChain, Noisy, NotCoveredError, Query, Series, audit, parse_query

STATES = ("a", "b", "c")
GAPS: list[tuple[int, ...]] = [(5,), (2, 3), (1, 1, 2)]
Array = NDArray[np.float64]


def paths_of(length: int, states: int) -> NDArray[np.int64]:
    return np.array(list(itertools.product(range(states), repeat=length)))


def series_of(path: NDArray[np.int64], stretches: tuple[int, ...], states: tuple[str, ...]) -> Series:
    """One subject whose values are parted by gaps."""
    pieces = np.split(path, np.cumsum(stretches)[:-1])
    codes = np.concatenate([np.append(piece, -1) for piece in pieces])[:-1]
    return Series.from_codes([codes], states=states, missing="split")


def whole(query: Query, series: Series) -> NDArray[np.int64]:
    return oracle.answer_to(query, series).astype(np.int64)


def by_window(query: Query, series: Series) -> NDArray[np.int64]:
    from quiltwork.data import Window

    parts = series.parts(window=Window.parse(2), by_subject=False, transitions=True)
    return np.concatenate([oracle.answer_to(query, part).astype(np.int64) for part in parts.values()])


def check(query: Any, answer: Callable[[Any, Series], NDArray[np.int64]], states: tuple[str, ...]) -> Array:
    """The largest change for each pair of states when one value changes, over all series."""
    k, allowed = len(states), oracle.changes(query, states)
    seen = np.zeros((k, k))
    for stretches in GAPS:
        length = sum(stretches)
        paths = paths_of(length, k)
        answers = np.array([answer(query, series_of(path, stretches, states)) for path in paths])
        moved = np.abs(answers[:, None, :] - answers[None, :, :]).sum(axis=2)
        costs = allowed[paths[:, None, :], paths[None, :, :]]
        differ = paths[:, None, :] != paths[None, :, :]
        assert (moved <= (costs * differ).sum(axis=2) + 1e-9).all()
        for t in range(length):
            alone = differ[..., t] & (differ.sum(axis=2) == 1)
            first, second = np.nonzero(alone)
            np.maximum.at(seen, (paths[first, t], paths[second, t]), moved[first, second])
    return seen


@pytest.mark.parametrize("states", [STATES[:2], STATES])
@pytest.mark.parametrize(
    "text",
    ["count:a", "count:a|b", "share:b|c", "stays", "stays:a", "stays:a|b", "stay-length:b", "stay-lengths:a:2,3"],
)
def test_sensitivity_is_that_of_the_worst_series(text: str, states: tuple[str, ...]) -> None:
    query = parse_query(text)
    if "c" in text.partition(":")[2] and len(states) == 2:
        return
    assert np.array_equal(check(query, whole, states), oracle.changes(query, states))


@pytest.mark.parametrize("states", [STATES[:2], STATES])
@pytest.mark.parametrize("text", ["count:a|b", "stays", "stays:a", "stay-length:b"])
def test_windows_are_covered(text: str, states: tuple[str, ...]) -> None:
    query = oracle.in_windows(parse_query(text))
    assert np.array_equal(check(query, by_window, states), oracle.changes(query, states))


@settings(max_examples=examples(8), deadline=None)
@given(chains(max_states=3), epsilons, st.integers(2, 4), st.sampled_from(["stays", "stays:0", "stay-lengths:0:2,3"]))
def test_noise_hides_every_moment(chain: MarkovChain, epsilon: float, length: int, text: str) -> None:
    """The loss by enumeration of all series, at their own answers and beside them."""
    query, states = parse_query(text), chain.states
    paths = paths_of(length, len(states))
    for window, answer in ((None, whole), (2, by_window)) if text != "stay-lengths:0:2,3" else ((None, whole),):
        try:
            found = oracle.noise_for(query, belief=chain, epsilon=epsilon, length=length, window=window)
        except NotCoveredError:
            continue  # nothing is promised
        answers = np.array([answer(query, series_of(path, (length,), states)) for path in paths])
        seen = np.vstack([np.unique(answers, axis=0), answers[::3] - 1, answers[::2] + 1])
        noise = np.exp(-np.abs(seen[:, None, :] - answers[None, :, :]).sum(axis=2) / found.noise_scale)
        for start in starts(chain):
            weight = start[paths[:, 0]] * np.prod(chain.transition[paths[:, :-1], paths[:, 1:]], axis=1)
            for t, (a, b) in itertools.product(range(length), itertools.permutations(range(len(states)), 2)):
                laws = [weight * (paths[:, t] == s) for s in (a, b)]
                if min(law.sum() for law in laws) > 0:
                    above, below = (noise @ law / law.sum() for law in laws)
                    assert np.log(above / below).max() <= epsilon * (1 + 1e-9)


@settings(max_examples=examples(6), deadline=None)
@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98), epsilons, st.integers(2, 25))
def test_the_audit_of_a_longer_chain_agrees(leave: float, enter: float, epsilon: float, length: int) -> None:
    """Stays are counts of a chain that knows whether a stay is new (Statement 71)."""
    chain = MarkovChain([[1 - enter, enter], [leave, 1 - leave]], initial="stationary", states=["other", "s"])
    longer = MarkovChain(
        [[1 - enter, enter, 0.0], [leave, 0.0, 1 - leave], [leave, 0.0, 1 - leave]],
        initial=[*chain.stationary, 0.0],
        states=["other", "new", "on"],
    )
    scale = oracle.noise_for("stays:s", belief=chain, epsilon=epsilon, length=length).noise_scale
    exact = audit(longer, [Noisy(parse_query("count:new"), scale)], length=length, secrets="sets:new,on|other")
    assert exact.epsilon <= epsilon * (1 + 1e-9)
    if length > 4:
        return
    paths = paths_of(length, 2)
    answers = np.array([whole(parse_query("stays:s"), series_of(path, (length,), chain.states))[0] for path in paths])
    weight = chain.stationary[paths[:, 0]] * np.prod(chain.transition[paths[:, :-1], paths[:, 1:]], axis=1)
    noise = np.exp(-np.abs(np.arange(length + 1)[:, None] - answers[None, :]) / scale)
    losses = []
    for t, a in itertools.product(range(length), (0, 1)):
        above, below = (noise @ law / law.sum() for law in (weight * (paths[:, t] == s) for s in (a, 1 - a)))
        losses.append(np.log(above / below).max())
    assert max(losses) == pytest.approx(exact.epsilon, rel=1e-6, abs=1e-9)


def starts(chain: MarkovChain) -> list[Array]:
    if chain.start == "given":
        return [np.asarray(chain.initial)]
    k = len(chain.states)
    return [chain.stationary] if chain.start == "stationary" else [*np.eye(k), np.full(k, 1 / k)]
