"""Simulated, and shipped with the package: activities of people, the power of homes. Nobody's, so they may be shown."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl

from quiltwork.beliefs import GaussianBelief, MarkovChain

PEOPLE, WEEKS, QUARTER_HOUR = 24, 4, 15
STATES = ("sleep", "home", "work", "transit", "exercise", "shop")
HABITS = (  # per 10,000 quarter hours, from row to column
    (9640, 320, 5, 25, 5, 5),
    (480, 8600, 120, 550, 130, 120),
    (5, 130, 9200, 560, 45, 60),
    (10, 3200, 2300, 3600, 290, 600),
    (10, 900, 240, 1150, 7600, 100),
    (5, 700, 250, 1700, 45, 7300),
)
HOMES, POWER_WEEKS, MINUTES = 3, 2, 5
MEMORIES = ((0.6, 30.0), (0.4, 80.0))  # shares of the variance, and how many minutes each is remembered


def diary_belief() -> MarkovChain:
    """The chain that the diary was simulated from, with any start.

    >>> diary_belief()
    MarkovChain(6 states, initial=any)
    """
    return MarkovChain.from_counts(HABITS, states=STATES, step=f"{QUARTER_HOUR}min")


def simulate_diary(seed: int = 20240229) -> "pl.DataFrame":
    """Quarter-hourly activities of 24 people over four weeks."""
    rng = np.random.default_rng(seed)
    chain = diary_belief()
    steps = WEEKS * 7 * 24 * 60 // QUARTER_HOUR
    cumulative = np.cumsum(chain.transition, axis=1)
    state = rng.choice(len(STATES), size=PEOPLE, p=chain.stationary)
    series = np.empty((PEOPLE, steps), dtype=np.int64)
    for step, draw in enumerate(rng.random((steps, PEOPLE))):
        series[:, step] = state
        state = np.minimum((cumulative[state] < draw[:, None]).sum(axis=1), len(STATES) - 1)
    values = pl.Series("activity", np.array(STATES)[series.ravel()])
    return _table("person", [f"p{n + 1:02d}" for n in range(PEOPLE)], "2024-03-04", QUARTER_HOUR, values)


def diary_path() -> Path:
    """Where the shipped diary is."""
    return Path(str(files("quiltwork.samples"))) / "diary.parquet"


def power_belief() -> GaussianBelief:
    """What may be believed about the power of a home: correlations fall to 1/e within an hour and a half, or faster.

    >>> power_belief()
    GaussianBelief(distance=1 kW, decay=90min, step=5min)
    """
    return GaussianBelief({"decay": "90min"}, distance=1.0, unit="kW", step=f"{MINUTES}min")


def simulate_power(seed: int = 20240601) -> "pl.DataFrame":
    """The power of three homes every five minutes for two weeks: a daily rhythm, and what deviates from it."""
    rng = np.random.default_rng(seed)
    a_day = 24 * 60 // MINUTES
    steps = POWER_WEEKS * 7 * a_day
    hour = np.arange(steps) % a_day * 24 / a_day
    rhythm = 1.2 + 1.2 * np.exp(-((hour - 19.5) ** 2) / 6) + 0.6 * np.exp(-((hour - 7.5) ** 2) / 2)
    deviation = np.zeros((HOMES, steps))
    for share, minutes in MEMORIES:
        ratio = np.exp(-MINUTES / minutes)
        drawn = rng.standard_normal((HOMES, steps))
        for t in range(1, steps):
            drawn[:, t] = ratio * drawn[:, t - 1] + np.sqrt(1 - ratio**2) * drawn[:, t]
        deviation += np.sqrt(share) * drawn
    values = pl.Series("kw", (rhythm + 0.25 * deviation).ravel().round(2))
    return _table("home", [f"h{n + 1}" for n in range(HOMES)], "2024-06-03", MINUTES, values)


def power_path() -> Path:
    """Where the shipped measurements are."""
    return Path(str(files("quiltwork.samples"))) / "power.parquet"


def _table(owner: str, names: list[str], begin: str, step: int, values: pl.Series) -> "pl.DataFrame":
    """The values of each owner, one after the other, so many minutes apart."""
    count = len(values) // len(names)
    minutes = np.tile(np.arange(count) * step, len(names)).astype("timedelta64[m]")
    times = np.datetime64(begin, "ms") + minutes
    return pl.DataFrame({owner: np.repeat(names, count), "time": times, values.name: values})
