"""One text means one thing: every question, written down and read back, is the same question with the same noise."""

import json
from typing import Any

import numpy as np
import oracle
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import chains, epsilons

from quiltwork import (
    Accountant,
    BayesianNetwork,
    Count,
    Custom,
    Histogram,
    InputError,
    JointTable,
    MarkovChain,
    Matching,
    Mean,
    Noisy,
    NotCoveredError,
    Over,
    Quantile,
    Query,
    ReleaseRecord,
    Share,
    ShareAbove,
    ShareDifference,
    StayLength,
    StayLengths,
    Stays,
    Sum,
    Tally,
    Top,
    Transitions,
    WeightedSum,
    Workload,
    audit,
    parse_query,
    plan,
    release,
)
from quiltwork.question import bind, query_from_dict, said_in

NAMES = [
    "a",
    "b",
    "a|b",
    "a:b",
    " a",
    "a ",
    "x over y",
    "a=b",
    "a&b",
    '"',
    'say "a"',
    '"a"',
    "*",
    "é",
    "a,b",
    "1-2",
    "subjects=x",
]
names = st.sampled_from(NAMES) | st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=4)
several = st.lists(names, min_size=2, max_size=3, unique=True)


@st.composite
def about_states(draw: st.DrawFn, states: list[str]) -> Query:
    """A question about series of these states, as a program says it: names by themselves, or sets of plain ones."""
    state = draw(st.sampled_from(states))
    numbers = {name: draw(st.integers(-3, 3)) / 4 for name in states}
    return draw(
        st.sampled_from(
            [
                Count(state),
                Share(state),
                Histogram(),
                Sum(numbers),
                Mean(numbers),
                Top(2),
                Transitions(),
                Stays(),
                Stays(state),
                StayLength(state),
                StayLengths(state, (2, 5)),
                ShareDifference(state, "1-2", "3-9"),
            ]
        )
    )


@settings(max_examples=examples(40))
@given(st.lists(names, min_size=2, max_size=4, unique=True), st.data(), st.booleans())
def test_questions_about_series(states: list[str], data: st.DataObject, windows: bool) -> None:
    try:
        belief = MarkovChain(np.full((len(states),) * 2, 1 / len(states)), states=states)
    except InputError:
        return  # no names of states
    query = data.draw(about_states(states))
    asked = bind(query, belief, windows=windows)
    assert isinstance(asked.said, Query)
    for read in (
        parse_query(asked.said.text),
        query_from_dict(json.loads(json.dumps(asked.said.to_dict()))),
        parse_query(query.text),
    ):
        again = bind(read, belief, windows=windows)
        assert again == asked
        assert np.array_equal(again.table()[0], asked.table()[0])
        assert np.array_equal(again.table(2)[0], asked.table(2)[0])
    assert parse_query(asked.said.text) == asked.said


@settings(max_examples=examples(40))
@given(
    st.lists(names, min_size=2, max_size=3, unique=True),
    st.lists(names, min_size=2, max_size=3, unique=True),
    st.data(),
)
def test_questions_about_records(variables: list[str], states: list[str], data: st.DataObject) -> None:
    try:
        tables = {name: [1 / len(states)] * len(states) for name in variables}
        belief = BayesianNetwork({name: tuple(states) for name in variables}, tables=tables)
    except InputError:
        return
    weights = st.fractions(-3, 3, max_denominator=7).filter(bool)
    chosen = data.draw(st.dictionaries(st.sampled_from(variables), weights, min_size=1))
    values = {
        name: data.draw(st.lists(st.sampled_from(states), min_size=1, max_size=2, unique=True)) for name in chosen
    }
    state = data.draw(st.sampled_from(states))
    over = {name: str(weight) for name, weight in chosen.items()}
    for query in (Over(Count(state), over), Over(Histogram(), over), Tally(values), Matching(values)):
        asked = bind(query, belief)
        assert isinstance(asked.said, Query)
        for read in (parse_query(asked.said.text), query_from_dict(json.loads(json.dumps(asked.said.to_dict())))):
            assert read == asked.said
            assert bind(read, belief) == asked


@pytest.mark.parametrize(
    "query",
    [
        ShareAbove(2.123456789, width=0.5),
        WeightedSum([1, 2, 3, 4]),
        WeightedSum(["1/3", "0.1"]),
        Quantile("1/3"),
        parse_query("difference:1-2|3-9"),
        parse_query("trend"),
    ],
    ids=lambda query: str(query.text),
)
def test_numbers_are_written_exactly(query: Query) -> None:
    assert parse_query(query.text) == query
    assert query_from_dict(json.loads(json.dumps(query.to_dict()))) == query


def test_a_state_can_have_the_name_of_a_question() -> None:
    for name in ("histogram", "count:a", "declared"):
        belief = MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=[name, "b"])
        assert bind(Count(name), belief).only.steps[0].tolist() == [[1, 0]]
    with pytest.raises(InputError, match="name of a question"):
        Custom(lambda _: 0.0, constant=1.0, name="stays")


@settings(max_examples=examples(12), deadline=None)
@given(chains(max_states=3), epsilons, st.integers(1, 5), st.data())
def test_no_record_claims_less_than_its_exact_loss(
    chain: MarkovChain, epsilon: float, length: int, data: st.DataObject
) -> None:
    """Calibrated, written down, read back and composed: never below the audit of the question that was read."""
    texts = ["count:0", "share:0", "histogram", "frequencies", "sum", "mean", "median", "top:1"]
    asked = data.draw(st.lists(st.sampled_from(texts), min_size=1, max_size=3, unique=True))
    try:
        made = oracle.noise_for(
            Workload(asked) if len(asked) > 1 else asked[0], belief=chain, epsilon=epsilon, length=length
        )
    except NotCoveredError:
        return
    if made.noise_scale == 0:
        return
    lipschitz = made.lipschitz if made.asked.divided else None
    record = ReleaseRecord(query=made.query, noise_scale=made.noise_scale, lipschitz=lipschitz, length=length)
    read = ReleaseRecord.from_dict(json.loads(json.dumps(record.to_dict())))
    assert read.asked(chain) == made.asked
    composed = Accountant(chain, length=length).dry_run(read).epsilon
    exact = audit(chain, [Noisy(made.asked.undivided, made.noise_scale)], length=length).epsilon
    assert exact <= composed * (1 + 1e-9) + 1e-9
    assert exact <= epsilon * (1 + 1e-6)


def test_plans_and_releases_say_which_question_was_calibrated() -> None:
    belief: dict[str, Any] = {"belief": MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["a|b", "c"]), "epsilon": 1.0}
    assert plan("count:a|b", **belief, length=100).query == 'count:"a|b"'
    found = release(["a|b", "c"] * 50, "count:a|b", **belief)
    assert found.to_dict()["query"] == 'count:"a|b"'
    assert found.calibration.asked == bind("count:a|b", belief["belief"])
    assert said_in(found.record().to_dict()["query"]) == found.calibration.query
    twins = JointTable({"x": "01", "y": "01"}, [(("0", "0"), 0.5), (("1", "1"), 0.5)])
    assert plan("count:1 over x", belief=twins, epsilon=1.0, mechanisms=["group"]).query == "count:1 over x"
