"""Data as series of states, of which queries are asked.

A *subject* is one chain; subjects are independent of one another and each is protected. A gap (a missing value, or a
pause that is too long) splits a subject's series into *stretches*: nothing is counted across a gap. How many subjects
there are, how long their series, and where the gaps are, is public.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quiltwork.data.reading import About, Reading, check_segment
from quiltwork.data.times import Window
from quiltwork.data.values import codes_of, is_missing, name_of, natural
from quiltwork.errors import DataError
from quiltwork.job import Missing
from quiltwork.types import Codes, Duration, Segment

POSITIONS = Duration(1, steps=True)
TOLD_APART = "by subject"  # what a reading says of values in memory that have subjects


class Timeline(NamedTuple):
    """Values at equal steps, -1 where one is missing; ``begun`` is the step on the clock (from 1970) of the first.

    ``begun`` is None where the time of day is not known.
    """

    codes: Codes
    begun: int | None = None


class Countable(ABC):
    """What a query is evaluated on: how often each state occurs, and how often each follows each."""

    states: tuple[str, ...]

    @abstractmethod
    def counts(self) -> Codes:
        """How often each state occurs."""

    @abstractmethod
    def transitions(self) -> Codes:
        """How often each state is followed by each, gaps not bridged; shape (states, states)."""

    @property
    @abstractmethod
    def stretches(self) -> tuple[Codes, ...]:
        """The values themselves, stretch by stretch."""

    @property
    def size(self) -> int:
        """The number of values."""
        return int(self.counts().sum())


@dataclass(frozen=True)
class Part(Countable):
    """The values of one window, or of one subject."""

    states: tuple[str, ...]
    counted: Codes
    followed: Codes

    def counts(self) -> Codes:
        """How often each state occurs in it."""
        return self.counted

    def transitions(self) -> Codes:
        """How often each state is followed by each, in it."""
        return self.followed

    @property
    def stretches(self) -> tuple[Codes, ...]:
        """Not known."""
        raise DataError("this query cannot be split by window or subject", got="window or by_subject")


@dataclass(frozen=True)
class Shape:
    """What is public about series: how many there are, how long, and whether they have gaps.

    ``chains`` are the different lengths of subjects, each with its number of stretches. ``late`` says that some
    subject's values begin later than the series does, after missing ones; ``uneven`` that times are not evenly spaced,
    so that there may be values in between that were not recorded.
    """

    subjects: int
    size: int
    chains: frozenset[tuple[int, int]]
    gaps: int
    late: bool = False
    uneven: bool = False

    @property
    def certain(self) -> bool:
        """Whether values are at the times that they seem to be: the first at time 1, each directly after the last."""
        return not (self.gaps or self.late or self.uneven)


class Series(Countable):
    """Values of each subject, in order, as states; what queries are asked of.

    ``Series.from_values`` takes values in memory; :func:`read_series` reads files and tables of any size.

    >>> series = Series.from_values(["sit", "walk", None, "sit"], states=["sit", "walk"], missing="split")
    >>> [stretch.tolist() for stretch in series.stretches], series.longest
    ([[0, 1], [0]], 3)
    """

    reading: Reading
    """How they were read."""

    @property
    def about(self) -> About | None:
        """What is public about the table that they were read from; None for values in memory."""
        return None

    @property
    def segment(self) -> Segment | None:
        """Which times of the whole series these are, if not all."""
        return self.reading.segment

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """What is public about them."""

    @property
    @abstractmethod
    def by_subject(self) -> tuple[tuple[Codes, ...], ...]:
        """The stretches of each subject, in memory."""

    @property
    def stretches(self) -> tuple[Codes, ...]:
        """All stretches of all subjects, in memory."""
        return tuple(stretch for subject in self.by_subject for stretch in subject)

    @property
    def timelines(self) -> tuple[tuple[Timeline, ...], ...]:
        """The values of each subject at equal steps; a new timeline begins where it is not known how many are missing.

        >>> series = Series.from_values(["sit", None, "walk"], states=["sit", "walk"], missing="split")
        >>> [[timeline.codes.tolist() for timeline in subject] for subject in series.timelines]
        [[[0], [1]]]
        """
        return tuple(tuple(map(Timeline, subject)) for subject in self.by_subject)

    @property
    def spacing(self) -> tuple[Duration, Duration] | None:
        """The shortest and the longest usual time from a value to the next; None where times have no usual spacing."""
        return POSITIONS, POSITIONS

    @property
    def step(self) -> Duration | None:
        """The usual time from a value to the next: 1 for values without times, None if it is not known.

        >>> str(Series.from_values(["sit", "walk"], states=["sit", "walk"]).step)
        '1'
        """
        return None if self.spacing is None else self.spacing[0]

    @property
    def stretch_lengths(self) -> frozenset[int]:
        """The different lengths of stretches."""
        return frozenset(map(len, self.stretches))

    @abstractmethod
    def between(self, first: int, last: int) -> "Series":
        """Only the values at these times of each series, both included."""

    @abstractmethod
    def check_asked(self, *, window: Window | None, ordered: bool) -> None:
        """Refuse windows that need times, and what needs an order of values, where there is none."""

    @abstractmethod
    def subject_names(self) -> tuple[str, ...]:
        """What subjects are called."""

    @abstractmethod
    def parts(self, *, window: Window | None, by_subject: bool, transitions: bool) -> Mapping[str, Part]:
        """The values of each window, or of each subject, or of each window of each subject, by name."""

    def transitions_by_step(self, step: Duration) -> Mapping[int, Codes]:  # noqa: ARG002 - values in memory have none
        """How often each state is followed by each, by the step on the clock (counted from 1970) that it leads to."""
        raise DataError(
            "the time of day is not known",
            got="values without times",
            fix="Read a table that has a column of times",
        )

    @abstractmethod
    def extended(self, more: object, *, subject: Iterable[object] | None = None) -> "Series":
        """With further values at the end."""

    @property
    def subjects(self) -> int:
        """How many subjects there are."""
        return self.shape.subjects

    @property
    def size(self) -> int:
        """The number of values."""
        return self.shape.size

    @property
    def longest(self) -> int:
        """The most values of one subject, over all its stretches."""
        return max(values for values, _ in self.shape.chains)

    @property
    def longest_stretch(self) -> int:
        """The most values without a gap."""
        return max(self.stretch_lengths)

    @property
    def gaps(self) -> int:
        """How many times a subject's series is interrupted."""
        return self.shape.gaps

    def __repr__(self) -> str:
        return f"Series({self.subjects} subjects, {self.size} values of {len(self.states)} states)"

    def _check_whole(self) -> None:
        if self.segment is not None:
            raise DataError("values cannot be appended to a segment", got="a segment", fix="Append to the whole series")

    def _check_segments(self) -> None:
        if not self.shape.certain or self.segment is not None:
            raise DataError(
                "a segment cannot be cut from a series with gaps",
                got=f"{self.gaps} gaps, or times that are not evenly spaced" if self.segment is None else "a segment",
                why="positions in the series do not match times",
                fix="Cut the segment when the data are read",
            )

    @staticmethod
    def from_values(
        values: Iterable[object],
        *,
        states: Sequence[str] | None = None,
        subject: Iterable[object] | None = None,
        missing: Missing = "refuse",
    ) -> "HeldSeries":
        """Match values to states by name; ``None`` and NaN are missing.

        Without ``states`` they are the values that occur, sorted: only do that with public data. Values are in time
        order; with ``subject``, in time order for each subject.
        """
        names = _names(values)
        states = sorted({*names} - {""}, key=natural) if states is None else states
        codes = _by_subject(names, states, subject)
        reading = Reading(missing=missing, subject=None if subject is None else TOLD_APART)
        return HeldSeries.of(codes, states=states, reading=reading)

    @staticmethod
    def from_codes(
        subjects: Iterable[NDArray[np.integer]],
        *,
        states: Sequence[str],
        missing: Missing = "refuse",
        segment: Segment | None = None,
    ) -> "HeldSeries":
        """One array of state codes per subject, -1 for a missing value; of each, only the segment if there is one."""
        arrays = {str(n): np.asarray(codes, dtype=np.int64) for n, codes in enumerate(subjects, 1)}
        reading = Reading(missing=missing, subject=TOLD_APART if len(arrays) > 1 else None, segment=segment)
        return HeldSeries.of(arrays, states=states, reading=reading)


@dataclass(frozen=True, repr=False)
class HeldSeries(Series):
    """Series in memory: for each subject an array of codes, -1 where a value is missing."""

    states: tuple[str, ...]
    codes: tuple[Codes, ...]
    names: tuple[str, ...]
    reading: Reading

    @classmethod
    def of(cls, codes: Mapping[str, Codes], *, states: Sequence[str], reading: Reading) -> "HeldSeries":
        """The codes of each subject, by name; of each, only the segment if there is one."""
        arrays = list(codes.values())
        longest = max(map(len, arrays), default=0)
        if not longest:
            raise no_values()
        if reading.segment is not None:
            first, last = check_segment(reading.segment, longest)
            arrays = [array[first - 1 : last] for array in arrays]
        absent = sum(int((array < 0).sum()) for array in arrays)
        if absent and reading.missing == "refuse":
            raise missing_values(absent)
        if not any((array >= 0).any() for array in arrays):
            raise no_values("missing ones only")
        return cls(tuple(states), tuple(arrays), tuple(codes), reading)

    @property
    def _named(self) -> dict[str, Codes]:
        return dict(zip(self.names, self.codes, strict=True))

    @cached_property
    def by_subject(self) -> tuple[tuple[Codes, ...], ...]:
        """The stretches of each subject."""
        cut = (np.split(codes, np.flatnonzero(codes < 0)) for codes in self.codes)
        return tuple(tuple(kept for piece in pieces if len(kept := piece[piece >= 0])) for pieces in cut)

    @cached_property
    def shape(self) -> Shape:
        """What is public about them."""
        chains = [(sum(map(len, subject)), len(subject)) for subject in self.by_subject if subject]
        return Shape(
            subjects=len(chains),
            size=sum(values for values, _ in chains),
            chains=frozenset(chains),
            gaps=sum(stretches - 1 for _, stretches in chains),
            late=any(s[0] < 0 for s in self.codes if (s >= 0).any()),
        )

    def counts(self) -> Codes:
        """How often each state occurs."""
        return _counts(self.codes, len(self.states))

    def transitions(self) -> Codes:
        """How often each state is followed by each, gaps not bridged; shape (states, states)."""
        return _transitions(self.codes, len(self.states))

    def between(self, first: int, last: int) -> "HeldSeries":
        """Only the values at these times of each series, both included; there must be no gaps."""
        self._check_segments()
        return HeldSeries.of(self._named, states=self.states, reading=replace(self.reading, segment=(first, last)))

    def subject_names(self) -> tuple[str, ...]:
        """What subjects are called."""
        return self.names

    def check_asked(self, *, window: Window | None, ordered: bool) -> None:  # noqa: ARG002
        """Values in memory have an order, and no times."""
        if window is not None and window.on_the_clock:
            raise DataError(
                f"windows by {window.kind} need times",
                got="values without times",
                fix="Read them with a time column, or ask for windows of a number of values",
            )

    def parts(self, *, window: Window | None, by_subject: bool, transitions: bool) -> dict[str, Part]:
        """By position and by subject."""
        self.check_asked(window=window, ordered=transitions)
        within: dict[str, list[Codes]] = {}
        reached: dict[str, list[Codes]] = {}
        for name, codes in self._named.items():
            for begun, last, title in self._spans(window, len(codes)):
                label = " ".join([name] * by_subject + title)
                within.setdefault(label, []).append(codes[begun:last])
                # a transition belongs to the window of its second value
                reached.setdefault(label, []).append(codes[max(0, begun - 1) : last])
        k = len(self.states)
        parts = {
            label: Part(self.states, _counts(within[label], k), _transitions(reached[label], k)) for label in within
        }
        return {label: part for label, part in parts.items() if part.size}

    def _spans(self, window: Window | None, length: int) -> Iterator[tuple[int, int, list[str]]]:
        """Where windows begin and end among this many values, and what they are called."""
        if window is None:
            yield 0, length, []
            return
        earlier = 0 if self.segment is None else self.segment[0] - 1
        for n in range(earlier // window.span, (earlier + length - 1) // window.span + 1):
            begun = n * window.span - earlier
            yield max(0, begun), begun + window.span, [window.label(n)]

    def extended(self, more: object, *, subject: Iterable[object] | None = None) -> "HeldSeries":
        """With further values at the end, of the one subject or of each of those named."""
        if isinstance(more, str) or not isinstance(more, Iterable):
            raise DataError("appended values must be a sequence", got=type(more).__name__)
        self._check_whole()
        held = self._named
        further = _by_subject(_names(more), self.states, subject)
        if subject is None:
            if len(held) != 1:
                raise DataError("appended values need a subject", got="none", fix="subject=[...]")
            further = {next(iter(held)): next(iter(further.values()))}
        joined = held | {name: np.concatenate([held.get(name, codes[:0]), codes]) for name, codes in further.items()}
        return HeldSeries.of(joined, states=self.states, reading=self.reading)


def _names(values: Iterable[object]) -> list[str]:
    return ["" if is_missing(v) else name_of(v) for v in values]


def _by_subject(names: Sequence[str], states: Sequence[str], subject: Iterable[object] | None) -> dict[str, Codes]:
    """The codes of each subject's values, by their names, in the order in which they come."""
    codes = codes_of(names, states)
    if subject is None:
        return {"1": codes}
    labels = list(subject)
    if len(labels) != len(codes):
        raise DataError("subject must have one entry per value", got=f"{len(labels)} for {len(codes)} values")
    order: dict[object, list[int]] = {}
    for position, label in enumerate(labels):
        order.setdefault(label, []).append(position)
    if len({str(label) for label in order}) < len(order):
        raise DataError("subjects must have different names", got="two that look alike, such as 1 and '1'")
    return {str(label): codes[positions] for label, positions in order.items()}


def _counts(codes: Iterable[Codes], k: int) -> Codes:
    return sum((np.bincount(s[s >= 0], minlength=k) for s in codes), np.zeros(k, dtype=np.int64))


def _transitions(codes: Iterable[Codes], k: int) -> Codes:
    total = np.zeros(k * k, dtype=np.int64)
    for s in codes:
        both = (s[:-1] >= 0) & (s[1:] >= 0)
        total += np.bincount((s[:-1] * k + s[1:])[both], minlength=k * k)
    return total.reshape(k, k)


def no_values(got: str = "none") -> DataError:
    """Nothing to count."""
    return DataError("the data must have at least one value", got=got, why="there is nothing to count")


def missing_values(absent: int) -> DataError:
    """Some values are missing, and it was not said that they may be."""
    return DataError(
        "the column must have a value in every row",
        got=f"{absent} missing",
        why="a missing value breaks the series in two",
        fix="Fill them in, or split the series there: missing='split'",
    )
