"""Max-influence of one chain by distance: the tables F and G of Statement 3.

    right   F_b[x,x'] = max_y log P^b[x,y] / P^b[x',y]
    left    G_a[x,x'] = max_z log P^a[z,x] / P^a[z,x']        z in a given set of states

Both fall with distance (data processing), so it is sound to know them only at some distances: every distance up to
``dense``, then ever wider steps. Each entry is rounded up by a bound on the error of the matrix powers, which involve
no subtraction. Zeros are tracked structurally; an entry too small to trust counts as zero where that adds noise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from quiltwork.influence.quilts.kernels import INFINITE, largest_ratios
from quiltwork.types import Flags, Floats

UNIT_ROUNDOFF = 2.0**-53
LARGEST_LOG = 323.0  # of a trusted ratio
FURTHEST = 2**50
LAYOUT: Final = ("C", "W")  # other layouts, and read-only arrays, would each be compiled for once more
STEPS_PER_FOLD = 128  # beyond the dense part, distances grow by one part in this many


def dense_limit(states: int) -> int:
    """Up to which distance every single one is tabulated, so that tables stay within about 100 MB."""
    return max(64, min(4096, 2**22 // states**2))


def next_distance(distance: int, dense: int) -> int:
    """The distance that follows in the tables."""
    return distance + (1 if distance < dense else -(-distance // STEPS_PER_FOLD))


class Tables(Protocol):
    """Influence by distance, over pairs of states (one pair, where influence is bounded for all at once)."""

    distances: NDArray[np.int64]

    def extend(self, distance: int) -> None:
        """Tabulate up to the first distance that is not below this one."""

    def right(self, count: int) -> Floats:
        """Influence on the node to the right, shape (count, pairs)."""

    def left(self, count: int, sources: Flags | None) -> Floats:
        """Influence on the node to the left without the prior's part, shape (count, pairs)."""


class ChainTables:
    """F and G of one transition matrix, grown on demand.

    >>> tables = ChainTables(np.array([[0.9, 0.1], [0.4, 0.6]]))
    >>> tables.extend(2)
    >>> np.exp(tables.right(1)).reshape(2, 2).round(6).tolist()     # rows .9 .1 and .4 .6
    [[1.0, 2.25], [6.0, 1.0]]
    """

    def __init__(self, transition: Floats):
        k = len(transition)
        self.dense = dense_limit(k)
        self.distances = np.array([1], dtype=np.int64)
        self._powers = [_Power(np.ascontiguousarray(transition), transition > 0)]
        self._doubled = [self._powers[0]]  # P, P^2, P^4, ...
        self._step = (1, self._powers[0])  # the last step between distances, and its power
        self._right = _Rows(k * k, self._right_row)
        self._left: dict[bytes, _Rows] = {}
        self._right_doubled: dict[int, Floats] = {}
        self._everything = np.ones(k, dtype=bool)
        self._alike: Flags | None = None

    def extend(self, distance: int) -> None:
        """Tabulate powers up to the first distance that is not below this one."""
        grown = [int(self.distances[-1])]
        while grown[-1] < distance:
            grown.append(next_distance(grown[-1], self.dense))
            self._powers.append(self._powers[-1] @ self._step_power(grown[-1] - grown[-2]))
        self.distances = np.concatenate([self.distances, np.array(grown[1:], dtype=np.int64)])

    def _step_power(self, step: int) -> "_Power":
        """P to the step, from the last step's power and squares."""
        done, power = self._step
        missing = step - done
        for bit in range(missing.bit_length()):
            if bit == len(self._doubled):
                self._doubled.append(self._doubled[-1] @ self._doubled[-1])
            if missing >> bit & 1:
                power = power @ self._doubled[bit]
        self._step = (step, power)
        return power

    def right(self, count: int) -> Floats:
        """F at the first ``count`` distances, flattened over pairs (x, x')."""
        return self._right.first(count)

    def left(self, count: int, sources: Flags | None = None) -> Floats:
        """G at the first ``count`` distances with z among ``sources`` (all states if None)."""
        return self._left_rows(sources).first(count)

    def left_at(self, distance: int, sources: Flags | None = None) -> Floats:
        """G at the furthest tabulated distance not beyond this one; an upper bound there, by monotonicity."""
        n = int(np.searchsorted(self.distances, distance, side="right"))
        return self._left_rows(sources).at(n - 1)

    def right_at(self, distance: int) -> Floats:
        """F at the furthest tabulated distance not beyond this one; an upper bound there, by monotonicity."""
        self.extend(distance)
        return self._right.at(int(np.searchsorted(self.distances, distance, side="right")) - 1)

    def _left_rows(self, sources: Flags | None) -> "_Rows":
        chosen = self._everything if sources is None or sources.all() else sources
        if chosen.tobytes() not in self._left:
            self._left[chosen.tobytes()] = _Rows(chosen.size**2, lambda n: self._left_row(n, chosen))
        return self._left[chosen.tobytes()]

    def _left_row(self, index: int, chosen: Flags) -> Floats:
        power = self._powers[index]
        distance = int(self.distances[index])
        return self._influence(distance, _transposed(power.table[chosen]), _transposed(power.support[chosen]))

    def _right_row(self, index: int) -> Floats:
        power = self._powers[index]
        return self._influence(int(self.distances[index]), power.table, power.support)

    def right_doubled(self, doublings: int) -> Floats:
        """F at distance 2^n, without a table of what lies between."""
        while doublings >= len(self._doubled):
            self._doubled.append(self._doubled[-1] @ self._doubled[-1])
        if doublings not in self._right_doubled:
            power = self._doubled[doublings]
            self._right_doubled[doublings] = self._influence(2**doublings, power.table, power.support)
        return self._right_doubled[doublings]

    def forgets(self, pairs: Flags) -> bool:
        """Whether F is finite for all these pairs at some distance: whether the rows' supports ever become equal.

        Once equal they stay equal, and after (k-1)^2 + 1 steps supports only cycle, so one large power tells.
        """
        if self._alike is None:
            k, support, exponent = len(self._everything), self._powers[0].support, 1
            while exponent <= (k - 1) ** 2 + 1:
                support, exponent = _product(support, support), 2 * exponent
            self._alike = np.array([(support == row).all(axis=1) for row in support]).ravel()
        return bool(self._alike[pairs].all())

    def _influence(self, distance: int, table: Floats, support: Flags) -> Floats:
        """max over columns of log table[x] / table[x'], rounded up; flattened."""
        ratios = largest_ratios(np.require(table, None, LAYOUT), np.require(support, None, LAYOUT)).ravel()
        # each entry of P^d is off by at most d (k + 4) roundings, P's own digits included; a ratio by twice that
        error = 2.02 * float(distance) * (len(self._everything) + 4) * UNIT_ROUNDOFF
        logs = np.log(ratios)
        logs += error + 8 * UNIT_ROUNDOFF * LARGEST_LOG  # the rounding of logarithms and of their sums
        if ratios.max() > 1e150:
            logs[ratios > 1e150] = INFINITE
        return np.asarray(logs)


@dataclass(frozen=True)
class _Power:
    """A power of the transition matrix, and which of its entries are truly positive."""

    table: Floats
    support: Flags

    def __matmul__(self, other: "_Power") -> "_Power":
        return _Power(self.table @ other.table, _product(self.support, other.support))


class _Rows:
    """A table whose rows are made when first asked for, and then kept."""

    def __init__(self, width: int, make: Callable[[int], Floats]):
        self._make = make
        self._held = np.empty((64, width))
        self._known = np.zeros(64, dtype=bool)

    def at(self, index: int) -> Floats:
        while index >= len(self._known):
            self._held = np.concatenate([self._held, np.empty_like(self._held)])
            self._known = np.concatenate([self._known, np.zeros_like(self._known)])
        if not self._known[index]:
            self._held[index] = self._make(index)
            self._known[index] = True
        return np.asarray(self._held[index])

    def first(self, count: int) -> Floats:
        if count:
            self.at(count - 1)
        for index in np.flatnonzero(~self._known[:count]):
            self.at(int(index))
        return self._held[:count]


def _transposed(table: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(table.T)


def _product(first: Flags, second: Flags) -> Flags:
    """Which entries of a product of non-negative matrices are positive."""
    if first.all() and second.all():
        return first
    return np.asarray((first.astype(np.float64) @ second) > 0)
