"""Series as plainly as possible: lists of rows, loops, no engine. What every engine's counts are compared with."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Value:
    who: str
    when: datetime
    code: int | None
    place: int


@dataclass(frozen=True)
class Plain:
    """Stretches of each subject."""

    subjects: Mapping[str, list[list[Value]]]
    late: bool
    states: int

    def counts(self) -> list[int]:
        found = Counter(v.code for v in self.values())
        return [found[n] for n in range(self.states)]

    def values(self) -> list[Value]:
        return [v for own in self.subjects.values() for run in own for v in run]

    def transitions(self) -> list[list[int]]:
        found: Counter[tuple[int | None, int | None]] = Counter()
        for a, b in self.pairs():
            found[a.code, b.code] += 1
        return [[found[a, b] for b in range(self.states)] for a in range(self.states)]

    def pairs(self) -> list[tuple[Value, Value]]:
        return [(a, b) for own in self.subjects.values() for run in own for a, b in pairwise(run)]

    def chains(self) -> set[tuple[int, int]]:
        return {(sum(map(len, own)), len(own)) for own in self.subjects.values()}

    def lengths(self) -> set[int]:
        return {len(run) for own in self.subjects.values() for run in own}

    def parts(self, window: str | int | None, by_subject: bool) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for v in self.values():
            found.setdefault(name_of(v, window, by_subject), [0] * self.states)[v.code or 0] += 1
        return found


def name_of(value: Value, window: str | int | None, by_subject: bool) -> str:
    names = [value.who] * by_subject
    if window == "day":
        names.append(f"{value.when:%Y-%m-%d}")
    elif window == "hour":
        names.append(f"{value.when:%Y-%m-%d %H}:00")
    elif isinstance(window, int):
        n = (value.place - 1) // window
        names.append(f"{n * window + 1}:{(n + 1) * window}")
    return " ".join(names)


def plain_series(
    rows: Sequence[tuple[str, datetime, Any]],
    codes: Mapping[Any, int] | None,
    states: int,
    *,
    gap: timedelta | int | None = None,
    every: timedelta | None = None,
    take: str = "first",
    edges: Sequence[float] | None = None,
    segment: tuple[int, int] | None = None,
) -> Plain:
    """By loops over the rows of each subject; a value is None where it is missing."""
    subjects: dict[str, list[list[Value]]] = {}
    late = False
    for who in sorted({row[0] for row in rows}):
        own = sorted((when, what) for name, when, what in rows if name == who)
        if every is not None:
            own = _thinned(own, every, take)
        read = [Value(who, when, _code(what, codes, edges), place) for place, (when, what) in enumerate(own, start=1)]
        if segment is not None:
            read = [v for v in read if segment[0] <= v.place <= segment[1]]
        runs: list[list[Value]] = []
        before: Value | None = None
        for v in read:
            if v.code is not None:
                if before is None or before.code is None or _paused(before.when, v.when, gap, every):
                    runs.append([])
                runs[-1].append(v)
            before = v
        if runs:
            subjects[who] = runs
            late = late or read[0].code is None
    return Plain(subjects, late, states)


def _paused(a: datetime, b: datetime, gap: timedelta | int | None, every: timedelta | None) -> bool:
    if every is not None:
        steps = (b - EPOCH) // every - (a - EPOCH) // every
        most = 1 if gap is None else gap if isinstance(gap, int) else max(1, gap // every)
        return steps > most
    return isinstance(gap, timedelta) and b - a > gap


def _thinned(own: list[tuple[datetime, Any]], every: timedelta, take: str) -> list[tuple[datetime, Any]]:
    steps: dict[int, list[tuple[datetime, Any]]] = {}
    for when, what in own:
        steps.setdefault((when - EPOCH) // every, []).append((when, what))
    if take == "mean":
        found = []
        for rows in steps.values():
            numbers = [what for _, what in rows if what is not None]
            found.append((rows[0][0], sum(numbers) / len(numbers) if numbers else None))
        return found
    return [rows[0] if take == "first" else rows[-1] for rows in steps.values()]


def _code(what: Any, codes: Mapping[Any, int] | None, edges: Sequence[float] | None) -> int | None:
    if what is None:
        return None
    return sum(what >= edge for edge in edges) if edges is not None else (codes or {})[what]
