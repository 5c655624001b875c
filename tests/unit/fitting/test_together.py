"""People who influence each other: rows of several people, fitted and released together."""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from shell import answer, run

from quiltwork import DynamicNetwork, QuiltworkError, load_belief, read_series, save_belief
from quiltwork.data.rewritten import by_person
from quiltwork.fitting.together import fit_together

# bob does what ann did before
STEP = DynamicNetwork(
    {"ann": ["ill", "well"], "bob": ["ill", "well"]},
    parents={"ann": ["ann@before"], "bob": ["ann@before", "bob@before"]},
    tables={"ann": [[0.8, 0.2], [0.1, 0.9]], "bob": [[[0.9, 0.1], [0.8, 0.2]], [[0.3, 0.7], [0.05, 0.95]]]},
    initial="stationary",
)


def days(count: int) -> pl.DataFrame:
    """A row for each person and day."""
    chain, rng = STEP.as_chain_of_steps(), np.random.default_rng(5)
    state, rows = int(rng.choice(4, p=chain.stationary)), []
    for n in range(count):
        day = datetime(2024, 3, 4) + timedelta(days=n)
        rows += [(day, who, value) for who, value in zip(("ann", "bob"), chain.states[state].split("+"), strict=True)]
        state = int(rng.choice(4, p=chain.transition[state]))
    return pl.DataFrame(rows, schema=["day", "who", "flu"], orient="row")


def test_rows_of_people_become_columns() -> None:
    table = days(3)
    wide = by_person(table, who="who", column="flu", time="day").collect()
    assert wide.columns == ["day", "ann", "bob"]
    assert wide.height == 3
    assert wide["bob"].to_list() == table.filter(pl.col("who") == "bob")["flu"].to_list()
    late = by_person(table[1:], who="who", column="flu", time="day").collect()
    assert late["ann"][0] is None  # no row, no value


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (days(3).filter(pl.col("who") == "ann"), "2 to 12 people"),
        (pl.concat([days(3), days(3)]), "one row at each time"),
    ],
)
def test_rows_that_do_not_belong_together_are_refused(table: pl.DataFrame, words: str) -> None:
    with pytest.raises(QuiltworkError, match=words):
        by_person(table, who="who", column="flu", time="day")
    with pytest.raises(QuiltworkError, match="need times"):
        by_person(table, who="who", column="flu", time=None)


def test_people_whom_the_belief_does_not_know_are_not_named(tmp_path: Path) -> None:
    file = tmp_path / "flu.csv"
    days(3).with_columns(pl.col("who").replace("bob", "xaverius")).write_csv(file)
    save_belief(STEP, tmp_path / "home.json")
    how = ["--column", "flu", "--together", "who", "--time", "day", "--belief", tmp_path / "home.json"]
    refused = run("release", file, *how, "--query", "count:ill", "--epsilon", "1", code=2)
    assert "'bob', whom the belief is about, must have rows, got none" in refused.stderr
    assert "xaverius" not in refused.stderr


def test_what_people_do_to_each_other_is_found_again() -> None:
    wide = by_person(days(6000), who="who", column="flu", time="day")
    series = read_series(wide, column=["ann", "bob"], states=None, time="day")
    fit = fit_together(series, people=["ann", "bob"])
    assert np.abs(fit.as_chain_of_steps().transition - STEP.as_chain_of_steps().transition).max() < 0.06


def test_the_command_fits_and_releases(tmp_path: Path) -> None:
    days(400).write_csv(tmp_path / "flu.csv", datetime_format="%Y-%m-%d")
    how = ["--column", "flu", "--together", "who", "--time", "day"]
    fitted = tmp_path / "home.json"
    done = run("belief", "fit", str(tmp_path / "flu.csv"), *how, "--out", str(fitted))
    assert done.returncode == 0, done.stderr
    belief = load_belief(fitted)
    assert isinstance(belief, DynamicNetwork)
    assert str(belief.step) == "1d"
    released = answer(
        "release", str(tmp_path / "flu.csv"), *how, "--belief", str(fitted), "--query", "count:ill", "--epsilon", "1"
    )
    assert released["noise_scale"] > 1
    chain = tmp_path / "chain.json"
    chain.write_text('{"kind": "chain", "states": ["ill", "well"], "transition": [[0.5, 0.5], [0.5, 0.5]]}')
    refused = run(
        "release", str(tmp_path / "flu.csv"), *how, "--belief", str(chain), "--query", "count:ill", "--epsilon", "1"
    )
    assert refused.returncode == 2
    assert "about all of them" in refused.stderr
