"""The record of a release, and what follows from it: cases in which bookkeeping once lost a fact."""

import dataclasses
import itertools
import json
import math
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import answer, run

from quiltwork import (
    Accountant,
    BayesianNetwork,
    BudgetError,
    Count,
    Custom,
    Frequencies,
    Histogram,
    InputError,
    JointTable,
    Ledger,
    MarkovChain,
    Mean,
    Noisy,
    NotCoveredError,
    Over,
    Query,
    Records,
    ReleaseRecord,
    Series,
    Session,
    Sum,
    Tally,
    Transitions,
    audit,
    calibrate,
    load_belief,
    read_series,
    release,
    save_belief,
)
from quiltwork.accounting.total import Total
from quiltwork.beliefs import Belief
from quiltwork.calibration.request import Request
from quiltwork.data import Reading
from quiltwork.errors import CertificateError, LedgerError
from quiltwork.ledger import Row
from quiltwork.queries import query_from_dict
from quiltwork.releases.pipeline import prepare

COIN = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
LAZY = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")


def told(belief: Belief, *records: ReleaseRecord, length: int | None = None) -> float:
    return Accountant(belief, length=length, releases=records).composed().epsilon


def why(belief: Belief, *records: ReleaseRecord, length: int | None = None, rule: str = "single-release") -> str:
    rules = Accountant(belief, length=length, releases=records).composed().rules
    return next(finding.why or "" for finding in rules if finding.rule == rule)


# --- variables by name -------------------------------------------------------------------------------------------


WARD = BayesianNetwork(
    {"flu": ["no", "yes"], "fever": ["none", "some", "high"]},
    parents={"fever": ["flu"]},
    tables={"flu": [0.9, 0.1], "fever": [[0.9, 0.08, 0.02], [0.1, 0.4, 0.5]]},
)
TABLE = JointTable(
    {"z": "01", "a": "01", "m": "01"},
    [(outcome, 1 / 8) for outcome in itertools.product("01", repeat=3)],
)


@pytest.mark.parametrize("belief", [WARD, TABLE], ids=["network", "table"])
def test_the_order_of_variables_is_part_of_a_belief(belief: BayesianNetwork | JointTable, tmp_path: Path) -> None:
    file = tmp_path / "belief.json"
    save_belief(belief, file)
    again = load_belief(file)
    assert list(again.variables or ()) == list(belief.variables)
    assert again.fingerprint == belief.fingerprint
    sorted_file = tmp_path / "sorted.json"
    sorted_file.write_text(json.dumps(belief.to_dict(), sort_keys=True))
    assert load_belief(sorted_file) == belief
    if isinstance(belief, JointTable):
        other = JointTable({"a": "01", "m": "01", "z": "01"}, [(o, 1 / 8) for o in belief.outcomes])
        assert other.fingerprint != belief.fingerprint
        assert other != belief


def test_variables_may_be_an_object_still() -> None:
    from quiltwork.beliefs import belief_from_dict

    old = {"kind": "joint", "variables": {"b": ["0", "1"], "a": ["0", "1"]}, "table": [{"a": "0", "b": "1", "p": 1.0}]}
    assert list(belief_from_dict(old).variables or ()) == ["b", "a"]
    for wrong in ([{"name": "a"}], [{"name": "a", "states": ["0"]}] * 2, [{"name": "a", "states": "01"}], "a"):
        with pytest.raises(InputError, match="variable"):
            belief_from_dict(old | {"variables": wrong})


def test_four_releases_do_not_fit_where_one_does(tmp_path: Path) -> None:
    """Variables that are not in alphabetical order: profiles are added by name, also in a ledger that was reopened."""
    for belief, queries in (
        (TABLE, ["count:1 over z"] * 4),
        (WARD, ["count:yes over flu", "count:high over fever"] * 2),
    ):
        file = tmp_path / f"{len(belief.variables)}.db"
        Ledger.create(str(file), belief=belief, budget=1.0).close()
        rows = [{name: states[0] for name, states in belief.variables.items()}]
        made = 0
        for query in queries:
            session = Session(rows, belief=belief, ledger=str(file))
            try:
                session.release(query, epsilon=1.0, mechanism="group")
                made += 1
            except BudgetError:
                continue
            finally:
                session.ledger.close()
        assert made == 1
        assert Ledger(str(file)).verify() == []
        assert run("ledger", "verify", file).returncode == 0


def test_records_in_another_order_are_not_taken_for_the_beliefs() -> None:
    shuffled = Records.from_rows(
        [{"flu": "no", "fever": "none"}], variables=dict(reversed(list(WARD.variables.items())))
    )
    with pytest.raises(InputError, match="in the same order"):
        release(shuffled, "count:yes over flu", belief=WARD, epsilon=1.0)


# --- how data were read ------------------------------------------------------------------------------------------


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
        made = answer("release", data, *options, *segment, "--ledger", ledger)
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
    answer("release", data, *options, "--subject", "who", "--segment", "1:5", "--ledger", ledger)
    made = answer("release", data, *options, "--segment", "6:10", "--ledger", ledger)
    assert made["ledger"]["spent"] == pytest.approx(2.0)
    assert run("ledger", "verify", ledger).returncode == 0


def reserved(ledger: Ledger, series: Series, query: str = "count:1") -> float:
    ready = prepare(series, Request.of(query, belief=ledger.terms.belief, epsilon=1.0))
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
    session.release("count:yes over flu", epsilon=1.0)
    session.data = Records.from_rows([{"flu": "no", "fever": "none"}], variables=WARD.variables)
    session.release("count:yes over flu", epsilon=1.0)  # by name as well
    session.data = read_records(long, belief=WARD, column="value", variable="what", subject="who")
    session._prepared.clear()
    with pytest.raises(NotCoveredError, match="layout: 'columns' before, 'rows' now"):
        session.release("count:yes over flu", epsilon=1.0)


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
)


@given(readings, readings)
def test_readings_are_written_down_and_compared(one: Reading, other: Reading) -> None:
    assert Reading.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert (one.difference(other) is None) == (one == other)
    if one.other_values(other) is not None:
        assert one != other
    same = dataclasses.replace(other, column=one.column, bins=one.bins, duplicates=one.duplicates)
    assert one.other_values(same) is None or one.every or one.duplicates == "drop"


# --- the start ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transition", "mechanism", "truth"),
    [([[0.2, 0.8], [0.0, 1.0]], "group", 0.988), ([[0.4935, 0.5065], [0.0013, 0.9987]], "curve", 0.978)],
)
def test_a_forgotten_start_stays_forgotten(transition: list[list[float]], mechanism: str, truth: float) -> None:
    """Two leading missing values: the first value seen has not the law of the start."""
    chain = MarkovChain(transition, initial=[1.0, 0.0])
    series = Series.from_values([None, None, "0", "1"], states=chain.states, missing="split")
    made = release(series, "count:1", belief=chain, epsilon=1.0, mechanism=mechanism)
    record = ReleaseRecord.from_dict(made.record().to_dict())
    assert (record.start, record.gaps) == ("any", "late")
    exact = max(
        audit(chain, [Noisy(Count("1"), record.noise_scale or 0.0, (n + 1, n + 2))], length=n + 2).epsilon
        for n in range(40)
    )
    for length in (2, 4, 100):
        assert told(chain, record, length=length) >= max(exact * (1 - 1e-9), truth)


def test_a_start_said_to_be_any_is_not_the_beliefs() -> None:
    chain = MarkovChain([[0.2, 0.8], [0.0, 1.0]], initial=[1.0, 0.0])
    record = ReleaseRecord(query="count:1", noise_scale=2.0)
    assert told(chain, record, length=2) < told(chain, dataclasses.replace(record, start="any"), length=2)
    later = dataclasses.replace(record, start="any", segment=(2, 2))  # a later segment is calibrated so
    assert later.started


# --- claims that are not believed --------------------------------------------------------------------------------


def test_a_delta_stays_with_its_release() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[0.5, 0.5])
    made = release(["0", "1"] * 5, "count:1", belief=chain, epsilon=1.0, mechanism="wasserstein", delta=0.5)
    record = ReleaseRecord.from_dict(made.record().to_dict())
    assert record.delta == 0.5
    exact = audit(chain, [Noisy(Count("1"), made.noise_scale)], length=10).epsilon
    assert exact > 1.0
    assert told(chain, record, length=10) >= exact
    assert "only up to delta = 0.5" in why(chain, record, length=10)
    with pytest.raises(NotCoveredError, match="delta"):
        Ledger.in_memory(belief=chain, budget=5.0).reserve(record, {})


def test_noise_is_checked_against_the_query() -> None:
    lie = {"mechanism": "quilt-exact", "epsilon": 0.1, "noise_scale": 0.01, "query": "count:1"}
    assert told(LAZY, ReleaseRecord.from_dict(lie), length=1000) == pytest.approx(103.58, abs=0.01)
    assert "quilt-exact needs 210.5" in why(LAZY, ReleaseRecord.from_dict(lie), length=1000, rule="sequential-quilt")
    with pytest.raises(InputError, match=r"at least what its query says \(2\), got 1"):
        told(LAZY, ReleaseRecord.from_dict(lie | {"query": "histogram", "lipschitz": 1.0}), length=10)
    with pytest.raises(InputError, match="lipschitz of a release must be a finite, positive number, got 0"):
        ReleaseRecord.from_dict(lie | {"lipschitz": 0})
    more = ReleaseRecord(query="count:1", noise_scale=1.0, lipschitz=3.0)
    assert told(COIN, more, length=10) == pytest.approx(3.0)  # a larger constant is taken at its word


def test_what_cannot_be_checked_is_not_believed() -> None:
    """Any start: wasserstein refuses it and no audit runs, so that its epsilon of 0.1 counts for nothing."""
    lie = ReleaseRecord(mechanism="wasserstein", epsilon=0.1, noise_scale=0.001, query="count:1")
    anywhere = LAZY.with_start("any")
    assert told(anywhere, lie, length=4) > 1000
    assert "cannot be by wasserstein" in why(anywhere, lie, length=4)
    long = dataclasses.replace(lie, noise_scale=3.0)
    assert told(LAZY, long, length=5000) > 1.0
    for mechanism in ("curve", "quilt-exact", "quilt-approx", "group", "gk16", "wasserstein", "audited"):
        claim = dataclasses.replace(lie, mechanism=mechanism)
        assert told(LAZY, claim, length=12) > 100
        assert why(LAZY, claim, length=12)


SWAP = MarkovChain([[0.0, 0.0, 1 - 1e-6, 1e-6], [0.0, 0.0, 0.9, 0.1], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]],
                   initial=[1e-9, 1 - 1e-9, 0.0, 0.0], states=list("abzo"))  # fmt: skip


def test_answers_by_window_are_more_than_their_sum() -> None:
    """Each value is seen, while their sum is always the same: no theorem may look at the sum."""
    session = Session(list("bzo"), belief=SWAP, budget=1000.0)
    values: dict[str, float | str] = {"a": 0, "b": 4, "z": 2, "o": 3}
    for _ in range(4):
        made = session.release(Sum(values), epsilon=2.2, window=1)
    assert made.record().window == 1
    assert session.spent() >= 10.0228
    assert "an answer for each window" in why(SWAP, *[made.record()] * 4, length=3, rule="divergence")


def test_shorter_series_count_too() -> None:
    """At length 3 the sum tells nearly nothing, at length 2 it does."""
    series = Series.from_values(list("bzobz"), states=SWAP.states, subject=[1, 1, 1, 2, 2])
    session = Session(series, belief=SWAP, budget=1000.0)
    for _ in range(8):
        made = session.release(Sum({"a": 0, "b": 1, "z": 0, "o": 1}), epsilon=1.2, mechanism="audited")
    record = made.record()
    assert (record.length, record.lengths) == (3, (2,))
    assert told(SWAP, record, length=3) == pytest.approx(1.2)
    assert session.spent() >= 14.2326
    lie = dataclasses.replace(record, epsilon=1.04)  # enough for length 3 alone
    assert told(SWAP, lie, length=3) > 1.19
    assert told(SWAP, dataclasses.replace(lie, lengths=()), length=3) == pytest.approx(1.04)
    many = dataclasses.replace(record, lengths=tuple(range(1, 40)))
    assert many.lengths == "many"
    assert ReleaseRecord.from_dict(many.to_dict()).to_dict() == many.to_dict()
    assert "many lengths" in why(SWAP, many, length=40)


def test_with_gaps_mechanisms_are_run_again_as_they_were() -> None:
    """Values at times 1, 3, 5 and 7 of a chain that alternates are all alike; side by side they cancel out."""
    swap = MarkovChain([[0.0, 1.0], [1.0, 0.0]], initial="stationary")
    claim = ReleaseRecord(
        mechanism="wasserstein", epsilon=1.0, noise_scale=1.0001, query="count:1", gaps="dependent", length=4
    )
    assert told(swap, claim, length=4) >= 3.99
    assert "does not cover series with gaps" in why(swap, claim, length=4)
    for mechanism in ("wasserstein", "audited", "gk16"):
        near = MarkovChain([[0.5, 0.5], [0.45, 0.55]], initial="stationary")
        series = Series.from_values(["0", None, "1"], states=near.states, missing="split")
        with pytest.raises(NotCoveredError, match=r"gaps|start"):
            release(series, "count:1", belief=near, epsilon=1.0, mechanism=mechanism)


def test_what_is_said_to_change_more_than_it_can_is_taken_at_its_word() -> None:
    for query in (Sum({"0": 1, "1": 1}), Mean({"0": 1, "1": 1})):
        assert told(COIN, ReleaseRecord(query=query, noise_scale=1.0), length=3) == 0.0
        assert told(COIN, ReleaseRecord(query=query, noise_scale=0.1, lipschitz=5.0), length=3) == pytest.approx(50.0)


def test_a_name_does_not_stand_for_its_noise() -> None:
    for mechanism in ("curve", "quilt-exact", "quilt-approx", "group"):
        claim = ReleaseRecord(mechanism=mechanism, epsilon=0.0001)
        with pytest.raises(NotCoveredError, match="does not say its noise_scale"):
            told(LAZY, claim, claim, length=100)
    long = ReleaseRecord(mechanism="other", epsilon=0.001, noise_scale=16.0, query="histogram")
    assert told(LAZY, long, length=2688) > 0.1  # its noise is known, and too long to be audited


def test_the_larger_claim_of_an_entry_release_counts() -> None:
    for noise in (100.0, 0.1):
        entry = ReleaseRecord(mechanism="entry", epsilon=5.0, noise_scale=noise, lipschitz=1.0)
        assert told(COIN, entry, length=3) == pytest.approx(max(5.0, 1 / noise))


def test_a_mechanism_that_is_not_ours(tmp_path: Path) -> None:
    """Its owner vouches for its epsilon: composed by Theorems 3.1 (corrected) and 3.6."""
    chain = MarkovChain([[0.999, 0.001], [0.99, 0.01]], initial=[0.5, 0.5])
    save_belief(chain, tmp_path / "belief.json")
    file = tmp_path / "releases.json"
    contents = [
        {"mechanism": "other", "epsilon": 10, "segment": [1, 1]},
        {"mechanism": "other", "epsilon": 8, "segment": [2, 2]},
    ]
    file.write_text(json.dumps(contents))
    composed = answer("compose", tmp_path / "belief.json", file, "--length", 2)
    assert composed["rule"] == "separate-segments"
    assert composed["epsilon"] == pytest.approx(12.303, abs=1e-3)
    file.write_text(json.dumps(contents[:1] * 2))
    refused = run("compose", tmp_path / "belief.json", file, "--length", 2, code=4)
    assert "no theorem" in refused.stderr
    lie = ReleaseRecord(mechanism="other", epsilon=0.1, query="count:1", noise_scale=1.0)
    assert "says epsilon = 0.1, but tells" in why(chain, lie, length=2)


@pytest.mark.parametrize("other", [Sum({"0": 0, "1": 1, "2": 5}), Histogram(), Sum({"0": 0, "1": 2, "2": 3})])
def test_a_calibration_is_tied_to_its_query(other: Query) -> None:
    chain = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]], initial="stationary")
    query = Sum({"0": 0, "1": 1, "2": 2})
    made = calibrate(query, belief=chain, epsilon=1.0)
    assert made.verify(chain) <= 1.0
    with pytest.raises(CertificateError, match="another query"):
        dataclasses.replace(made, query=other).verify(chain)
    for scale in (0.0, -1.0, math.nan, math.inf, made.noise_scale / 2):
        with pytest.raises(CertificateError):
            dataclasses.replace(made, noise_scale=scale).verify(chain)
    with pytest.raises(InputError, match="must hold its query"):
        dataclasses.replace(made, query="histogram")  # type: ignore[arg-type]


def test_values_of_a_sum_cannot_change_afterwards() -> None:
    values: dict[str, float | str] = {"0": 0.0, "1": 1.0}
    query = Sum(values)
    values["1"] = 100.0
    assert query.lipschitz(COIN.states) == 1.0


# --- what a record holds -----------------------------------------------------------------------------------------


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
        Over(Sum({"0": 1, "1": 2}), {"a=2": "1/3", "b": -2.5}),
        Over(Count("0"), ["a", "b"]),
        Tally({"a": ["0", "1|2"], "b": "0"}),
    ],
    ids=lambda query: query.text,
)
def test_queries_are_written_down_whole(query: Query) -> None:
    again = query_from_dict(json.loads(json.dumps(query.to_dict(), sort_keys=True)))
    assert again.to_dict() == query.to_dict()
    assert again.text == query.text
    if not isinstance(query, Over | Tally | Count):
        assert np.array_equal(again.sensitivity(["0", "1"]), query.sensitivity(["0", "1"]))


def test_a_function_is_known_by_its_constant() -> None:
    changes = Custom(
        lambda runs: sum(int((r[1:] != r[:-1]).sum()) for r in runs), constant=2, integer=True, name="changes"
    )
    made = release(["0", "1"] * 20, changes, belief=LAZY, epsilon=1.0)
    record = ReleaseRecord.from_dict(made.record().to_dict())
    assert told(LAZY, record, length=40) <= 1.0 * (1 + 1e-6)
    assert record.asked is not None
    with pytest.raises(InputError, match="cannot be asked again"):
        record.asked.evaluate(Series.from_values(["0"], states=LAZY.states))
    for wrong in ([[0.0, 1.0]], [[0.0, 1.0], [2.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]], -1.0, "x", None):
        with pytest.raises(InputError):
            query_from_dict({"kind": "declared", "name": "x", "sensitivity": wrong})


def test_pairs_are_not_lost() -> None:
    """A count of one of three states tells nothing about the other two: the record knows, and compose uses it."""
    chain = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]], initial="stationary")
    made = release(["0", "1", "2"] * 30, "count:1", belief=chain, epsilon=1.0)
    record = ReleaseRecord.from_dict(made.record().to_dict())
    alike = ReleaseRecord(noise_scale=made.noise_scale, lipschitz=1.0)
    assert told(chain, record, record, length=90) < told(chain, alike, alike, length=90) * 0.98


def test_two_releases_from_a_joint_table_are_covered() -> None:
    flu = JointTable({"x": "01", "y": "01"}, [((a, b), 0.45 if a == b else 0.05) for a in "01" for b in "01"])
    record = ReleaseRecord(query="count:1", noise_scale=2.0)
    exact = audit(flu, [Noisy(Count("1"), 2.0)] * 2).epsilon
    assert exact <= told(flu, record, record) == pytest.approx(2.0)


def test_a_release_that_grew_is_about_what_was_there() -> None:
    session = Session(["0", "1"] * 5, belief=COIN, budget=3.0)
    first = session.count("1", epsilon=1.0).record()
    new = session.append(["1", "0"] * 5)
    second = session.count("1", epsilon=1.0, segment=new).record()
    assert session.spent() == pytest.approx(1.0)
    assert told(COIN, first, second, length=20) == pytest.approx(1.0)
    with pytest.raises(InputError, match="within the 10 values"):
        told(COIN, first, second, length=10)


# --- the total ---------------------------------------------------------------------------------------------------


def test_nothing_gives_budget_back() -> None:
    ledger = Ledger.in_memory(belief=COIN, budget=1.0)
    for wrong in ({"noise_scale": -1.0}, {"noise_scale": math.nan}, {"lipschitz": -1.0}, {"epsilon": -1.0}):
        with pytest.raises(InputError, match="positive"):
            ReleaseRecord.from_dict({"query": "count:1", "noise_scale": 1.0, "length": 5} | wrong)
    with pytest.raises(InputError):
        ReleaseRecord.from_dict({"query": {"kind": "declared", "name": "x", "sensitivity": [[0, -1], [-1, 0]]}})
    with pytest.raises(InputError, match="must be a ReleaseRecord"):
        ledger.reserve({"noise_scale": 1.0}, {})  # type: ignore[arg-type]
    assert ledger.spent() == 0.0


def test_many_records_are_kept_as_sums_only() -> None:
    accountant = Accountant(LAZY, length=50)
    for n in range(12):
        accountant.add(ReleaseRecord(query="count:1", noise_scale=100.0, segment=(1 + n, 20 + n)))
        total = Total.from_bytes(accountant.total.to_bytes())
        assert total.to_bytes() == accountant.total.to_bytes()
        assert (total.records is None) == (n >= 8)
    rules = {finding.rule: finding.why for finding in accountant.composed().rules}
    assert "more than 8 releases" in str(rules["separate-segments"])


# --- ledgers written before --------------------------------------------------------------------------------------


def as_version_1(path: Path) -> None:
    """Rewrite a ledger as the first version had it: profiles in rows, no records, the first table of migrations."""
    import base64
    import zlib

    ledger = Ledger(str(path))
    rows, _ = ledger.rows()
    belief = ledger.terms.belief
    ledger.close()
    old: list[Row] = []
    for row in rows:
        content = dict(row.content)
        if row.kind == "opened" and content["belief"]["kind"] in ("joint", "network"):
            states = {entry["name"]: entry["states"] for entry in content["belief"]["variables"]}
            content["belief"] = content["belief"] | {"variables": states}
        if row.kind == "reserved":
            record = ReleaseRecord.from_dict(content.pop("record"))
            matrices = record.profile(belief)
            assert matrices is not None
            assert record.asked is not None
            packed = [
                {
                    "states": len(matrix),
                    "largest": float(matrix.max()),
                    "entries": base64.b64encode(zlib.compress(matrix.astype("<f8").tobytes())).decode(),
                }
                for matrix in matrices
            ]
            content |= {
                "query": record.asked.text,
                "noise_scale": record.noise_scale,
                "theorem": record.theorem,
                "guarantee": record.guarantee,
                "mechanism": record.mechanism,
                "epsilon": record.epsilon,
                "profile": packed,
                "length": record.length if record.placed else None,
                "segment": None if record.segment is None or not record.placed else list(record.segment),
                "started": record.placed,
                "opened": old[0].hash,
            }
        old.append(Row.after(old[-1] if old else None, row.kind, row.time, content))
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM quiltwork_migrations WHERE version > 1")
    connection.execute("DELETE FROM quiltwork_rows")
    connection.execute("DELETE FROM quiltwork_outcomes")
    for row in old:
        connection.execute(
            "INSERT INTO quiltwork_rows (number, kind, time, content, previous, hash) VALUES (?, ?, ?, ?, ?, ?)",
            (row.number, row.kind, row.time, row.text, row.previous, row.hash),
        )
    connection.execute("UPDATE quiltwork_kept SET number = ?, hash = ?, sum = x'00'", old[-1].head)
    connection.commit()
    connection.close()


def test_a_ledger_of_the_first_version_is_carried_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    session = Session(["0", "1"] * 20, belief=LAZY, budget=3.0, ledger=path)
    session.count("1", epsilon=0.5, segment=(1, 10))
    session.histogram(epsilon=0.3, segment=(15, 40))
    session.count("0", epsilon=0.2, mechanism="quilt-exact")
    spent = session.spent()
    session.ledger.close()
    as_version_1(path)
    ledger = Ledger(str(path))
    assert ledger.verify() == []
    assert spent * (1 - 1e-9) <= ledger.spent() <= spent * (1 + 1e-6)
    now = ledger.statement()
    assert [one["query"] for one in now.releases()] == ["count:1", "histogram", "count:0"]
    assert now.rows[-1].kind == "migrated"
    assert now.reading is None
    ledger.close()
    file = tmp_path / "ledger.jsonl"
    answer("ledger", "export", path, "--out", file)
    assert answer("ledger", "verify", file)["rows"] == 5
    again = Session(["0", "1"] * 20, belief=LAZY, ledger=path)
    again.count("1", epsilon=0.1, segment=(12, 13))
    assert again.spent() > spent  # how the earlier ones were read is not known: they may be about the same moments
    assert again.ledger.verify() == []


def test_a_ledger_about_records_of_the_first_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    session = Session([{"flu": "no", "fever": "none"}], belief=WARD, budget=3.0, ledger=path)
    session.release("count:yes over flu", epsilon=0.5)
    session.ledger.close()
    as_version_1(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="did not write down the order of variables"):
        Ledger(str(path))
    assert "order of variables" in run("ledger", "show", path, code=2).stderr
    assert path.read_bytes() == before


def test_a_broken_ledger_is_not_carried_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    session = Session(["0", "1"] * 20, belief=LAZY, budget=3.0, ledger=path)
    session.count("1", epsilon=0.5)
    session.count("1", epsilon=0.5)
    session.ledger.close()
    as_version_1(path)
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM quiltwork_rows WHERE number = 3")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="broken"):
        Ledger(str(path))


def test_a_page_draws_a_release_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A series that grew: the first release ends where the series did."""
    from quiltwork.show import pages

    records = [
        ReleaseRecord(query="count:1", noise_scale=9.0, length=10),
        ReleaseRecord(query="count:1", noise_scale=9.0),
    ]
    composed = Accountant(LAZY, length=40, releases=records).composed()
    drawn: list[tuple[int, int]] = []
    chart = pages.timeline_chart

    def noted(losses: Any, segments: Any, **options: Any) -> Any:
        drawn.extend(segments)
        return chart(losses, segments, **options)

    monkeypatch.setattr(pages, "timeline_chart", noted)
    pages.write_composed(tmp_path / "page.html", composed=composed, records=records, budget=None)
    assert drawn == [(1, 10), (1, 40)]
