"""How long data remember: how much more likely a state is some time after another than otherwise.

For states s and z, ρ(s, z) after h steps is P(z after h | s) - P(z after h | not s) = Cov / Var, where Cov is that of
"in s now" and "in z after h steps", each relative to how much this series does of it. So two people who forget alike
have the same memory, however much they do of something.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from quiltwork.compiled import njit
from quiltwork.data.series import Timeline
from quiltwork.types import Codes, Floats, Integers

DAYS = (1, 2, 7)
"""Whole days round which a narrow band of lags is looked at."""
PART_OF_DAY = 48
"""A band round a whole day reaches this part of a day to both sides."""
MANY_SUBJECTS = 8
"""From this number of subjects on, lags may be a quarter of a series and not only an eighth."""
LEAST_SPREAD = 1e-12
"""A state whose variance is below this does not vary."""
NEAR = 2
"""How many quarter hours to both sides the level of a time of day is taken from."""


@dataclass(frozen=True)
class Band:
    """Lags from ``first`` to ``last``, looked at together; ``lag`` stands for them."""

    first: int
    last: int
    lag: int
    narrow: bool = False
    """Whether it lies round a whole day, within another band."""

    @property
    def width(self) -> int:
        """How many lags there are."""
        return self.last - self.first + 1


def lag_bands(longest: int, day: int | None = None) -> tuple[Band, ...]:
    """1, 2, 3 to 4, 5 to 8, .. and narrow bands round whole days, up to the longest lag.

    >>> [(band.first, band.last) for band in lag_bands(11)]
    [(1, 1), (2, 2), (3, 4), (5, 8)]
    """
    bands = [Band(1, 1, 1)] if longest >= 1 else []
    while bands and 2 * bands[-1].last <= longest:
        bands.append(Band(bands[-1].last + 1, 2 * bands[-1].last, 2 * bands[-1].last))
    if bands and longest >= 1.5 * bands[-1].last:  # what is left is wide enough to be looked at
        bands.append(Band(bands[-1].last + 1, longest, longest))
    reach = 0 if day is None else max(1, day // PART_OF_DAY)
    whole_days = [days * day for days in DAYS] if day is not None and day > 4 * reach else []
    narrow = [Band(lag - reach, lag + reach, lag, narrow=True) for lag in whole_days if lag + reach <= longest]
    return (*bands, *narrow)


@dataclass(frozen=True)
class Subject:
    """What has its own levels: one person or home. Timelines one after the other, with the time of the cycle."""

    codes: Codes
    clock: Integers
    """The time of the cycle of each value; 0 where there is no cycle."""
    ends: Integers
    """For each value, where its timeline ends: nothing is compared beyond."""

    @classmethod
    def of(cls, timelines: Sequence[Timeline], begun: Sequence[int], period: int) -> "Subject":
        """From timelines that begin at these times of the cycle."""
        lengths = [len(timeline.codes) for timeline in timelines]
        clock = [(start + np.arange(length)) % period for start, length in zip(begun, lengths, strict=True)]
        return cls(
            np.concatenate([timeline.codes for timeline in timelines]).astype(np.int64),
            np.concatenate(clock).astype(np.int64),
            np.repeat(np.cumsum(lengths), lengths).astype(np.int64),
        )

    @cached_property
    def present(self) -> Codes:
        """Which values are not missing."""
        return np.asarray(self.codes >= 0)

    @cached_property
    def size(self) -> int:
        """The number of values."""
        return int(self.present.sum())

    def pairs(self, band: Band) -> float:
        """How many pairs of values are this far apart."""
        before = np.append(0, np.cumsum(self.present))
        at = np.flatnonzero(self.present)
        ends = self.ends[at]
        return float((before[np.minimum(at + band.last + 1, ends)] - before[np.minimum(at + band.first, ends)]).sum())

    def shares(self, k: int) -> Floats:
        """How much of the time is spent in each state."""
        return np.asarray(np.bincount(self.codes[self.present], minlength=k) / max(self.size, 1))

    def stays(self, k: int) -> Floats:
        """How many stays in each state there are, whole or cut off."""
        changes = np.append(True, (self.codes[1:] != self.codes[:-1]) | (self.ends[1:] != self.ends[:-1]))
        return np.bincount(self.codes[changes & self.present], minlength=k).astype(np.float64)


@dataclass(frozen=True)
class Estimator:
    """Memory of data sets that have the same subjects, lengths and gaps; levels are those of each subject.

    Where ``period`` is above 1, levels are those of each time of the cycle, with ``near`` more to both sides.
    """

    subjects: tuple[Subject, ...]
    states: int
    bands: tuple[Band, ...]
    period: int = 1
    near: int = 0
    _edges: tuple[Integers, Integers] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        first = np.array([0, *(band.first for band in self.bands)], dtype=np.int64)
        last = np.array([0, *(band.last for band in self.bands)], dtype=np.int64)
        object.__setattr__(self, "_edges", (first, last))

    @cached_property
    def _pairs(self) -> Floats:
        """Of all subjects: values, and pairs of each band."""
        every = (Band(0, 0, 0), *self.bands)
        return np.array([sum(subject.pairs(band) for subject in self.subjects) for band in every])

    def sums(self, subject: Subject, paths: Codes) -> Floats:
        """Sums of products for each data set and band: shape (sets, 1 + bands, states, states)."""
        first, last = self._edges
        return np.asarray(
            products(paths, subject.clock, subject.ends, self.period, self.near, first, last, self.states)
        )

    def memory(self, sums: Floats) -> Floats:
        """ρ of each data set, from its sums of products."""
        return relative(sums / np.maximum(self._pairs, 1.0)[:, None, None])

    def least_scale(self, sums: Floats) -> Floats:
        """How much an estimate varies if values are independent: under some beliefs it varies less, but not in data."""
        at_once = sums[0] / max(self._pairs[0], 1.0)
        spread = np.maximum(at_once.diagonal(), LEAST_SPREAD)
        found = np.zeros((len(self.bands), self.states + 1, self.states))
        found[:, :-1] = np.sqrt(spread[None, :] / spread[:, None])
        found[:, -1, 0] = np.sqrt((at_once**2).sum()) / max(spread.sum(), LEAST_SPREAD)
        return np.asarray(found / np.sqrt(np.maximum(self._pairs[1:], 1.0))[:, None, None])

    @property
    def shares(self) -> Floats:
        """How much of the time is spent in each state, by all subjects together."""
        counts = sum((one.size * one.shares(self.states) for one in self.subjects), np.zeros(self.states))
        return np.asarray(counts / max(counts.sum(), 1.0))

    def again(self, lags: Sequence[int]) -> Floats:
        """P(the same state after exactly that many steps), by lag and state; NaN where nothing follows a state."""
        met, every = np.zeros((2, len(lags), self.states))
        for subject in self.subjects:
            for n, lag in enumerate(lags):
                at = np.flatnonzero(subject.present[: max(len(subject.codes) - lag, 0)])
                at = at[(at + lag < subject.ends[at])]
                at = at[subject.present[at + lag]]
                now, later = subject.codes[at], subject.codes[at + lag]
                every[n] += np.bincount(now, minlength=self.states)
                met[n] += np.bincount(now[now == later], minlength=self.states)
        return np.where(every > 0, met / np.maximum(every, 1), np.nan)


def relative(covariances: Floats) -> Floats:
    """ρ by band and pair of states, and in a last row the diagonals of all states together.

    Of shape (.., 1 + bands, states, states) the first entry is that of lag 0; the result has the shape
    (.., bands, states + 1, states), and in its last row only the first entry counts. NaN where a state does not vary.
    """
    spread = covariances[..., 0, :, :].diagonal(axis1=-2, axis2=-1)
    spread = np.where(spread > LEAST_SPREAD, spread, np.nan)
    traces = covariances.trace(axis1=-2, axis2=-1)
    shape = covariances.shape
    found = np.full((*shape[:-3], shape[-3] - 1, shape[-2] + 1, shape[-1]), np.nan)
    found[..., :-1, :] = covariances[..., 1:, :, :] / spread[..., None, :, None]
    found[..., -1, 0] = traces[..., 1:] / np.where(traces[..., :1] > LEAST_SPREAD, traces[..., :1], np.nan)
    return found


@njit(cache=True)
def products(
    paths: Codes, clock: Integers, ends: Integers, period: int, near: int, first: Integers, last: Integers, k: int
) -> Floats:
    """Σ over times t and lags h of a band: (1[s at t] - level of s) (1[z at t + h] - level of z), for each path.

    Sums over h are differences of cumulative sums; without a cycle, sums over the times of a stay are so as well.
    """
    count, n = paths.shape
    found = np.zeros((count, len(first), k, k))
    for path in range(count):
        levels = levels_of(paths[path], clock, period, near, k)
        reached, summed = cumulated(paths[path], clock, levels)
        stays = stays_of(paths[path], ends)
        for band in range(len(first)):
            by_state, by_time = np.zeros((k, k)), np.zeros((period, k))
            for stay in range(len(stays) - 1 if period == 1 else 0):
                t, after = stays[stay], stays[stay + 1]
                state, end = paths[path, t], ends[t]
                begin = t + first[band]
                if state >= 0 and begin < end:
                    begin_after = min(after + first[band], end)
                    far, far_after = min(t + last[band] + 1, end), min(after + last[band] + 1, end)
                    cut = (begin_after - begin) - (far_after - far)  # times whose lags reach beyond the end
                    for z in range(k):
                        before = summed[begin_after, z] - summed[begin, z]
                        by_state[state, z] += summed[far_after, z] - summed[far, z] + cut * reached[end, z] - before
            for t in range(n if period > 1 else 0):
                state, begin, far = paths[path, t], min(t + first[band], ends[t]), min(t + last[band] + 1, ends[t])
                if state >= 0 and begin < far:
                    for z in range(k):
                        by_state[state, z] += reached[far, z] - reached[begin, z]
                        by_time[clock[t], z] += reached[far, z] - reached[begin, z]
            if period == 1:
                by_time[0] = by_state.sum(axis=0)
            found[path, band] = by_state - levels.T.copy() @ by_time
    return found


@njit(cache=True)
def cumulated(codes: Codes, clock: Integers, levels: Floats) -> tuple[Floats, Floats]:
    """Cumulative sums of what is left after levels, and of these sums."""
    n, k = len(codes), levels.shape[1]
    reached, summed = np.zeros((n + 1, k)), np.zeros((n + 1, k))
    for t in range(n):
        there = 1.0 if codes[t] >= 0 else 0.0
        for z in range(k):
            summed[t + 1, z] = summed[t, z] + reached[t, z]
            reached[t + 1, z] = reached[t, z] - there * levels[clock[t], z]
        if codes[t] >= 0:
            reached[t + 1, codes[t]] += 1.0
    return reached, summed


@njit(cache=True)
def stays_of(codes: Codes, ends: Integers) -> Integers:
    """Where stays begin, one after the other, and where the last one ends; missing values are stays as well."""
    begun, number = np.zeros(len(codes) + 1, dtype=np.int64), 0
    for t in range(len(codes)):
        if t == 0 or codes[t] != codes[t - 1] or ends[t] != ends[t - 1]:
            begun[number] = t
            number += 1
    begun[number] = len(codes)
    return begun[: number + 1]


@njit(cache=True)
def levels_of(codes: Codes, clock: Integers, period: int, near: int, k: int) -> Floats:
    """The share of each state at each time of the cycle, from that many times to both sides as well."""
    counts = np.zeros((period, k))
    for t in range(len(codes)):
        if codes[t] >= 0:
            counts[clock[t], codes[t]] += 1.0
    levels = np.zeros((period, k))
    for time in range(period):
        for away in range(-min(near, (period - 1) // 2), min(near, (period - 1) // 2) + 1):
            levels[time] += counts[(time + away) % period]
        levels[time] /= max(levels[time].sum(), 1.0)
    return levels
