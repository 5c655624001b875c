"""A simulated activity diary, shipped with the package. It is nobody's, so it may be shown."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl

from quiltwork.beliefs import MarkovChain

PEOPLE, DAYS, STEPS_A_DAY = 24, 28, 96
STATES = ("sleep", "home", "work", "transit", "exercise", "shop")
HABITS = (  # per 10,000 quarter hours, from row to column
    (9640, 320, 5, 25, 5, 5),
    (480, 8600, 120, 550, 130, 120),
    (5, 130, 9200, 560, 45, 60),
    (10, 3200, 2300, 3600, 290, 600),
    (10, 900, 240, 1150, 7600, 100),
    (5, 700, 250, 1700, 45, 7300),
)


def diary_belief() -> MarkovChain:
    """The chain that the diary was simulated from, with any start.

    >>> diary_belief()
    MarkovChain(6 states, initial=any)
    """
    return MarkovChain.from_counts(HABITS, states=STATES, step=f"{24 * 60 // STEPS_A_DAY}min")


def simulate_diary(seed: int = 20240229) -> "pl.DataFrame":
    """Quarter-hourly activities of 24 people over four weeks."""
    rng = np.random.default_rng(seed)
    chain = diary_belief()
    steps = DAYS * STEPS_A_DAY
    cumulative = np.cumsum(chain.transition, axis=1)
    state = rng.choice(len(STATES), size=PEOPLE, p=chain.stationary)
    series = np.empty((PEOPLE, steps), dtype=np.int64)
    for step, draw in enumerate(rng.random((steps, PEOPLE))):
        series[:, step] = state
        state = np.minimum((cumulative[state] < draw[:, None]).sum(axis=1), len(STATES) - 1)
    minutes = np.tile(np.arange(steps) * (24 * 60 // STEPS_A_DAY), PEOPLE)
    begin = np.datetime64("2024-03-04T00:00", "ms")
    return pl.DataFrame(
        {
            "person": np.repeat([f"p{n + 1:02d}" for n in range(PEOPLE)], steps),
            "time": begin + minutes.astype("timedelta64[m]"),
            "activity": np.array(STATES)[series.ravel()],
        }
    )


def diary_path() -> Path:
    """Where the shipped diary is."""
    return Path(str(files("quiltwork.samples"))) / "diary.parquet"
