"""Series in memory, and series that grow."""

import duckdb
import numpy as np
import polars as pl
import pytest
from tabular import STATES

from quiltwork import InputError, Series, read_series


def test_values_in_memory() -> None:
    held = Series.from_values(["sit", "walk", "sit"], states=STATES, subject=["a", "b", "a"])
    assert [len(s) for s in held.stretches] == [2, 1]
    with pytest.raises(InputError, match="2 for 1 values"):
        Series.from_values(["sit"], states=STATES, subject=["a", "b"])
    with pytest.raises(InputError, match="none"):
        Series.from_values([], states=STATES)
    with pytest.raises(InputError, match="1 missing"):
        Series.from_values(["sit", float("nan")], states=STATES)
    assert Series.from_codes([np.array([0, 1])], states=STATES).size == 2


def test_further_rows_must_be_later() -> None:
    old = pl.DataFrame({"t": range(10, 15), "x": ["sit"] * 5})
    new = old.with_columns(pl.col("t") - 5)
    stored = read_series(old, column="x", time="t", states=STATES, unsorted="sort")
    with pytest.raises(InputError, match="later than all rows before"):
        stored.extended(new)
    held = duckdb.connect()
    on_duckdb = read_series(held.from_arrow(old.to_arrow()), column="x", time="t", states=STATES)
    with pytest.raises(InputError, match="later than all rows before"):
        on_duckdb.extended(held.from_arrow(new.to_arrow()))
    assert on_duckdb.extended(held.from_arrow(old.with_columns(pl.col("t") + 5).to_arrow())).size == 10
    steps = read_series(old, column="x", time="t", states=STATES, every=10, take="last")
    with pytest.raises(InputError, match="later than all"):
        steps.extended(pl.DataFrame({"t": [16], "x": ["walk"]}))
    assert steps.extended(pl.DataFrame({"t": [20], "x": ["walk"]})).size == 2


def test_series_grow() -> None:
    held = Series.from_values(["sit"], states=STATES)
    assert held.extended(["walk", "walk"]).stretches[0].tolist() == [0, 1, 1]
    two = Series.from_values(["sit", "walk"], states=STATES, subject=["a", "b"])
    grown = two.extended(["walk", "sit"], subject=["a", "c"])
    assert [codes.tolist() for codes in grown.codes] == [[0, 1], [1], [0]]
    for wrong, why in ((["sit"], "need a subject"), ("sit", "sequence"), (3, "sequence")):
        with pytest.raises(InputError, match=why):
            two.extended(wrong)
    frame = pl.DataFrame({"x": ["sit", "walk"], "t": [1, 2]})
    stored = read_series(frame, column="x", states=STATES, time="t")
    more = pl.DataFrame({"x": ["walk"], "t": [3]})
    assert stored.extended(more).extended(more.with_columns(t=pl.lit(4, pl.Int8))).stretches[0].tolist() == [0, 1, 1, 1]
    with pytest.raises(InputError, match="later than all"):
        stored.extended(more).extended(more)
    forgotten = Series.from_values(["sit", None], states=STATES, subject=["a", "b"], missing="split")
    grown = forgotten.extended(["walk"], subject=["b"])
    assert (forgotten.subjects, forgotten.shape.late, grown.subjects, grown.shape.late) == (1, False, 2, True)
    with pytest.raises(InputError, match="duckdb after polars"):
        stored.extended(duckdb.connect().from_arrow(more.to_arrow()))
    with pytest.raises(InputError, match="column 'x' must be in"):
        stored.extended(pl.DataFrame({"y": [1]}))
