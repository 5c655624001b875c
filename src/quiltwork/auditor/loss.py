"""The exact privacy loss of Laplace noise, from the laws of what is released given each secret (Statement 7).

For Laplace noise on a lattice-valued answer the log-ratio of two mixtures is, in each coordinate, monotone between
neighbouring lattice points and constant beyond the last ones. So its supremum over all outputs is attained on the
lattice spanned by the possible answers: a finite computation. Discrete Laplace noise has the same ratios there, and
noise that keeps a public total has them at the outputs with that total.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quiltwork.errors import InternalError, NotCoveredError
from quiltwork.laws.exact import SecretLaws
from quiltwork.numeric import in_threads
from quiltwork.types import Floats, Integers

MOST_OUTPUTS = 2**24
MOST_WORK = 4 * 10**9


@dataclass(frozen=True)
class NodeLoss:
    """The largest loss at one node: between which two states, at which output (an index into the lattice)."""

    loss: float
    more: int
    less: int
    output: int
    starts: tuple[int, int] | None = None
    """Under any start: the two states that the worst one is on."""
    log_odds: float = 0.0
    """log of the odds of the second of them."""

    @classmethod
    def of(cls, row: Floats) -> "NodeLoss":
        """From a row of numbers, in the order of the fields."""
        loss, more, less, output, *start = row.tolist()
        if not start:
            return cls(loss, int(more), int(less), int(output))
        first, second, log_odds = start
        return cls(loss, int(more), int(less), int(output), (int(first), int(second)), log_odds)


class Lattice:
    """The outputs at which the loss can be attained: all combinations of the values between the extreme ones.

    ``totals`` are groups of numbers whose noise adds up to 0. Of two such numbers one is enough: the other mirrors it,
    so their noise is that of one number, of half the scale. Of more, only those combinations count that an output with
    the right total is like: it is beyond the extreme answers in some numbers, where a further step changes nothing.
    """

    def __init__(self, laws: SecretLaws, totals: Sequence[Sequence[int]] = ()):
        self._mirrors = {group[1]: group[0] for group in totals if len(group) == 2}
        self._columns = [n for n in range(laws.points.shape[1]) if n not in self._mirrors]
        self._wholes = {group: _whole(laws.points, group) for group in map(tuple, totals)}
        points = laws.points[:, self._columns]
        self.lows = points.min(axis=0)
        self.shape = tuple(int(n) for n in np.ptp(points, axis=0) + 1)  # Statement 7
        self.size = int(np.prod([float(n) for n in self.shape]))
        nodes, states, _ = laws.logs.shape
        work = nodes * states * self.size * len(self.shape)
        if laws.leads is not None:
            work += nodes * states**2 * self.size  # every two states, for every two starts
        if self.size > MOST_OUTPUTS or work > MOST_WORK:
            raise NotCoveredError(
                "the exact loss would need too many outputs",
                got=f"{self.size:,} outputs and {work:.1e} steps",
                why=f"the limits are {MOST_OUTPUTS:,} and {MOST_WORK:.0e}",
                fix="Use a shorter length, fewer releases, or a count instead of a histogram",
            )
        self.places = np.ravel_multi_index(tuple((points - self.lows).T), self.shape)
        self.attained = self._attained()
        """Which outputs are like some with the right totals; None for all of them."""

    def scales(self, scales: Floats) -> Floats:
        """The scale of each number that is looked at."""
        halved = set(self._mirrors.values())
        return np.array([scales[n] / 2 if n in halved else scales[n] for n in self._columns])

    def output(self, index: int) -> tuple[int, ...]:
        """The lattice point with this index."""
        if self.attained is not None:
            index = int(self.attained[index])
        found = dict(zip(self._columns, (np.unravel_index(index, self.shape) + self.lows).tolist(), strict=True))
        for mirror, shown in self._mirrors.items():
            found[mirror] = self._wholes[shown, mirror] - found[shown]
        return tuple(found[n] for n in sorted(found))

    def _attained(self) -> Integers | None:
        """Places of outputs that are as the right totals have them, but for numbers beyond the extreme answers."""
        large = {group: whole for group, whole in self._wholes.items() if len(group) > 2}
        if not large:
            return None
        fine = np.ones(self.shape, dtype=bool)
        for group, whole in large.items():
            over = np.full(self.shape, -whole, dtype=np.int64)
            lowest, highest = np.zeros(self.shape, dtype=bool), np.zeros(self.shape, dtype=bool)
            for axis in (self._columns.index(n) for n in group):
                steps = np.arange(self.shape[axis]).reshape([-1 if n == axis else 1 for n in range(len(self.shape))])
                over += steps + self.lows[axis]
                lowest |= steps == 0
                highest |= steps == self.shape[axis] - 1
            fine &= (over == 0) | ((over > 0) & lowest) | ((over < 0) & highest)
        return np.flatnonzero(fine.ravel())


def _whole(points: Integers, group: Sequence[int]) -> int:
    """What the numbers of a group add up to, whatever the data."""
    sums = points[:, list(group)].sum(axis=1)
    if np.ptp(sums):
        raise InternalError(
            "noise keeps totals that are public", got="a total that depends on values", why="it would be revealed"
        )
    return int(sums[0])


def node_densities(law: Floats, lattice: Lattice, scales: Floats) -> Floats:
    """log of the output densities given each state of one node, up to a common constant: shape (states, outputs)."""
    density = np.full((len(law), lattice.size), -np.inf)
    density[:, lattice.places] = law
    _smooth_axes(density, lattice.shape, lattice.scales(scales))
    return density if lattice.attained is None else np.ascontiguousarray(density[:, lattice.attained])


def losses(laws: SecretLaws, lattice: Lattice, scales: Floats) -> list[NodeLoss]:
    """The largest loss at every node; ``scales`` are the noise scales of the numbers, in units."""
    if laws.leads is not None:
        return _any_start(laws, lattice, scales)
    apart = laws.pairs
    if len(lattice.shape) == 1 and len(lattice.places) == lattice.size:
        from quiltwork.auditor.densities import line_losses  # compiled: loaded when needed

        table = np.empty((len(laws.logs), 4))
        decay = 1.0 / float(lattice.scales(scales)[0])
        in_threads(lambda nodes: line_losses(laws.logs[nodes], decay, apart[nodes], table[nodes]), len(table))
        return [NodeLoss.of(row) for row in table]
    from quiltwork.auditor.densities import worst_pair

    together = zip(laws.logs, apart, strict=True)
    return [NodeLoss.of(worst_pair(node_densities(law, lattice, scales), pairs)) for law, pairs in together]


def _any_start(laws: SecretLaws, lattice: Lattice, scales: Floats) -> list[NodeLoss]:
    """Over all starts on two states, which no other start exceeds (Statement 48)."""
    from quiltwork.laws.tables import start_losses

    leads, apart = laws.leads, laws.pairs
    assert leads is not None  # noqa: S101 - any start
    table = np.empty((len(leads), 7))

    def work(nodes: slice) -> None:
        for n in range(nodes.start, min(nodes.stop, len(table))):
            density = node_densities(laws.logs[n], lattice, scales)
            start_losses(density.reshape(*leads[n].shape, -1), leads[n], apart[n], table[n])

    in_threads(work, len(table))
    return [NodeLoss.of(row) for row in table]


def rounding_error(laws: SecretLaws, lattice: Lattice, scales: Floats) -> float:
    """A bound on the error of a computed loss: a number of roundings of logarithms of this size."""
    finite = laws.logs[np.isfinite(laws.logs)]
    size = float(np.abs(finite).max(initial=1.0)) + float((np.array(lattice.shape) / lattice.scales(scales)).sum())
    if laws.leads is not None:
        size += 2 * float(np.abs(laws.leads[np.isfinite(laws.leads)]).max(initial=0.0))
    states = laws.logs.shape[1]
    return float(4 * (states + 2) * (len(laws.nodes) + sum(lattice.shape)) * size * 2.0**-53)


def exact_loss(laws: SecretLaws, scales: Floats, totals: Sequence[Sequence[int]] = ()) -> float:
    """The largest loss over all nodes, rounded up; ``scales`` are the noise scales of the numbers, in units."""
    lattice = Lattice(laws, totals)
    return max(node.loss for node in losses(laws, lattice, scales)) + rounding_error(laws, lattice, scales)


def _smooth_axes(density: Floats, shape: tuple[int, ...], scales: Floats) -> None:
    from quiltwork.auditor.densities import smooth

    inner = density.shape[1]
    for extent, scale in zip(shape, scales, strict=True):
        inner //= extent
        smooth(density.reshape(-1, extent, inner), 1.0 / float(scale))
