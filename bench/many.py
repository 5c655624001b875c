"""Many releases: the noise of each of K within one (ε, δ), by every way to add them up."""

import math
from typing import Any

from scipy.optimize import brentq, minimize_scalar

from quiltwork import MarkovChain, plan
from quiltwork.beliefs import Belief
from quiltwork.calibration.accuracy import noise_error
from quiltwork.question import bind
from quiltwork.samples import diary_belief

Row = dict[str, Any]
EPSILON, DELTA = 1.0, 1e-6
RELEASES = (1, 10, 100, 1000)
NAMES = {
    "Laplace by sums": "laplace_by_sums",
    "Laplace by squares": "laplace_by_squares",
    "Gaussian by squares": "gaussian_by_squares",
}
CASES: dict[str, tuple[Belief, str, int]] = {
    "two_states_count": (MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary"), "count:1", 1000),
    "diary_count": (diary_belief(), "count:sleep", 2688),
    "diary_histogram": (diary_belief(), "histogram", 2688),
}


def shift_of_a_pair(epsilon: float, delta: float) -> float:
    """The largest m for which m²/2-zero-concentrated noise is (ε, δ)-private for one pair of data sets."""

    def log_delta(m: float) -> float:
        def at(log_order: float) -> float:
            a = 1 + math.exp(log_order)
            return (a - 1) * (a * m * m / 2 - epsilon) + (a - 1) * math.log1p(-1 / a) - math.log(a)

        return float(minimize_scalar(at, bounds=(-8, 16), method="bounded", options={"xatol": 1e-10}).fun)

    return float(brentq(lambda m: log_delta(m) - math.log(delta), 1e-6, 50.0))


def noise_of_each(belief: Belief, query: str, length: int, releases: int) -> dict[str, tuple[float, float]]:
    """Noise scale, and the ± of each number with probability 95 %, by each way."""
    asked: dict[str, Any] = {"belief": belief, "epsilon": EPSILON, "length": length, "releases": releases}
    made = plan(query, **asked, delta=DELTA, mechanisms=["curve"], advice=False)
    found = {NAMES[way.name]: (way.noise_scale, way.error_95) for way in made.ways}
    (quilts,) = plan(query, **asked, mechanisms=["quilt-exact"], advice=False).offers
    if quilts.noise_scale is not None and quilts.error_95 is not None:
        found["quilts_by_theorem_3_7"] = quilts.noise_scale, quilts.error_95
    changes = bind(query, belief).table(2)
    change = max(float(matrix.max()) for matrix in changes)
    sigma = change * length * math.sqrt(releases) / shift_of_a_pair(EPSILON, DELTA)
    found["group_with_zcdp"] = sigma, noise_error(sigma, 0.95, unit=1.0, integer=True, noise="gaussian")
    return found


def many_releases() -> Row:
    """K releases within ε = 1, δ = 1e-6: noise of each and its ±95 %, by each way; quilts; group privacy with zCDP."""
    row: Row = {}
    for name, (belief, query, length) in CASES.items():
        for count in RELEASES:
            for way, (scale, error) in noise_of_each(belief, query, length, count).items():
                row |= {f"{name}_{way}_{count}": scale, f"{name}_{way}_{count}_error_95": error}
    return row | {"target": "Gaussian noise grows as the square root; least of all from about 10 releases on"}
