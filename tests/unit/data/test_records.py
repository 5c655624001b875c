"""Records: wide, long and in order."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from quiltwork import InputError, JointTable, MarkovChain, Records, read_records, read_series, release
from quiltwork.samples import contagion_belief, households_path, simulate_households


def test_records_in_all_their_forms(tmp_path: Path) -> None:
    household = contagion_belief()
    wide = read_records(households_path(), belief=household)
    frame = simulate_households().with_row_index("house")
    long = frame.unpivot(index="house", variable_name="person", value_name="flu")
    long.write_csv(tmp_path / "long.csv")
    named = read_records(tmp_path / "long.csv", belief=household, column="flu", variable="person", subject="house")
    assert [c.tolist() for c in named.counts()] == [c.tolist() for c in wide.counts()]
    in_order = read_records(tmp_path / "long.csv", belief=household, column="flu", subject="house")
    assert in_order.codes.tolist() == named.codes.tolist()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"column": "flu", "variable": "person"}, "two for one of them"),
        ({"column": "flu"}, "with another number"),
        ({"column": "fever"}, "3 other columns"),
        ({}, "column 'ann' must be in the file"),
        ({"column": "flu", "variable": "flu"}, "different columns"),
        ({"column": "flu", "variable": "house", "subject": "person"}, "about others"),
    ]
    for options, said in wrong:
        with pytest.raises(InputError, match=said):
            read_records(tmp_path / "long.csv", belief=household, **options)
    (tmp_path / "holes.csv").write_text("ann,bob,cem,dea\nyes,,no,no\n")
    with pytest.raises(InputError, match="'bob' must have a value in every record, got 1 missing"):
        read_records(tmp_path / "holes.csv", belief=household)
    (tmp_path / "other.csv").write_text("ann,bob,cem,dea\nyes,secretive,no,no\n")
    with pytest.raises(InputError) as problem:
        read_records(tmp_path / "other.csv", belief=household)
    assert "secretive" not in str(problem.value)
    (tmp_path / "none.csv").write_text("ann,bob,cem,dea\n")
    with pytest.raises(InputError, match="at least one record"):
        read_records(tmp_path / "none.csv", belief=household)
    with pytest.raises(InputError, match="one without 'bob'"):
        Records.from_rows([{"ann": "yes"}], variables=household.variables)
    with pytest.raises(InputError, match="must be records"):
        release({"ann": "yes"}, "count:yes", belief=household, epsilon=1.0)
    with pytest.raises(InputError, match="must be a series"):
        release(wide, "count:yes", belief=MarkovChain([[1.0]], states=["yes"]), epsilon=1.0)


def test_truth_values_have_other_names_in_records_as_in_series() -> None:
    frame, light = pl.DataFrame({"x": [True, False, True]}), JointTable({"x": ["on", "off"]}, [(("on",), 1.0)])
    for recode in ({"1": "on", "0": "off"}, {"true": "on", "*": "off"}):
        records = read_records(frame, belief=light, recode=recode)
        series = read_series(frame, column="x", states=("on", "off"), recode=recode)
        assert records.counts()[0].tolist() == series.counts().tolist() == [2, 1]
