"""Gaussian beliefs: the law given one value is the law given another, shifted (Statements 57 to 59).

With v_i,t = cov(X_t, X_i) / var(X_i), the law given X_i = a is the law given X_i = b shifted by (a - b) v_i. So an
answer Σ_t w_t x_t moves by (a - b) Σ_t w_t v_i,t, and ordinary differential privacy holds with x and x + (a - b) v_i
as neighbours, for every i: also where nothing was recorded.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from quiltwork.beliefs.correlation import Correlation, not_fading
from quiltwork.beliefs.gaussian import GaussianBelief
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import Losses
from quiltwork.numeric import float_above, round_up
from quiltwork.question.over_time import OverTime, Weights
from quiltwork.types import Floats, Guarantee, Integers

GRID = 2.0**-20  # of ε, at most, that rounding to a grid may cost a release
FADED = 1e-13  # of the largest weight: what is left of all correlations beyond the reach
FURTHEST = 2_000_000  # lags that are looked at; what lies beyond is added as a bound
MOST_WORK = 200_000_000  # runs times positions
MOST_BLOCKS = 100_000  # of a loss along time
ROUNDINGS = 2**16  # of sums over lags, by a wide margin: 1.5e-11


def largest_shift(correlation: Correlation, releases: Sequence[tuple[Weights, float]]) -> float:
    """max over i of Σ_k |Σ_t w_k,t ρ_|t-i|| f_k over all whole i, for weights w_k and factors f_k; rounded up.

    Of a class, each w_k,t and ρ counts by its size.

    >>> ar1 = Correlation((1.0,), ratio=0.9)
    >>> round(largest_shift(ar1, [(Weights.constant(1, 10**9), 1.0)]), 9), round(any_length(ar1), 9)
    (19.0, 19.0)
    """
    if correlation.at_most:
        releases = [(weights.sizes, factor) for weights, factor in releases]
    reach, tail = _reach(correlation)
    places = _places([weights for weights, _ in releases], reach)
    total = np.zeros(len(places))
    beyond = 0.0
    for weights, factor in releases:
        shift = _dense(correlation, weights, places, reach) if weights.listed is not None else None
        total += factor * np.abs(_runs(correlation, weights, places) if shift is None else shift)
        # at places that were not looked at, in the kernel's tail, and lost in differences of sums
        beyond += factor * weights.largest * (4 * tail + _lost(correlation, weights))
    most = sum(factor * weights.total for weights, factor in releases)  # no correlation is larger than 1
    return round_up(min(float(total.max()) + beyond, most), roundings=ROUNDINGS)


def query_shift(
    belief: GaussianBelief, asked: OverTime, length: int | None, *, by_size: bool, guarantee: Guarantee = "pufferfish"
) -> float:
    """How far the answer moves for a change of 1 at one time, at most, in series of this length (None: any).

    ``by_size`` if correlations count by their size: for several answers about one series, or gaps in it.
    """
    correlation = belief.correlation
    if guarantee == "bayesian":
        check_bayesian(belief)
    if by_size or not asked.linear or guarantee == "bayesian":
        correlation = correlation.sizes
    if length is not None:
        asked.check_values(length)
        return largest_shift(correlation, [(asked.weights(1, length), 1.0)])  # Statement 57
    if asked.placed:
        raise NotCoveredError(
            f"a {asked.adds} needs a length", got="any", why="its weights depend on it", fix="Give the length"
        )
    shift = any_length(correlation) * float_above(asked.largest)
    if math.isinf(shift):
        raise not_fading()
    return shift


def check_bayesian(belief: GaussianBelief) -> None:
    """Refuse adversaries who know other values where correlations given those are not known to be smaller."""
    correlation = belief.correlation
    if correlation.at_most or len(correlation.listed) > 1 or belief.between is not None:
        raise NotCoveredError(
            "a Bayesian guarantee needs a belief of kind gaussian with ar1 and independent subjects",
            got="other correlations" if belief.between is None else "correlated subjects",
            why="once other values are known, correlations between the rest may be larger than they were",
            fix="Use guarantee pufferfish, or an ar1 belief",
        )  # Statement 60


def seen_in_all(belief: GaussianBelief) -> float:
    """How much of a subject's value is seen in all subjects, as a multiple of what is seen in its own series."""
    return round_up(belief.factor)


def on_the_grid(epsilon: float) -> float:
    """What is left of ε for the shift: values are rounded to a grid, which may move an answer a little further."""
    return epsilon - _for_grid(epsilon) * (1 + 2.0**-6)  # Statement 59, and room for rounding


def _for_grid(epsilon: float) -> float:
    return min(GRID, epsilon / 2)


def grid_unit(noise_scale: float, epsilon: float, weight: float, *, error: float, finest: float) -> Fraction:
    """A power of two so small that rounding values, of this total weight, costs no more than was left for it.

    ``error`` is how far off a value may be before it is rounded, and ``finest`` the smallest unit in which sums are
    exact. Both are public, so that a refusal says nothing about the data.
    """
    left = noise_scale * _for_grid(epsilon) - 2 * weight * error
    wanted = left / (2 * weight + 2)  # Statement 59
    if not wanted >= 2 * finest:
        raise ParameterError(
            "epsilon is too large for exact sums",
            got=f"{epsilon:g}",
            why="the noise would be no larger than the rounding of numbers",
            fix="Use a smaller epsilon, or a narrower ramp",
        )
    return Fraction(2) ** math.floor(math.log2(wanted))


def any_length(correlation: Correlation) -> float:
    """The largest |ρ_|h|| sum over neighbouring lags: how far a sum over a series of any length moves, rounded up."""
    if np.isinf(correlation.total):
        return np.inf
    if not correlation.signed:
        return round_up(1 + 2 * correlation.total, roundings=ROUNDINGS)
    reach, tail = _reach(correlation)
    sums = correlation.summed(np.arange(reach + 1))
    high, low = float(sums.max()), float(sums.min())
    return round_up(max(abs(1 + 2 * high), abs(1 + 2 * low), high - low) + 2 * tail, roundings=ROUNDINGS)


def losses_along(correlation: Correlation, profile: Profile, *, extra: float = 0.0) -> Losses:
    """Σ_t |ρ_|t-i|| λ_t at every time i, for a profile of pairs that are the distance apart; ``extra`` is added.

    >>> half = np.array([[0.0, 0.5], [0.5, 0.0]])
    >>> asked = Profile.of([(half, (1, 1)), (half, (1001, 1001))], length=2000)
    >>> losses = losses_along(Correlation((1.0,), ratio=0.5), asked)
    >>> [round(losses.at(time), 6) for time in (1, 2, 500, 1001)]
    [0.5, 0.25, 0.0, 0.5]
    """
    sizes = correlation.sizes
    runs = [(s.first, s.last or s.first, float(s.matrix.max())) for s in profile.stretches]
    length = max(last for _, last, _ in runs)
    weights = Weights(runs=tuple(run for run in runs if run[2]))
    if not weights.runs:
        return Losses(np.array([1]), np.array([extra]), length, (0, 1), (0.0,))
    reach, tail = _reach(sizes)
    while len(weights.runs) ** 2 * reach * 4 > MOST_WORK and reach > 1 and length > MOST_WORK // 10:
        reach //= 2
        tail = sizes.tail(reach)
    places = _places([weights], reach)
    if len(places) * len(weights.runs) > MOST_WORK and length <= MOST_WORK // 10:
        seen = _dense(sizes, weights.spread(), places, reach)
    else:
        seen = _runs(sizes, weights, places)
    found = np.minimum(seen + (4 * tail + _lost(sizes, weights)) * weights.largest, weights.total)
    return _blocks(places, found * (1 + ROUNDINGS * 2.0**-52) + extra, length)


def _reach(correlation: Correlation) -> tuple[int, float]:
    """How many lags to look at, and the sum of all correlations beyond them."""
    if abs(correlation.ratio) == 1:
        return 1, 0.0  # the same everywhere, but for its sign
    reach = min(correlation.reach(FADED), FURTHEST)
    return reach, correlation.tail(reach)


def _places(weights: Sequence[Weights], reach: int) -> Integers:
    """All places near an end of some weights. Elsewhere the shift is as it is there, but for the tail."""
    spans = sorted((first - reach - 1, last + reach + 1) for w in weights for first, last in w.ends)
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return np.concatenate([np.arange(first, last + 1) for first, last in joined])


def _lost(correlation: Correlation, weights: Weights) -> float:
    """How much rounding may lose where sums over lags are subtracted from each other."""
    total = correlation.total
    return 0.0 if math.isinf(total) else len(weights.runs) * (1 + 2 * total) * 2.0**-46


def _runs(correlation: Correlation, weights: Weights, places: Integers) -> Floats:
    """Σ_t w_t ρ_|t-i| at some places i, for weights that are constant along runs."""
    shift = np.zeros(len(places))
    for first, last, weight in weights.runs:
        shift += weight * correlation.between(first - places, last - places)
    return shift


def _dense(correlation: Correlation, weights: Weights, places: Integers, reach: int) -> Floats:
    """The same for a list of weights, by fast Fourier transforms, with their error added in size."""
    from scipy.signal import oaconvolve

    assert weights.listed is not None  # noqa: S101 - the caller asked
    if abs(correlation.ratio) == 1:
        reach = len(weights.listed) + int(np.abs(places - weights.first).max())  # it does not fade
    kernel = correlation.at(np.arange(-reach, reach + 1))
    moved = oaconvolve(weights.listed, kernel)  # from place first - reach on
    error = 1e-14 * float(np.linalg.norm(weights.listed) * np.linalg.norm(kernel))
    at = places - (weights.first - reach)
    inside = (at >= 0) & (at < len(moved))
    shift = np.where(inside, moved[np.clip(at, 0, len(moved) - 1)], 0.0)
    return np.asarray(shift + np.where(shift < 0, -error, error))


def _blocks(places: Integers, found: Floats, length: int) -> Losses:
    """Losses block by block. Between places the loss is no more than at the places next to it."""
    inside = (places >= 1) & (places <= length)
    first, epsilon_at = places[inside], found[inside]
    for outside, end in ((places < 1, 0), (places > length, -1)):
        if outside.any() and len(first):  # values that were never recorded are hidden too
            epsilon_at[end] = max(epsilon_at[end], float(found[outside].max()))
    if not len(first):
        first, epsilon_at = np.array([1]), np.array([float(found.max())])
    jumps = np.flatnonzero(np.diff(first) > 1)
    if len(jumps):  # the blocks between
        middle = np.maximum(epsilon_at[jumps], epsilon_at[jumps + 1])
        first = np.insert(first, jumps + 1, first[jumps] + 1)
        epsilon_at = np.insert(epsilon_at, jumps + 1, middle)
    first = np.concatenate([[1], first]) if first[0] > 1 else first
    epsilon_at = np.concatenate([epsilon_at[:1], epsilon_at]) if len(epsilon_at) < len(first) else epsilon_at
    if len(first) > MOST_BLOCKS:
        width = -(-len(first) // MOST_BLOCKS)
        starts = np.arange(0, len(first), width)
        first, epsilon_at = first[starts], np.maximum.reduceat(epsilon_at, starts)
    n = int(np.argmax(epsilon_at))
    return Losses(first, epsilon_at, length, (0, 1), (float(epsilon_at[n]),))
