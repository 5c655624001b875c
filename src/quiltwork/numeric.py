"""Numbers: rounding towards more noise, brackets around a root, and checks of what users give."""

import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np

from quiltwork.errors import ParameterError
from quiltwork.types import Floats, Progress

SMALLEST_DELTA, LARGEST_DELTA = 1e-200, 0.5


def round_up(number: float, *, roundings: int = 8) -> float:
    """The number, enlarged by more than the error of that many roundings.

    >>> round_up(1.0) > 1.0, round_up(0.0)
    (True, 0.0)
    """
    return number * (1.0 + roundings * 2.0**-52) if math.isfinite(number) else number


def float_above(number: Fraction) -> float:
    """The smallest float that is not below the number.

    >>> Fraction(float_above(Fraction(1, 10))) >= Fraction(1, 10)
    True
    """
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def smallest_within(loss: Callable[[float], float], epsilon: float, enough: float, *, precision: float) -> float:
    """The safe end of a bracket of this relative width around the scale where the loss is ε.

    The loss falls with the scale, and ``enough`` is known to be enough. Straight lines through the ends on logarithmic
    axes, where the loss is nearly one; half the interval if they stall. 0 if no noise is needed at all.

    >>> round(smallest_within(lambda scale: 3 / scale, 1.0, 100.0, precision=1e-9), 6)
    3.0
    """
    safe = unsafe = enough * (1 + 1e-12)  # group privacy
    low_loss = high_loss = loss(safe)
    while high_loss <= epsilon:
        safe, low_loss = unsafe, high_loss
        unsafe /= 4
        if unsafe < enough * 1e-12:
            return 0.0  # the answer tells nothing, with or without noise
        high_loss = loss(unsafe)
    tries = 0
    while safe / unsafe > 1 + precision:
        tries += 1
        slope = math.log(high_loss / low_loss) / math.log(unsafe / safe) if low_loss > 0 else 0.0
        guess = safe * math.exp(math.log(epsilon / low_loss) / slope) if slope < 0 and tries % 4 else 0.0
        # a step beyond the guess, to both sides in turn, so that the bracket closes
        guess *= 1 + (precision / 3 if tries % 2 else -precision / 3)
        middle = guess if unsafe < guess < safe else math.sqrt(unsafe) * math.sqrt(safe)
        at = loss(middle)
        if at <= epsilon:
            safe, low_loss = middle, at
        else:
            unsafe, high_loss = middle, at
    return safe


def sum_of(numbers: Iterable[float]) -> float:
    """The exact sum of numbers that are not negative, rounded once; infinite where it is too large.

    >>> sum_of([1e308, 1e308]), sum_of([0.1] * 10)
    (inf, 1.0)
    """
    try:
        return math.fsum(numbers)
    except OverflowError:
        return math.inf


def add_up(a: Floats, b: Floats) -> Floats:
    """a + b, rounded up: the smallest float that is not below the exact sum.

    >>> float(add_up(np.array(1.0), np.array(5e-324))) > 1.0
    True
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = a + b
        part = total - a
        short = (a - (total - part)) + (b - part) > 0  # exact, by Knuth
    if not np.isfinite(total).all():
        raise ParameterError("the sum of profiles must be finite", got="infinity")
    return np.asarray(np.where(short, np.nextafter(total, np.inf), total) if short.any() else total)


def add_floats(a: float, b: float) -> float:
    """a + b for two numbers, rounded up in the same way.

    >>> add_floats(1.0, 1e-300) > 1.0
    True
    """
    total = a + b
    part = total - a
    short = (a - (total - part)) + (b - part) > 0
    return math.nextafter(total, math.inf) if short else total


def check_epsilon(epsilon: float) -> float:
    """A usable ε, or an error that says why not."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not (1e-100 <= epsilon < math.inf):
        raise ParameterError(
            "epsilon must be a positive, finite number, at least 1e-100",
            got=repr(epsilon),
            why="it bounds the privacy loss for any one moment",
            fix="Values between 0.1 and 5 are common",
        )
    return float(epsilon)


def check_delta(delta: float) -> float:
    """A usable δ above 0, or an error that says why not."""
    number = isinstance(delta, int | float) and not isinstance(delta, bool)
    if not number or not SMALLEST_DELTA <= delta <= LARGEST_DELTA:
        raise ParameterError(
            f"delta must be from {SMALLEST_DELTA:g} to {LARGEST_DELTA:g}",
            got=repr(delta)[:40],
            why="it is by how much probabilities may exceed what ε allows for",
            fix="1e-6 is usual; it should be far below 1 / (number of people)",
        )
    return float(delta)


def check_length(length: int | str | None) -> int | None:
    """A usable length (None: any), or an error that says why not."""
    if length is None or length == "any":
        return None
    if isinstance(length, bool) or not isinstance(length, int) or not (1 <= length <= 10**15):
        raise ParameterError(
            "length must be a whole number from 1 to 10^15, or any",
            got=str(length),
            why="it is the number of values of the longest series",
            fix="Count the values of the longest series, or use any",
        )
    return length


def in_threads(
    work: Callable[[slice], None], count: int, progress: Progress | None = None, *, pieces: int = 64
) -> None:
    """Do compiled work on a number of things, a few at a time on every core."""
    few = max(1, -(-count // pieces))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        begun = range(0, count, few)
        for n, _ in enumerate(pool.map(lambda first: work(slice(first, first + few)), begun), 1):
            if progress is not None:
                progress(n / len(begun))
