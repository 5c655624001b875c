"""The sampler matches its law."""

import math
from fractions import Fraction

import numpy as np
import pytest
from reference import tail
from scipy.stats import chi2

from quiltwork import InputError
from quiltwork.releases.noise import add_noise

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("scale", [0.7, 3.3])
def test_discrete_laplace_matches_its_law(scale: float) -> None:
    """Chi-square on 20,000 draws; a right sampler fails one run in a million."""
    draws = np.array([int(n) for n in add_noise(np.zeros(20_000, dtype=np.int64), scale=scale)])
    alpha = math.exp(-1 / scale)
    reach = int(4 * scale)
    cells = [len(draws) * (1 - alpha) / (1 + alpha) * alpha ** abs(z) for z in range(-reach, reach + 1)]
    counts = [int((draws == z).sum()) for z in range(-reach, reach + 1)]
    for side in (draws < -reach, draws > reach):
        cells.append(len(draws) * tail(scale, reach) / 2)
        counts.append(int(side.sum()))
    statistic = sum((c - e) ** 2 / e for c, e in zip(counts, cells, strict=True))
    assert chi2.sf(statistic, len(cells) - 1) > FALSE_ALARM


def test_float_noise_has_the_right_spread() -> None:
    draws = np.array([float(x) for x in add_noise(np.zeros(20_000), scale=2.0)])
    inside = float((np.abs(draws) <= 2.0 * math.log(2)).mean())
    assert abs(inside - 0.5) < 5 * 0.5 / math.sqrt(len(draws))  # five standard deviations
    assert not np.allclose(draws, np.round(draws))


def test_noise_lives_on_the_lattice() -> None:
    noisy = add_noise(np.array([4, 5]), scale=1.0, unit=Fraction(1, 4))
    assert all(isinstance(n, Fraction) and (n * 4).denominator == 1 for n in noisy)
    assert add_noise(np.array([7]), scale=0.0) == [7]
    for scale in (-1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="noise scale"):
            add_noise(np.array([1]), scale=scale)


@pytest.mark.parametrize("size", [2, 3])
def test_noise_that_keeps_totals_matches_its_law(size: int) -> None:
    """Each number of a group has the law of Laplace noise given that the group adds up to 0; chi-square as above."""
    scale, reach, groups = 1.5, 3, 6_000
    totals = [range(begin, begin + size) for begin in range(0, groups * size, size)]
    noisy = add_noise(np.zeros(groups * size, dtype=np.int64), scale=scale, noise="laplace-total", totals=totals)
    draws = np.array([int(n) for n in noisy]).reshape(groups, size)
    assert not draws.sum(axis=1).any()
    far = np.arange(-60, 61)
    free = np.meshgrid(*[far] * (size - 1), indexing="ij")
    law = np.exp(-(sum(map(np.abs, free)) + np.abs(sum(free))) / scale)
    marginal = law.reshape(len(far), -1).sum(axis=1) / law.sum()
    inside = np.abs(far) <= reach
    expected = groups * np.array([marginal[far < -reach].sum(), *marginal[inside], marginal[far > reach].sum()])
    for place in range(size):
        drawn = draws[:, place]
        inner = [(drawn == z).sum() for z in far[inside]]
        counts = np.array([(drawn < -reach).sum(), *inner, (drawn > reach).sum()])
        statistic = float(((counts - expected) ** 2 / expected).sum())
        assert chi2.sf(statistic, len(expected) - 1) > FALSE_ALARM
