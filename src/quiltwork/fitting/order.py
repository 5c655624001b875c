"""A chain of higher order fitted to public data."""

import numpy as np

from quiltwork.beliefs.hidden import MOST_PHASES, OrderChain
from quiltwork.data.series import Countable
from quiltwork.errors import DataError, ParameterError
from quiltwork.types import Floats

PRIOR = 1.0  # values that a shorter memory counts as, for a sequence that was hardly seen


def fit_order(series: Countable, *, order: int) -> OrderChain:
    """The chain in which a value depends on the last ``order`` values.

    A sequence that was seen n times weighs n against 1 for what a memory shorter by one value says: sequences that
    were not seen are followed as their later part is.

    >>> from quiltwork import Series
    >>> walks = Series.from_values([*"aabbaabbaabbaabba"], states=["a", "b"])
    >>> fit_order(walks, order=2).rows.round(1).tolist()             # after aa, ab, ba and bb
    [[0.1, 0.9], [0.1, 0.9], [0.9, 0.1], [0.9, 0.1]]
    """
    k = len(series.states)
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ParameterError("order must be a whole number, at least 1", got=repr(order), why="it counts values")
    if k**order > MOST_PHASES:
        raise ParameterError(
            f"{k} states with order {order} have more than {MOST_PHASES:,} sequences",
            got=f"{k**order:,}",
            why="every two of them are compared",
            fix="Use a smaller order, or fewer states",
        )
    if not any(len(stretch) > order for stretch in series.stretches):
        raise DataError(f"order {order} needs a stretch of more than {order} values", got="shorter ones only")
    rows = np.full((1, k), 1 / k)
    for length in range(order + 1):
        counts = _followed(series, length)
        shorter = np.tile(rows, (len(counts) // len(rows), 1))  # the same sequence without its first value
        rows = (counts + PRIOR * shorter) / (counts.sum(axis=1, keepdims=True) + PRIOR)
    return OrderChain(rows / rows.sum(axis=1, keepdims=True), order=order, initial="stationary", states=series.states)


def _followed(series: Countable, length: int) -> Floats:
    """How often each sequence of that many values is followed by each state."""
    k = len(series.states)
    counts = np.zeros((k**length, k))
    for stretch in series.stretches:
        if len(stretch) <= length:
            continue
        sequence = np.zeros(len(stretch) - length, dtype=np.int64)
        for n in range(length):
            sequence = sequence * k + stretch[n : len(stretch) - length + n]
        np.add.at(counts, (sequence, stretch[length:]), 1.0)
    return counts
