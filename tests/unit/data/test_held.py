"""What a person hands over as data: files, tables of any library, values, and what was read before."""

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from examples import BELIEF

from quiltwork import (
    GaussianBelief,
    InputError,
    Measurements,
    QuiltworkError,
    Records,
    Series,
    Session,
    fit_belief,
    fit_gaussian,
    read_measurements,
    read_series,
    release,
)
from quiltwork.beliefs import belief_from_dict
from quiltwork.data.held import held
from quiltwork.samples import contagion_belief, simulate_households

CHAIN = belief_from_dict(BELIEF)
TABLE = pl.DataFrame({"t": range(60), "who": ["ann"] * 30 + ["bob"] * 30, "doing": ["sit", "sit", "walk"] * 20})
READING: dict[str, Any] = {"column": "doing", "subject": "who", "time": "t"}
ASKED: dict[str, Any] = {"belief": CHAIN, "epsilon": 1.0, "anyway": True}
NUMBERS = GaussianBelief({"ar1": 0.5}, distance=1.0, step=1)


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "arrow", "duckdb", "path", "text"])
def test_a_table_is_read_as_its_series(kind: str, tmp_path: Path) -> None:
    TABLE.write_csv(file := tmp_path / "days.csv")
    data: dict[str, object] = {"path": file, "text": str(file), "polars": TABLE, "lazy": TABLE.lazy()}
    data |= {"pandas": TABLE.to_pandas(), "arrow": TABLE.to_arrow(), "duckdb": duckdb.from_arrow(TABLE.to_arrow())}
    read = held(data[kind], CHAIN, READING)
    assert isinstance(read, Series)
    plain = read_series(TABLE, states=CHAIN.states, **READING)
    assert read.reading == plain.reading
    assert read.counts().tolist() == plain.counts().tolist()
    found = release(data[kind], "histogram", segment=(11, 20), **ASKED, **READING)
    assert (found.subjects, found.values, found.record().segment) == (2, 20, (11, 20))
    assert found.record().reading == plain.reading


def test_a_pattern_of_files_is_part_of_how_they_were_read(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "a.parquet")
    read = held(tmp_path / "*.parquet", CHAIN, READING)
    assert read.reading.files == "*.parquet"


def test_numbers_and_records() -> None:
    power = pl.DataFrame({"t": range(100), "kW": [0.25 * (n % 5) for n in range(100)]})
    for given, reading in ((power, {"column": "kW", "time": "t"}), (power["kW"].to_list(), {}), (power["kW"], {})):
        assert isinstance(held(given, NUMBERS, reading), Measurements)
    fit = fit_gaussian(power["kW"], distance=1.0)
    assert release(power, "mean", belief=fit, epsilon=5.0, column="kW", time="t", anyway=True).belief == fit.belief
    assert held(held(power, NUMBERS, {"column": "kW"}), NUMBERS) is not None
    homes, network = simulate_households(), contagion_belief()
    for rows in (homes, homes.to_dicts(), held(homes, network)):
        records = held(rows, network)
        assert isinstance(records, Records)
        assert len(records) == 250
    ann = homes.select("ann").rename({"ann": "what"}).with_columns(who=pl.lit("ann"))
    with pytest.raises(InputError, match="one value for each variable, got two"):
        held(ann, network, {"column": "what", "variable": "who"})


def test_a_session_reads_as_a_release_does() -> None:
    session = Session(TABLE, budget=3.0, belief=CHAIN, **READING)
    assert session.release("histogram", epsilon=1.0, anyway=True).record().reading == session.data.reading
    assert session.append(TABLE.with_columns(pl.col("t") + 60)) == (31, 60)


def test_a_column_that_may_be_the_subject_is_named() -> None:
    table = TABLE.rename({"who": "person"})
    with pytest.warns(UserWarning, match="column 'person' is not used"):
        release(table, "histogram", column="doing", time="t", **ASKED)


@pytest.mark.parametrize(
    ("data", "reading", "message"),
    [
        (TABLE, {}, "needs the column with its values"),
        (TABLE, {"column": "doing", "missing": "drop"}, "missing must be"),
        (TABLE, {"column": "doing", "subject": "nobody"}, "nobody"),
        (TABLE, {"column": "doing", "variable": "who"}, "variables are for networks"),
        (TABLE, {"column": "doing", "together": "who"}, "people who belong together"),
        (["sit", "walk"], {"column": "doing"}, "column= says how a file or a table is read"),
        (read_measurements(pl.DataFrame({"x": [1.0]}), column="x"), {}, "must have the belief's states"),
        (Series.from_values("01"), {}, "must have the belief's states"),
        ({"doing": ["sit"]}, {}, "must be a series"),
        (3, {}, "must be a series"),
        ("no-such-file.csv", {"column": "doing"}, "no-such-file.csv"),
    ],
)
def test_what_cannot_be_read_is_refused(data: object, reading: dict[str, Any], message: str) -> None:
    with pytest.raises(QuiltworkError, match=message):
        release(data, "histogram", **ASKED, **reading)


def test_states_come_from_public_data_if_nobody_names_them() -> None:
    assert fit_belief(TABLE, **READING).belief.states == ("sit", "walk")
    assert fit_belief(TABLE, states=["walk", "sit", "run"], **READING).belief.states == ("walk", "sit", "run")
    assert read_series(TABLE, **READING).states == ("sit", "walk")
