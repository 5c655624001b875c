"""Releases as tables, files and text."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from shell import as_page

from quiltwork import Count, InputError, JointTable, MarkovChain, Release, Sum, read_series, release
from quiltwork.view.files import as_markdown

STATES = ["sit", "walk|run", "3"]
CHAIN = MarkovChain([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]], states=STATES, initial="stationary")
DATA = ["sit", "sit", "walk|run", "3"] * 25


def _released(query: Any = "histogram", **options: Any) -> Release:
    return release(DATA, query, belief=CHAIN, epsilon=1.0, **options, anyway=True)


def test_a_row_for_each_number() -> None:
    result = _released()
    table = result.to_polars()
    columns = ["query", "state", "value", "error_95", "consistent"]
    assert table.columns == [*columns, "values"]
    assert table["value"].sum() == 100
    assert dict(table.select("state", "value").rows()) == result.value
    assert dict(table.select("state", "consistent").rows()) == result.consistent
    assert table["consistent"].sum() == table["values"][0] == 100
    assert table["error_95"].unique().to_list() == [result.error()]


def test_pairs_of_states_have_two_columns() -> None:
    result = _released("transitions", window=50)
    table = result.to_polars()
    assert table.columns[:4] == ["query", "part", "state", "next_state"]
    assert len(table) == 18
    for part, state, following, value in table.select("part", "state", "next_state", "value").iter_rows():
        assert result.value[part][state][following] == value


def test_one_number_needs_no_name() -> None:
    assert _released(Count("3")).to_polars().columns[:3] == ["query", "value", "error_95"]
    summed = _released(Sum({"sit": 0.5, "walk|run": 1.5, "3": 3.0}))
    assert summed.to_polars()["value"].to_list() == [summed.value]
    table = JointTable({"x": "01", "y": "01"}, [((0, 0), 0.5), ((1, 1), 0.5)])
    counted = release([{"x": 0, "y": 0}, {"x": 1, "y": 1}], "histogram", belief=table, epsilon=1.0, anyway=True)
    assert dict(counted.to_polars().select("state", "value").rows()) == counted.value


def test_other_libraries_read_it() -> None:
    pd, pa = import_module("pandas"), import_module("pyarrow")
    result = _released()
    table = result.to_polars()
    assert pl.DataFrame(result).equals(table)
    assert pl.DataFrame(pa.table(result)).equals(table)
    assert pl.DataFrame(result.to_arrow()).equals(table)
    assert isinstance(result.to_pandas(), pd.DataFrame)
    assert result.to_pandas()["value"].tolist() == table["value"].to_list()


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: pl.DataFrame) -> None:
        raise ModuleNotFoundError("No module named 'pandas'")

    monkeypatch.setattr(pl.DataFrame, "to_pandas", missing)
    with pytest.raises(InputError, match=r"to_pandas needs pandas and pyarrow.* pip install pandas pyarrow"):
        _released().to_pandas()


def test_printing_is_short() -> None:
    result = _released()
    assert repr(result).startswith("Release(histogram by curve, ε = 1: sit ")
    assert len(repr(result)) < 120
    lines = str(result).splitlines()
    assert lines[0] == "histogram by curve, ε = 1 (pufferfish); 1 series, 100 values"
    assert len(lines) == 4
    assert f" ± {result.error():g}  (consistent: " in lines[1]
    weekly = _released(Count("3"), window=2)
    assert repr(weekly).startswith("Release(count:3 by curve, ε = 1: 50 parts, ±")
    assert str(weekly).splitlines()[-1] == "... and 20 more"


def test_markdown_is_for_people() -> None:
    text = as_markdown(_released()).splitlines()
    assert text[0].startswith("| query | state | released | ±95 % | consistent | ")
    assert text[1].startswith("| --- | --- | ---: | ---: | ---: | ")
    assert "walk\\|run" in text[3]


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "@SUM(1)", "+1+1", "-1-1", "=HYPERLINK(0)", "-5", "+5e1"])
def test_text_in_csv_is_no_formula(tmp_path: Path, name: str) -> None:
    """States and subjects have names from elsewhere; a spreadsheet would compute some of them."""
    chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=[name, "b"])
    rows = pl.DataFrame({"who": [name, "b"] * 20, "what": [name, name, "b", "b"] * 10})
    series = read_series(rows, column="what", states=chain.states, subject="who")
    safe = name if name in ("-5", "+5e1") else f"'{name}"
    result = release(series, "histogram", belief=chain, epsilon=1.0, by_subject=True, anyway=True)
    table = pl.read_csv(result.save(tmp_path / "r.csv"), infer_schema=False)
    assert set(table["state"]) == set(table["part"]) == {safe, "b"}
    assert pl.read_parquet(result.save(tmp_path / "r.parquet"))["state"][0] == name


def test_the_ending_says_what_is_written(tmp_path: Path) -> None:
    result = _released()
    table = result.to_polars()
    for _ in range(2):  # a second time it replaces its own file
        assert pl.read_csv(result.save(tmp_path / "r.csv"), schema_overrides={"state": pl.String}).equals(table)
        assert pl.read_parquet(result.save(tmp_path / "r.parquet")).equals(table)
        assert json.loads(result.save(tmp_path / "r.json").read_text())["value"] == result.value
        assert result.save(tmp_path / "r.md").read_text() == as_markdown(result)
    assert result.save(tmp_path / "r.html").read_text().startswith("<!doctype html>")
    pl.DataFrame({"diary": [1]}).write_parquet(tmp_path / "data.parquet")
    (tmp_path / "data.csv").write_text("diary\n1\n")
    for name, why in {
        "data.parquet": "must not replace another kind of file",
        "data.csv": "must not replace another kind of file",
        "r.xlsx": "must end in .csv, .parquet, .json, .md or .html",
        "nowhere/r.csv": "cannot be written",
    }.items():
        with pytest.raises(InputError, match=why):
            result.save(tmp_path / name)


def test_a_release_is_shown_and_drawn() -> None:
    for result in (_released(), _released(window=50)):
        text = as_page(result)
        assert text.count("<svg") == 1
        assert "walk|run" in text
        assert result.plot().to_dict()


def test_several_questions_are_one_table() -> None:
    result = _released(["histogram", Count("sit"), "transitions"])
    table = result.to_polars()
    assert table.group_by("query", maintain_order=True).len().rows() == [
        ("histogram", 3),
        ("count:sit", 1),
        ("transitions", 9),
    ]
    assert table.filter(query="count:sit")["state"].to_list() == [None]
    assert repr(result).endswith(": 3 questions)")
    assert str(result).count(" by ") == 3
    assert as_page(result).count("<svg") == 3
    assert len(as_markdown(result).splitlines()) == 2 + 13
    with pytest.raises(InputError, match="several questions have a chart each"):
        result.plot()
