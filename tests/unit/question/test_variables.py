"""Queries about some of the variables of a record."""

import math
from typing import Any

import numpy as np
import pytest

from quiltwork import (
    BayesianNetwork,
    Count,
    Histogram,
    InputError,
    MarkovChain,
    Mean,
    Over,
    Sum,
    Tally,
    Transitions,
    calibrate,
    parse_query,
)
from quiltwork.question import bind


def test_queries_about_some_variables() -> None:
    variables = {"visits": ("0", "1", "2"), "nights": ("0", "10"), "flu": ("no", "yes")}
    belief = BayesianNetwork(variables, tables={name: [1 / len(s)] * len(s) for name, s in variables.items()})
    found = bind(Over(Sum(), {"visits": 1, "nights": 2.5}), belief)
    assert found.lipschitz_by_part == pytest.approx((2.0, 25.0, 0.0))
    answer = found.only.answer([np.array([1, 0, 2]), np.array([1, 2]), np.array([3, 0])])
    assert float(found.unit) * answer == pytest.approx([2 * 2 + 2.5 * 20])
    tally = bind(Tally({"visits": ["1", "2"], "flu": "yes"}), belief)
    assert tally.lipschitz_by_part == (1.0, 0.0, 1.0)
    histogram = bind(Histogram(), belief)
    assert histogram.only.names == ("0", "1", "2", "10", "no", "yes")
    assert histogram.lipschitz_by_part == (2.0, 2.0, 2.0)
    assert bind(Over(Mean(), ["visits", "nights"]), belief).only.asked == 2
    for text in (
        "count:yes over flu",
        "sum over visits,nights=2.5",
        "tally:visits=1|2,flu=yes",
        "mean over flu",
    ):
        assert parse_query(text).text == text
    wrong: list[tuple[Any, str]] = [
        (lambda: bind(Over(Count("yes"), ["snow"]), belief), "'snow'"),
        (lambda: bind(Tally({"flu": "maybe"}), belief), "Choose from no, yes"),
        (lambda: Over(Mean(), {"visits": 2}), "takes no weights"),
        (lambda: Over(Count("yes"), "flu"), "list of variables"),
        (lambda: Over(Count("yes"), {"flu": math.inf}).text, "finite numbers"),
        (lambda: Over(Tally({"flu": "yes"}), ["flu"]), "without names of its own"),
        (lambda: parse_query("tally:flu"), "VARIABLE=STATE"),
        (lambda: parse_query("sum over a=1,a=2"), "once"),
        (lambda: parse_query("tally:a=1,a=2"), "once"),
        (lambda: bind(Transitions(), belief), "needs a series"),
        (lambda: Tally({}), "needs variables"),
    ]
    for ask, said in wrong:
        with pytest.raises(InputError, match=said):
            ask()
    with pytest.raises(InputError, match="asks named variables"):
        calibrate("count:1 over X1", belief=MarkovChain([[0.5, 0.5], [0.5, 0.5]]), epsilon=1.0, length=3)


def test_weights_do_not_wrap_around() -> None:
    network = BayesianNetwork({"a": ["0", "1", "8"], "b": ["0", "1"]}, tables={"a": [0.5, 0, 0.5], "b": [0.5, 0.5]})
    for weight in (2**61, 2**62, 1e30):
        with pytest.raises(InputError, match=r"2\^62 steps"):
            calibrate(Over(Sum(), {"a": weight, "b": 1}), belief=network, epsilon=1.0)
    with pytest.raises(InputError, match="finite numbers"):
        Over(Sum(), {"a": "1/0"})
