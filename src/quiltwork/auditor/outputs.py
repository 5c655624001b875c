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


@dataclass(frozen=True)
class _Group:
    """Numbers whose noise adds up to 0: their possible answers, and the law of what is drawn given each of them."""

    answers: Integers
    places: Integers
    law: Floats

    @property
    def extent(self) -> int:
        return int(self.law.shape[1])

    def matrix(self) -> Floats:
        return self.law


def _group(points: Integers, scale: float) -> _Group:
    """Outputs are cut to between the extreme answers, as for one number; what is cut off has the same law for all.

    A cut output with e more than the total stands for all in which numbers at their least, a of them, are further down
    by some steps, and numbers at their most, b, further up, together by e: Σ_j C(e+j+a-1, a-1) C(j+b-1, b-1) α^(e+2j).
    """
    answers, places = np.unique(points, axis=0, return_inverse=True)
    lows, highs, whole = answers.min(axis=0), answers.max(axis=0), int(answers[0].sum())
    shape = tuple((highs - lows + 1).tolist())
    if math.prod(shape) > MOST_OUTPUTS:
        raise NotCoveredError(
            "the exact delta would need too many outputs",
            got=f"{math.prod(shape):,}",
            why=f"the limit is {MOST_OUTPUTS:,}",
            fix="Use a shorter length, or a count instead of a histogram; or use compose",
        )
    cut = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), axis=1) + lows
    over, down, up = cut.sum(axis=1) - whole, (cut == lows).sum(axis=1), (cut == highs).sum(axis=1)
    kinds, which = np.unique(np.stack([over, down, up], axis=1), axis=0, return_inverse=True)
    beyond = np.array([_beyond(e, a, b, 1 / scale) for e, a, b in kinds.tolist()])[which.ravel()]
    kept = np.flatnonzero(beyond > 0)
    with np.errstate(under="ignore"):
        law = np.exp(-np.abs(cut[kept] - answers[:, None, :]).sum(axis=2) / scale) * beyond[kept]
    return _Group(np.arange(len(answers)), places.ravel(), law / law.sum(axis=1, keepdims=True))


def _beyond(over: int, down: int, up: int, decay: float) -> float:
    """How many outputs a cut one stands for, each weighed by how far beyond the extreme answers it is."""
    if over < 0:
        over, down, up = -over, up, down
    total, step = 0.0, 0
    while True:
        below = math.comb(over + step + down - 1, down - 1) if down else float(over + step == 0)
        above = math.comb(step + up - 1, up - 1) if up else float(step == 0)
        term = below * above * math.exp(-decay * (over + 2 * step))
        total += term
        if not (up and down) or (step > 4 * (down + up) / decay and term <= total * 2.0**-60):
            return total
        step += 1


class Outputs:
    """How laws of answers become laws of outputs; ``missing`` is the most that any of them lacks.

    ``scales`` are in units, ``tail`` is the mass that each cut may leave out.
    """

    def __init__(
        self,
        laws: SecretLaws,
        scales: Floats,
        noises: Sequence[Noise],
        *,
        totals: Sequence[Sequence[int]] = (),
        tail: float,
    ):
        self.missing = 0.0
        self._axes: list[_Axis | _Group] = []
        columns: dict[tuple[bytes, float, Noise, int], int] = {}
        grouped = {n for group in totals for n in group}
        for n, (column, scale, noise) in enumerate(zip(laws.points.T, scales, noises, strict=True)):
            if n in grouped:
                continue
            alone = -1 if noise == "gaussian" else n  # only Gaussian noise has a sufficient sum
            key = (np.ascontiguousarray(column).tobytes(), float(scale), noise, alone)
            columns[key] = columns.get(key, 0) + 1
        for (values, scale, noise, _), times in columns.items():
            answers, places = np.unique(np.frombuffer(values, dtype=np.int64), return_inverse=True)
            kernel = None
            if noise == "gaussian":
                kernel, lost = _repeated(scale, tail, times)
                self.missing += lost
            self._axes.append(_Axis(answers * times, places.ravel(), scale, kernel))
        for group in totals:
            self._axes.append(_group(laws.points[:, list(group)], float(scales[group[0]])))
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
