"""The influence curve at every scale: slow chains, many states, long memories."""

import json
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np
from chains import band_chain, slow_band, slow_rows
from numpy.typing import NDArray

from quiltwork import MarkovChain, calibrate
from quiltwork.auditor import smallest_scale
from quiltwork.influence.curve.constant import InfluenceCurve
from quiltwork.influence.curve.ratios import AnyPast
from quiltwork.numeric import smallest_within
from quiltwork.question import bind
from quiltwork.samples import diary_belief

Row = dict[str, Any]


def warm_up() -> None:
    """Compile everything once."""
    calibrate("histogram", belief=MarkovChain(slow_band(30), initial="stationary"), epsilon=1.0)


def timed(query: str, P: NDArray[np.float64], mechanism: str) -> tuple[float, float]:
    """Noise, and seconds."""
    chain, begun = MarkovChain(P, initial="stationary"), time.perf_counter()
    scale = calibrate(query, belief=chain, epsilon=1.0, mechanism=mechanism).noise_scale
    return scale, time.perf_counter() - begun


def curve_at_every_scale() -> Row:
    """ε = 1, stationary: slow bands of 25 and 51 states, slow random rows, 100 states; curve and exact quilts."""
    warm_up()
    rng = np.random.default_rng(0)
    cases = {
        "band_25": ("histogram", slow_band(25)),
        "band_51": ("histogram", slow_band(51)),
        "slow_rows_27": ("histogram", slow_rows(27, 0.003, rng)),
        "slow_rows_12": ("histogram", slow_rows(12, 0.003, rng)),
        "rows_100": ("count:0", slow_rows(100, 1.0, rng)),
    }
    row: Row = {}
    for name, (query, P) in cases.items():
        curve, curve_seconds = timed(query, P, "curve")
        quilts, quilts_seconds = timed(query, P, "quilt-exact")
        row |= {f"{name}_curve": curve, f"{name}_curve_seconds": curve_seconds}
        row |= {f"{name}_quilts": quilts, f"{name}_quilts_seconds": quilts_seconds, f"{name}_ratio": curve / quilts}
    return row | {"target": "band at most 1,220 and 4,750; 51 states below 3 s"}


def any_start_at_every_scale() -> Row:
    """ε = 1: any start by bridges and by cross-ratios alone, a start known for certain, stationary; noise, seconds."""
    warm_up()
    cases = {
        "diary": ("histogram", diary_belief().transition),
        "slow_rows_12": ("histogram", slow_rows(12, 0.003, np.random.default_rng(0))),
        "band_25_count": ("count:0", band_chain(25)),
        "band_51_count": ("count:0", band_chain(51)),
    }
    row: Row = {}
    for name, (query, P) in cases.items():
        certain = np.eye(len(P))[len(P) // 2]
        for start, initial in (("any", "any"), ("stationary", "stationary"), ("certain", certain)):
            begun = time.perf_counter()
            found = calibrate(query, belief=MarkovChain(P, initial=initial), epsilon=1.0, mechanism="curve")
            row |= {f"{name}_{start}": found.noise_scale, f"{name}_{start}_seconds": time.perf_counter() - begun}
        row[f"{name}_cross_ratios"] = by_cross_ratios(query, P)
        row[f"{name}_ratio"] = row[f"{name}_any"] / row[f"{name}_cross_ratios"]
    return row | {"target": "diary at most 112; within 10 % of stationary where the chain mixes within the series"}


def by_cross_ratios(query: str, P: NDArray[np.float64]) -> float:
    """The noise for any start from cross-ratios alone."""
    chain = MarkovChain(P)
    curve, (sensitivity,) = InfluenceCurve(chain), bind(query, chain).table()
    curve.past = AnyPast(P)
    quilts = calibrate(query, belief=chain, epsilon=1.0, mechanism="quilt-exact").noise_scale
    return min(
        quilts, smallest_within(lambda scale: curve.at(sensitivity / scale).epsilon, 1.0, quilts, precision=1e-3)
    )


def curve_on_slow_chains() -> Row:
    """60 random slow chains of 3 to 20 states, ε = 1, stationary: curve ÷ quilts, and ÷ audited where that is small."""
    warm_up()
    rng = np.random.default_rng(21)
    to_quilts: dict[str, list[float]] = {"count:0": [], "histogram": []}
    to_audited = []
    for n in range(60):
        P = slow_rows(int(rng.integers(3, 21)), float(10 ** rng.uniform(-3, -0.5)), rng)
        for query, ratios in to_quilts.items():
            ratios.append(timed(query, P, "curve")[0] / timed(query, P, "quilt-exact")[0])
        if n % 3 == 0:
            chain = MarkovChain(slow_rows(int(rng.integers(3, 5)), 0.1, rng), initial="stationary")
            curve = calibrate("count:0", belief=chain, epsilon=1.0, length=300, mechanism="curve").noise_scale
            to_audited.append(curve / smallest_scale("count:0", belief=chain, epsilon=1.0, length=300))
    row: Row = {}
    for query, ratios in to_quilts.items():
        name = query.partition(":")[0]
        row |= {f"{name}_median_ratio": statistics.median(ratios), f"{name}_largest_ratio": max(ratios)}
    row |= {"median_ratio_to_audited": statistics.median(to_audited), "largest_ratio_to_audited": max(to_audited)}
    return row | {"target": "no chain above quilts"}


def curve_against_states() -> Row:
    """Histogram, ε = 1, stationary: seconds for slow bands and for random rows of 10 to 400 states."""
    warm_up()
    rng = np.random.default_rng(3)
    row: Row = {}
    for k in (10, 25, 51, 100, 200, 400):
        row[f"band_{k}_seconds"] = timed("histogram", slow_band(k), "curve")[1]
        row[f"rows_{k}_seconds"] = timed("histogram", slow_rows(k, 1.0, rng), "curve")[1]
    return row | {"target": "51 states below 3 s, 200 below 20 s"}


def curve_against_memory_length() -> Row:
    """12 states, histogram, ε = 1, stationary: seconds for chains that forget within 10 to 100,000 steps."""
    warm_up()
    rng = np.random.default_rng(4)
    rows = slow_rows(12, 1.0, rng)
    row: Row = {}
    for steps in (10, 100, 1_000, 10_000, 100_000):
        P = (1 - 1 / steps) * np.eye(12) + rows / steps
        scale, row[f"steps_{steps}_seconds"] = timed("histogram", P, "curve")
        row[f"steps_{steps}_scale_by_steps"] = scale / steps
    return row | {"target": "no growth with the number of steps"}


def memory_of_a_thousand_states() -> Row:
    """Count on 1,000 states with random rows, ε = 1, stationary, in a process of its own: noise, seconds, memory."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, check=True)  # noqa: S603 - our own file
    scale, took, memory = json.loads(done.stdout)
    return {"curve": scale, "seconds": took, "most_memory_mib": memory, "target": "below 2,048 MiB"}


if __name__ == "__main__":
    many = timed("count:0", slow_rows(1000, 1.0, np.random.default_rng(5)), "curve")
    print(json.dumps([*many, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10]))
