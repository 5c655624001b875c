"""How far noise may have moved a number."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from quiltwork.errors import ParameterError
from quiltwork.types import Floats, Noise

FINE = 200.0  # units to a standard deviation from which on steps no longer matter
FURTHEST = 40.0  # standard deviations
FINEST = 512.0  # units to a scale: laws of noise that keeps a total are computed on no finer lattice
WIDE = 64.0  # scales that such a lattice spans, times the root of how many numbers share the total
RARE = 1e-9  # below this the laws are lost in rounding


def noise_error(
    scale: float,
    confidence: float,
    *,
    unit: float = 1.0,
    integer: bool = True,
    numbers: int = 1,
    noise: Noise = "laplace",
) -> float:
    """The size that independent noise on each of ``numbers`` numbers stays within, all at once, with this probability.

    For discrete noise it is the smallest multiple of the unit for which that is true.

    >>> noise_error(10.0, 0.95), round(noise_error(10.0, 0.95, integer=False), 3)
    (30.0, 29.957)
    >>> noise_error(10.0, 0.95, noise="gaussian"), round(noise_error(10.0, 0.95, integer=False, noise="gaussian"), 3)
    (20.0, 19.6)
    """
    if not 0 < confidence < 1:
        raise ParameterError("confidence must be above 0 and below 1", got=str(confidence), why="it is a probability")
    if scale == 0:
        return 0.0
    # 1 - confidence^(1/n), without losing digits
    outside = -math.expm1(math.log(confidence) / numbers)
    if noise == "gaussian":
        return _gaussian_error(scale / unit, outside) * unit if integer else _normal_error(scale, outside)
    if not integer:
        return -scale * math.log(outside)
    # P(|Z| > m) = 2 α^(m+1) / (1 + α) with α = exp(-1/s), s in units
    s = scale / unit
    alpha = math.exp(-1 / s)
    exact = -s * math.log(outside * (1 + alpha) / 2) - 1
    return max(0, math.ceil(exact - 1e-9)) * unit


def answer_error(
    scale: float,
    confidence: float,
    *,
    numbers: int,
    totals: Sequence[int] = (),
    simultaneous: bool = False,
    unit: float = 1.0,
    integer: bool = True,
    noise: Noise = "laplace",
) -> float:
    """How far noise may move a number of an answer, with this probability; or all of its ``numbers`` at once.

    ``totals`` are the sizes of groups of numbers whose noise adds up to 0; the answer may be one number of such a
    group. Without ``simultaneous`` it is the error of the number that is moved the furthest.

    >>> [answer_error(100.0, 0.95, numbers=k, totals=[k], noise="laplace-total") for k in (2, 3, 4, 6, 10, 20)]
    [150.0, 191.0, 214.0, 240.0, 263.0, 281.0]
    >>> answer_error(100.0, 0.95, numbers=3, noise="laplace")
    300.0
    """
    alone = max(0, numbers - sum(totals))
    if noise == "laplace" or not totals or scale == 0:
        count = max(1, numbers) if simultaneous else 1
        return noise_error(scale, confidence, unit=unit, integer=integer, numbers=count, noise=noise)
    if not simultaneous or numbers < sum(totals):  # one number of a group
        each = [noise_error(scale, confidence, unit=unit, integer=integer, noise=noise)] if alone else []
        return max(*each, *(_one_of(scale, confidence, size, unit, noise) for size in set(totals)), 0.0)
    return _all_of(scale, confidence, alone, totals, unit, noise)


def _one_of(scale: float, confidence: float, size: int, unit: float, noise: Noise) -> float:
    """The error of one number of a group."""
    if noise == "gaussian":
        return _projected(scale, confidence, size, unit)
    if 1 - confidence < RARE:  # given the total noise is smaller than without it
        return noise_error(scale, confidence, unit=unit)
    steps, fine = _in_steps(scale, unit)
    beyond = _beyond(steps, size)
    return _in_numbers(int(np.argmax(beyond <= 1 - confidence)), fine, unit)


def _all_of(scale: float, confidence: float, alone: int, totals: Sequence[int], unit: float, noise: Noise) -> float:
    """The error of all numbers at once: of those in groups, and of those that have noise of their own."""
    count = alone + sum(totals)
    each = confidence ** (1 / count)
    if noise == "gaussian":  # by the inequality of Šidák, whatever the correlation
        own = [noise_error(scale, each, unit=unit, noise=noise)] if alone else []
        return max(*own, *(_projected(scale, each, size, unit) for size in set(totals)), 0.0)
    rare = (1 - confidence) / count
    if rare < RARE:
        return noise_error(scale, confidence, unit=unit, numbers=count)
    steps, fine = _in_steps(scale, unit)

    def holds(within: int) -> bool:
        logs = [_log_all_within(steps, size, within) for size in totals]
        own = -2 * math.exp(-(within + 1) / steps) / (1 + math.exp(-1 / steps))
        return math.fsum(logs) + alone * math.log1p(own) >= math.log(confidence)

    reach = [int(np.argmax(_beyond(steps, size) <= rare)) for size in set(totals)]
    most = max(*reach, int(noise_error(steps, 1 - rare)))
    return _in_numbers(_first(holds, most), fine, unit)


def _first(holds: Callable[[int], bool], most: int) -> int:
    """The smallest whole number for which something holds that does for the largest, and for all above it."""
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _projected(scale: float, confidence: float, size: int, unit: float) -> float:
    """Of Gaussian noise less its mean over a group; a unit more than the normal law says, for it is discrete."""
    return _normal_error(scale * math.sqrt(1 - 1 / size), 1 - confidence) + unit


def _in_steps(scale: float, unit: float) -> tuple[float, float]:
    """The scale on the lattice that is computed on, and how many units one step of it is."""
    exact = scale / unit
    return (exact, 1.0) if exact <= FINEST else (FINEST, exact / FINEST)


def _in_numbers(steps: int, fine: float, unit: float) -> float:
    return steps * unit if fine == 1 else math.ceil((steps + 1) * fine) * unit


@lru_cache(maxsize=64)
def _beyond(scale: float, size: int) -> Floats:
    """P(|z| > m) for one of ``size`` discrete Laplace noises that add up to 0; α^|z| times the law of the others' sum.

    That sum's law is found by its characteristic function, on a circle that it does not fill.
    """
    circle, alpha = _circle(scale, size), math.exp(-1 / scale)
    others = _characteristic(scale, circle) ** (size - 1)
    law = np.maximum(np.fft.irfft(others, circle), 0.0)[: circle // 2]
    with np.errstate(under="ignore"):
        law = law * alpha ** np.arange(len(law))
    law[1:] *= 2
    return np.asarray(np.append(np.cumsum(law[:0:-1])[::-1], 0.0) / law.sum())


@lru_cache(maxsize=4096)
def _log_all_within(scale: float, size: int, within: int) -> float:
    """log P(all |z| ≤ m) for noises that add up to 0."""
    circle = _circle(scale, size)
    ends = min(within, circle // 2 - 1)
    with np.errstate(under="ignore"):
        cut = math.exp(-1 / scale) ** np.arange(ends + 1)
    wrapped = np.zeros(circle)
    wrapped[: ends + 1] = cut
    wrapped[circle - ends :] = cut[:0:-1]
    total = wrapped.sum()
    kept, whole = (_at_zero(np.fft.rfft(wrapped).real / total, size), _at_zero(_characteristic(scale, circle), size))
    outside = 2 * math.exp(-(ends + 1) / scale) / (1 + math.exp(-1 / scale))  # of one noise by itself
    share = kept / whole * (1 - outside) ** size
    return math.log(share) if share > 0 else -math.inf


def _at_zero(characteristic: Floats, size: int) -> float:
    """The chance that independent noises add up to 0, from the law of one on a circle."""
    powers = characteristic**size
    return float(powers[0] + 2 * powers[1:-1].sum() + powers[-1]) / (2 * (len(powers) - 1))


def _circle(scale: float, size: int) -> int:
    return int(2 ** math.ceil(math.log2(WIDE * max(scale, 1.0) * math.sqrt(size))))


def _characteristic(scale: float, circle: int) -> Floats:
    """That of discrete Laplace noise, at the frequencies of a circle."""
    alpha = math.exp(-1 / scale)
    angles = 2 * math.pi * np.arange(circle // 2 + 1) / circle
    return np.asarray((1 - alpha) ** 2 / ((1 - alpha) ** 2 + 4 * alpha * np.sin(angles / 2) ** 2))


def _normal_error(scale: float, outside: float) -> float:
    return -scale * NormalDist().inv_cdf(max(outside / 2, 1e-300))


@lru_cache(maxsize=1024)
def _gaussian_error(scale: float, outside: float) -> int:
    """The smallest whole number that discrete Gaussian noise stays within; all in units."""
    if scale > FINE:
        return math.ceil(_normal_error(scale, outside))
    weights = np.exp(-(np.arange(math.ceil(FURTHEST * scale) + 1) ** 2) / (2 * scale**2))
    beyond = 2 * np.append(np.cumsum(weights[:0:-1])[::-1], 0.0)  # P(|Z| > m), before it is normalised
    return int(np.argmax(beyond <= outside * (weights[0] + beyond[0])))
