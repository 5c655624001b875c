"""Simulated power of three homes, shipped with the package. It is nobody's, so it may be shown."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl

from quiltwork.beliefs import GaussianBelief

HOMES, DAYS, MINUTES = 3, 14, 5
STEPS_A_DAY = 24 * 60 // MINUTES
MEMORIES = ((0.6, 30.0), (0.4, 80.0))  # shares of the variance, and how many minutes each is remembered


def power_belief() -> GaussianBelief:
    """What may be believed about the power of a home: correlations fall to 1/e within an hour and a half, or faster.

    >>> power_belief()
    GaussianBelief(distance=1 kW, decay=90min, step=5min)
    """
    return GaussianBelief({"decay": "90min"}, distance=1.0, unit="kW", step=f"{MINUTES}min")


def simulate_power(seed: int = 20240601) -> "pl.DataFrame":
    """The power of three homes every five minutes for two weeks: a daily rhythm, and what deviates from it."""
    rng = np.random.default_rng(seed)
    steps = DAYS * STEPS_A_DAY
    hour = np.arange(steps) % STEPS_A_DAY * 24 / STEPS_A_DAY
    rhythm = 1.2 + 1.2 * np.exp(-((hour - 19.5) ** 2) / 6) + 0.6 * np.exp(-((hour - 7.5) ** 2) / 2)
    deviation = np.zeros((HOMES, steps))
    for share, minutes in MEMORIES:
        ratio = np.exp(-MINUTES / minutes)
        drawn = rng.standard_normal((HOMES, steps))
        for t in range(1, steps):
            drawn[:, t] = ratio * drawn[:, t - 1] + np.sqrt(1 - ratio**2) * drawn[:, t]
        deviation += np.sqrt(share) * drawn
    begin = np.datetime64("2024-06-03T00:00", "ms")
    minutes_from_start = np.tile(np.arange(steps) * MINUTES, HOMES)
    return pl.DataFrame(
        {
            "home": np.repeat([f"h{n + 1}" for n in range(HOMES)], steps),
            "time": begin + minutes_from_start.astype("timedelta64[m]"),
            "kw": (rhythm + 0.25 * deviation).ravel().round(2),
        }
    )


def power_path() -> Path:
    """Where the shipped measurements are."""
    return Path(str(files("quiltwork.samples"))) / "power.parquet"
