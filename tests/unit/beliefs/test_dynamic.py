"""Records over time."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shell import answer

from quiltwork import (
    Accountant,
    BayesianNetwork,
    DynamicNetwork,
    InputError,
    MarkovChain,
    Noisy,
    NotCoveredError,
    ReleaseRecord,
    Session,
    audit,
    calibrate,
    load_belief,
    parse_query,
    plan,
    read_series,
    release,
)
from quiltwork.beliefs import belief_from_dict
from quiltwork.question import query_from_dict

STATES = ["well", "ill"]
FOLLOWS = [[[0.95, 0.05], [0.7, 0.3]], [[0.3, 0.7], [0.2, 0.8]]]
DAYS: dict[str, Any] = {
    "kind": "dynamic",
    "step": "1d",
    "variables": {"ann": STATES, "bob": STATES},
    "initial": {"tables": {"ann": [0.9, 0.1], "bob": [0.9, 0.1]}},
    "parents": {"ann": ["ann@before", "bob@before"], "bob": ["bob@before", "ann@before"]},
    "tables": {"ann": FOLLOWS, "bob": FOLLOWS},
}
ROWS = [{"ann": "well", "bob": "ill"}, {"ann": "ill", "bob": "ill"}, {"ann": "ill", "bob": "well"}] * 2


def days(**changes: Any) -> DynamicNetwork:
    belief = belief_from_dict(DAYS | changes)
    assert isinstance(belief, DynamicNetwork)
    return belief


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"variables": {"ann@1": STATES, "bob": STATES}, "initial": "any"}, "names without @"),
        ({"variables": {f"v{n}": STATES for n in range(11)}, "initial": "any"}, "at most 1,024 combinations"),
        ({"tables": {"ann": FOLLOWS, "bob": FOLLOWS, "bob@before": [0.5, 0.5]}}, "can only be a parent"),
        ({"tables": {"ann": FOLLOWS}}, "none for 'bob'"),
        ({"tables": {"ann": FOLLOWS, "bob": [0.5, 0.5]}}, "must have shape 2x2x2"),
        ({"tables": [1]}, "tables of a dynamic network must be an object"),
        ({"parents": {"ann": ["eve@before"]}}, "'eve@before'"),
        ({"parents": {"ann": ["bob"], "bob": ["ann"]}, "tables": {"ann": np.eye(2), "bob": np.eye(2)}}, "a cycle"),
        ({"initial": "sometimes"}, "initial must be"),
        ({"initial": {"tables": {"ann": [0.9, 0.1]}}}, "none for 'bob'"),
        ({"step": -1}, "step must be above 0"),
        ({"steps": 1}, "no key 'steps'"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        days(**changes)


def test_a_start_must_be_of_the_same_variables() -> None:
    other = BayesianNetwork({"ann": STATES}, tables={"ann": [0.5, 0.5]})
    with pytest.raises(InputError, match="the same variables and states"):
        DynamicNetwork({"bob": STATES}, tables={"bob": [0.5, 0.5]}, initial=other)


def test_the_stationary_start_is_unrolled_as_it_is() -> None:
    """The law of every step is the stationary one, also where some combinations cannot occur."""
    for tables in (DAYS["tables"], {"ann": FOLLOWS, "bob": [[[1, 0], [0, 1]], [[1, 0], [0, 1]]]}):
        belief = days(initial="stationary", tables=tables)
        outcomes = belief.unrolled(2).all_outcomes
        for first in (0, 2):
            law = np.zeros((2, 2))
            np.add.at(law, (outcomes.codes[:, first], outcomes.codes[:, first + 1]), np.exp(outcomes.logs))
            assert law.ravel() == pytest.approx(belief.stationary)
    with pytest.raises(InputError, match="needs the law of the first step"):
        days(initial="any").unrolled(3)


def test_one_variable_is_a_chain() -> None:
    P = [[0.9, 0.1], [0.4, 0.6]]
    alone = DynamicNetwork(
        {"x": ["0", "1"]}, parents={"x": ["x@before"]}, tables={"x": P}, initial="stationary", step=1
    )
    chain = MarkovChain(P, initial="stationary", step=1)
    assert alone.as_chain_of_steps() == chain
    for length in (5, 200):
        noise = [calibrate("count:1", belief=b, epsilon=1.0, length=length).noise_scale for b in (alone, chain)]
        assert noise[0] == pytest.approx(noise[1], rel=1e-3)


def test_the_result_says_which_way_was_taken() -> None:
    belief = days()
    assert belief.unrolled_up_to == belief.summary()["unrolled_up_to"] == 64
    short, long = (calibrate("count:ill", belief=belief, epsilon=1.0, length=n) for n in (7, 65))
    assert (short.steps, long.steps) == ("unrolled", "chain")
    assert short.noise_scale < long.noise_scale
    assert short.length == 7
    assert short.detail()["unrolled_up_to"] == 64
    assert "This covers up to 64 steps" in short.explain()
    assert "Series of up to 64 steps are unrolled" in long.explain()
    assert long.verify(belief) <= 1.0
    with pytest.raises(NotCoveredError, match="up to 64 steps, got 65 steps"):
        calibrate("count:ill", belief=belief, epsilon=1.0, length=65, mechanism="audited")
    with pytest.raises(NotCoveredError, match="up to 64 steps, got 65 steps"):
        audit(belief, [Noisy(parse_query("count:ill"), 5.0)], length=65)
    anywhere = calibrate("count:ill", belief=days(initial="any"), epsilon=1.0, length=7)
    assert anywhere.steps == "chain"
    assert "needs a start" in anywhere.explain()


def test_releases_count_every_variable(tmp_path: Path) -> None:
    belief, sure = days(), 1e4
    assert release(ROWS, "count:ill", belief=belief, epsilon=sure, anyway=True).value == 8
    assert release(ROWS, "histogram", belief=belief, epsilon=sure, anyway=True).value == {"well": 4, "ill": 8}
    assert release(ROWS, "frequencies", belief=belief, epsilon=sure, anyway=True).value["ill"] == pytest.approx(8 / 12)
    assert release(ROWS, "count:ill over ann", belief=belief, epsilon=sure, anyway=True).value == 4
    assert release(ROWS, "tally:ann=ill,bob=well", belief=belief, epsilon=sure, anyway=True).value == 6
    assert (
        release(ROWS * 20, "count:ill", belief=belief, epsilon=sure, anyway=True).value == 160
    )  # too long to be unrolled
    file = tmp_path / "days.csv"
    lines = [f"{home},2024-03-0{n},{row['ann']}, {row['bob']} " for home in "AB" for n, row in enumerate(ROWS, 1)]
    file.write_text("\n".join(["home,day,ann,bob", *lines]))
    series = read_series(file, column=["ann", "bob"], states=belief.states, subject="home", time="day")
    assert (series.subjects, series.longest) == (2, 6)
    assert release(series, "count:ill", belief=belief, epsilon=sure, anyway=True).value == 16
    with pytest.raises(InputError, match="without 'bob'"):
        release([{"ann": "ill"}], "count:ill", belief=belief, epsilon=1.0, anyway=True)
    file.write_text("day,ann,bob\n1,ill,\n2,ill,well\n")
    with pytest.raises(InputError, match="missing"):
        read_series(file, column=["ann", "bob"], states=belief.states, time="day").counts()


def test_a_session_adds_up_along_the_network() -> None:
    belief = days()
    session = Session(ROWS, belief=belief, budget=1.0)
    session.count("ill", epsilon=1.0, anyway=True)
    assert 0.99 < session.spent() <= 1.0
    session = Session(ROWS, belief=belief, budget=2.0)
    first = session.release("count:ill over bob", epsilon=0.5, anyway=True)
    assert query_from_dict(first.recorded.to_dict()["query"]) == first.recorded.query
    session.append(ROWS)
    session.histogram(epsilon=0.5, anyway=True)
    assert 0.5 < session.spent() < 1.0
    with pytest.raises(NotCoveredError, match="some steps of records over time"):
        session.count("ill", epsilon=0.1, segment=(1, 3), anyway=True)


def test_segments_are_bounded_with_all_steps() -> None:
    belief = days()
    part = read_like(belief, ROWS).between(1, 3)
    found = release(part, "count:ill", belief=belief, epsilon=1.0, anyway=True)
    assert found.calibration.steps == "chain"
    record = ReleaseRecord(
        mechanism="curve",
        epsilon=1.0,
        query="count:ill",
        noise_scale=calibrate("count:ill", belief=belief, epsilon=1.0, length=3).noise_scale,
        segment=(1, 3),
    )
    told = Accountant(belief, length=6, releases=[record]).composed()
    exact = audit(belief, [Noisy(parse_query("count:ill"), record.noise_scale or 0.0, (1, 3))], length=6)
    assert told.epsilon >= exact.epsilon - 1e-9


def read_like(belief: DynamicNetwork, rows: list[dict[str, str]]) -> Any:
    from quiltwork import Series

    return Series.from_values(belief.values_of(rows), states=belief.states)


def test_what_a_record_does_not_say_counts_for_every_variable() -> None:
    """A change of a step may be a change of two values."""
    belief = days()
    (changed,) = belief.values_changed()
    (profile,) = ReleaseRecord(noise_scale=2.0, lipschitz=1.0).profile(belief) or ()
    assert profile == pytest.approx(changed / 2)
    assert changed.max() == 2


def test_a_record_is_about_its_variables_in_whatever_order_a_belief_has_them() -> None:
    """Ann's days resemble each other and Bob's do not: what is told about her must not be taken for him."""
    alone = {"parents": {"ann": ["ann@before"], "bob": ["bob@before"]}, "initial": "stationary"}
    alone |= {"tables": {"ann": [[0.99, 0.01], [0.02, 0.98]], "bob": [[0.5, 0.5], [0.5, 0.5]]}}
    belief, turned = days(**alone), days(**alone | {"variables": {"bob": STATES, "ann": STATES}})
    record = release(ROWS, "tally:ann=ill", belief=belief, epsilon=1.0, mechanism="curve", anyway=True).record()
    told = [Accountant(one, length=len(ROWS), releases=[record]).composed().epsilon for one in (belief, turned)]
    assert told == pytest.approx([1.0, 1.0], rel=1e-5)
    stays = release(ROWS, "stays:ill+well|ill+ill", belief=belief, epsilon=1.0, mechanism="curve", anyway=True).record()
    assert Accountant(belief, length=len(ROWS), releases=[stays]).composed().epsilon == pytest.approx(1.0, rel=0.01)
    with pytest.raises(InputError, match="in the same order"):  # under the other one they would be Bob's
        Accountant(turned, length=len(ROWS), releases=[stays]).composed()
    four = MarkovChain([[0.25] * 4] * 4, states=belief.states, initial="stationary")
    for other in (four, days(variables={"ann": STATES[::-1], "bob": STATES})):
        with pytest.raises(InputError, match="the variables that it was asked of"):
            Accountant(other, length=len(ROWS), releases=[record]).composed()


def test_tables_in_a_file_are_read_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "days.json"
    file.write_text(json.dumps(DAYS))
    belief = load_belief(file)
    assert belief == days()
    assert belief.to_dict()["step"] == "1d"
    assert belief.states == ("well+well", "well+ill", "ill+well", "ill+ill")


def test_shares_are_divided_by_the_values_that_were_asked(tmp_path: Path) -> None:
    """Of 6 steps of two people, 12 values; the noise is that of the counts, divided by 12."""
    belief, query = days(), "frequencies"
    counts, shares = (plan(q, belief=belief, epsilon=1.0, length=6, mechanisms=["curve"]) for q in ("histogram", query))
    assert counts.offers[0].noise_scale == pytest.approx(12 * (shares.offers[0].noise_scale or 0.0))
    found = release(ROWS, query, belief=belief, epsilon=1.0, mechanism="curve", anyway=True)
    assert found.noise_scale == pytest.approx(shares.offers[0].noise_scale)
    assert found.divisor == 12
    file, data = tmp_path / "days.json", tmp_path / "days.csv"
    file.write_text(json.dumps(DAYS))
    data.write_text("ann,bob\n" + "".join(f"{row['ann']},{row['bob']}\n" for row in ROWS))
    told = answer("audit", file, "--query", query, "--length", 6, "--noise-scale", found.noise_scale, "--values", 12)
    assert told["epsilon"] <= 1 + 1e-9
    assert told["epsilon"] > 0.9
    options = ("--belief", file, "--query", query, "--epsilon", 1, "--mechanism", "curve", "--out", tmp_path / "r.html")
    made = answer("release", "--anyway", data, *options)
    assert made["detail"]["steps"] == "unrolled"
    assert f">{made['noise_scale']:.4g}<" in (tmp_path / "r.html").read_text()


def test_dynamic_networks_are_no_members_of_a_set() -> None:
    with pytest.raises(InputError, match="must be chains"):
        belief_from_dict({"kind": "set", "members": [DAYS]})
