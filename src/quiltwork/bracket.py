"""The smallest noise scale whose loss is within ε, found from the safe side."""

import math
from collections.abc import Callable


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
        middle = guess if unsafe < guess < safe else math.sqrt(unsafe * safe)
        at = loss(middle)
        if at <= epsilon:
            safe, low_loss = middle, at
        else:
            unsafe, high_loss = middle, at
    return safe
