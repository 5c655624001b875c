"""The smallest Laplace scale whose exact loss is within ε: the yardstick for every mechanism."""

import math
from collections.abc import Callable

import numpy as np

from quiltwork.audit.auditor import Noisy, scales_in_units, secret_laws
from quiltwork.audit.loss import Lattice, losses, rounding_error
from quiltwork.beliefs import Belief, ChainSet
from quiltwork.laws import Asked, Progress
from quiltwork.queries import Query

TOLERANCE = 1e-9


def smallest_scale(
    query: Query,
    *,
    belief: Belief,
    epsilon: float,
    length: int | None,
    progress: Progress | None = None,
) -> float:
    """The smallest scale of Laplace noise on each number of the answer whose exact loss is at most ε, rounded up.

    Laplace noise of a larger scale is Laplace noise of a smaller one plus independent noise, so the loss falls with the
    scale and bisection finds the smallest; the safe end is returned.

    >>> from quiltwork import Count, MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> round(smallest_scale(Count("1"), belief=chain, epsilon=1.0, length=100), 4)
    3.3364
    """
    members = belief.members if isinstance(belief, ChainSet) else (belief,)
    return max(_smallest(query, m, epsilon, length, progress) for m in members)


def _smallest(query: Query, belief: Belief, epsilon: float, length: int | None, progress: Progress | None) -> float:
    laws = secret_laws(belief, [Asked(query)], length, progress=progress)
    lattice = Lattice(laws)
    units = scales_in_units(belief, [Noisy(query, 1.0)], length)

    def loss(scale: float) -> float:
        scales = units * scale
        return max(n.loss for n in losses(laws, lattice, scales)) + rounding_error(laws, lattice, scales)

    reach = float((np.array(lattice.shape) - 1).sum() / units[0])
    if reach == 0 or all(int(row.sum()) < 2 for row in laws.possible):
        return 0.0
    return _smallest_within(loss, epsilon, reach / epsilon)


def _smallest_within(loss: Callable[[float], float], epsilon: float, enough: float) -> float:
    """The safe end of a bracket of relative width ``TOLERANCE`` around the scale where the loss is ε.

    Straight lines through the ends on logarithmic axes, where the loss is nearly one; half the interval if they stall.
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
    while safe / unsafe > 1 + TOLERANCE:
        tries += 1
        slope = math.log(high_loss / low_loss) / math.log(unsafe / safe) if low_loss > 0 else 0.0
        guess = safe * math.exp(math.log(epsilon / low_loss) / slope) if slope < 0 and tries % 4 else 0.0
        # a step beyond the guess, to both sides in turn, so that the bracket closes
        guess *= 1 + (TOLERANCE / 3 if tries % 2 else -TOLERANCE / 3)
        middle = guess if unsafe < guess < safe else math.sqrt(unsafe * safe)
        at = loss(middle)
        if at <= epsilon:
            safe, low_loss = middle, at
        else:
            unsafe, high_loss = middle, at
    return safe
