"""The profile of releases: by how much one value, going from one state to another, can change their log-density.

Profiles add, whatever the order of the releases and whether later ones depend on earlier results (Statement 8).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from quiltwork.errors import ParameterError
from quiltwork.numeric import round_up
from quiltwork.types import Floats, Segment


@dataclass(frozen=True)
class Stretch:
    """Times ``first`` to ``last`` (None: without end), with one matrix λ(y, y') for all of them."""

    first: int
    last: int | None
    matrix: Floats


@dataclass(frozen=True)
class Profile:
    """λ at every time of a series: stretches that follow one another from time 1 on, zero where nothing was asked.

    The diagonal of a matrix is not about a value that stays what it is. It has what any change of a value tells
    besides, through the transitions that it belongs to (``links``).

    >>> count = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> profile = Profile.of([(count, None), (count / 2, (3, 4))], length=9)
    >>> [(s.first, s.last, round(float(s.matrix.max()), 9)) for s in profile.stretches]
    [(1, 2, 1.0), (3, 4, 1.5), (5, 9, 1.0)]
    """

    stretches: tuple[Stretch, ...]

    @property
    def length(self) -> int | None:
        """The number of values; None for a profile without end."""
        return self.stretches[-1].last

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.stretches[0].matrix)

    @classmethod
    def constant(cls, matrix: ArrayLike, *, length: int | None = None) -> "Profile":
        """The same λ at every time."""
        return cls.of([(matrix, None)], length=length)

    @classmethod
    def of(cls, parts: Iterable[tuple[ArrayLike, Segment | None]], *, length: int | None) -> "Profile":
        """The sum of parts, each a matrix on a segment (first and last time, from 1) or at every time."""
        listed = [(_checked(matrix), _segment(segment, length)) for matrix, segment in parts]
        if not listed:
            raise ParameterError("a profile needs a part", got="none", why="there is nothing to add up")
        if len({matrix.shape for matrix, _ in listed}) > 1:
            raise ParameterError("the parts of a profile must have the same states", got="matrices of several sizes")
        if length is None and any(segment is not None for _, segment in listed):
            raise ParameterError(
                "a profile with segments needs the length of the series",
                why="what lies beyond the last segment belongs to it too",
                fix="Pass length",
            )
        if length is None:
            return cls((Stretch(1, None, _sum([matrix for matrix, _ in listed])),))
        ends = [segment or (1, length) for _, segment in listed]
        starts = sorted({1, *(first for first, _ in ends), *(last + 1 for _, last in ends)} - {length + 1})
        firsts, lasts = (np.array(places) for places in zip(*ends, strict=True))
        begun = np.array(starts)
        active = (firsts[None, :] <= begun[:, None]) & (begun[:, None] <= lasts[None, :])
        flat = np.array([matrix.ravel() for matrix, _ in listed])
        # sums of non-negative numbers, rounded up; exactly 0 where nothing is active
        with np.errstate(over="ignore"):
            total = (active.astype(np.float64) @ flat) * round_up(1.0, roundings=4 + len(listed))  # Statement 8
        _check_entries(total)
        first_matrix, _ = listed[0]
        following = [*(start - 1 for start in starts[1:]), length]
        return cls(
            tuple(
                Stretch(first, last, row.reshape(first_matrix.shape))
                for first, last, row in zip(starts, following, total, strict=True)
            )
        )

    @cached_property
    def key(self) -> bytes:
        """What tells it from other profiles about the same states."""
        return repr([(s.first, s.last) for s in self.stretches]).encode() + b"".join(
            s.matrix.tobytes() for s in self.stretches
        )

    def __add__(self, other: "Profile") -> "Profile":
        if self.length != other.length:
            raise ParameterError(
                "profiles must be of the same length to be added", got=f"{self.length} and {other.length}"
            )
        if self.length is None:
            return Profile.of([(p.stretches[0].matrix, None) for p in (self, other)], length=None)
        parts = [(s.matrix, (s.first, s.last or s.first)) for p in (self, other) for s in p.stretches]
        return Profile.of(parts, length=self.length)


def _sum(matrices: Sequence[Floats]) -> Floats:
    with np.errstate(over="ignore"):
        total = np.sum(matrices, axis=0)  # Statement 8
    _check_entries(total)
    return np.asarray(total * round_up(1.0, roundings=4 + len(matrices)) if len(matrices) > 1 else total)


def _checked(matrix: ArrayLike) -> Floats:
    table = np.array(matrix, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ParameterError(
            "a profile must be a square table",
            got=f"shape {'x'.join(map(str, table.shape)) or 'of one number'}",
            why="it has an entry for each pair of states",
        )
    _check_entries(table)
    return table


def links(matrix: Floats) -> float:
    """What any change of a value tells besides its own λ: once, however many of its neighbours change too.

    >>> links(np.array([[0.2, 0.2], [0.2, 0.2]]))
    0.2
    """
    return float(np.diagonal(matrix).max(initial=0.0))  # Statement 49


def _check_entries(table: Floats) -> None:
    if np.isnan(table).any() or (table < 0).any() or np.isinf(table).any():
        raise ParameterError(
            "a profile must have finite entries that are not negative",
            got="NaN" if np.isnan(table).any() else f"{table.min() if (table < 0).any() else np.inf:g}",
            why="they say how much a value can change a log-density",
        )


def _segment(segment: Segment | None, length: int | None) -> Segment | None:
    if segment is None:
        return None
    first, last = segment
    if not 1 <= first <= last:
        raise ParameterError(
            "a segment must start at 1 or later and not end before it starts",
            got=f"{first}:{last}",
            why="it gives the first and the last time, both included",
        )
    if length is not None and last > length:
        raise ParameterError(
            f"a segment must lie within the {length:,} values of the series",
            got=f"{first}:{last}",
            why="there is nothing beyond the last value",
            fix="Correct the segment or the length",
        )
    return segment
