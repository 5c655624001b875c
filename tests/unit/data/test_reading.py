"""How data were read is part of a record: another reading counts everywhere or is refused."""

import dataclasses
import json
from pathlib import Path

import polars as pl
import pytest
from accounts import told
from examples import COIN, LAZY, WARD
from hypothesis import given, strategies as st
from shell import answer, run

from quiltwork import Ledger, NotCoveredError, Records, ReleaseRecord, Series, Session, read_series, save_belief
from quiltwork.calibration.request import Request
from quiltwork.data import Reading
from quiltwork.releases.pipeline import prepare


def ten_values(tmp_path: Path) -> tuple[Path, Path]:
    save_belief(COIN, tmp_path / "belief.json")
    data = tmp_path / "data.csv"
    rows = [f"{'ann' if t <= 5 else 'bob'},{t},{t % 2}" for t in range(1, 11)]
    data.write_text("who,t,x\n" + "\n".join(rows))
    return data, tmp_path / "belief.json"


def test_other_steps_are_not_other_moments(tmp_path: Path) -> None:
    """Every second value, positions 3 to 5, are the values 5, 7 and 9, of which 7 and 9 were released before."""
    data, belief = ten_values(tmp_path)
    ledger = tmp_path / "ledger.db"
    run("ledger", "create", ledger, "--belief", belief, "--budget", 5, code=0)
    options = ("--column", "x", "--time", "t", "--belief", belief, "--query", "count:1", "--epsilon", 1)
    records = []
    for segment in (("--segment", "6:10"), ("--every", "2", "--segment", "3:5")):
        made = answer("release", "--anyway", data, *options, *segment, "--ledger", ledger)
        records.append(made["record"])
    assert made["ledger"]["spent"] == pytest.approx(2.0)
    file = tmp_path / "releases.json"
    file.write_text(json.dumps(records))
    composed = answer("compose", belief, file, "--length", 10)
    assert composed["epsilon"] == pytest.approx(2.0)
    shown = answer("ledger", "show", ledger)
    assert shown["spent"] == pytest.approx(2.0)
    assert shown["reading"] == {"layout": "series", "column": "x", "time": "t"}
    assert "column x, time t" in run("ledger", "show", ledger).stdout


def test_people_told_apart_or_not(tmp_path: Path) -> None:
    data, belief = ten_values(tmp_path)
    ledger = tmp_path / "ledger.db"
    run("ledger", "create", ledger, "--belief", belief, "--budget", 5, code=0)
    options = ("--column", "x", "--time", "t", "--belief", belief, "--query", "count:1", "--epsilon", 1)
    answer("release", "--anyway", data, *options, "--subject", "who", "--segment", "1:5", "--ledger", ledger)
    made = answer("release", "--anyway", data, *options, "--segment", "6:10", "--ledger", ledger)
    assert made["ledger"]["spent"] == pytest.approx(2.0)
    assert run("ledger", "verify", ledger).returncode == 0


def reserved(ledger: Ledger, series: Series, query: str = "count:1") -> float:
    ready = prepare(series, Request.of(query, belief=ledger.terms.belief, epsilon=1.0, anyway=True))
    found = ready.draw_within(ledger, {"who": "test", "program": "test"})
    assert found.ledger is not None
    return float(found.ledger["spent"])


def test_another_reading_counts_everywhere_or_is_refused() -> None:
    frame = pl.DataFrame({"t": range(1, 11), "x": ["0", "1"] * 5, "y": ["1", "1"] * 5, "n": [0.0, 1.0] * 5})
    options = {"column": "x", "states": COIN.states, "time": "t"}

    def again(**changed: object) -> float:
        ledger = Ledger.in_memory(belief=COIN, budget=10.0)
        reserved(ledger, read_series(frame, **options, segment=(1, 2)))  # type: ignore[arg-type]
        return reserved(ledger, read_series(frame, **(options | {"segment": (9, 10)} | changed)))  # type: ignore[arg-type]

    assert again() == pytest.approx(1.0)
    for changed in ({"time": None}, {"missing": "split"}, {"unsorted": "sort"}, {"duplicates": "drop"}, {"gap": 2}):
        assert again(**changed) == pytest.approx(2.0)
    assert again(every=2, segment=(5, 5)) == pytest.approx(2.0)
    with pytest.raises(NotCoveredError, match="column: 'x' before, 'y' now"):
        again(column="y")
    with pytest.raises(NotCoveredError, match="bins: none before"):
        again(bins=[0.5])
    with pytest.raises(NotCoveredError, match="recode: none before"):
        again(recode={"0": "1", "1": "0"})
    with pytest.raises(NotCoveredError, match="decimal: the default before"):
        again(decimal=",")


def test_rows_between_the_steps_are_refused_once_steps_were_released() -> None:
    """The belief is then about the steps, and says nothing about what lies between them."""
    frame = pl.DataFrame({"t": range(1, 11), "x": ["0", "1"] * 5})
    ledger = Ledger.in_memory(belief=COIN, budget=10.0)
    reserved(ledger, read_series(frame, column="x", states=COIN.states, time="t", every=2))
    with pytest.raises(NotCoveredError, match="every: '2' before, none now"):
        reserved(ledger, read_series(frame, column="x", states=COIN.states, time="t"))
    assert len(ledger.statement().releases()) == 1


def test_values_in_memory_are_another_column() -> None:
    frame = pl.DataFrame({"t": range(1, 11), "x": ["0", "1"] * 5})
    ledger = Ledger.in_memory(belief=COIN, budget=10.0)
    reserved(ledger, read_series(frame, column="x", states=COIN.states, time="t"))
    with pytest.raises(NotCoveredError, match=r"column: 'x' before, none \(values in memory\) now"):
        reserved(ledger, Series.from_values(["0", "1"], states=COIN.states))


def test_records_read_in_another_layout_are_refused(tmp_path: Path) -> None:
    from quiltwork import read_records

    wide, long = tmp_path / "wide.csv", tmp_path / "long.csv"
    wide.write_text("flu,fever\nno,none\nyes,high\n")
    long.write_text("who,what,value\n1,flu,no\n1,fever,none\n2,flu,yes\n2,fever,high\n")
    session = Session(read_records(wide, belief=WARD), belief=WARD, budget=10.0)
    session.release("count:yes over flu", epsilon=1.0, anyway=True)
    session.data = Records.from_rows([{"flu": "no", "fever": "none"}], variables=WARD.variables)
    session.release("count:yes over flu", epsilon=1.0, anyway=True)  # by name as well
    session.data = read_records(long, belief=WARD, column="value", variable="what", subject="who")
    session._prepared.clear()
    with pytest.raises(NotCoveredError, match="layout: 'columns' before, 'rows' now"):
        session.release("count:yes over flu", epsilon=1.0, anyway=True)


def test_another_column_is_refused_also_after_another_reading() -> None:
    """One harmless difference must not switch the check off."""
    frame = pl.DataFrame({"t": range(1, 11), "x": ["0", "1"] * 5, "y": ["1", "1"] * 5})
    ledger = Ledger.in_memory(belief=COIN, budget=10.0)
    reserved(ledger, read_series(frame, column="x", states=COIN.states, time="t"))
    reserved(ledger, read_series(frame, column="x", states=COIN.states, time="t", unsorted="sort"))
    with pytest.raises(NotCoveredError, match="column: 'x' before, 'y' now"):
        reserved(ledger, read_series(frame, column="y", states=COIN.states, time="t"))
    assert ledger.statement().mixed == "unsorted: the default before, 'sort' now"


def test_rows_that_were_left_out_do_not_come_back() -> None:
    """Of repeated rows one was kept, and one a step: another reading would bring back the others."""
    frame = pl.DataFrame({"t": [1, 1, 2, 2, 3, 3], "who": list("ababab"), "x": ["0", "0", "1", "1", "0", "0"]})
    options = {"column": "x", "states": COIN.states}
    for first, later, said in (
        ({"time": "t", "duplicates": "drop"}, {}, "time: 't' before, none now"),
        ({"time": "t", "duplicates": "drop"}, {"time": "t", "subject": "who"}, "subject: none before"),
        ({"time": "t", "subject": "who", "every": 2}, {"time": "t", "every": 2, "duplicates": "drop"}, "subject"),
    ):
        ledger = Ledger.in_memory(belief=COIN, budget=10.0)
        reserved(ledger, read_series(frame, **options, **first))  # type: ignore[arg-type]
        with pytest.raises(NotCoveredError, match=said):
            reserved(ledger, read_series(frame, **options, **later))  # type: ignore[arg-type]


def test_a_record_without_a_reading_is_placed_only_among_its_like() -> None:
    by_hand = [ReleaseRecord(query="count:1", noise_scale=1.0, segment=s) for s in ((1, 5), (6, 10))]
    assert told(COIN, *by_hand, length=10) == pytest.approx(1.0)
    read = dataclasses.replace(by_hand[1], reading=Reading(column="x"))
    assert told(COIN, by_hand[0], read, length=10) == pytest.approx(2.0)
    vouched = [ReleaseRecord(mechanism="other", epsilon=1.0, segment=s) for s in ((1, 5), (6, 10))]
    vouched[1] = dataclasses.replace(vouched[1], reading=Reading(column="x"))
    with pytest.raises(NotCoveredError, match="not every release says how its data were read"):
        told(LAZY, *vouched, length=10)


readings = st.builds(
    Reading.of,
    column=st.sampled_from(["x", None]),
    subject=st.sampled_from(["who", None]),
    time=st.sampled_from(["t", None]),
    missing=st.sampled_from(["refuse", "split"]),
    gap=st.sampled_from([None, "15min", "90s", 3, "1h30min", 1.5]),
    every=st.sampled_from([None, "15min", 2]),
    take=st.sampled_from(["first", "last"]),
    bins=st.sampled_from([None, "100,500", [0.1, 0.2]]),
    unsorted=st.sampled_from(["refuse", "sort"]),
    duplicates=st.sampled_from(["refuse", "drop"]),
    decimal=st.sampled_from([".", ",", "auto"]),
    date_format=st.sampled_from([None, "dd/mm/yyyy", "mm/dd/yyyy"]),
    recode=st.sampled_from([None, {"1": "sit"}, {1: "walk", "*": None}]),
)


@given(readings, readings)
def test_readings_are_written_down_and_compared(one: Reading, other: Reading) -> None:
    assert Reading.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert (one.difference(other) is None) == (one == other)
    if one.other_values(other) is not None:
        assert one != other
    kept = ("column", "bins", "duplicates", "decimal", "recode")
    same = dataclasses.replace(other, **{name: getattr(one, name) for name in kept})
    assert one.other_values(same) is None or one.every or one.duplicates == "drop"
