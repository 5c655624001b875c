"""Queries: answers, and sensitivities against brute force."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from examples import COIN

from quiltwork import Count, Custom, Frequencies, Histogram, InputError, Mean, Query, Series, Sum, Transitions

STATES = ("0", "1", "2.5")


def series(*codes: int) -> Series:
    return Series.from_codes([np.array(codes)], states=STATES)


@pytest.mark.parametrize("query", [Count("1"), Histogram(), Sum(), Transitions(), Mean(), Frequencies()])
def test_sensitivity_is_the_largest_change_of_one_value(query: Query) -> None:
    """All series of length 4, all single changes; attained for every pair."""
    unit = float(query.unit(STATES))
    largest = np.zeros((3, 3))
    for path in itertools.product(range(3), repeat=4):
        before = query.evaluate(series(*path))
        for position, value in itertools.product(range(4), range(3)):
            after = query.evaluate(series(*path[:position], value, *path[position + 1 :]))
            change = unit * float(np.abs(after - before).sum())
            largest[path[position], value] = max(largest[path[position], value], change)
    changes, off = query.sensitivity(STATES), ~np.eye(3, dtype=bool)
    assert np.allclose(largest, off * (changes + np.diagonal(changes)))
    assert query.lipschitz(STATES) == pytest.approx(largest.max())


def test_neighbours_share_their_transitions() -> None:
    """Statement 49: n neighbours that change move n + 1 transitions at most, and some do."""
    paths = list(itertools.product(range(3), repeat=5))
    answers = {path: Transitions().evaluate(series(*path)) for path in paths}
    changes = Transitions().sensitivity(STATES)
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
    assert Count("1").evaluate(data).tolist() == [2]
    assert Histogram().evaluate(data).tolist() == [1, 2, 1]
    assert Sum().evaluate(data).tolist() == [9]  # 4.5 in steps of one half
    assert Sum().unit(STATES) == Fraction(1, 2)
    assert Transitions().present(Transitions().evaluate(data).tolist(), STATES)["1"] == {"0": 0, "1": 1, "2.5": 1}
    assert Mean().divisor(data.size) == 4
    assert Frequencies().labels(STATES) == STATES


def test_decimal_values_are_taken_at_their_word() -> None:
    tenths = Sum({"a": 0.1, "b": 0.3})
    assert tenths.unit(("a", "b")) == Fraction(1, 10)
    assert Fraction(tenths.lipschitz(("a", "b"))) >= Fraction(2, 10)
    assert Sum({"a": 0, "b": 0}).unit(("a", "b")) == 1


def test_gaps_are_not_bridged() -> None:
    data = Series.from_values([0, None, 0, 1], states=STATES, missing="split")
    assert Transitions().evaluate(data).sum() == 1


def test_custom_functions() -> None:
    longest = Custom(lambda runs: max(len(r) for r in runs), constant=1, integer=True, name="longest")
    assert longest.evaluate(series(0, 1)).tolist() == [2]
    assert longest.text == "longest"
    vector = Custom(lambda runs: [0.5, 1.5], constant=2)  # noqa: ARG005 - takes the data as all do
    assert vector.evaluate(series(0)).tolist() == [0.5, 1.5]
    for wrong, message in (
        (Custom(lambda _: [[1.0]], constant=1), "number or a vector"),
        (Custom(lambda _: "x", constant=1), "number or a vector"),
        (Custom(lambda _: 1.5, constant=1, integer=True), "must return integers"),
        (Custom(lambda _: float("inf"), constant=1), "finite"),
    ):
        with pytest.raises(InputError, match=message):
            wrong.evaluate(series(0))
    with pytest.raises(InputError, match="Lipschitz constant"):
        Custom(len, constant=-1)


def test_a_custom_function_cannot_change_the_data() -> None:
    data = series(0, 1)

    def vandal(runs: list[np.ndarray]) -> int:
        runs[0][:] = 0
        return 0

    Custom(vandal, constant=1, integer=True).evaluate(data)
    assert data.stretches[0].tolist() == [0, 1]


def test_queries_that_do_not_fit_the_states() -> None:
    with pytest.raises(InputError, match="Choose from a, b"):
        Count("c").lipschitz(("a", "b"))
    with pytest.raises(InputError, match="state 'a' without one"):
        Sum().lipschitz(("a", "b"))
    with pytest.raises(InputError, match=r"below 2\^62"):
        Sum({"a": 1, "b": 2.0**62}).evaluate(Series.from_values(["a", "b"], states=("a", "b")))


def test_values_of_a_sum_cannot_change_afterwards() -> None:
    values: dict[str, float | str] = {"0": 0.0, "1": 1.0}
    query = Sum(values)
    values["1"] = 100.0
    assert query.lipschitz(COIN.states) == 1.0


def test_levels_count_as_their_midpoints() -> None:
    states = ["<100", "100..200", "200..400", ">=400"]
    assert Sum().sensitivity(states)[0].tolist() == [0, 100, 250, 450]
    assert Mean().unit(states) == 50
    assert Sum({"<100": 0, "100..200": 1, "200..400": 2, ">=400": 3}).sensitivity(states)[0].tolist() == [0, 1, 2, 3]
    for others in (["<100", ">=100"], ["<100", "100..200", ">=300"], ["<a", "a..b", ">=b"]):
        with pytest.raises(InputError, match="needs a number for every state"):
            Sum().sensitivity(others)
