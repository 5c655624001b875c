"""Data and belief side by side: subjects with the times of the cycle, and the world that each is compared with."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quiltwork.beliefs import Belief
from quiltwork.data.series import Series, Timeline
from quiltwork.fitting.memory import MANY_SUBJECTS, Estimator, Subject, lag_bands, relative
from quiltwork.fitting.reference import Compared, Reference, Shares
from quiltwork.fitting.worlds import World, bound_of, world_of
from quiltwork.types import Duration, Floats, Integers

DAY, WEEK = Duration.parse("1d"), Duration.parse("7d")
MONDAY = 4  # days after the beginning of 1970
PART_OF_SERIES, PART_OF_MANY = 8, 4
"""The longest lag, as a part of a series; and where there are many."""
MOST_STATES = 40
"""More states than this are not told apart: the rarest become one."""
OTHERS = "all other states"
UNLIKELY = 1e-6


@dataclass(frozen=True)
class Arranged:
    """Subjects, the states that are told apart, and for each member of the belief its world."""

    estimator: Estimator
    states: tuple[str, ...]
    numbers: Integers
    """Which state of the belief each is; one that stands for all others has none."""
    members: tuple[Belief, ...]
    worlds: tuple[World, ...]

    @classmethod
    def of(cls, belief: Belief, series: Series, step: Duration | None) -> "Arranged":
        """The subjects of a series under a belief."""
        counts = series.counts().astype(np.float64)
        worlds = tuple(world_of(member, counts / counts.sum()) for member in belief.members)
        names, numbers = _kept(series.states, counts)
        worlds = tuple(world.lumped(numbers, len(names)) for world in worlds)
        period = max(world.period for world in worlds)
        lead = next(world for world in worlds if world.period == period)
        subjects = tuple(
            _subject([line._replace(codes=_renumbered(line.codes, numbers)) for line in timelines], lead, step)
            for timelines in series.timelines
            if timelines
        )
        longest = _longest_lag(subjects)
        day = None if step is None else DAY.multiple(of=step)
        bands = lag_bands(longest, None if day is None or day <= 1 else day)
        near = period // (7 * 24 if _cycle(period, step) == WEEK else 48)
        estimator = Estimator(subjects, len(names), bands, period, near)
        kept = np.flatnonzero(numbers < len(names) - (len(names) < len(series.states)))
        return cls(estimator, names, kept, belief.members, worlds)

    @property
    def told_apart(self) -> bool:
        """Whether all states are told apart."""
        return len(self.numbers) == len(self.states)

    def compared(self) -> tuple[Reference, Shares, tuple[int, ...]]:
        """What is found if each subject has the member that fits it best, and which member that is.

        A set covers data in which every series fits some member. The likeliest member of each is tried first, then the
        one that falls least short.
        """
        chosen = tuple(self._likeliest(subject) for subject in self.estimator.subjects)
        found = self._against(chosen)
        if len(self.worlds) > 1 and found[0].refutes.any():
            other = tuple(self._nearest(subject) for subject in self.estimator.subjects)
            second = self._against(other) if other != chosen else found
            if not second[0].refutes.any():
                return *second, other
        return *found, chosen

    def _against(self, chosen: Sequence[int]) -> tuple[Reference, Shares]:
        shares = self.estimator.shares
        bound = bound_of(self.members[0], self.estimator.bands, shares) if len(self.members) == 1 else None
        return Compared(self.estimator, tuple(self.worlds[n] for n in chosen), bound).findings()

    def _likeliest(self, subject: Subject) -> int:
        """The member under which the steps of a subject are likeliest, whatever the time and the phase."""
        if len(self.worlds) == 1:
            return 0
        both = subject.present[:-1] & subject.present[1:] & (subject.ends[:-1] == subject.ends[1:])
        pairs = (subject.codes[:-1] * len(self.states) + subject.codes[1:])[both]
        counts = np.bincount(pairs, minlength=len(self.states) ** 2).reshape(len(self.states), -1)
        scores = [float((counts * np.log(np.maximum(world.steps, UNLIKELY))).sum()) for world in self.worlds]
        return int(np.argmax(scores))

    def _nearest(self, subject: Subject) -> int:
        """The member whose memory falls least short of that of a subject."""
        alone = replace(self.estimator, subjects=(subject,))
        memory = alone.memory(alone.sums(subject, subject.codes[None]))[0]
        short = [float(np.nansum(np.maximum(memory - size, 0.0))) for size in self._sizes]
        return int(np.argmin(short))

    @cached_property
    def _sizes(self) -> list[Floats]:
        return [relative(world.covariances(self.estimator.bands)[1]) for world in self.worlds]


def _kept(states: Sequence[str], counts: Floats) -> tuple[tuple[str, ...], Integers]:
    """The states that are told apart, and the number of each state among them."""
    k = len(states)
    if k <= MOST_STATES:
        return tuple(states), np.arange(k)
    kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_STATES - 1])
    numbers = np.full(k, len(kept))
    numbers[kept] = np.arange(len(kept))
    return (*(states[n] for n in kept), OTHERS), numbers


def _renumbered(codes: Integers, numbers: Integers) -> Integers:
    return np.where(codes >= 0, numbers[np.maximum(codes, 0)], -1)


def _subject(timelines: Sequence[Timeline], world: World, step: Duration | None) -> Subject:
    begun = [_time_of_cycle(timeline, world, step) for timeline in timelines]
    return Subject.of(timelines, begun, world.period)


def _cycle(period: int, step: Duration | None) -> Duration | None:
    """Whether the cycle is a day or a week on the clock."""
    known = [] if step is None or step.steps else [span for span in (DAY, WEEK) if span.multiple(of=step) == period]
    return known[0] if known else None


def _time_of_cycle(timeline: Timeline, world: World, step: Duration | None) -> int:
    """When in the cycle it begins: by the clock, or where that is not known as is likeliest."""
    if world.period == 1:
        return 0
    cycle = _cycle(world.period, step)
    if cycle is not None and timeline.begun is not None:
        earlier = MONDAY * (world.period // 7) if cycle == WEEK else 0
        return (timeline.begun - earlier) % world.period
    present = np.flatnonzero(timeline.codes >= 0)
    counts = np.zeros((world.period, world.states))
    np.add.at(counts, (present % world.period, timeline.codes[present]), 1.0)
    logs = np.log(np.maximum(world.law @ world.shows, UNLIKELY))
    product = np.conj(np.fft.rfft(counts, axis=0)) * np.fft.rfft(logs, axis=0)
    return int(np.argmax(np.fft.irfft(product.sum(axis=1), n=world.period)))


def _longest_lag(subjects: Sequence[Subject]) -> int:
    """A part of the length that at least half of the values' series have."""
    lengths = np.sort([np.sum(subject.ends == end) for subject in subjects for end in np.unique(subject.ends)])[::-1]
    usual = int(lengths[np.searchsorted(np.cumsum(lengths), lengths.sum() / 2)])
    return min(usual // (PART_OF_MANY if len(subjects) >= MANY_SUBJECTS else PART_OF_SERIES), usual - 1)
