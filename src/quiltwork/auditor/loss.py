"""The exact privacy loss of Laplace noise, from the laws of what is released given each secret (Statement 7).

For Laplace noise on a lattice-valued answer the log-ratio of two mixtures is, in each coordinate, monotone between
neighbouring lattice points and constant beyond the last ones. So its supremum over all outputs is attained on the
lattice spanned by the possible answers: a finite computation. Discrete Laplace noise has the same ratios there.
"""

from dataclasses import dataclass

import numpy as np

from quiltwork.errors import NotCoveredError
from quiltwork.laws.exact import SecretLaws
from quiltwork.numeric import in_threads
from quiltwork.types import Floats

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
    """The outputs at which the loss can be attained: all combinations of the values between the extreme ones."""

    def __init__(self, laws: SecretLaws):
        self.lows = laws.points.min(axis=0)
        self.shape = tuple(int(n) for n in np.ptp(laws.points, axis=0) + 1)  # Statement 7
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
        self.places = np.ravel_multi_index(tuple((laws.points - self.lows).T), self.shape)

    def output(self, index: int) -> tuple[int, ...]:
        """The lattice point with this index."""
        return tuple(int(n + low) for n, low in zip(np.unravel_index(index, self.shape), self.lows, strict=True))


def node_densities(law: Floats, lattice: Lattice, scales: Floats) -> Floats:
    """log of the output densities given each state of one node, up to a common constant: shape (states, outputs)."""
    density = np.full((len(law), lattice.size), -np.inf)
    density[:, lattice.places] = law
    _smooth_axes(density, lattice.shape, scales)
    return density


def losses(laws: SecretLaws, lattice: Lattice, scales: Floats) -> list[NodeLoss]:
    """The largest loss at every node; ``scales`` are the noise scales of the numbers, in units."""
    if laws.leads is not None:
        return _any_start(laws, lattice, scales)
    apart = laws.pairs
    if len(lattice.shape) == 1 and len(lattice.places) == lattice.size:
        from quiltwork.auditor.densities import line_losses  # compiled: loaded when needed

        table = np.empty((len(laws.logs), 4))
        decay = 1.0 / float(scales[0])
        in_threads(lambda nodes: line_losses(laws.logs[nodes], decay, apart[nodes], table[nodes]), len(table))
        return [NodeLoss.of(row) for row in table]
    from quiltwork.auditor.densities import worst_pair

    together = zip(laws.logs, apart, strict=True)
    return [NodeLoss.of(worst_pair(node_densities(law, lattice, scales), pairs)) for law, pairs in together]


def _any_start(laws: SecretLaws, lattice: Lattice, scales: Floats) -> list[NodeLoss]:
    """Over all starts on two states, which no other start exceeds (Statement 48)."""
    from quiltwork.laws.starts import start_losses

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
    size = float(np.abs(finite).max(initial=1.0)) + float((np.array(lattice.shape) / scales).sum())
    if laws.leads is not None:
        size += 2 * float(np.abs(laws.leads[np.isfinite(laws.leads)]).max(initial=0.0))
    states = laws.logs.shape[1]
    return float(4 * (states + 2) * (len(laws.nodes) + sum(lattice.shape)) * size * 2.0**-53)


def exact_loss(laws: SecretLaws, scales: Floats) -> float:
    """The largest loss over all nodes, rounded up; ``scales`` are the noise scales of the numbers, in units."""
    lattice = Lattice(laws)
    return max(node.loss for node in losses(laws, lattice, scales)) + rounding_error(laws, lattice, scales)


def _smooth_axes(density: Floats, shape: tuple[int, ...], scales: Floats) -> None:
    from quiltwork.auditor.densities import smooth

    inner = density.shape[1]
    for extent, scale in zip(shape, scales, strict=True):
        inner //= extent
        smooth(density.reshape(-1, extent, inner), 1.0 / float(scale))
