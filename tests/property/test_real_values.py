"""Gaussian beliefs against independent ways to every number: matrices, quadrature, plain loops over rows."""

import math
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import oracle
import polars as pl
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st

from quiltwork import (
    Accountant,
    Difference,
    GaussianBelief,
    InputError,
    Noisy,
    NotCoveredError,
    Query,
    ReleaseRecord,
    Session,
    ShareAbove,
    Trend,
    WeightedSum,
    audit,
    bayesian_leakage,
    calibrate,
    entry_epsilon,
    entry_guarantee,
    parse_query,
    plan,
    read_measurements,
    release,
)
from quiltwork.auditor.gaussian import seen, worst_adversary
from quiltwork.beliefs.correlation import Correlation
from quiltwork.data import Measurements, Window
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.shift import GRID, any_length, largest_shift, losses_along
from quiltwork.question.over_time import Weights

Numbers = np.random.Generator


@st.composite
def correlations(draw: st.DrawFn, *, exact: bool = False) -> Any:
    """ar1 of both signs, moving averages (which are autocorrelations), bounds and decays."""
    kind = draw(st.sampled_from(["ar1", "average"] if exact else ["ar1", "average", "at_most", "decay", "both"]))
    if kind == "ar1":
        return {"ar1": draw(st.sampled_from([-1.0, -0.9, -0.3, 0.0, 0.2, 0.9, 0.999, 1.0]))}
    if kind == "average":
        weights = np.array(draw(st.lists(st.floats(-2, 2), min_size=1, max_size=5)))
        if not np.abs(weights).max() > 0.01:
            weights = np.array([1.0])
        products = np.correlate(weights, weights, "full")[len(weights) - 1 :]
        return (products / products[0]).clip(-1, 1).tolist()
    bounds = {"at_most": [1.0, *draw(st.lists(st.floats(0, 1), max_size=5))]}
    decay = {"decay": draw(st.sampled_from([0.3, 2.0, 30.0]))}
    return {"at_most": bounds, "decay": decay, "both": bounds | decay}[kind]


@st.composite
def questions(draw: st.DrawFn, length: int) -> Query:
    """Questions that a series of this length can be asked."""
    kinds = ["sum", "mean", "above", "weighted"] + (["trend", "difference"] if length > 1 else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "above":
        return ShareAbove(draw(st.floats(-2, 2)), width=draw(st.floats(0.1, 3)))
    if kind == "weighted":
        weights = draw(st.lists(st.integers(-5, 5), min_size=1, max_size=length))
        return WeightedSum(weights if any(weights) else [1])
    if kind == "trend":
        return Trend()
    if kind == "difference":
        cut = draw(st.integers(1, length - 1))
        return Difference((1, cut), (cut + 1, length))
    return parse_query(kind)


def plain_shift(belief: GaussianBelief, query: Query, length: int, *, beyond: int = 40) -> float:
    """max over i, also outside of the series, of |Σ w_t v_i,t|, by loops."""
    asked = oracle.over_time(query, belief)
    weights, worst = written(asked.weights(1, length), length), 0.0
    lags = [float(rho) for rho in belief.correlation.at(np.arange(length + beyond + 1))]
    for i in range(1 - beyond, length + beyond + 1):
        total = 0.0
        for t in range(1, length + 1):
            product = weights[t - 1] * lags[abs(t - i)]
            total += abs(product) if belief.correlation.at_most or not asked.linear else product
        worst = max(worst, abs(total))
    return worst


def written(weights: Weights, length: int) -> list[float]:
    row = [0.0] * length
    if weights.listed is not None:
        for n, weight in enumerate(weights.listed.tolist()):
            row[weights.first - 1 + n] = weight
    for first, last, weight in weights.runs:
        for t in range(first, last + 1):
            row[t - 1] += weight
    return row


@settings(max_examples=examples(20))
@given(data=st.data())
def test_noise_is_what_the_largest_shift_needs(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 12))
    belief = GaussianBelief(data.draw(correlations()), distance=data.draw(st.sampled_from([0.1, 1.0, 7.5])))
    query = data.draw(questions(length))
    try:
        belief.check_size(length)
    except Exception:
        return
    scale = calibrate(query, belief=belief, epsilon=1.0, length=length).noise_scale
    exact = belief.distance * plain_shift(belief, query, length)
    assert exact * (1 - 1e-9) <= scale
    assert scale <= exact * (1 + 3e-6) + 1e-9 * belief.distance * float(oracle.over_time(query, belief).largest)


@settings(max_examples=examples(20))
@given(data=st.data())
def test_the_exact_audit_finds_no_more_than_was_promised(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 10))
    belief = GaussianBelief(data.draw(correlations()), distance=2.0)
    query = data.draw(questions(length))
    epsilon = data.draw(st.sampled_from([0.1, 1.0, 3.0]))
    made = calibrate(query, belief=belief, epsilon=epsilon, length=length)
    whole = oracle.undivided(query, belief)
    if made.noise_scale == 0:
        return
    assert audit(belief, [Noisy(whole, made.noise_scale)], length=length).epsilon <= epsilon * (1 + 1e-8)


@settings(max_examples=examples(12))
@given(data=st.data())
def test_a_bayesian_promise_holds_whatever_is_known(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 6))
    phi = data.draw(st.floats(-0.99, 0.99))
    belief = GaussianBelief({"ar1": phi}, distance=1.0)
    query = data.draw(questions(length))
    made = calibrate(query, belief=belief, epsilon=1.0, length=length, guarantee="bayesian")
    found, _ = worst_adversary(belief, [Noisy(oracle.undivided(query, belief), made.noise_scale)], length=length)
    assert found.epsilon <= 1 + 1e-8


@settings(max_examples=examples(8))
@given(phi=st.floats(-0.95, 0.95), scale=st.floats(0.3, 5), a=st.floats(-2, 2), i=st.integers(0, 3))
def test_the_formula_is_the_loss_by_quadrature(phi: float, scale: float, a: float, i: int) -> None:
    """The density of sum + Laplace noise given X_i = a against X_i = a + 1, at many outputs."""
    belief, n = GaussianBelief({"ar1": phi}, distance=1.0), 4
    law = belief.law(n)
    moved = law[:, i] / law[i, i]
    given_i = law - np.outer(law[:, i], law[i, :]) / law[i, i]
    spread = math.sqrt(max(float(given_i.sum()), 0.0))
    ratios = []
    grid = np.linspace(-9, 9, 6001)
    furthest = 60 * scale + 15 * spread + 10
    for output in np.linspace(-furthest, furthest, 41):
        densities = []
        for value in (a, a + 1):
            mean = moved.sum() * value
            points = mean + spread * grid
            weight = np.exp(-(grid**2) / 2) if spread > 1e-9 else (np.abs(grid) < 1e-9).astype(float)
            exponent = -np.abs(output - points) / scale
            top = exponent.max()
            densities.append(top + math.log(float((weight * np.exp(exponent - top)).sum())))
        ratios.append(abs(densities[0] - densities[1]))
    found = audit(belief, [Noisy(oracle.asked("sum", belief), scale)], length=n)
    promised = abs(float(moved.sum())) / scale
    assert found.by_node[i] == pytest.approx(promised, abs=1e-9)
    assert max(ratios) <= promised * (1 + 1e-6) + 1e-9
    assert max(ratios) >= promised * (1 - 1e-3) - 1e-6  # attained at large outputs


@settings(max_examples=examples(10))
@given(data=st.data())
def test_releases_add_up_at_every_time(data: st.DataObject) -> None:
    """Any number of releases on any segments, against the exact audit of all of them together."""
    length = data.draw(st.integers(2, 14))
    belief = GaussianBelief(data.draw(correlations()), distance=1.5)
    count = data.draw(st.sampled_from([1, 2, 3, 9]))  # nine are too many for their records to be kept
    records, noisy = [], []
    for _ in range(count):
        first = data.draw(st.integers(1, length))
        last = data.draw(st.integers(first, length))
        query = data.draw(questions(last - first + 1))
        scale = data.draw(st.floats(0.5, 20)) * float(oracle.over_time(query, belief).largest)
        records.append(
            ReleaseRecord(
                query=query,
                noise_scale=scale,
                lipschitz=oracle.largest_change(query, belief),
                distance=belief.distance,
                segment=(first, last),
                length=length,
            )
        )
        noisy.append(Noisy(oracle.undivided(query, belief), scale, (first, last)))
    try:
        belief.check_size(length)
    except Exception:
        return
    together = Accountant(belief, length=length, releases=records).composed().epsilon
    exact = sum_audits(belief, noisy, length)
    assert together >= exact * (1 - 1e-9)
    if count <= 8 and all(record.query and oracle.over_time(record.query, belief).linear for record in records):
        outside = max(plain_total(belief, noisy, length), exact)
        assert together <= outside * (1 + 1e-6) + count * GRID * 1.01 + 1e-9


def sum_audits(belief: GaussianBelief, noisy: list[Noisy], length: int) -> float:
    losses = sum(np.array(audit(belief, [one], length=length).by_node) for one in noisy)
    return float(np.max(losses))


def plain_total(belief: GaussianBelief, noisy: list[Noisy], length: int) -> float:
    """The same, with times outside of the series."""
    worst = 0.0
    for i in range(1 - 40, length + 41):
        total = 0.0
        for one in noisy:
            first, last = one.segment or (1, length)
            row = written(oracle.over_time(one.query, belief).weights(first, last), length)
            rho = belief.correlation.at(np.arange(1, length + 1) - i)
            products = np.array(row) * rho
            moved = np.abs(products).sum() if belief.correlation.at_most else abs(products.sum())
            total += float(moved) * belief.distance / one.noise_scale
        worst = max(worst, total)
    return worst


@settings(max_examples=examples(14))
@given(data=st.data())
def test_losses_along_time_are_sums_over_lags(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 60))
    correlation = GaussianBelief(data.draw(correlations()), distance=1).correlation
    if abs(correlation.ratio) == 1:
        return
    parts = []
    for _ in range(data.draw(st.integers(1, 5))):
        first = data.draw(st.integers(1, length))
        last = data.draw(st.integers(first, length))
        parts.append((data.draw(st.floats(0, 3)) * (1 - np.eye(2)), (first, last)))
    losses = losses_along(correlation, Profile.of(parts, length=length))
    levels = np.zeros(length)
    for matrix, (first, last) in parts:
        levels[first - 1 : last] += matrix[0, 1]
    for i in range(1, length + 1):
        exact = float((np.abs(correlation.at(np.arange(1, length + 1) - i)) * levels).sum())
        assert losses.at(i) >= exact * (1 - 1e-9)


def test_known_scales() -> None:
    """AR(1), distance 1, sums, ε = 1."""
    for phi, length, known in ((0.9, "any", 19), (0.99, "any", 199), (0.9, 1, 1), (0.99, 1, 1), (0.9, 10**12, 19)):
        belief = GaussianBelief({"ar1": phi}, distance=1.0)
        scale = calibrate("sum", belief=belief, epsilon=1.0, length=length).noise_scale
        assert known <= scale <= known * (1 + 2e-6)


def test_negative_correlations_help() -> None:
    belief = GaussianBelief({"ar1": -0.9}, distance=1.0)
    assert calibrate("sum", belief=belief, epsilon=1.0, length=1000).noise_scale == pytest.approx(1 / 1.9, rel=1e-4)
    bound = GaussianBelief({"at_most": [1, 0.9]}, distance=1.0)
    assert calibrate("weighted:1,-1", belief=bound, epsilon=1.0, length=2).noise_scale == pytest.approx(1.9, rel=1e-4)
    close = GaussianBelief({"ar1": 0.99}, distance=1.0)
    assert calibrate("weighted:1,-1", belief=close, epsilon=1.0, length=2).noise_scale == pytest.approx(0.01, rel=1e-4)


@given(phi=st.floats(-0.9, 0.9), n=st.integers(1, 50))
@settings(max_examples=examples(14))
def test_any_length_covers_every_length(phi: float, n: int) -> None:
    correlation = Correlation((1.0,), ratio=phi)
    assert any_length(correlation) >= largest_shift(correlation, [(Weights.constant(1, n), 1.0)]) * (1 - 1e-9)


@settings(max_examples=examples(10), deadline=None)
@given(data=st.data())
def test_what_is_known_leaves_the_conditional_law(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 6))
    law = GaussianBelief(data.draw(correlations(exact=True)), distance=1).law(n)
    known = data.draw(st.lists(st.integers(1, n), unique=True, max_size=n - 1))
    moved = seen(law, known)
    free = [t for t in range(n) if t + 1 not in known]
    at = [t - 1 for t in known]
    across = law[np.ix_(free, at)]
    inner = law[np.ix_(free, free)] - across @ np.linalg.pinv(law[np.ix_(at, at)]) @ across.T
    for a, i in enumerate(free):
        if inner[a, a] > 1e-6:
            assert np.allclose(moved[i, free], inner[a] / inner[a, a], atol=1e-5)


@settings(max_examples=examples(10), deadline=None)
@given(data=st.data())
def test_sums_on_the_grid_are_those_of_a_loop(data: st.DataObject) -> None:
    """Exact sums of rounded values, by window and subject, with gaps, against Fractions."""
    rows = data.draw(
        st.lists(
            st.tuples(st.sampled_from(["a", "b"]), st.one_of(st.none(), st.floats(-1e6, 1e6))), min_size=1, max_size=40
        )
    )
    if all(value is None for _, value in rows):
        return
    unit = Fraction(1, 2 ** data.draw(st.integers(0, 30)))
    who, values = [name for name, _ in rows], [value for _, value in rows]
    series = Measurements.of_numbers(values, subject=who, missing="split")
    size = data.draw(st.sampled_from([1, 3, 7]))
    found = series.added(unit=unit, window=Window.parse(size), by_subject=True)
    expected: dict[str, list[Fraction]] = {}
    for name in ("a", "b"):
        own = [value for other, value in rows if other == name]
        for n, value in enumerate(own):
            if value is not None:
                window = n // size
                label = f"{name} {window * size + 1}:{(window + 1) * size}"
                expected.setdefault(label, []).append(Fraction(value) / unit)
    assert set(found) == set(expected)
    for label, terms in expected.items():
        assert found[label].values == len(terms)
        assert abs(found[label].total - sum(terms, Fraction(0))) <= Fraction(51, 100) * len(terms)


def test_engines_add_up_alike() -> None:
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(5)
    times = pl.datetime_range(pl.datetime(2024, 2, 27), pl.datetime(2024, 3, 2), "30m", eager=True)
    n = len(times)
    frame = pl.DataFrame(
        {
            "time": [*times, *times],
            "who": ["a"] * n + ["b"] * n,
            "x": (rng.normal(size=2 * n) * 10.0 ** rng.integers(-3, 6, 2 * n)).tolist(),
        }
    )
    answers = []
    for source in (frame, frame.lazy(), duckdb.sql("SELECT * FROM frame"), frame.with_columns(pl.col("x").cast(str))):
        series = read_measurements(source, column="x", subject="who", time="time")
        answers.append(
            [
                series.added(unit=Fraction(1, 2**20), window=window, by_subject=by)
                for window in (None, *(Window.parse(kind) for kind in ("day", "hour-of-day", "weekday", "week", "7")))
                for by in (False, True)
            ]
        )
        share = oracle.over_time(ShareAbove(3.0, width=2.0), GaussianBelief({"ar1": 0.5}, distance=1.0))
        assert series.added(unit=Fraction(1, 2**20), transform=share.transformed)
    assert answers[0] == answers[1] == answers[2]
    for one, other in zip(answers[0], answers[3], strict=True):
        assert {name: part.values for name, part in one.items()} == {name: part.values for name, part in other.items()}


def test_values_released_are_near_the_truth() -> None:
    """Without much noise every kind of question has the answer of a plain computation."""
    rng = np.random.default_rng(3)
    values = 3 + 0.01 * np.arange(400) + rng.normal(size=400)
    belief = GaussianBelief([1.0], distance=1e-3)
    t = np.arange(400)
    plain = {
        "sum": values.sum(),
        "mean": values.mean(),
        "trend": np.polyfit(t, values, 1)[0],
        "difference:1-100|301-400": values[300:].mean() - values[:100].mean(),
        "above:5:1": np.clip(values - 4.5, 0, 1).mean(),
        "weighted:2,-0.5": 2 * values[0] - 0.5 * values[1],
    }
    for query, exact in plain.items():
        made = release(values.tolist(), query, belief=belief, epsilon=20.0)
        assert made.value == pytest.approx(exact, abs=40 * made.noise_scale)
    windows = release(values.tolist(), "mean", belief=belief, epsilon=20.0, window=100)
    assert list(windows.value) == ["1:100", "101:200", "201:300", "301:400"]
    assert windows.value["1:100"] == pytest.approx(values[:100].mean(), abs=1e-3)


@pytest.mark.parametrize("epsilon", [1e-5, 1e-3, 0.1, 1.0, 50.0])
def test_a_release_spends_no_more_than_it_asks_for(epsilon: float) -> None:
    belief = GaussianBelief({"ar1": 0.9}, distance=1.0)
    session = Session([1.0, 2.0, 3.0] * 50, belief=belief, budget=epsilon)
    session.mean(epsilon=epsilon)
    assert session.spent() <= epsilon
    again = Session([1.0, 2.0, 3.0] * 50, belief=belief, budget=epsilon)
    again.mean(epsilon=epsilon / 2, window=10)
    again.release("trend", epsilon=epsilon / 2)
    assert again.spent() <= epsilon


def test_a_session_keeps_count_of_real_values() -> None:
    belief = GaussianBelief({"ar1": 0.9}, distance=1.0)
    session = Session([1.0, 2.0, 3.0, 2.5] * 100, belief=belief, budget=1.0)
    session.mean(epsilon=0.5)
    assert session.append([1.0] * 400) == (401, 800)
    session.mean(epsilon=0.5, segment=(401, 800))
    assert 0.5 < session.spent() < 0.6  # far apart, but for the days that meet
    assert session.losses().at(1) < session.losses().at(200)
    session.release("trend", epsilon=0.3)
    assert session.spent() <= 0.9


def test_refusals_depend_on_nothing_that_is_asked() -> None:
    """Whether a value is too large is the same for every question and every ε."""
    belief = GaussianBelief({"ar1": 0.5}, distance=1.0)
    for large, query, epsilon in ((False, "above:60:1", 1e14), (True, "mean", 1.0), (True, "above:60:1", 1.0)):
        values = Measurements.of_numbers([50.0, 60.0, 2.0**30 if large else 70.0]).between(1, 2)
        with pytest.raises(InputError, match="too large") as refused:  # also about values that are not asked for
            release(values, query, belief=belief, epsilon=epsilon)
        assert ("epsilon is too large" in str(refused.value)) != large


def test_values_of_both_signs_are_rounded_alike() -> None:
    unit = Fraction(1, 2**58)
    for value in (1e-15, -1e-15, 3.3e8, -3.3e8, -0.1):
        found = Measurements.of_numbers([value]).added(unit=unit)[""].total
        assert abs(found - Fraction(value) / unit) <= Fraction(1, 2)


def test_known_values_need_ar1_and_independent_subjects() -> None:
    related = GaussianBelief({"ar1": 0.0}, distance=1.0, subjects=3, between=0.3)
    listed = GaussianBelief([1, 0.07, -0.99], distance=1.0)
    for belief in (related, listed):
        for mechanism in ("curve", "group"):
            with pytest.raises(NotCoveredError):
                calibrate("sum", belief=belief, epsilon=1.0, length=3, mechanism=mechanism, guarantee="bayesian")
        record = ReleaseRecord(query=oracle.asked("sum", belief), noise_scale=3.0, length=3)
        with pytest.raises(NotCoveredError):
            Accountant(belief, length=3, releases=[record], guarantee="bayesian").composed()


def test_a_record_keeps_the_distance_that_it_is_about() -> None:
    near, far = (GaussianBelief({"ar1": 0.5}, distance=distance) for distance in (1.0, 10.0))
    for query in ("sum", "mean", "trend"):
        record = release([float(n) for n in range(100)], query, belief=near, epsilon=1.0).record()
        read = ReleaseRecord.from_dict(record.to_dict())
        for one in (record, read):
            assert Accountant(near, length=100, releases=[one]).composed().epsilon <= 1
            assert Accountant(far, length=100, releases=[one]).composed().epsilon == pytest.approx(10, rel=1e-4)


def test_values_that_were_never_recorded_count() -> None:
    belief = GaussianBelief([1, -0.55, 0.05], distance=1.0)
    scale = calibrate("sum", belief=belief, epsilon=1.0, length=2).noise_scale
    assert scale == pytest.approx(0.5, rel=1e-5)  # at time 0: -0.55 + 0.05
    asked = oracle.asked("sum", belief)
    assert audit(belief, [Noisy(asked, scale)], length=2).node in (0, 3)
    forged = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=0.4501, query=asked, length=2)
    assert Accountant(belief, length=2, releases=[forged]).composed().epsilon == pytest.approx(0.5 / 0.4501, rel=1e-4)


def test_what_is_known_of_correlated_subjects_or_nearly_fixed_values_is_refused() -> None:
    related = GaussianBelief({"ar1": 0.0}, distance=1, subjects=3, between=[[1, 0.9, 0.3], [0.9, 1, 0], [0.3, 0, 1]])
    with pytest.raises(NotCoveredError, match="independent subjects"):
        bayesian_leakage(related, "sum", noise_scale=1.0, length=1)
    nearly = GaussianBelief([1, 0.99 * math.sqrt(0.5e-10), -1 + 1e-10], distance=1.0)
    with pytest.raises(NotCoveredError, match="nearly determine others"):
        bayesian_leakage(nearly, "sum", noise_scale=1.0, length=3)
    short = GaussianBelief([1, 0.3447, -0.7071], distance=1.0)  # true of three values only
    exact, _ = worst_adversary(short, [Noisy(oracle.asked("sum", short), 1.0)], length=3)
    assert exact.epsilon < 3


def test_claims_are_about_their_own_distance() -> None:
    near, far = (GaussianBelief({"ar1": 0.5}, distance=distance) for distance in (1.0, 10.0))
    mean = oracle.asked("mean", near)
    for record in (
        ReleaseRecord(mechanism="other", epsilon=1.0, distance=1.0, length=100),
        ReleaseRecord(query=mean, lipschitz=1.0, noise_scale=3.0, length=100),
    ):
        with pytest.raises(NotCoveredError, match="distance"):
            Accountant(far, length=100, releases=[record]).composed()


def test_small_changes_of_many_values_may_tell_all_that_large_ones_do() -> None:
    """Randomised response on x_t above a threshold is 1-differentially private for each value.

    Two values with correlation 1/2 and a small spread cross their thresholds together, so that it tells 2, not the
    1.5 that correlations would make of it. Only what is known to change little with small changes may be weighed so.
    """
    stays, spread, rho = math.e / (1 + math.e), 1e-3, 0.5
    laws = []
    for first in (0.0, 1.0):
        crossed = 0.5 * math.erfc((0.25 - rho * first) / (spread * math.sqrt(2 * (1 - rho**2))))
        seen_up = [stays if first > 0.5 else 1 - stays, stays * crossed + (1 - stays) * (1 - crossed)]
        laws.append([a * b for a in (seen_up[0], 1 - seen_up[0]) for b in (seen_up[1], 1 - seen_up[1])])
    assert max(abs(math.log(p / q)) for p, q in zip(*laws, strict=True)) == pytest.approx(2.0)
    belief = GaussianBelief([1, rho], distance=1.0)
    for record in (
        ReleaseRecord(mechanism="entry", epsilon=1.0, distance=1.0, length=2),
        ReleaseRecord(lipschitz=1.0, noise_scale=1.0, distance=1.0, length=2),
    ):
        with pytest.raises(NotCoveredError, match="when many values change a little"):
            Accountant(belief, length=2, releases=[record]).composed()
    for asked in (entry_guarantee, entry_epsilon):
        with pytest.raises(NotCoveredError, match="says little about real values"):
            asked(belief, 1.0, length=2)


@pytest.mark.parametrize("releases", [1, 7, 1000])
def test_planned_releases_stay_within_their_epsilon(releases: int) -> None:
    belief = GaussianBelief({"ar1": 0.9}, distance=1.0)
    query = oracle.asked("sum", belief)
    for name in ("curve", "group"):
        offer = plan(query, belief=belief, epsilon=1.0, length=50, releases=releases, mechanisms=[name]).offers[0]
        records = [ReleaseRecord(query=query, noise_scale=offer.noise_scale, length=50)] * releases
        assert Accountant(belief, length=50, releases=records).composed().epsilon <= 1


def test_long_memories_cost_no_more_than_all_values_together() -> None:
    belief = GaussianBelief({"decay": "30d"}, distance=1.0, step="1s")
    assert calibrate("sum", belief=belief, epsilon=1.0, length=30).noise_scale == pytest.approx(30, rel=1e-3)


def test_pauses_and_nearer_values_are_noticed() -> None:
    begun = datetime(2024, 1, 1)
    belief = GaussianBelief({"ar1": -0.9}, distance=1.0, step="1min")

    def table(minutes: list[float]) -> pl.DataFrame:
        times = [begun + timedelta(minutes=minute) for minute in minutes]
        return pl.DataFrame({"time": times, "x": [1.0] * len(minutes)})

    paused = [float(n) for n in range(400) if n != 200]
    series = read_measurements(table(paused), column="x", time="time", gap="2min")
    assert release(series, "sum", belief=belief, epsilon=1.0).noise_scale == pytest.approx(19, rel=1e-4)
    skips = GaussianBelief({"at_most": [1, 0, 0, 1]}, distance=1.0, step="1min")
    bridged = read_measurements(table([0.0, 3.0, 4.0, 5.0, 6.0]), column="x", time="time", gap="3min")
    for gaps in ("dependent", "independent"):
        made = release(bridged, "sum", belief=skips, epsilon=1.0, gaps=gaps)
        assert made.noise_scale >= 3
    nearer = read_measurements(table(sorted([*map(float, range(200)), 50.5])), column="x", time="time")
    with pytest.raises(InputError, match="values must be at least a step of 1min apart"):
        release(nearer, "sum", belief=belief, epsilon=1.0)
