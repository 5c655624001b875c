"""Ranges that are called 95 % hold the truth as often as that, on data that the belief was not made from."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import oracle
import pytest

from quiltwork import GaussianBelief, MarkovChain, Series
from quiltwork.data.measured import Measurements
from quiltwork.releases.prepared import Answer, Prepared
from quiltwork.releases.result import Release
from quiltwork.view.charts.releases import numbers_drawn

DRAWS, WANTED = 200, 0.93
STATES = ["a", "b", "c", "d"]
BELIEVED = [[0.8, 0.1, 0.05, 0.05], [0.2, 0.6, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1], [0.2, 0.2, 0.2, 0.4]]
OTHER_SHARES = [[0.97, 0.01, 0.01, 0.01], [0.3, 0.6, 0.05, 0.05], [0.3, 0.05, 0.6, 0.05], [0.5, 0.2, 0.25, 0.05]]
ALTERNATING = [[0.1, 0.8, 0.1, 0.0], [0.7, 0.1, 0.1, 0.1], [0.5, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
BELIEF = MarkovChain(BELIEVED, initial="stationary", states=STATES)
NUMBERS = GaussianBelief({"ar1": 0.6}, distance=1.0)
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("histogram", {}),
    ("histogram", {"window": 100}),
    ("frequencies", {}),
    ("count:d", {}),
    ("share:a", {"delta": 1e-6, "noise": "gaussian"}),
    ("histogram", {"delta": 1e-6, "noise": "gaussian"}),
    ("transitions", {}),
    ("stays", {}),
    ("stay-length:a", {}),
    ("stay-lengths:a:2,4", {}),
]


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of the same law with a seed, so that the test says the same every time."""
    rng = np.random.default_rng(5)

    def mechanism(kind: str, scale: float, noise: str) -> Callable[[list[Any]], list[Any]]:
        def draw(values: list[Any]) -> list[Any]:
            size = len(values)
            if noise == "gaussian":
                drawn = np.rint(rng.normal(0.0, scale, size)) if kind == "i64" else rng.normal(0.0, scale, size)
            elif kind == "i64":
                gone = -np.expm1(-1 / scale)
                drawn = rng.geometric(gone, size) - rng.geometric(gone, size)
            else:
                drawn = rng.laplace(0.0, scale, size)
            return [type(value)(value + n) for value, n in zip(values, drawn.tolist(), strict=True)]

        return draw

    monkeypatch.setattr("quiltwork.releases.noise._mechanism", mechanism)


def simulated(rows: list[list[float]], length: int) -> Series:
    rng, kernel = np.random.default_rng(1), np.cumsum(rows, axis=1)
    codes = [0]
    for drawn in rng.random(length - 1):
        codes.append(int(np.searchsorted(kernel[codes[-1]], drawn * kernel[codes[-1], -1], side="right")))
    return Series.from_codes([np.array(codes)], states=STATES)


def truths(prepared: Prepared, answer: Answer) -> list[float]:
    divisor = prepared.question.divisor(answer.values)
    return [float(int(number) * prepared.unit / divisor) for number in answer.numbers]


def held(result: Release, exact: list[list[float]]) -> Iterator[tuple[str, bool]]:
    """Each range that is shown, and whether it has the truth."""
    small = 1e-9
    for answer, true in zip(result.answers, exact, strict=True):
        for raw, cut, t in zip(answer.numbers, answer.possible, true, strict=True):
            yield "±", abs(raw - t) <= answer.error() + small
            yield "± of what is possible", abs(cut - t) <= answer.error() + small
            low, high = (float(end.replace(",", "")) for end in answer.range_of(raw).split(" to "))
            yield "range of what is noise only", low - small <= t <= high + small
        rule = answer.question.derive
        between = None if rule is None else rule.between(answer.best, answer.error())
        derived = None if rule is None else rule.value(true, answer.question.names)
        if between is not None and answer.derived is not None and derived is not None:
            yield "derived", between[0] - small <= derived <= between[1] + small
    every = [t for true in exact for t in true]
    all_at_once = result.error(simultaneous=True)
    yield "all at once", all(abs(n - t) <= all_at_once + small for n, t in zip(result.numbers, every, strict=True))
    for drawn, t in zip(numbers_drawn(result), every, strict=True):
        yield "drawn", drawn.low - small <= t <= drawn.high + small
    shown = numbers_drawn(result, simultaneous=True)
    yield "drawn at once", all(one.low - small <= t <= one.high + small for one, t in zip(shown, every, strict=True))


def coverage(data: Any, query: str, belief: Any, **options: Any) -> dict[str, float]:
    prepared = oracle.prepared(data, query, belief=belief, epsilon=1.0, alone=True, anyway=True, **options)
    answers = prepared.answers()
    exact = [truths(prepared, answer) for answer in answers]
    found: dict[str, list[bool]] = {}
    for _ in range(DRAWS):
        for name, holds in held(prepared.draw(answers), exact):
            found.setdefault(name, []).append(holds)
    return {name: float(np.mean(one)) for name, one in found.items()}


@pytest.mark.parametrize("rows", [OTHER_SHARES, ALTERNATING], ids=["other shares", "other memory"])
@pytest.mark.parametrize(("query", "options"), ASKED, ids=lambda part: str(part))
def test_ranges_hold_on_data_of_others(query: str, options: dict[str, Any], rows: list[list[float]]) -> None:
    found = coverage(simulated(rows, 300), query, BELIEF, **options)
    assert {"±", "all at once", "drawn", "drawn at once"} <= set(found)
    assert min(found.values()) >= WANTED, found


@pytest.mark.parametrize("query", ["mean", "sum", "trend", "above:1:1"])
def test_ranges_of_numbers_hold(query: str) -> None:
    numbers = np.cumsum(np.random.default_rng(2).normal(size=200)) / 5  # nothing like the belief
    found = coverage(Measurements.of_numbers(numbers.tolist()), query, NUMBERS)
    assert min(found.values()) >= WANTED, found
