"""An adversary's guesses: the computation against brute force, and success against what is promised."""

import itertools
import math

import numpy as np
import pytest

from quiltwork import MarkovChain
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
from quiltwork.papers.attack import DAY, HOUR, HOURS, ONE, attack, noise_of, slow_home
from quiltwork.papers.base import Effort, Found
from quiltwork.papers.guessing import HourlyCounts, best_success, laplace_distance, success_from_count

EPSILONS = (0.1, 0.3, 1.0, 2.0, 3.0)


@pytest.fixture(scope="module")
def found() -> Found:
    return attack(Effort(quick=True))


def test_the_distance_is_that_of_a_fine_grid() -> None:
    chance = np.random.default_rng(3)
    points = np.cumsum(chance.integers(1, 4, size=7)).astype(float)
    weights = chance.dirichlet(np.ones(7)) - chance.dirichlet(np.ones(7))
    for scale in (0.2, 1.0, 8.0):
        ends = points[0] - 40 * scale, points[-1] + 40 * scale
        grid = np.linspace(*ends, 400_001)
        density = (weights * np.exp(-np.abs(grid[:, None] - points) / scale)).sum(axis=1) / (2 * scale)
        plain = np.abs(density).sum() * (grid[1] - grid[0]) / 2
        assert laplace_distance(points, weights, scale) == pytest.approx(plain, rel=1e-4)
    assert laplace_distance(points, 0 * weights, 1.0) == 0.0


def test_independent_values_are_guessed_as_ordinary_privacy_says() -> None:
    coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    for epsilon in EPSILONS:
        alone = success_from_count(coin, 1, 1 / epsilon)
        assert alone[0] == pytest.approx(1 - math.exp(-epsilon / 2) / 2)
        assert (success_from_count(coin, 5, 1 / epsilon) <= best_success(epsilon)).all()


@pytest.mark.parametrize("scale", [0.3, 2.0, 50.0])
@pytest.mark.parametrize("table", [[[0.9, 0.1], [0.3, 0.7]], [[0.8, 0.1, 0.1], [0.3, 0.7, 0.0], [0.2, 0.2, 0.6]]])
def test_the_posterior_is_that_of_all_series(scale: float, table: list[list[float]]) -> None:
    chain = MarkovChain(table, initial="stationary")
    noisy = np.array([[2.2, -0.4, 1.1], [0.3, 1.9, 2.6]])
    told = HourlyCounts(chain, width=2, state=1).posterior(noisy, noise_scale=scale)
    for counts, row in zip(noisy, told, strict=True):
        weights, ones = 0.0, np.zeros(6)
        for values in itertools.product(range(len(table)), repeat=6):
            chance = float(chain.stationary[values[0]])
            for before, after in itertools.pairwise(values):
                chance *= float(chain.transition[before, after])
            counted = np.array(values) == 1
            sums = counted.reshape(3, 2).sum(axis=1)
            chance *= math.exp(-np.abs(counts - sums).sum() / scale)
            weights += chance
            ones += chance * counted
        assert row == pytest.approx(ones / weights)


def test_the_promise_holds_for_every_minute_and_every_output() -> None:
    chain = slow_home()
    counted, chance = HourlyCounts(chain, HOUR, 1), np.random.default_rng(1)
    for epsilon in EPSILONS:
        bound = best_success(epsilon) + 1e-9
        one = success_from_count(chain, HOUR, noise_of(chain, "curve", epsilon, HOUR))
        assert one.max() <= bound
        scale = noise_of(chain, "curve", epsilon, HOUR * HOURS)
        profile = Profile.constant((1 - np.eye(2)) / scale, length=HOUR * HOURS)  # hourly counts, all of them
        assert loss_along_time(chain, profile).epsilon <= epsilon * (1 + 1e-9)
        extremes = chance.choice([-1e4, 0.0, 30.0, 60.0, 1e4], size=(60, HOURS))
        extremes[0], extremes[1] = 1e4, -1e4
        told = counted.posterior(extremes, noise_scale=scale)
        assert told.max() <= bound
        assert 1 - told.min() <= bound


def test_ours_is_below_the_promise_and_ordinary_noise_above(found: Found) -> None:
    assert {(row["release"], row["mechanism"]) for row in found.rows} == {
        (release, mechanism) for release in (ONE, DAY) for mechanism in ("entry", "curve")
    }
    for row in found.rows:
        promised = row["bound"]
        assert promised == pytest.approx(math.exp(row["epsilon"]) / (1 + math.exp(row["epsilon"])))
        assert row["advantage"] == pytest.approx(2 * row["success"] - 1)
        if row["mechanism"] == "curve":
            assert row["success"] <= promised
            assert row["log odds"] <= row["epsilon"] + 1e-9
        else:
            assert row["success"] > promised
            assert row["log odds"] > row["epsilon"]
    day = [row for row in found.rows if row["release"] == DAY]
    assert all(abs(row["guessed right"] - row["success"]) < 0.06 for row in day)  # the posterior is calibrated


def test_entry_noise_is_what_opendp_adds() -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    for epsilon in (0.2, 1.0, 3.0):
        scale = noise_of(slow_home(), "entry", epsilon, HOUR)
        space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
        laplace = dp.m.make_laplace(*space, scale=scale)
        assert laplace.map(1) == pytest.approx(epsilon)  # a count that one record changes by 1
    assert noise_of(slow_home(), "entry", 1.0, HOUR) == pytest.approx(1.0)
