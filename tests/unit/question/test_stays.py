"""Stays and sets of states: from data to releases."""

from typing import Any

import oracle
import polars as pl
import pytest

from quiltwork import (
    Count,
    InputError,
    MarkovChain,
    Records,
    ReleaseRecord,
    Series,
    calibrate,
    parse_query,
    read_series,
    release,
)
from quiltwork.samples import contagion_belief

DAY = MarkovChain(
    [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6]], initial="stationary", states=["sit", "walk", "run"]
)
VALUES = ["sit", "sit", "walk", "run", "run", "sit", "walk"] * 30


def test_a_set_of_states_is_one_count() -> None:
    counted, single = (calibrate(text, belief=DAY, epsilon=1.0) for text in ("count:walk|run", "count:sit"))
    assert counted.noise_scale == pytest.approx(single.noise_scale)  # the rest of the same states
    found = release(VALUES, "share:walk|run", belief=DAY, epsilon=200.0, anyway=True)
    assert found.value == pytest.approx(4 / 7)
    assert found.divisor == 210


def test_a_state_of_that_very_name_comes_first() -> None:
    named = oracle.bound(Count("a|b"), ["a", "b", "a|b"]).only
    assert named.steps[0].tolist() == [[0, 0, 1]]
    assert named.text == 'count:"a|b"'
    with pytest.raises(InputError, match="Choose from a, b"):
        oracle.bound(parse_query("share:a|x"), ["a", "b"])


def test_records_and_parts_of_them() -> None:
    flu = contagion_belief()
    states = flu.states
    rows = [dict.fromkeys(flu.variables, state) for state in (states[0], states[1])]
    names = list(flu.variables)[:2]
    records = Records.from_rows(rows, variables=flu.variables)
    query = f"share:{states[1]} over {','.join(names)}"
    assert release(records, query, belief=flu, epsilon=200.0, anyway=True).value == pytest.approx(0.5)
    with pytest.raises(InputError, match="need a series"):
        parse_query("stays over ann,bob")
    with pytest.raises(InputError, match="needs a series"):
        release(records, "stays", belief=flu, epsilon=1.0, anyway=True)


def test_stays_in_memory_and_in_tables() -> None:
    frame = pl.DataFrame({"at": range(len(VALUES)), "doing": VALUES})
    for series in (
        Series.from_values(VALUES, states=DAY.states),
        read_series(frame, column="doing", time="at", states=DAY.states),
    ):
        large: dict[str, Any] = {"belief": DAY, "epsilon": 200.0}
        assert release(series, "stays", **large).value == {"sit": 60, "walk": 60, "run": 30}
        assert release(series, "stays:walk|run", **large).value == 60
        assert release(series, "stay-length:run", **large).value == {"values in it": 60, "stays": 30}
        assert release(series, "stay-lengths:sit:2,3", **large).value == {"1": 30, "2": 30, ">=3": 0}
        assert release(series, "stay-length:run", **large).derived == 2.0
        weeks = release(series, "stays:sit", window=70, **large)
        assert list(weeks.value.values()) == [20, 20, 20]
        with pytest.raises(InputError, match="cannot be split"):
            release(series, "stay-lengths:sit:2", window=70, **large)


def test_windows_cost_more_and_records_say_so() -> None:
    whole = release(VALUES, "stays:sit", belief=DAY, epsilon=1.0, mechanism="curve", anyway=True)
    parts = release(VALUES, "stays:sit", belief=DAY, epsilon=1.0, mechanism="curve", window=7, anyway=True)
    assert parts.noise_scale == pytest.approx(2 * whole.noise_scale, rel=1e-6)
    told = parts.record().to_dict()
    assert told["query"] == {"kind": "stays", "state": "sit"}
    assert told["window"] == 7
    assert ReleaseRecord.from_dict(told | {"query": "stays:sit"}).to_dict() == told


@pytest.mark.parametrize("text", ["stay-lengths:a", "stay-lengths:a:1,2", "stay-lengths:a:3,3", "stay-lengths:a:x"])
def test_lengths_must_part_something(text: str) -> None:
    with pytest.raises(InputError, match="stay-lengths:walk:2,5,10"):
        parse_query(text)
