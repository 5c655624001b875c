"""Rounding towards more noise."""

import math
from fractions import Fraction


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
