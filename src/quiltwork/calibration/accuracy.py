"""How far noise may have moved a number."""

import math

from quiltwork.errors import ParameterError


def noise_error(scale: float, confidence: float, *, unit: float = 1.0, integer: bool = True, numbers: int = 1) -> float:
    """The size that the noise on each of ``numbers`` numbers stays within, all at once, with this probability.

    For discrete noise it is the smallest multiple of the unit for which that is true.

    >>> noise_error(10.0, 0.95), round(noise_error(10.0, 0.95, integer=False), 3)
    (30.0, 29.957)
    """
    if not 0 < confidence < 1:
        raise ParameterError("confidence must be above 0 and below 1", got=str(confidence), why="it is a probability")
    if scale == 0:
        return 0.0
    # 1 - confidence^(1/n), without losing digits
    outside = -math.expm1(math.log(confidence) / numbers)
    if not integer:
        return -scale * math.log(outside)
    # P(|Z| > m) = 2 α^(m+1) / (1 + α) with α = exp(-1/s), s in units
    s = scale / unit
    alpha = math.exp(-1 / s)
    exact = -s * math.log(outside * (1 + alpha) / 2) - 1
    return max(0, math.ceil(exact - 1e-9)) * unit
