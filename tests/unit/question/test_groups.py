"""Differences between the shares of two periods, or of two groups of subjects."""

import itertools
from datetime import datetime, timedelta
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from quiltwork import InputError, MarkovChain, Query, Series, parse_query, read_series, release
from quiltwork.calibration.calibrate import calibrated
from quiltwork.calibration.request import Request
from quiltwork.question import bind, query_from_dict
from quiltwork.question.groups import sized

CHAIN = MarkovChain([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6]], initial="stationary", states=["a", "b", "c"])


def diary() -> pl.DataFrame:
    """Two people, one value every six hours."""
    times = [datetime(2024, 3, 1) + timedelta(hours=6 * n) for n in range(40)]
    return pl.DataFrame({"who": ["x"] * 40 + ["y"] * 40, "at": times * 2, "what": ["a"] * 20 + ["b"] * 20 + ["c"] * 40})


@pytest.mark.parametrize(
    ("text", "difference", "sizes"),
    [
        ("difference:a:1-20|21-40", -0.5, (40, 40)),
        ("difference:a:1-10|11-40", 1 / 6 - 0.5, (20, 60)),
        ("difference:a|c:21-40|1-20", 0.5, (40, 40)),
        ("difference:a:2024-03-01..2024-03-05|2024-03-06..2024-03-07", -0.5, (40, 16)),
        ("difference:a:subjects=x|y", -0.5, (40, 40)),
        ("difference:c:subjects=x|*", 1.0, (40, 40)),
    ],
)
def test_differences(text: str, difference: float, sizes: tuple[int, int]) -> None:
    series = read_series(diary(), column="what", subject="who", time="at", states=CHAIN.states)
    found = release(series, text, belief=CHAIN, epsilon=200.0)
    assert found.value == pytest.approx(difference)
    assert found.divisor == min(sizes)
    query = found.record().query
    assert isinstance(query, Query)
    assert query["sizes"] == sizes
    assert query.text == text
    assert query_from_dict(query.to_dict()) == query


def test_noise_is_that_of_a_count() -> None:
    held = Series.from_values("abcab" * 20, states=CHAIN.states)
    count, found = (
        release(held, text, belief=CHAIN, epsilon=1.0, mechanism="curve")
        for text in ("count:a", "difference:a:1-20|21-100")
    )
    assert found.noise_scale == pytest.approx(count.noise_scale / 20)
    assert found.numbers[0] * 20 * 4 == pytest.approx(round(found.numbers[0] * 20 * 4))  # on a grid of 1/80


@pytest.mark.parametrize("groups", ["1-2|3-5", "1-1|2-5", "2-3|4-4", "4-5|1-2"])
def test_sensitivity_covers_all_pairs_of_series(groups: str) -> None:
    paths = np.array(list(itertools.product(range(3), repeat=5)))
    every = [Series.from_codes([path], states=CHAIN.states) for path in paths]
    query = bind(sized(parse_query(f"difference:a:{groups}"), every[0]), CHAIN).only
    unit, (allowed,) = query.unit, query.table()
    answers = np.array([int(query.evaluate(series)[0]) * unit for series in every])
    moved = np.abs(answers[:, None] - answers[None, :])
    costs = allowed[paths[:, None, :], paths[None, :, :]].sum(axis=2)
    assert (moved <= costs).all()
    single = (paths[:, None, :] != paths[None, :, :]).sum(axis=2) == 1
    assert moved[single].max() == Fraction(1)  # attained in the smaller group


def test_exact_loss_by_enumeration() -> None:
    length = 5
    query = parse_query("difference:a:1-2|3-5")
    made = calibrated(Request.of(query, belief=CHAIN, epsilon=0.7, length=length))
    paths = np.array(list(itertools.product(range(3), repeat=length)))
    every = [Series.from_codes([path], states=CHAIN.states) for path in paths]
    asked = bind(sized(query, every[0]), CHAIN).only
    answers = np.array([float(int(asked.evaluate(s)[0]) * asked.unit) for s in every])
    weight = CHAIN.stationary[paths[:, 0]] * np.prod(CHAIN.transition[paths[:, :-1], paths[:, 1:]], axis=1)
    noise = np.exp(-np.abs(np.unique(answers)[:, None] - answers[None, :]) / made.noise_scale)
    for t, (a, b) in itertools.product(range(length), itertools.permutations(range(3), 2)):
        above, below = (noise @ law / law.sum() for law in (weight * (paths[:, t] == s) for s in (a, b)))
        assert np.log(above / below).max() <= 0.7


@pytest.mark.parametrize(
    "text",
    [
        "difference:a:1-5|3-9",
        "difference:a:5-1|6-9",
        "difference:a:0-1|6-9",
        "difference:a:1-5",
        "difference::1-5|6-9",
        "difference:a:1-5|2024-03-01..2024-03-02",
        "difference:a:2024-03-01..2024-02-31|2024-03-01..2024-03-02",
        "difference:a:subjects=x,y|y",
    ],
)
def test_groups_must_be_two(text: str) -> None:
    with pytest.raises(InputError, match="difference:walk:1-96"):
        parse_query(text)


def test_what_cannot_be_told_apart_is_refused() -> None:
    series = Series.from_values("abcab" * 4, states=CHAIN.states)
    for text, match in (
        ("difference:a:1-5|6-90", "segment"),
        ("difference:a:subjects=x|y", "name subjects"),
        ("difference:a:2024-03-01..2024-03-02|2024-03-03..2024-03-04", "need times"),
        ("difference:z:1-5|6-9", "Choose from a, b, c"),
    ):
        with pytest.raises(InputError, match=match):
            release(series, text, belief=CHAIN, epsilon=1.0)
    with pytest.raises(InputError, match="cannot be split"):
        release(series, "difference:a:1-5|6-9", belief=CHAIN, epsilon=1.0, window=5)
    dated = read_series(diary(), column="what", subject="who", time="at", states=CHAIN.states)
    with pytest.raises(InputError, match="both groups must have values"):
        release(dated, "difference:a:2024-03-01..2024-03-02|2023-01-01..2023-01-02", belief=CHAIN, epsilon=1.0)
