"""Answers by window and by subject: one release with the profile of one, and no more is told than is promised."""

import itertools
import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import oracle
import polars as pl
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import chains, epsilons

from quiltwork import Custom, InputError, MarkovChain, NotCoveredError, Session, read_series, release
from quiltwork.data import Series, Window

CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])


def loss(
    chain: MarkovChain, start: np.ndarray, answers: np.ndarray, length: int, scale: float, seen: np.ndarray
) -> float:
    """The largest log-ratio over times and pairs of states of the densities at some outputs, by enumeration."""
    k = len(chain.states)
    paths = np.array(list(itertools.product(range(k), repeat=length)))
    weight = start[paths[:, 0]] * np.prod(chain.transition[paths[:, :-1], paths[:, 1:]], axis=1)
    worst = 0.0
    noise = np.exp(-np.abs(seen[:, None, :] - answers[None, :, :]).sum(axis=2) / scale)
    for t, (a, b) in itertools.product(range(length), itertools.permutations(range(k), 2)):
        laws = [weight * (paths[:, t] == s) for s in (a, b)]
        if min(law.sum() for law in laws) > 0:
            densities = [noise @ law / law.sum() for law in laws]
            worst = max(worst, float(np.log(densities[0] / densities[1]).max()))
    return worst


@settings(max_examples=examples(8), deadline=None)
@given(
    chain=chains(max_states=2),
    epsilon=epsilons,
    length=st.integers(1, 5),
    span=st.integers(1, 3),
    query=st.sampled_from(["histogram", "count:0", "transitions"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_windows_tell_no_more_than_one_answer(
    chain: MarkovChain, epsilon: float, length: int, span: int, query: str, seed: int
) -> None:
    asked, k = oracle.asked(query, chain), len(chain.states)
    start = chain.stationary if chain.start == "stationary" else np.full(k, 1 / k)
    if chain.start == "given":
        start = np.asarray(chain.initial)
    data = Series.from_codes([np.zeros(length, dtype=np.int64)], states=chain.states)
    try:
        ready = oracle.prepared(data, asked, belief=chain, epsilon=epsilon, window=span, anyway=True)
    except NotCoveredError:
        return  # nothing is promised
    answers = []
    for path in itertools.product(range(k), repeat=length):
        series = Series.from_codes([np.array(path)], states=chain.states)
        parts = series.parts(window=Window.parse(span), by_subject=False, transitions=True)
        answers.append(np.concatenate([oracle.answer_to(asked, part) for part in parts.values()]))
    table = np.array(answers, dtype=float)
    chance = np.random.default_rng(seed)
    seen = np.vstack([table, chance.uniform(-1, length + 1, size=(200, table.shape[1]))])
    scale = ready.calibration.noise_scale
    if scale:
        assert loss(chain, start, table, length, scale, seen) <= epsilon + 1e-9
    else:  # no value can change the answer
        assert (table == table[0]).all()


def test_a_windowed_release_is_spent_as_one() -> None:
    values = ["sit", "sit", "walk", "sit"] * 60
    windowed = Session(values, belief=CHAIN, budget=1.0)
    result = windowed.histogram(epsilon=0.5, window=24, anyway=True)
    assert len(result.value) == 10
    assert sum(part.values for part in result.parts) == 240
    assert windowed.spent() == pytest.approx(0.5, rel=1e-4)
    one = release(values, "histogram", belief=CHAIN, epsilon=0.5, anyway=True)
    assert result.noise_scale == one.noise_scale
    single = Session(values, belief=CHAIN, budget=1.0)
    for begun in range(1, 240, 24):
        single.histogram(epsilon=0.5, segment=(begun, begun + 23), anyway=True)
    # released one at a time they are segments that do not overlap: the same profile, the same sum
    assert single.spent() == pytest.approx(windowed.spent())
    assert windowed.releases()[0]["segment"] is None


def test_shares_of_windows_are_of_their_own_sizes() -> None:
    values = ["0", "1", "1", "0", "1"]
    coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    result = release(values, "frequencies", belief=coin, epsilon=1.0, window=2, anyway=True)
    assert [part.values for part in result.parts] == [2, 2, 1]
    assert [part.noise_scale for part in result.parts] == pytest.approx([1.0, 1.0, 2.0])
    assert result.noise_scale == pytest.approx(2.0)
    told = result.to_dict()
    assert [part["part"] for part in told["parts"]] == ["1:2", "3:4", "5:6"]
    assert told["parts"][0]["error_95"] < told["error_95"]
    assert result.divisor == 1  # of the smallest part
    even = release([*values, "0"], "frequencies", belief=coin, epsilon=1.0, window=2, anyway=True)
    assert "of each part (2 or more)" in even.explain()
    assert math.isclose(told["record"]["lipschitz"] / told["record"]["noise_scale"], 1.0)


def test_subjects_have_answers_of_their_own() -> None:
    series = Series.from_values(["sit"] * 50 + ["walk"] * 30, states=CHAIN.states, subject=["a"] * 50 + ["b"] * 30)
    result = release(series, "count:walk", belief=CHAIN, epsilon=50.0, by_subject=True, anyway=True)
    assert list(result.value) == ["a", "b"]
    assert result.value["b"] > result.value["a"]
    assert result.labels == ("a", "b")


@pytest.mark.parametrize("mechanism", ["wasserstein", "audited"])
def test_laws_of_one_answer_do_not_cover_windows(mechanism: str) -> None:
    with pytest.raises(NotCoveredError, match="does not cover windows"):
        release(["sit"] * 5, "count:walk", belief=CHAIN, epsilon=1.0, mechanism=mechanism, window=2, anyway=True)


def test_growing_series_keep_what_was_told_about_the_past() -> None:
    session = Session(["sit", "walk"] * 60, belief=CHAIN, budget=2.0)
    session.histogram(epsilon=1.0, anyway=True)
    past = [session.losses().at(time) for time in (1, 60, 120)]
    new = session.append(["walk", "sit"] * 60)
    assert new == (121, 240)
    session.histogram(epsilon=1.0, segment=new, anyway=True)
    losses = session.losses()
    assert losses.length == 240
    assert all(losses.at(time) >= before - 1e-12 for time, before in zip((1, 60, 120), past, strict=True))
    assert losses.at(60) == pytest.approx(past[1], rel=1e-6)
    assert losses.epsilon == pytest.approx(session.spent())
    assert losses.at(120) > past[2]  # the new segment tells something about its neighbour
    session.histogram(epsilon=0.3, anyway=True)
    assert session.losses().at(60) > losses.at(60)


def test_new_values_at_different_times_are_no_segment() -> None:
    series = Series.from_values(["sit"] * 30, states=CHAIN.states, subject=["a"] * 20 + ["b"] * 10)
    session = Session(series, belief=CHAIN, budget=2.0)
    assert session.append(["walk"] * 4, subject=["a", "a", "b", "b"]) is None
    even = Session(Series.from_values(["sit"] * 4, states=CHAIN.states, subject="aabb"), belief=CHAIN, budget=2.0)
    assert even.append(["walk"] * 2, subject="ab") == (3, 3)
    assert even.append(["walk"], subject="c") is None
    with pytest.raises(InputError, match="at least one value"):
        even.append([], subject=[])
    with pytest.raises(InputError, match="count from 1"):
        even.losses().at(0)


def test_what_cannot_be_answered_costs_nothing() -> None:
    session = Session(["sit", "walk"] * 20, belief=CHAIN, budget=2.0)
    with pytest.raises(InputError, match="need times"):
        session.histogram(epsilon=0.5, window="day", anyway=True)
    runs = Custom(lambda stretches: len(stretches), constant=1, integer=True, name="runs")
    with pytest.raises(InputError, match="by window or subject"):
        session.release(runs, epsilon=0.5, window=2, anyway=True)
    assert session.spent() == 0
    table = duckdb.connect().from_arrow(pl.DataFrame({"what": ["sit", "walk"] * 9}).to_arrow())
    stored = Session(read_series(table, column="what", states=CHAIN.states), belief=CHAIN, budget=2.0)
    with pytest.raises(InputError, match="no order"):
        stored.transitions(epsilon=0.5, anyway=True)
    assert stored.spent() == 0


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "diary.csv"
    pl.DataFrame({"what": ["sit", "walk"] * 10}).write_csv(path)
    series = read_series(path, column="what", states=CHAIN.states)
    pl.DataFrame({"what": ["sit", "walk"] * 50}).write_csv(path)
    asked: list[dict[str, Any]] = [{"window": 5}, {"by_subject": True}]
    for options in asked:
        with pytest.raises(InputError, match="must not change"):
            release(series, "histogram", belief=CHAIN, epsilon=1.0, **options, anyway=True)
    with pytest.raises(InputError, match="must not change"):
        release(series, "transitions", belief=CHAIN, epsilon=1.0, anyway=True)


def test_values_between_uneven_times_count_in_independent_stretches_too() -> None:
    frame = pl.DataFrame({"t": [1, 2, 3, 9, 10], "what": ["sit", "walk", "sit", "sit", "walk"]})
    series = read_series(frame, column="what", states=CHAIN.states, time="t")
    for gaps in ("dependent", "independent"):
        options: dict[str, Any] = {"mechanism": "group", "gaps": gaps, "anyway": True}
        ready = oracle.prepared(series, "count:walk", belief=CHAIN, epsilon=1.0, **options)
        assert ready.calibration.length == 6


def test_records_of_shares_tell_no_less_than_was_told() -> None:
    result = release(["sit", "walk"] * 21, "frequencies", belief=CHAIN, epsilon=0.7, anyway=True)
    told, made = result.record(), result.calibration
    profile = told.profile(CHAIN)
    assert profile is not None
    assert profile[0].max() >= made.lipschitz / made.noise_scale


def test_a_table_is_not_a_list_of_values() -> None:
    table = pl.DataFrame({"what": ["sit", "walk"]})
    for wrong in (table, table.lazy(), table.to_pandas(), table.to_arrow(), "diary.csv", Path("diary.csv")):
        with pytest.raises(InputError, match="column="):
            release(wrong, "histogram", belief=CHAIN, epsilon=1.0, anyway=True)


def test_losses_never_exceed_what_is_spent() -> None:
    session = Session(["sit", "walk"] * 10, belief=CHAIN, budget=2.0)
    assert session.losses().epsilon == 0.0
    session.count("walk", epsilon=1.0, mechanism="group", anyway=True)
    assert session.losses().epsilon <= session.spent()
