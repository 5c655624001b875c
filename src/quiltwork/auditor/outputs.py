"""The law of what is drawn, Laplace or Gaussian noise on whole numbers, given each secret (Statement 81).

Beyond the extreme answers every further step of Laplace noise shrinks all densities by the same factor, so the end of
the lattice stands for everything beyond it. Gaussian noise is cut off where less than a stated mass is left, which
counts as δ. Equal numbers with equal Gaussian noise are told by their sum alone: it is sufficient.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quiltwork.errors import NotCoveredError
from quiltwork.laws.exact import SecretLaws
from quiltwork.types import Floats, Integers, Noise

MOST_OUTPUTS = 2**24
MOST_STEPS = 4 * 10**10
FARTHEST = 40.0  # standard deviations beyond which nothing is left of a Gaussian law: e^-800
SMALLEST = 745.0  # logarithms of masses that are written as numbers go down to minus this
EPSILON = 2.0**-53


@dataclass(frozen=True)
class _Axis:
    """One number with its noise: possible answers, outputs from the first on, and the noise's masses if it is cut."""

    answers: Integers
    places: Integers
    scale: float
    kernel: Floats | None

    @property
    def reach(self) -> int:
        return 0 if self.kernel is None else len(self.kernel) // 2

    @property
    def extent(self) -> int:
        return int(self.answers[-1] - self.answers[0]) + 2 * self.reach + 1

    def matrix(self) -> Floats:
        """The law of the output given each answer; the ends of Laplace noise have what is beyond them."""
        found = np.zeros((len(self.answers), self.extent))
        moved = self.answers - self.answers[0]
        if self.kernel is not None:
            for row, begin in zip(found, moved, strict=True):
                row[begin : begin + len(self.kernel)] = self.kernel
            return found
        if self.extent == 1:
            return np.ones((1, 1))
        decay = 1.0 / self.scale
        together = 1.0 + math.exp(-decay)
        with np.errstate(under="ignore"):
            found[:] = np.exp(-decay * np.abs(np.arange(self.extent) - moved[:, None])) / together
        found[:, 1:-1] *= -math.expm1(-decay)
        return found


class Outputs:
    """How laws of answers become laws of outputs; ``missing`` is the most that any of them lacks.

    ``scales`` are in units, ``tail`` is the mass that each cut may leave out.
    """

    def __init__(self, laws: SecretLaws, scales: Floats, noises: Sequence[Noise], *, tail: float):
        self.missing = 0.0
        self._axes: list[_Axis] = []
        columns: dict[tuple[bytes, float, Noise, int], int] = {}
        for n, (column, scale, noise) in enumerate(zip(laws.points.T, scales, noises, strict=True)):
            alone = n if noise == "laplace" else -1  # only Gaussian noise has a sufficient sum
            key = (np.ascontiguousarray(column).tobytes(), float(scale), noise, alone)
            columns[key] = columns.get(key, 0) + 1
        for (values, scale, noise, _), times in columns.items():
            answers, places = np.unique(np.frombuffer(values, dtype=np.int64), return_inverse=True)
            kernel = None
            if noise == "gaussian":
                kernel, lost = _repeated(scale, tail, times)
                self.missing += lost
            self._axes.append(_Axis(answers * times, places.ravel(), scale, kernel))
        self.size = math.prod(axis.extent for axis in self._axes)
        self._check(laws)
        self._shape = tuple(len(axis.answers) for axis in self._axes)
        self._at = np.ravel_multi_index(tuple(axis.places for axis in self._axes), self._shape)
        self._matrices = [axis.matrix() for axis in self._axes]
        finite = laws.logs[np.isfinite(laws.logs)]
        largest = min(float(np.abs(finite).max(initial=1.0)), SMALLEST)
        steps = len(laws.nodes) + sum(self._shape) + sum(axis.extent for axis in self._axes)
        self.slack = 4 * (laws.logs.shape[1] + 2) * (steps * largest + SMALLEST * len(self._axes)) * EPSILON
        """A bound on the relative error of a mass."""

    def _check(self, laws: SecretLaws) -> None:
        nodes, rows, _ = laws.logs.shape
        steps, inner = 0.0, math.prod(float(len(axis.answers)) for axis in self._axes)
        for axis in self._axes:
            steps += inner * axis.extent
            inner *= axis.extent / len(axis.answers)
        pairs = float(laws.pairs[0].sum()) * (1 if laws.leads is None else 30 * laws.leads.shape[1] ** 2)
        steps = nodes * (rows * steps + 50 * pairs * self.size)
        widest = max(float(len(axis.answers)) * axis.extent for axis in self._axes)
        if self.size * rows > 2 * MOST_OUTPUTS or self.size > MOST_OUTPUTS or steps > MOST_STEPS or widest > 2**26:
            raise NotCoveredError(
                "the exact delta would need too many outputs",
                got=f"{float(self.size):.3g} outputs and {steps:.1e} steps",
                why=f"the limits are {MOST_OUTPUTS:,} and {MOST_STEPS:.0e}; Gaussian noise goes far beyond answers",
                fix="Use a shorter length, fewer releases, or a count instead of a histogram; or use compose",
            )

    def masses(self, law: Floats) -> Floats:
        """The masses of all outputs given each state of one node: shape (states, outputs). ``law`` has logarithms."""
        table = np.zeros((len(law), math.prod(self._shape)))
        with np.errstate(under="ignore"):
            table[:, self._at] = np.exp(law)
            table = table.reshape(len(law), *self._shape)
            for n, matrix in enumerate(self._matrices, 1):
                table = np.moveaxis(np.tensordot(table, matrix, axes=(n, 0)), -1, n)
        return np.ascontiguousarray(table).reshape(len(law), -1)


def _gaussian(scale: float, tail: float) -> Floats:
    """Masses of discrete Gaussian noise, but for at most ``tail``: P(|N| > r) ≤ e^(-r²/2σ²) (Statement 81)."""
    reach = scale * math.sqrt(-2 * math.log(tail)) + 1
    if reach > MOST_OUTPUTS:
        raise NotCoveredError(
            "the exact delta would need too many outputs",
            got=f"noise of {scale:.3g} steps",
            why=f"the limit is {MOST_OUTPUTS:,} outputs",
            fix="Use compose, whose bounds cover any noise",
        )
    steps = np.arange(-math.ceil(reach), math.ceil(reach) + 1)
    further = np.arange(math.ceil(reach) + 1, math.ceil(max(reach, FARTHEST * scale)) + 2)
    with np.errstate(under="ignore"):
        masses = np.exp(-((steps / scale) ** 2) / 2)
        beyond = np.exp(-((further / scale) ** 2) / 2)
    return np.asarray(masses / (masses.sum() + 2 * beyond.sum()))


def _repeated(scale: float, tail: float, times: int) -> tuple[Floats, float]:
    """Masses of the sum of independent Gaussian noises, and how much they leave out at most."""
    single = _gaussian(scale, tail / (2 * times))
    total, lost = single, tail / 2
    for _ in range(times - 1):
        total = np.convolve(total, single)
        ends = np.cumsum(total[: len(total) // 2])
        cut = int(np.searchsorted(ends, tail / (4 * times)))
        total = total[cut : len(total) - cut]
        lost += tail / (2 * times)
    return total, lost
