"""Queries as text and as plain values."""

import json

import numpy as np
import oracle
import pytest

from quiltwork import (
    Count,
    Frequencies,
    Histogram,
    InputError,
    Mean,
    Over,
    Quantile,
    Query,
    Share,
    StayLength,
    StayLengths,
    Stays,
    Sum,
    Tally,
    Top,
    Transitions,
    parse_query,
)
from quiltwork.question import query_from_dict


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("count:a:b", Count("a:b")),
        ("share:a|b", Share("a|b")),
        ("histogram", Histogram()),
        ("mean", Mean()),
        ("transitions", Transitions()),
        ("stays", Stays()),
        ("stays:a|b", Stays("a|b")),
        ("stay-length:a:b", StayLength("a:b")),
        ("stay-lengths:a:b:2,10", StayLengths("a:b", (2, 10))),
        ("median", Quantile("0.5")),
        ("quantile:0.9", Quantile("0.9")),
        ("top:3", Top(3)),
    ],
)
def test_parsing(text: str, query: Query) -> None:
    assert parse_query(text) == query
    assert query.text == text


@pytest.mark.parametrize("text", ["count", "count:", "histogram:x", "medians", ""])
def test_unknown_queries(text: str) -> None:
    with pytest.raises(InputError, match="Known: count:STATE"):
        parse_query(text)


@pytest.mark.parametrize(
    "query",
    [
        Count("a over b"),
        Histogram(),
        Frequencies(),
        Sum(),
        Sum({"0": 0.1, "1": "2/3"}),
        Mean({"0": 0, "1": 1e-3}),
        Transitions(),
        Share("0|1"),
        Stays(),
        Stays("0"),
        StayLength("0|1"),
        StayLengths("0", [2, 9]),
        Quantile(0.25),
        Quantile("1/3"),
        Top(2),
        Over(Sum({"0": 1, "1": 2}), {"a=2": "1/3", "b": -2.5}),
        Over(Count("0"), ["a", "b"]),
        Tally({"a": ["0", "1|2"], "b": "0"}),
    ],
    ids=lambda query: query.text,
)
def test_queries_are_written_down_whole(query: Query) -> None:
    again = query_from_dict(json.loads(json.dumps(query.to_dict(), sort_keys=True)))
    assert again == query
    assert parse_query(query.text) == query
    if not (query.over or query.kind in ("tally", "count")):
        assert np.array_equal(oracle.changes(again, ["0", "1"]), oracle.changes(query, ["0", "1"]))


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ('count:"a"|b', ["a", "b", "a|b", "c"]),
        ('stays:"a"|"b"', ["a", "b", "a|b", "c"]),
        ('stay-lengths:a|"b":2', ["a", "b", "a|b", "c"]),
        ("count:x|y", ["x", '"x|y"', "x|y", "z"]),
        ('count:"a"|b', ["a", "b", "a|b", '"a"|"b"', '"a"|b']),
        ("count:'a", ["'a", "b"]),
        ('count:"a" is b', ['"a" is b', "b", "a"]),
        ('count:"a"', ['"a"', "b"]),
    ],
)
def test_what_is_bound_is_bound_to_the_same_states_again(text: str, states: list[str]) -> None:
    asked = oracle.bound(parse_query(text), states)
    for written in (asked.said, parse_query(asked.text), query_from_dict(json.loads(json.dumps(asked.said.to_dict())))):
        again = oracle.bound(written, states)
        assert again == asked
        assert (again.table()[0] == asked.table()[0]).all()
