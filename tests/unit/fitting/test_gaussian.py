"""Gaussian beliefs from numbers: the class covers the truth, false beliefs are found, with rhythms and gaps too."""

import math
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from scipy.signal import lfilter

from quiltwork import (
    GaussianBelief,
    GaussianCheck,
    InputError,
    MarkovChain,
    Measurements,
    Series,
    check_belief,
    fit_gaussian,
    read_measurements,
)
from quiltwork.beliefs.correlation import Correlation
from quiltwork.fitting.autocorrelation import Left, autocorrelation, left_over
from quiltwork.fitting.gaussian import belief_lines, covering, first_below
from quiltwork.fitting.gaussian_check import check_gaussian
from quiltwork.types import Duration, Floats

LAGS = np.arange(1, 1000)


def following(ratio: float, length: int, seed: int) -> Floats:
    """A series in which a value is the one before times the ratio, and chance; variance 1."""
    chance = np.random.default_rng(seed).standard_normal(length + 1000)
    return np.asarray(lfilter([math.sqrt(1 - ratio**2)], [1.0, -ratio], chance)[1000:])


def moving(width: int, length: int, seed: int) -> Floats:
    """Means of the last values of chance."""
    chance = np.random.default_rng(seed).standard_normal(length + width - 1)
    return np.convolve(chance, np.full(width, 1 / math.sqrt(width)), mode="valid")


def by_the_minute(values: Floats, *, minutes: int = 60, missing: str = "refuse") -> Measurements:
    begun = datetime(2024, 1, 1)
    times = [begun + timedelta(minutes=minutes * n) for n in range(len(values))]
    table = pl.DataFrame({"time": times, "x": [None if math.isnan(value) else value for value in values]})
    return read_measurements(table, column="x", time="time", missing=missing)  # type: ignore[arg-type]


def exactly(ratio: float, **more: float) -> GaussianBelief:
    return GaussianBelief({"ar1": ratio}, distance=1.0, step=1, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("ratio", "times"), [(0.9, 20), (0.0, 3), (-0.7, 3)])
def test_the_class_covers_the_truth(ratio: float, times: int) -> None:
    truth = np.abs(ratio) ** LAGS
    covered = [
        bool((fit_gaussian(following(ratio, 4000, seed), distance=1.0).belief.correlation.at(LAGS) >= truth).all())
        for seed in range(times)
    ]
    assert sum(covered) >= 0.95 * times


def test_the_class_covers_a_moving_average_and_is_not_far_above_it() -> None:
    truth = np.maximum(1 - LAGS / 10, 0.0)
    fits = [fit_gaussian(moving(10, 4000, seed), distance=1.0) for seed in range(5)]
    assert all((fit.belief.correlation.at(LAGS) >= truth - 1e-12).all() for fit in fits)
    assert np.median([fit.belief.correlation.total for fit in fits]) < 2 * truth.sum()


def test_the_estimate_is_that_of_plain_loops_with_gaps() -> None:
    values = following(0.8, 300, 1)
    values[np.random.default_rng(2).random(300) < 0.2] = np.nan
    left = left_over(by_the_minute(values, missing="split"), "none")
    (piece,) = left.pieces[0]
    assert np.isnan(piece).sum() == np.isnan(values).sum() - np.isnan(values[[0, -1]]).sum()
    found = autocorrelation(left)
    raw = []
    for lag in range(1, 20):
        pairs = [(a, b) for a, b in zip(piece[:-lag], piece[lag:], strict=True) if not math.isnan(a + b)]
        raw.append(2 * sum(a * b for a, b in pairs) / sum(a * a + b * b for a, b in pairs))
    taken = (found.values[1:20] - np.array(raw)) / (1 - np.array(raw))
    assert taken == pytest.approx(np.full(19, taken[0]), abs=1e-9)  # the share of the mean, the same at every lag
    assert 0 < taken[0] < 0.1


def test_what_estimated_means_take_away_is_given_back() -> None:
    parts = [following(0.95, 1000, seed) for seed in range(40)]
    pieces = [(part - part.mean()) / part.std() for part in parts]
    found = [autocorrelation(Left(((piece,),), None, "none", 1, 1000.0, 1000)).values[10] for piece in pieces]
    kept = [autocorrelation(Left(((piece,),), None, "none", 1, 1e9, 1000)).values[10] for piece in pieces]
    assert np.mean(found) == pytest.approx(0.95**10, abs=0.03)
    assert np.mean(kept) < np.mean(found) - 0.01


def test_fast_and_slow_ways_agree() -> None:
    values = following(0.9, 3000, 3)
    whole = Left(((values / np.sqrt((values**2).mean()),),), None, "none", 1, 3000.0, 3000)
    with_gap = values.copy()
    with_gap[-1] = np.nan
    pieces = ((with_gap / np.sqrt((values**2).mean()),),)
    fast, slow = autocorrelation(whole), autocorrelation(Left(pieces, None, "none", 1, 3000.0, 2999))
    assert fast.values[1:100] == pytest.approx(slow.values[1:100], abs=2e-3)
    assert fast.errors[1:100] == pytest.approx(slow.errors[1:100], abs=2e-3)


def test_subjects_are_pooled_whatever_their_mean_and_spread() -> None:
    parts = [following(0.8, 400, seed) * (1 + seed) + 100 * seed for seed in range(12)]
    names = np.repeat([f"p{n}" for n in range(12)], 400)
    fit = fit_gaussian(Measurements.of_numbers(np.concatenate(parts), subject=names), distance=1.0)
    assert (fit.subjects, fit.values, fit.longest) == (12, 4800, 400)
    assert fit.estimates[0].data == pytest.approx(0.8, abs=0.05)
    assert fit.furthest == 200
    assert any("all subjects together" in line for line in fit.lines())


def test_constant_subjects_are_left_out() -> None:
    values, names = np.concatenate([following(0.5, 500, 1), np.full(500, 3.0)]), ["a"] * 500 + ["b"] * 500
    fit = fit_gaussian(Measurements.of_numbers(values, subject=names), distance=1.0)
    assert (fit.subjects, fit.values) == (1, 500)
    assert "1 subjects whose values never differ were left out." in fit.notes


@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_units_do_not_matter(factor: float) -> None:
    values = following(0.8, 500, 1)
    ours, plain = (fit_gaussian(x, distance=1.0).belief.correlation for x in (values * factor, values))
    assert ours.listed == pytest.approx(plain.listed, abs=1e-4)


def test_a_daily_rhythm_costs_nothing() -> None:
    rest = following(0.7, 24 * 60, 5)
    rhythm = 5 * np.sin(2 * np.pi * np.arange(len(rest)) / 24)
    with_rhythm, without = by_the_minute(rest + rhythm), by_the_minute(rest)
    fit = fit_gaussian(with_rhythm, distance=1.0)
    assert fit.rhythm == "day"
    assert (fit.belief.correlation.at(LAGS) >= 0.7**LAGS).all()
    assert fit.belief.correlation.total == pytest.approx(fit_gaussian(without, distance=1.0).belief.correlation.total)
    kept = fit_gaussian(with_rhythm, distance=1.0, rhythm="none")
    assert kept.belief.correlation.total > 5 * fit.belief.correlation.total
    assert kept.told == kept.furthest
    assert "still there" in kept.assumed
    assert check_belief(fit.belief, with_rhythm).forgets_too_fast is False
    assert check_gaussian(fit.belief, with_rhythm, rhythm="none").forgets_too_fast is True
    weekly = fit_gaussian(by_the_minute(rest + rhythm), distance=1.0, rhythm="week")
    assert weekly.rhythm == "week"


def test_few_days_keep_their_rhythm_and_say_so() -> None:
    fit = fit_gaussian(by_the_minute(following(0.7, 24 * 5, 5)), distance=1.0)
    assert fit.rhythm == "none"
    assert "fewer than 8 days" in fit.notes[0]


def test_a_margin_and_more_confidence_are_wider() -> None:
    values = following(0.9, 4000, 1)
    plain, sure = (fit_gaussian(values, distance=1.0, confidence=p).belief.correlation for p in (0.9, 0.99))
    wide = fit_gaussian(values, distance=1.0, confidence=0.9, margin=2.0).belief.correlation
    assert (sure.at(LAGS[:15]) >= plain.at(LAGS[:15])).all()
    assert (wide.at(2 * LAGS) >= plain.at(LAGS) - 1e-4).all()
    assert wide.total == pytest.approx(2 * plain.total, rel=0.1)


def test_long_memories_have_files_of_sensible_size() -> None:
    fit = fit_gaussian(following(0.999, 60_000, 2), distance=1.0)
    listed = fit.belief.correlation.listed
    assert len(listed) <= 401
    assert (np.diff(listed) <= 0).all()
    assert fit.told > 400
    high = np.array([one.high for one in fit.estimates if one.lag <= fit.told])
    lags = np.array([one.lag for one in fit.estimates if one.lag <= fit.told])
    assert (fit.belief.correlation.at(lags) >= high - 1e-9).all()
    assert (fit.belief.correlation.at(LAGS) >= 0.999**LAGS).all()


@pytest.mark.parametrize(
    "upper",
    [
        np.ones(900),
        np.append(np.ones(600), np.linspace(0.99, 0.5, 300)),
        np.append(1.0, np.full(900, 0.98)),
        np.append(1.0, np.linspace(0.9, 0.2, 900)),
    ],
    ids=["all ones", "ones at first", "flat", "falling"],
)
def test_the_tail_lies_above_all_limits(upper: Floats) -> None:
    made = covering(upper, 1000.0, Duration.parse("1min"))
    assert (made.at(np.arange(len(upper))) >= upper - 1e-12).all()
    assert made.total < math.inf


def test_words_say_what_is_an_assumption() -> None:
    fit = fit_gaussian(by_the_minute(following(0.9, 4000, 1), minutes=1), distance=0.5, unit="kW")
    words = " ".join(fit.lines())
    assert "an assumption, not a finding" in words
    assert "0.5 kW at any one moment" in words
    assert str(fit.belief.step) == "1min"
    assert fit.mean_scale == pytest.approx(0.5 * (1 + 2 * fit.belief.correlation.total) / 4000)
    assert fit.to_dict()["belief"] == fit.belief.to_dict()
    assert fit.below(0.5) == first_below(fit.belief.correlation, 0.5)


def test_when_correlation_falls() -> None:
    assert first_below(Correlation((1.0, 0.6, 0.2)), 0.5) == 2
    assert first_below(Correlation((1.0, 0.6)), 0.5) == 2
    assert first_below(Correlation((1.0,), ratio=1.0), 0.5) is None
    assert "It never fades" in " ".join(belief_lines(exactly(1.0)))
    assert "scale up to 19" in " ".join(belief_lines(exactly(0.9)))


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        ([1.0, 2.0], {}, "at least 20 values, got 2"),
        ([0.0] * 100, {}, "got a constant series"),
        ([3.5] * 100, {}, "must differ from each other, got a constant series"),
        ([1.0, float("inf")] * 20, {}, "must hold finite numbers"),
        ([1.0, float("nan")] * 20, {}, "missing"),
        (["sit", "walk"] * 20, {}, "must be a number"),
        (range(100), {"distance": 0.0}, "distance must be a positive number"),
        (range(100), {"confidence": 1.0}, "confidence must be at least 0.5 and below 1"),
        (range(100), {"margin": 0.5}, "margin must be from 1 to 100"),
        (range(100), {"rhythm": "year"}, "rhythm must be one of"),
        (range(100), {"rhythm": "day"}, "needs times with dates"),
        (Series.from_values("0101", states=["0", "1"]), {}, "the data must be numbers, got states"),
        ("power.csv", {}, "the data must be numbers, got str"),
    ],
)
def test_what_cannot_be_fitted(data: object, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_gaussian(data, **{"distance": 1.0} | settings)  # type: ignore[arg-type]


def test_times_that_do_not_fit() -> None:
    chance = np.random.default_rng(1)
    moments = np.cumsum(chance.exponential(size=200))
    uneven = read_measurements(pl.DataFrame({"t": moments, "x": chance.random(200)}), column="x", time="t")
    with pytest.raises(InputError, match="evenly spaced"):
        fit_gaussian(uneven, distance=1.0)
    with pytest.raises(InputError, match="at least two days"):
        fit_gaussian(by_the_minute(following(0.5, 30, 1)), distance=1.0, rhythm="day")
    same = by_the_minute(np.tile(np.arange(24.0), 10))
    with pytest.raises(InputError, match="the same every day"):
        fit_gaussian(same, distance=1.0)


@pytest.mark.parametrize("ratio", [0.9, 0.0, -0.6])
def test_a_true_belief_passes_and_false_ones_are_found(ratio: float) -> None:
    checks = [check_belief(exactly(ratio), following(ratio, 2000, seed)) for seed in range(6)]
    assert all(isinstance(check, GaussianCheck) for check in checks)
    assert not any(check.forgets_too_fast for check in checks)
    low, high = (check_belief(exactly(other), following(ratio, 2000, 1)) for other in (ratio - 0.2, ratio + 0.09))
    assert isinstance(low, GaussianCheck)
    assert isinstance(high, GaussianCheck)
    assert low.forgets_too_fast
    assert low.contradicts
    assert high.contradicts


def test_words_about_what_is_wrong() -> None:
    values = following(0.8, 5000, 1)
    fast = check_belief(exactly(0.5), values)
    assert fast.verdict.startswith("The belief forgets too fast: after ")
    assert "belief fit --gaussian" in fast.remedy
    slow = check_belief(exactly(0.95), values)
    assert slow.verdict.startswith("The belief is not what the data show: after ")
    assert "at_most" in slow.remedy
    bound = GaussianBelief({"decay": 20}, distance=1.0, step=1)
    careful = check_belief(bound, values)
    assert careful.verdict.startswith("The belief remembers longer than the data, which is safe")
    assert careful.forgets_too_fast is False
    below = check_belief(exactly(-0.5), np.random.default_rng(1).standard_normal(3000))
    assert "counts on correlation below 0" in below.verdict
    near = check_belief(GaussianBelief({"decay": 4.6}, distance=1.0, step=1), values)
    assert near.verdict.startswith("The belief fits: correlation is no stronger than it says, at every lag from 1 step")


def test_short_data_say_that_they_are_short() -> None:
    few = check_belief(exactly(0.5), [1.0, 2.0, 3.0])
    assert (few.lags, few.verdict) == ((), "3 values are too few to tell whether the belief fits.")
    assert few.to_dict()["shape"] is None
    short = check_belief(exactly(0.999), following(0.99, 200, 1))
    assert "too few to tell" in short.verdict or "too short to tell" in short.verdict
    assert "longer data" in short.remedy


def test_shapes() -> None:
    values = following(0.5, 8000, 2)
    plain, skewed = (check_belief(exactly(0.5), x) for x in (values, np.exp(values)))
    assert isinstance(plain, GaussianCheck)
    assert isinstance(skewed, GaussianCheck)
    assert plain.shape is not None
    assert skewed.shape is not None
    assert plain.shape.gaussian is True
    assert sum(plain.shape.histogram) == pytest.approx(1.0)
    assert skewed.shape.gaussian is False
    assert skewed.shape.skewness > 2
    assert "exact for Gaussian values" in skewed.shape.verdict
    assert plain.to_dict()["shape"]["beyond_3"] == pytest.approx(0.0027, abs=0.002)


def test_spreads() -> None:
    values = following(0.5, 24 * 100, 2)
    by_hour = np.where(np.arange(len(values)) % 24 < 6, 0.3, 1.0)
    growing = np.where(np.arange(len(values)) < len(values) // 2, 1.0, 2.0)
    bound = GaussianBelief({"decay": "2h"}, distance=1.0, step="1h")
    found = [check_belief(bound, by_the_minute(values * wide)) for wide in (1.0, by_hour, growing)]
    spreads = [check.spread for check in found if isinstance(check, GaussianCheck) and check.spread is not None]
    assert [spread.changes for spread in spreads] == [False, True, True]
    assert spreads[1].by_hour == pytest.approx(1 / 0.3, rel=0.5)
    assert spreads[2].along == pytest.approx(2.0, rel=0.2)
    assert "covers that" in spreads[1].verdict


def test_steps_must_agree() -> None:
    belief = GaussianBelief({"ar1": 0.5}, distance=1.0, step="10min")
    with pytest.raises(InputError, match="about steps of 10min"):
        check_belief(belief, by_the_minute(following(0.5, 100, 1), minutes=1))
    trusted = check_belief(belief, following(0.5, 100, 1))
    assert "taken on trust" in trusted.notes[0]
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    with pytest.raises(InputError, match="must be a GaussianBelief, got MarkovChain"):
        check_gaussian(chain, [1.0])  # type: ignore[arg-type]
