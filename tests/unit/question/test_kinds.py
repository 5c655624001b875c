"""Queries: answers, and sensitivities against brute force."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import oracle
import pytest
from examples import COIN

from quiltwork import (
    Count,
    Custom,
    Frequencies,
    Histogram,
    InputError,
    MarkovChain,
    Mean,
    Query,
    Series,
    Sum,
    Transitions,
    release,
)

STATES = ("0", "1", "2.5")


def series(*codes: int) -> Series:
    return Series.from_codes([np.array(codes)], states=STATES)


@pytest.mark.parametrize("query", [Count("1"), Histogram(), Sum(), Transitions(), Mean(), Frequencies()])
def test_sensitivity_is_the_largest_change_of_one_value(query: Query) -> None:
    """All series of length 4, all single changes; attained for every pair."""
    unit = float(oracle.bound(query, STATES).unit)
    largest = np.zeros((3, 3))
    for path in itertools.product(range(3), repeat=4):
        before = oracle.answer_to(query, series(*path))
        for position, value in itertools.product(range(4), range(3)):
            after = oracle.answer_to(query, series(*path[:position], value, *path[position + 1 :]))
            change = unit * float(np.abs(after - before).sum())
            largest[path[position], value] = max(largest[path[position], value], change)
    changes, off = oracle.changes(query, STATES), ~np.eye(3, dtype=bool)
    assert np.allclose(largest, off * (changes + np.diagonal(changes)))
    assert oracle.bound(query, STATES).lipschitz == pytest.approx(largest.max())


def test_neighbours_share_their_transitions() -> None:
    """Statement 49: n neighbours that change move n + 1 transitions at most, and some do."""
    paths = list(itertools.product(range(3), repeat=5))
    answers = {path: oracle.answer_to(Transitions(), series(*path)) for path in paths}
    changes = oracle.changes(Transitions(), STATES)
    largest = dict.fromkeys(range(1, 6), 0)
    for before, after in itertools.combinations(paths, 2):
        apart = [n for n in range(5) if before[n] != after[n]]
        if apart[-1] - apart[0] + 1 == len(apart):
            largest[len(apart)] = max(largest[len(apart)], int(np.abs(answers[before] - answers[after]).sum()))
    allowed = {n: n * changes[0, 1] + changes[0, 0] for n in largest}
    assert all(largest[n] <= allowed[n] for n in largest)
    assert [largest[n] for n in (1, 2, 3)] == [4, 6, 8]


def test_answers() -> None:
    data = series(0, 1, 1, 2)
    assert oracle.answer_to(Count("1"), data).tolist() == [2]
    assert oracle.answer_to(Histogram(), data).tolist() == [1, 2, 1]
    assert oracle.answer_to(Sum(), data).tolist() == [9]  # 4.5 in steps of one half
    assert oracle.bound(Sum(), STATES).unit == Fraction(1, 2)
    counted = oracle.bound(Transitions(), STATES).only
    assert counted.present(counted.evaluate(data).tolist())["1"] == {"0": 0, "1": 1, "2.5": 1}
    assert oracle.bound(Mean(), STATES).only.divisor(data.size) == 4
    assert oracle.bound(Frequencies(), STATES).only.names == STATES


def test_decimal_values_are_taken_at_their_word() -> None:
    tenths = Sum({"a": 0.1, "b": 0.3})
    assert oracle.bound(tenths, ("a", "b")).unit == Fraction(1, 10)
    assert Fraction(oracle.bound(tenths, ("a", "b")).lipschitz) >= Fraction(2, 10)
    assert oracle.bound(Sum({"a": 0, "b": 0}), ("a", "b")).unit == 1


def test_gaps_are_not_bridged() -> None:
    data = Series.from_values([0, None, 0, 1], states=STATES, missing="split")
    assert oracle.answer_to(Transitions(), data).sum() == 1


def test_custom_functions() -> None:
    longest = Custom(lambda runs: max(len(r) for r in runs), constant=1, integer=True, name="longest")
    assert oracle.answer_to(longest, series(0, 1)).tolist() == [2]
    assert longest.text == "longest"
    vector = Custom(lambda runs: [0.5, 1.5], constant=2)  # noqa: ARG005 - takes the data as all do
    assert oracle.answer_to(vector, series(0)).tolist() == [0.5, 1.5]
    for wrong, message in (
        (Custom(lambda _: [[1.0]], constant=1), "number or a vector"),
        (Custom(lambda _: "x", constant=1), "number or a vector"),
        (Custom(lambda _: 1.5, constant=1, integer=True), "must return integers"),
        (Custom(lambda _: float("inf"), constant=1), "finite"),
    ):
        with pytest.raises(InputError, match=message):
            oracle.answer_to(wrong, series(0))
    with pytest.raises(InputError, match="Lipschitz constant"):
        Custom(len, constant=-1)
    with pytest.raises(InputError, match="name of a question"):
        Custom(len, constant=1, name="histogram")


def test_a_custom_function_cannot_change_the_data() -> None:
    data = series(0, 1)

    def vandal(runs: list[np.ndarray]) -> int:
        runs[0][:] = 0
        return 0

    oracle.answer_to(Custom(vandal, constant=1, integer=True), data)
    assert data.stretches[0].tolist() == [0, 1]


def test_queries_that_do_not_fit_the_states() -> None:
    with pytest.raises(InputError, match="Choose from a, b"):
        oracle.bound(Count("c"), ("a", "b"))
    with pytest.raises(InputError, match="state 'a' without one"):
        oracle.bound(Sum(), ("a", "b"))
    with pytest.raises(InputError, match=r"below 2\^62"):
        oracle.bound(Sum({"a": 1, "b": 2.0**62}), ("a", "b"))


def test_values_of_a_sum_cannot_change_afterwards() -> None:
    values: dict[str, float | str] = {"0": 0.0, "1": 1.0}
    query = Sum(values)
    values["1"] = 100.0
    assert oracle.bound(query, COIN.states).lipschitz == 1.0


def test_levels_count_as_their_midpoints() -> None:
    states = ["<100", "100..200", "200..400", ">=400"]
    assert oracle.changes(Sum(), states)[0].tolist() == [0, 100, 250, 450]
    assert oracle.bound(Mean(), states).unit == 50
    ranks = Sum({"<100": 0, "100..200": 1, "200..400": 2, ">=400": 3})
    assert oracle.changes(ranks, states)[0].tolist() == [0, 1, 2, 3]
    for others in (["<100", ">=100"], ["<100", "100..200", ">=300"], ["<a", "a..b", ">=b"]):
        with pytest.raises(InputError, match="needs a number for every state"):
            oracle.changes(Sum(), others)


@pytest.mark.parametrize(
    "text", ["histogram", "transitions", "stays", "stay-length:1", "stay-lengths:1:2,5", "difference:1:1-9|10-20"]
)
def test_releases_can_be_pickled(text: str) -> None:
    made = release(["0", "1"] * 20, text, belief=COIN, epsilon=50.0, anyway=True)
    again = pickle.loads(pickle.dumps(made))  # noqa: S301 - it was made here
    assert again.to_dict() == made.to_dict()


def test_what_was_asked_does_not_stop_a_belief_from_being_pickled() -> None:
    belief = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    oracle.undivided(Transitions(), belief)
    oracle.undivided(Custom(lambda runs: len(runs), constant=1, integer=True, name="runs"), belief)
    assert pickle.loads(pickle.dumps(belief)) == belief  # noqa: S301 - it was made here


def test_a_function_need_not_be_hashable() -> None:
    class Ones:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, runs: list[np.ndarray]) -> int:
            return sum(int(run.sum()) for run in runs)

    query = Custom(Ones(), constant=1, integer=True, name="ones")
    found = oracle.prepared(["0", "1", "1"], query, belief=COIN, epsilon=1.0, anyway=True)
    assert found.answers()[0].numbers.tolist() == [2]
