"""Releases about real values: what is refused, and what is said."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from quiltwork import (
    Difference,
    GaussianBelief,
    InputError,
    Lipschitz,
    MarkovChain,
    Measurements,
    NotCoveredError,
    QuiltworkError,
    Series,
    Session,
    ShareAbove,
    Trend,
    WeightedSum,
    calibrate,
    parse_query,
    plan,
    read_measurements,
    release,
)
from quiltwork.question import bind, query_from_dict, said_in

BELIEF = GaussianBelief({"ar1": 0.5}, distance=1.0, unit="kW")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["low", "high"], "every value must be a number"),
        ([1.0, float("inf")], "must hold finite numbers, got 1 of 2 that are not"),
        ([1.0, None], "must have a value in every row"),
        ([], "at least one value"),
        ([1.0, 1e300], "too large for the distance that is hidden"),
        ([{"x": 1}], "every value must be a number"),
    ],
)
def test_what_is_no_number_is_refused_and_nothing_is_spent(values: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        release(values, "mean", belief=BELIEF, epsilon=1.0)
    if values and all(isinstance(value, float) for value in values) and np.isfinite(values).all():
        session = Session(values, belief=BELIEF, budget=1.0)
        with pytest.raises(InputError, match=message):
            session.mean(epsilon=0.5)
        assert session.spent() == 0


def test_text_in_a_column_is_refused_without_showing_it() -> None:
    frame = pl.DataFrame({"kw": ["0.5", "broken", "1.5"]})
    with pytest.raises(InputError, match="got 1 of 3 that are not") as refused:
        read_measurements(frame, column="kw")
    assert "broken" not in str(refused.value)


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        ("histogram", {}, "histogram is about states"),
        ("count:1", {}, "count:1 is about states"),
        ("trend", {"window": 2}, "cannot be split by window"),
        ("difference:1-2|3-9", {}, "both periods must lie within every series"),
        ("mean", {"mechanism": "quilt-exact"}, "mechanism quilt-exact is about states"),
        ("mean", {"mechanism": "entry"}, "entry"),
        ("mean", {"delta": 0.1}, "delta"),
        ("above:2", {}, "above:THRESHOLD:WIDTH"),
        ("above:2:0", {}, "width must be above 0"),
        ("difference:1-3|2-5", {}, "must not overlap"),
        ("difference:1-3", {}, "A-B|C-D"),
        ("weighted:x", {}, "weights must be"),
        ("weighted:0,0", {}, "but not all of them"),
    ],
)
def test_questions_that_do_not_fit(query: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(QuiltworkError, match=message.replace("|", r"\|")):
        release([1.0, 2.0, 3.0, 4.0, 2.0, 1.0], query, belief=BELIEF, epsilon=1.0, **options)


def test_real_questions_need_a_belief_about_real_values() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    for query in ("trend", "above:2:1", "difference:1-2|3-4", "weighted:1"):
        with pytest.raises(InputError, match="is about real values"):
            calibrate(query, belief=chain, epsilon=1.0, length=10)
    with pytest.raises(InputError, match="must be numbers, got states"):
        release(Series.from_values("0101"), "mean", belief=BELIEF, epsilon=1.0)


def test_queries_are_written_and_read_back() -> None:
    for query in (Trend(), ShareAbove(2.0, width=0.5), Difference((1, 2), (3, 9)), WeightedSum([1, "0.5", -2])):
        assert query_from_dict(query.to_dict()) == query
        assert parse_query(query.text) == query
    own = Lipschitz(lambda runs: float(runs[0].max()), constant=1.0, name="peak")
    again = query_from_dict(own.to_dict())
    assert (again.text, bind(again, BELIEF).lipschitz) == ("peak", bind(own, BELIEF).lipschitz)
    mean = bind("mean", BELIEF).said
    assert said_in(mean.to_dict()) == mean
    with pytest.raises(InputError, match="about real values"):
        bind(mean, MarkovChain([[0.5, 0.5], [0.5, 0.5]]))


def test_a_function_of_your_own() -> None:
    values = [1.0, 5.0, 2.0]
    peak = Lipschitz(lambda runs: float(max(run.max() for run in runs)), constant=1.0, name="peak")
    free = GaussianBelief([1.0], distance=1e-6)
    assert release(values, peak, belief=free, epsilon=10.0).value == pytest.approx(5.0, abs=1e-3)
    assert calibrate(peak, belief=BELIEF, epsilon=1.0, length="any").noise_scale == pytest.approx(3.0, rel=1e-5)
    with pytest.raises(InputError, match="finite number"):
        release(values, Lipschitz(lambda _: float("nan"), constant=1.0), belief=free, epsilon=1.0)


def test_gaps_are_covered_and_what_is_not_recorded_is_protected() -> None:
    values = [1.0, None, 2.0, 3.0, None, None, 1.0]
    series = Measurements.of_numbers(values, missing="split")
    made = release(series, "mean", belief=BELIEF, epsilon=1.0)
    assert made.calibration.noise_scale == pytest.approx(3.0, rel=1e-5)  # as for series of any length
    assert any("not recorded" in note for note in made.notes)
    apart = release(series, "mean", belief=BELIEF, epsilon=1.0, gaps="independent")
    assert apart.calibration.noise_scale == pytest.approx(1.5, rel=1e-5)  # the longest stretch has two values
    with pytest.raises(NotCoveredError, match="needs series without gaps"):
        release(series, "trend", belief=BELIEF, epsilon=1.0)


def test_related_subjects_must_be_those_of_the_belief() -> None:
    belief = GaussianBelief({"ar1": 0.5}, distance=1.0, subjects=["ann", "bob"], between=0.5)
    pair = Measurements.of_numbers([1.0, 2.0, 3.0, 4.0], subject=["ann", "ann", "bob", "bob"])
    made = release(pair, "mean", belief=belief, epsilon=1.0)
    assert made.calibration.noise_scale == pytest.approx(1.5 * 1.5, rel=1e-5)
    with pytest.raises(InputError, match="must be those of the belief"):
        release(Measurements.of_numbers([1.0], subject=["eve"]), "mean", belief=belief, epsilon=1.0)
    counted = GaussianBelief({"ar1": 0.5}, distance=1.0, subjects=1, between=0.5)
    with pytest.raises(InputError, match="at most 1 subjects"):
        release(pair, "mean", belief=counted, epsilon=1.0)


def test_one_answer_for_each_subject() -> None:
    pair = Measurements.of_numbers([1.0, 2.0, 3.0, 9.0, 8.0, 7.0], subject=["ann"] * 3 + ["bob"] * 3)
    free = GaussianBelief([1.0], distance=1e-6)
    slopes = release(pair, "trend", belief=free, epsilon=10.0, by_subject=True)
    assert slopes.value["ann"] == pytest.approx(1.0, abs=1e-3)
    assert slopes.value["bob"] == pytest.approx(-1.0, abs=1e-3)
    with pytest.raises(InputError, match="trend is about one series"):
        release(pair, "trend", belief=free, epsilon=1.0)


def test_words_of_a_release() -> None:
    said = release([1.0, 2.0, 1.5] * 10, "mean", belief=BELIEF, epsilon=1.0).explain()
    assert "any two values at most 1 kW apart, at any one time," in said
    assert "the sum would move by up to 2.9999" in said
    assert "larger differences, of which twice as large ones may lose ε = 2" in said
    assert "one of two at most 1 kW apart, and thought one of them 50 % likely" in said
    made = plan("mean", belief=BELIEF, epsilon=1.0, length=100)
    assert [offer.mechanism for offer in made.offers] == ["curve", "group", "entry"]
    assert made.best is not None
    assert made.best.mechanism == "curve"


def test_a_bayesian_promise_is_for_ar1() -> None:
    made = calibrate("mean", belief=BELIEF, epsilon=1.0, length=100, guarantee="bayesian")
    assert made.noise_scale == pytest.approx(3.0, rel=1e-4)
    other = GaussianBelief([1, 0.5, 0.2], distance=1.0)
    with pytest.raises(NotCoveredError, match="needs a belief of kind gaussian with ar1"):
        calibrate("mean", belief=other, epsilon=1.0, length=100, guarantee="bayesian")
