"""The graph under a transition matrix: who reaches whom, closed classes, period; and the stationary law.

Everything here is a pure function of the matrix. Zeros are structural: an entry is either exactly zero or positive.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.types import Flags, Floats

Table = Sequence[Sequence[float]] | NDArray[Any]
"""What people pass as a matrix: rows of numbers, whole ones included."""


def reachability(support: Flags) -> Flags:
    """Which state leads to which in zero or more steps, by squaring.

    >>> reachability(np.array([[False, True], [False, True]])).tolist()
    [[True, True], [False, True]]
    """
    reach = support | np.eye(len(support), dtype=bool)
    while True:
        # float products: numpy has no fast boolean matrix product
        wider = (reach.astype(np.float64) @ reach) > 0
        if np.array_equal(wider, reach):
            return reach
        reach = wider


def following(here: Flags, support: Flags) -> Flags:
    """The states that can come next, from those possible here.

    >>> following(np.array([True, False]), np.array([[False, True], [True, True]])).tolist()
    [False, True]
    """
    return np.asarray(support[here].any(axis=0))


def closed_classes(support: Flags) -> list[NDArray[np.intp]]:
    """The sets of states that the chain, once inside, never leaves; sorted by their first state.

    >>> [c.tolist() for c in closed_classes(np.array([[True, True], [False, True]]))]
    [[1]]
    """
    reach = reachability(support)
    mutual = reach & reach.T
    recurrent = np.all(~reach | reach.T, axis=1)
    classes = []
    seen = np.zeros(len(support), dtype=bool)
    for state in np.flatnonzero(recurrent):
        if not seen[state]:
            members = np.flatnonzero(mutual[state])
            seen[members] = True
            classes.append(members)
    return classes


def period(support: Flags) -> int:
    """The period of an irreducible chain: the greatest common divisor of its cycle lengths.

    >>> period(np.array([[False, True], [True, False]]))
    2
    """
    level = np.full(len(support), -1)
    level[0] = 0
    frontier = [0]
    while frontier:
        nxt = []
        for state in frontier:
            for successor in np.flatnonzero(support[state]):
                if level[successor] < 0:
                    level[successor] = level[state] + 1
                    nxt.append(int(successor))
        frontier = nxt
    source, target = np.nonzero(support)
    return math.gcd(*(int(d) for d in level[source] + 1 - level[target]))


def stationary_law(transition: Floats) -> Floats:
    """The stationary law of an irreducible chain by state reduction (Grassmann, Taksar, Heyman).

    It never subtracts, so every entry, however small, is accurate to a relative error of about 2 k^3 roundings. Entries
    too small for a float become 0.

    >>> stationary_law(np.array([[0.9, 0.1], [0.4, 0.6]])).round(12).tolist()
    [0.8, 0.2]
    """
    A = transition.copy()
    k = len(A)
    for n in range(k - 1, 0, -1):
        A[:n, n] /= A[n, :n].sum()
        A[:n, :n] += np.outer(A[:n, n], A[n, :n])
    law = np.zeros(k)
    law[0] = 1.0
    for n in range(1, k):
        law[n] = law[:n] @ A[:n, n]
        if law[n] > 1e100:  # weights grow without bound where the first states are rare
            law[: n + 1] /= law[n]
    return np.asarray(law / law.sum())
