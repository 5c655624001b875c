"""Real values: what noise costs to find, what exact sums cost, and how Gaussian beliefs compare with levels."""

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from quiltwork import GaussianBelief, calibrate, fit_chain, read_measurements, read_series
from quiltwork.beliefs.correlation import Correlation
from quiltwork.influence.shift import largest_shift
from quiltwork.question.over_time import Weights

Row = dict[str, Any]


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def shifts_of_long_weights() -> Row:
    """Correlations .999^h: 10,000 weights by Fourier transforms and by plain products; runs in a series of 10^7."""
    correlation = Correlation((1.0,), ratio=0.999)
    weights = np.random.default_rng(0).normal(size=10_000)
    listed = Weights(listed=weights, first=5_000_000)
    largest_shift(correlation, [(listed, 1.0)])
    fast, found = _timed(lambda: largest_shift(correlation, [(listed, 1.0)]))

    def plain() -> float:
        positions = np.arange(len(weights))
        return max(abs(float(weights @ correlation.at(positions - i))) for i in range(len(weights)))

    slow, exact = _timed(plain)
    runs, _ = _timed(lambda: largest_shift(correlation, [(Weights.constant(1, 10**7), 1.0)]))
    return {
        "fourier_seconds": fast,
        "plain_seconds": slow,
        "ratio": slow / fast,
        "fourier_shift": found,
        "plain_shift": exact,
        "runs_of_ten_million_seconds": runs,
        "target": "below 1 s",
    }


def exact_sums() -> Row:
    """The sum of 10^7 values on a grid, exactly, and as polars adds up floats; both from a table in memory."""
    values = np.random.default_rng(1).normal(size=10_000_000)
    frame = pl.DataFrame({"x": values})
    series = read_measurements(frame, column="x")
    exact, added = _timed(lambda: series.added(unit=Fraction(1, 2**40)))
    plain, total = _timed(lambda: frame.lazy().select(pl.col("x").sum()).collect().item())
    apart = abs(float(added[""].total * Fraction(1, 2**40)) - total)
    return {"exact_seconds": exact, "polars_seconds": plain, "ratio": exact / plain, "difference": apart}


def levels_against_gaussian() -> Row:
    """Noise of the mean, ε = 1: AR(1) .95 with spread 1; ten levels and their chain, against a Gaussian belief."""
    belief = GaussianBelief({"ar1": 0.95}, distance=1.0)
    values = belief.numbers(20_000, 1, np.random.default_rng(2))[0]
    frame = pl.DataFrame({"x": values})
    levels = read_series(frame, column="x", states=None, bins="-2.5:2.5:10")
    chain = fit_chain(levels, initial="stationary").chain
    seconds, binned = _timed(lambda: calibrate("mean", belief=chain, epsilon=1.0, length=20_000).noise_scale / 20_000)
    fast, gaussian = _timed(lambda: calibrate("mean", belief=belief, epsilon=1.0, length=20_000).noise_scale / 20_000)
    wide = calibrate("mean", belief=belief.with_distance(4.5), epsilon=1.0, length=20_000).noise_scale / 20_000
    return {
        "levels_noise": binned,
        "gaussian_noise": gaussian,
        "gaussian_noise_all_levels_hidden": wide,
        "ratio": binned / gaussian,
        "levels_seconds": seconds,
        "gaussian_seconds": fast,
    }
