"""Cycles, phases and orders fitted to simulated data: what is true of the data is true of the fit."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from quiltwork import CycleChain, HiddenChain, MarkovChain, OrderChain, QuiltworkError, Series, read_series
from quiltwork.fitting.cycle import fit_cycle
from quiltwork.fitting.order import fit_order
from quiltwork.fitting.phases import fit_hidden
from quiltwork.types import Duration

DAY, NIGHT = np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([[0.3, 0.7], [0.02, 0.98]])
HOURS = CycleChain([NIGHT] * 8 + [DAY] * 14 + [NIGHT] * 2, states=["awake", "asleep"], initial="stationary")
SLOW = HiddenChain([[0.5, 0.0, 0.5], [0.0, 0.98, 0.02], [0.4, 0.1, 0.5]], shows=[*"aab"], initial="stationary")


def simulated(start: np.ndarray, kernels: list[np.ndarray], length: int, seed: int) -> list[int]:
    rng = np.random.default_rng(seed)
    path = [int(rng.choice(len(start), p=start))]
    for t in range(length - 1):
        row = kernels[t % len(kernels)][path[-1]]
        path.append(int(rng.choice(len(row), p=row)))
    return path


def by_the_hour(days: int, begun: datetime) -> pl.DataFrame:
    path = simulated(HOURS.law[0], [*HOURS.transitions], 24 * days, 0)
    times = [begun + timedelta(hours=n) for n in range(len(path))]
    return pl.DataFrame({"time": times, "state": [HOURS.states[x] for x in path]})


@pytest.mark.parametrize(("cycle", "days"), [("day", 120), ("week", 210)])
def test_a_cycle_is_found_again(cycle: str, days: int) -> None:
    """Time 0 of the cycle is midnight (of a Monday), whenever the data begin."""
    table = by_the_hour(days, datetime(2024, 3, 4))  # a Monday
    series = read_series(table[7:], column="state", time="time", states=HOURS.states)
    fit = fit_cycle(series, step=Duration.parse("1h"), cycle="day" if cycle == "day" else "week")
    assert fit.period == (24 if cycle == "day" else 168)
    assert np.abs(fit.transitions[12] - DAY).max() < 0.15
    assert np.abs(fit.transitions[3, 1] - NIGHT[1]).max() < 0.05
    assert fit.again([24]) == pytest.approx(HOURS.again([24]), abs=0.08)


def test_a_week_begins_on_monday() -> None:
    times = [datetime(2024, 3, 4) + timedelta(hours=n) for n in range(24 * 70)]
    state = ["out" if t.weekday() == 0 else "in" for t in times]  # out all Monday
    series = read_series(
        pl.DataFrame({"time": times, "state": state}), column="state", time="time", states=["in", "out"]
    )
    fit = fit_cycle(series, step=Duration.parse("1h"), cycle="week")
    assert fit.law[:24, 1].min() > 0.5
    assert fit.law[48:144, 1].max() < 0.1


def test_cycles_need_times_that_divide_a_day() -> None:
    series = read_series(by_the_hour(4, datetime(2024, 3, 4)), column="state", time="time", states=HOURS.states)
    with pytest.raises(QuiltworkError, match="divide"):
        fit_cycle(series, step=Duration.parse("7h"))
    short = read_series(by_the_hour(1, datetime(2024, 3, 4)), column="state", time="time", states=HOURS.states)
    with pytest.raises(QuiltworkError, match="two days"):
        fit_cycle(short, step=Duration.parse("1h"))
    with pytest.raises(QuiltworkError, match="time of day"):
        fit_cycle(Series.from_values(["awake"] * 100, states=HOURS.states), step=Duration.parse("1h"))


def test_phases_keep_the_memory_that_one_chain_loses() -> None:
    path = simulated(SLOW.phases.stationary, [SLOW.phases.transition], 6000, 1)
    series = Series.from_values([SLOW.shows[h] for h in path], states=SLOW.states)
    counts = series.transitions()
    chain = MarkovChain(counts / counts.sum(axis=1, keepdims=True), states=series.states)
    fit = fit_hidden(series, phases=2)
    truth, lost = SLOW.again([20])[0, 0], np.linalg.matrix_power(chain.transition, 20)[0, 0]
    assert fit.again([20])[0, 0] == pytest.approx(truth, abs=0.06)
    assert lost < truth - 0.02
    assert fit.stay_survival([1, 30])[:, 0] == pytest.approx(SLOW.stay_survival([1, 30])[:, 0], abs=0.06)


def test_phases_of_states_that_do_not_occur() -> None:
    series = Series.from_values([*("aab" * 20 + "a" * 30 + "b") * 3], states=["a", "b", "c"])
    fit = fit_hidden(series, phases=2)
    assert fit.states == ("a", "b", "c")
    assert fit.phases.transition.sum(axis=1) == pytest.approx(1)


def test_an_order_is_found_again() -> None:
    true = OrderChain([[0.95, 0.05], [0.2, 0.8], [0.7, 0.3], [0.1, 0.9]], order=2, initial="stationary")
    path = simulated(true.phases.stationary, [true.phases.transition], 8000, 2)
    series = Series.from_values([true.shows[h] for h in path], states=true.states)
    assert np.abs(fit_order(series, order=2).rows - true.rows).max() < 0.06
    assert fit_order(series, order=1).rows.shape == (2, 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: fit_order(s, order=0), "at least 1"),
        (lambda s: fit_order(s, order=12), "sequences"),
        (lambda s: fit_hidden(s, phases=9), "1 to 8"),
        (lambda s: fit_hidden(s.between(1, 1), phases=2), "changes"),
    ],
)
def test_what_cannot_be_fitted_is_refused(call: object, words: str) -> None:
    series = Series.from_values([*"ababba"], states=["a", "b"])
    with pytest.raises(QuiltworkError, match=words):
        call(series)  # type: ignore[operator]


def test_stays_and_returns_by_simulation() -> None:
    """again and stay_survival of a cycle and of phases, against a long simulation."""
    for belief, path in (
        (HOURS, np.array(simulated(HOURS.law[0], [*HOURS.transitions], 40_000, 3))),
        (SLOW, SLOW.shown[simulated(SLOW.phases.stationary, [SLOW.phases.transition], 40_000, 4)]),
    ):
        for lag in (1, 5, 24):
            seen = [np.mean(path[lag:][path[:-lag] == x] == x) for x in range(2)]
            assert belief.again([lag])[0] == pytest.approx(seen, abs=0.03)
        ends = np.flatnonzero(np.diff(path)) + 1
        stays, states = np.diff(ends), path[ends[:-1]]
        for n in (1, 3):
            seen = [np.mean(stays[states == x] > n) for x in range(2)]
            assert belief.stay_survival([n])[0] == pytest.approx(seen, abs=0.03)


def test_every_second_value() -> None:
    assert SLOW.every(2).again([3])[0] == pytest.approx(SLOW.again([6])[0])
