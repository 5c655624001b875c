"""Medians, quantiles and the most frequent states: read off a noisy histogram."""

import math
from fractions import Fraction

import numpy as np
import pytest

from quiltwork import (
    HiddenChain,
    InputError,
    JointTable,
    MarkovChain,
    Noisy,
    Query,
    Records,
    audit,
    calibrate,
    parse_query,
    release,
)
from quiltwork.question.derive import StateAtShare

LEVELS = ["<10", "10..20", ">=20"]
CHAIN = MarkovChain([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6]], initial="stationary", states=LEVELS)
VALUES = ["<10"] * 60 + ["10..20"] * 30 + [">=20"] * 10


@pytest.mark.parametrize(
    ("text", "derived"),
    [
        ("median", {"state": "<10", "number": 5.0}),
        ("quantile:0.6", {"state": "<10", "number": 5.0}),
        ("quantile:0.61", {"state": "10..20", "number": 15.0}),
        ("quantile:0.95", {"state": ">=20", "number": 25.0}),
        ("top:2", {"<10": 60, "10..20": 30}),
        ("top:9", {"<10": 60, "10..20": 30, ">=20": 10}),
    ],
)
def test_read_off_the_counts(text: str, derived: object) -> None:
    found = release(VALUES, text, belief=CHAIN, epsilon=200.0)
    assert found.derived == derived
    assert found.value == {"<10": 60, "10..20": 30, ">=20": 10}
    assert found.to_dict()["derived"] == derived
    assert text in found.explain()


@pytest.mark.parametrize("text", ["median", "quantile:0.9", "top:1"])
def test_noise_is_that_of_the_histogram(text: str) -> None:
    for belief in (CHAIN, MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["1", "2"])):
        asked, histogram = (calibrate(q, belief=belief, epsilon=1.0, length=50) for q in (text, "histogram"))
        assert asked.noise_scale == histogram.noise_scale
        exact = audit(belief, [Noisy(asked.query, asked.noise_scale)], length=5)
        assert exact.epsilon <= 1.0


def test_order_is_that_of_numbers_and_noise_is_cut_off() -> None:
    median = StateAtShare(Fraction(1, 2), "median")
    assert median.value([1, 1, 9], ["10", "9", "-1"]) == {"state": "-1", "number": -1.0}
    assert median.value([-50, 2, 1], ["1", "2", "3"]) == {"state": "2", "number": 2.0}
    assert median.value([0, 0, 0], ["1", "2", "3"]) is None


def test_among_several_questions_it_follows_from_the_histogram() -> None:
    found = release(VALUES, ["histogram", "median", "top:1", "count:<10"], belief=CHAIN, epsilon=200.0)
    assert found.derived == {"median": {"state": "<10", "number": 5.0}, "top:1": {"<10": 60}}
    assert "median: <10 (5)." in found.explain()
    assert found.value["median"] == found.value["histogram"]  # drawn once


def test_windows_have_one_each() -> None:
    found = release(VALUES, "median", belief=CHAIN, epsilon=200.0, window=50)
    assert found.derived == {"1:50": {"state": "<10", "number": 5.0}, "51:100": {"state": "10..20", "number": 15.0}}
    assert [row["median"] for row in found.table()] == ["<10 (5)", "10..20 (15)"]
    assert found.to_dict()["parts"][0]["derived"] == {"state": "<10", "number": 5.0}


def test_records_and_phases() -> None:
    table = JointTable({"x": ("1", "2"), "y": ("1", "2")}, [((x, y), 0.25) for x in "12" for y in "12"])
    records = Records.from_rows([{"x": "1", "y": "2"}] * 40, variables=table.variables)
    assert release(records, "median", belief=table, epsilon=200.0).derived == {"state": "1", "number": 1.0}
    assert release(records, "median over y", belief=table, epsilon=200.0).derived == {"state": "2", "number": 2.0}
    assert release(records, "top:1 over y", belief=table, epsilon=200.0).derived == {"2": 40}
    hidden = HiddenChain(np.full((3, 3), 1 / 3), shows=["1", "1", "2"], initial="stationary")
    assert release(["1"] * 9, "median", belief=hidden, epsilon=200.0).derived == {"state": "1", "number": 1.0}


@pytest.mark.parametrize("text", ["quantile:0", "quantile:1", "quantile:x", "top:0", "top:x", "top:1.5"])
def test_what_is_asked_must_make_sense(text: str) -> None:
    with pytest.raises(InputError, match="For example"):
        parse_query(text)


@pytest.mark.parametrize("query", ["median", parse_query("quantile:0.9 over x")])
def test_names_have_no_order(query: str | Query) -> None:
    names = ("sit", "walk")
    belief = (
        JointTable({"x": names}, [(("sit",), 0.5), (("walk",), 0.5)])
        if isinstance(query, Query)
        else MarkovChain(np.full((2, 2), 0.5), states=names)
    )
    with pytest.raises(InputError, match="a number for every state"):
        calibrate(query, belief=belief, epsilon=1.0)
    assert math.isfinite(calibrate("top:1", belief=belief, epsilon=1.0).noise_scale)
