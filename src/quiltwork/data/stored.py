"""Series that stay where they are: counted on the engine that holds them, so that only small tables come back.

The rows of each subject are followed in time. A row *opens* a stretch if it is the first, if the value before it is
missing, or if more time than ``gap`` has passed. Grouped by subject, value before and value, rows become a small table
of numbers, from which all else is summed up: lengths, stretches, counts, transitions, and what is wrong with the data.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

import narwhals as nw
import numpy as np
import polars as pl

from quiltwork.data.engines.base import Engine
from quiltwork.data.reading import About, Reading, check_segment, source_name
from quiltwork.data.rows import UNKNOWN, Matching, Rows
from quiltwork.data.series import POSITIONS, Part, Series, Shape, Timeline, missing_values, no_values
from quiltwork.data.tables import Frame, pattern_of
from quiltwork.data.times import Window
from quiltwork.data.values import names_in, natural, unknown_states
from quiltwork.errors import DataError
from quiltwork.types import Codes, Duration, Progress

UNEVEN = 1.5  # how many times the shortest step the longest may be where times are evenly spaced
P = TypeVar("P")
MOST_SPANS = 1000  # different times from row to row of which a pass tells how often they occur


class Run(NamedTuple):
    """A stretch, with the times of its first and last value and what the clock on the wall says at the first."""

    codes: Codes
    first: int
    last: int
    wall: int | None

    @classmethod
    def of(cls, rows: "pl.DataFrame") -> "Run":
        """The stretch that rows of a table are."""
        when, wall = rows["when"], int(rows["wall"][0]) if "wall" in rows.columns else None
        return cls(rows["value"].to_numpy().astype(np.int64), int(when[0]), int(when[-1]), wall)


class StoredSeries(Series):
    """Series in files or tables, counted where they are; counts are computed once, when first asked for."""

    _matching = Matching

    def __init__(
        self,
        sources: Sequence[object],
        opened: Callable[[Sequence[object]], Engine],
        reading: Reading,
        *,
        states: Sequence[str] | None,
        spare: str | None = None,
        progress: Progress | None = None,
    ):
        engine = opened(sources)
        self._sources, self._opened, self._engine = tuple(sources), opened, engine
        self.reading, self._spare, self._progress = reading, spare, progress
        if reading.bins is not None and states is not None:
            reading.bins.check(states)
        matching = self._matching(engine.kind, str(reading.column), states, reading.bins)
        self.states = tuple(states) if states is not None else self._found_states()
        self._values = replace(matching, states=self.states)
        self._rows = Rows(engine, reading, self._values, progress)
        self._facts  # noqa: B018 - what is wrong with the data is said at once

    @property
    def doubt(self) -> str | None:
        """What may have been forgotten when reading, for whoever asked to look at; None if nothing seems to be.

        That is a column that seems to say whose the values are, where all were taken as one series.
        """
        if self._spare is None or self._spare.strip().lower() in ("id", "ids"):  # rows may have numbers
            return None
        return (
            f"column {self._spare!r} is not used, and all rows were read as one series. "
            f"If it says whose the values are, name it: subject='{self._spare}'"
        )

    @cached_property
    def about(self) -> About:
        """What is public about the table that they were read from: whatever part of it is asked for."""
        rows, first, last = self._engine.extent()
        clock = self._engine.clock
        return About(
            source=source_name(*self._sources),
            rows=rows,
            first=clock.named(first),
            last=clock.named(last),
            step=None if self.reading.time is None else self.step,
            reading=self.reading.whole,
        )

    def _found_states(self) -> tuple[str, ...]:
        """The values that occur, sorted; levels are named by their edges."""
        if self.reading.bins is not None:
            return self.reading.bins.names
        raw = self._engine.collect(self._engine.rows.group_by("what").agg(nw.len().alias("n")))
        return tuple(sorted(set(names_in(raw["what"], None)) - {""}, key=natural))

    @cached_property
    def _facts(self) -> "pl.DataFrame":
        """A row for each different (values, stretches) that subjects have, with sums over those subjects; checked."""
        rows, reading = self._rows, self.reading
        quick = not rows.ordered or (rows.plain and reading.gap is None and self._engine.order.rising)
        facts = rows.gather(self._by_value, ordered=False) if quick else None
        if facts is None or (rows.ordered and facts["missing"].sum()):
            facts = rows.gather(self._by_step)
        self._refuse(facts)
        return facts

    def _by_value(self, rows: Frame) -> Frame:
        """Lengths and counts where the order of rows does not matter."""
        grouped = rows.group_by("who", "what")
        n, when = nw.len().cast(nw.Int64).alias("n"), nw.col("when")
        if self.reading.time is None or self._engine.order.most is not None:
            return self._summed(grouped.agg(n), {})
        ends = {"begun": "min", "ended": "max"}
        return self._summed(grouped.agg(n, when.min().alias("begun"), when.max().alias("ended")), ends)

    def _by_step(self, rows: Frame) -> Frame:
        """Lengths, counts and stretches of rows that were followed, and how many rows are wrong."""
        flags = self._flags(rows)
        after = nw.when(~nw.col("opens")).then(nw.col("before"))
        marked = rows.with_columns(
            after=after,
            least=nw.col("when") - nw.col("since"),
            most=nw.col("when") - nw.col("since"),
            **{name: flag.cast(nw.Int64).fill_null(int(name == "untimed")) for name, flag in flags.items()},
        )
        n = nw.len().cast(nw.Int64).alias("n")
        how = {"least": "min", "most": "max"} | dict.fromkeys(flags, "sum")
        return self._summed(marked.group_by("who", "after", "what").agg(n, *_each(how)), how)

    def _flags(self, rows: Frame) -> dict[str, "nw.Expr"]:
        """What may be wrong with a row, or with where it is."""
        schema, when, since = rows.collect_schema(), nw.col("when"), nw.col("since")
        flags = {"late": since.is_null() & nw.col("what").is_null()}
        if not self._engine.order.rising:
            flags |= {
                "repeated": nw.col("again") if "again" in schema else when == since,
                "unsorted": nw.col("back") if "back" in schema else when < since,
                "untimed": when.is_null(),
            }
        if "clash" in schema:
            flags["clash"] = nw.col("clash")
        if self.reading.segment is not None:
            flags["reached"] = nw.col("place") >= self.reading.segment[1]
        return flags

    def _summed(self, grouped: Frame, how: Mapping[str, str]) -> Frame:
        """Sums over each subject, then over subjects of the same length; of further columns, least or most."""
        n, absent = nw.col("n"), self._values.absent(nw.col("what"))
        columns = {"values": _times(~absent, n), "missing": _times(absent, n)}
        columns |= {f"c{i}": _times(hit, n) for i, hit in enumerate(self._values.hits(nw.col("what")))}
        followed = "after" in grouped.collect_schema()
        if followed:
            columns["stretches"] = _times(~absent & nw.col("after").is_null(), n)
        how = dict.fromkeys(columns, "sum") | dict(how)
        per = grouped.with_columns(**columns).group_by("who").agg(*_each(how))
        rows = nw.col("values") + nw.col("missing")
        more = {"nobody": _times(nw.col("who").is_null(), rows)}
        if not followed:
            more["stretches"] = (nw.col("values") > 0).cast(nw.Int64)
        if "begun" in how:
            # times that are as near as any two rows come, from first to last, are evenly spaced
            even = nw.col("ended") - nw.col("begun") == (rows - 1) * (self._engine.order.least or 0)
            more["uneven"] = (~even).cast(nw.Int64)
        how = dict.fromkeys(more, "sum") | how
        kept = {one: how[one] for one in how if one not in ("values", "stretches", "begun", "ended")}
        return per.with_columns(**more).group_by("values", "stretches").agg(nw.len().alias("people"), *_each(kept))

    def _refuse(self, facts: "pl.DataFrame") -> None:
        """What is wrong with the rows."""
        reading, totals = self.reading, {name: int(facts[name].sum() or 0) for name in facts.columns}
        rows = int((facts["values"] * facts["people"]).sum()) + totals["missing"]
        if rows == 0 and reading.segment is None:
            raise no_values()
        _check_places(totals, reading, self._spare)
        unknown = rows - totals["missing"] - sum(totals[f"c{i}"] for i in range(len(self.states)))
        if unknown:
            raise self._unknown(unknown, rows)
        if totals["missing"] and reading.missing == "refuse":
            raise missing_values(totals["missing"])
        if reading.segment is not None and not totals["reached"]:
            check_segment(reading.segment, 0)  # no series is as long
        if not totals["values"]:
            raise no_values("missing ones only")

    def _unknown(self, unknown: int, rows: int) -> DataError:
        """Says how many, and where the first is if rows have an order."""
        if self.reading.bins is not None:
            return DataError(
                f"column {self.reading.column!r} must hold numbers to be grouped into levels",
                got=f"{unknown} of {rows} that are not numbers",
            )
        first = None
        if self._engine.in_order:
            raw = nw.to_native(self._engine.rows).with_row_index("row")
            bad = nw.from_native(raw).filter(self._values.code("what") == UNKNOWN)
            first = int(self._engine.collect(bad.select(nw.col("row").min()))["row"][0]) + 1
        return unknown_states(unknown, rows, self.states, first_row=first)

    @cached_property
    def shape(self) -> Shape:
        """What is public about them."""
        facts = self._facts.filter(pl.col("values") > 0)
        gaps = int(((facts["stretches"] - 1) * facts["people"]).sum())
        return Shape(
            subjects=int(facts["people"].sum()),
            size=int((facts["values"] * facts["people"]).sum()),
            chains=frozenset(zip(facts["values"].to_list(), facts["stretches"].to_list(), strict=True)),
            gaps=gaps,
            late="late" in facts.columns and bool(facts["late"].sum()),
            uneven=self._uneven or self._unsure_before,
        )

    @property
    def _unsure_before(self) -> bool:
        """Whether there may be pauses before the segment, so that it is not known which times it is about."""
        segment = self.reading.segment
        if segment is None or segment[0] == 1 or self.reading.time is None:
            return False
        try:
            whole = self._again(self._sources, replace(self.reading, segment=None))
        except DataError:
            return True
        return not whole.shape.certain

    @property
    def _uneven(self) -> bool:
        """Whether times are not evenly spaced, so that values between them may not be recorded."""
        if self.reading.time is None or self.reading.gap is not None or self.reading.every is not None:
            return False
        if "uneven" in self._facts:
            return bool(self._facts["uneven"].sum())
        least, most = self._spans
        return most is not None and least is not None and most > UNEVEN * least

    @property
    def _spans(self) -> tuple[float | None, float | None]:
        """The shortest and the longest time from a row to the next, as far as reading the rows has shown them."""
        facts, order = self._facts, self._engine.order
        if "uneven" in facts:
            return order.least, None if facts["uneven"].sum() else order.least
        ends: tuple[Any, Any] = order.least, order.most
        if "most" in facts:
            ends = facts["least"].min(), facts["most"].max()
        least, most = (None if end is None else float(end) for end in ends)
        return least, most

    @cached_property
    def spacing(self) -> tuple[Duration, Duration] | None:
        """From the times: where they are not evenly spaced, the spacing that most of them have."""
        if self.reading.time is None:
            return POSITIONS, POSITIONS
        if self.reading.every is not None:
            return self.reading.every, self.reading.every
        least, most = self._spans
        if least is None or (most is not None and least <= 0):
            return None
        if most is None or most > UNEVEN * least:
            least = most = self._usual_span()
        return None if least is None or most is None else (self._duration(least), self._duration(most))

    def _usual_span(self) -> float | None:
        """The time from a row to the next that at least half of the rows have, in the units of ``when``."""

        def spans(rows: Frame) -> Frame:
            apart = rows.with_columns(apart=nw.col("when") - nw.col("since")).filter(~nw.col("since").is_null())
            counted = apart.group_by("apart").agg(nw.len().cast(nw.Int64).alias("n"))
            return counted.sort("n", descending=True).head(MOST_SPANS)

        table = self._rows.gather(spans).group_by("apart").agg(pl.col("n").sum()).sort("n", descending=True)
        if not table.height or 2 * int(table["n"][0]) < self.size - self.subjects:
            return None
        return float(table["apart"][0])

    def _duration(self, ticks: float) -> Duration:
        clock = self._engine.clock
        if clock.ticks is not None:
            return Duration(max(1, round(ticks / clock.ticks)), steps=False)
        number = ticks / 10**6 if clock.millionths else float(ticks)
        return Duration(int(number) if number.is_integer() else number, steps=True)

    @cached_property
    def stretch_lengths(self) -> frozenset[int]:
        """The different lengths of stretches."""
        if not self._rows.ordered or not self.gaps:
            return frozenset(values for values, _ in self.shape.chains)

        def lengths(rows: Frame) -> Frame:
            present = self._engine.numbered(rows).filter(~self._values.absent(nw.col("what")))
            runs = present.group_by("who", "stretch").agg(nw.len().cast(nw.Int64).alias("n"))
            return runs.group_by("n").agg(nw.len().cast(nw.Int64).alias("times"))

        return frozenset(self._rows.gather(lengths)["n"].to_list())

    def counts(self) -> Codes:
        """How often each state occurs."""
        return np.array([int(self._facts[f"c{i}"].sum()) for i in range(len(self.states))], dtype=np.int64)

    def transitions(self) -> Codes:
        """How often each state is followed by each, gaps not bridged; shape (states, states)."""
        return self._transitions.copy()

    @cached_property
    def _transitions(self) -> Codes:
        return self._table([], transitions=True).get((), np.zeros((len(self.states),) * 2, dtype=np.int64))

    def _table(
        self, keys: list[str], *, transitions: bool, window: Window | None = None
    ) -> dict[tuple[Any, ...], Codes]:
        """Counts of states, or of transitions, for each value of the keys."""
        values, k = self._values, len(self.states)
        followed = ["after"] if transitions else []

        def count(rows: Frame) -> Frame:
            if transitions:
                rows = rows.filter(~nw.col("opens")).with_columns(after=nw.col("before"))
            grouped = rows.group_by(*keys, *followed, "what").agg(nw.len().cast(nw.Int64).alias("n"))
            coded = grouped.with_columns(**{name: values.code(name) for name in (*followed, "what")})
            return coded.filter(nw.col("what") >= 0).group_by(*keys, *followed, "what").agg(nw.col("n").sum())

        shape = (k, k) if transitions else (k,)
        counts: dict[tuple[Any, ...], Codes] = {}
        for row in self._rows.gather_within(window, count, ordered=transitions).iter_rows(named=True):
            table = counts.setdefault(tuple(row[key] for key in keys), np.zeros(shape, dtype=np.int64))
            table[tuple(int(row[name]) for name in (*followed, "what"))] += int(row["n"])
        return counts

    def transitions_by_step(self, step: Duration) -> dict[int, Codes]:
        """How often each state is followed by each, by the step on the clock (counted from 1970) that it leads to."""
        window = Window("hour", int(step.length))
        self.check_asked(window=window, ordered=True)
        counts = self._table(["window"], transitions=True, window=window)
        return {int(number): table for (number,), table in counts.items()}

    def subject_names(self) -> tuple[str, ...]:
        """What subjects are called."""
        return tuple(map(str, self._engine.collect(self._engine.rows.select("who").unique())["who"].to_list()))

    def check_asked(self, *, window: Window | None, ordered: bool) -> None:
        """Windows on the clock need dates; positions and transitions an order of rows."""
        if ordered or (window is not None and not window.on_the_clock):
            self._rows.check_order()
        if window is not None and window.on_the_clock and not self._engine.clock.calendar:
            raise DataError(
                f"windows by {window.kind} need dates",
                got="no time column" if self.reading.time is None else "times without dates",
                fix="Name a column of dates, or ask for windows of a number of values",
            )

    def parts(self, *, window: Window | None, by_subject: bool, transitions: bool) -> dict[str, Part]:
        """The values of each window, or of each subject, or of each window of each subject."""
        self.check_asked(window=window, ordered=transitions)
        keys, none = part_keys(window, by_subject=by_subject), np.zeros((len(self.states),) * 2, dtype=np.int64)
        counted = self._table(keys, transitions=False, window=window)
        followed = self._table(keys, transitions=True, window=window) if transitions else {}
        parts = {key: Part(self.states, counts, followed.get(key, none)) for key, counts in counted.items()}
        return by_label(parts, window, by_subject=by_subject)

    @property
    def by_subject(self) -> tuple[tuple[Codes, ...], ...]:
        """The stretches of each subject, brought into memory; subjects in the order of their names."""
        return tuple(tuple(run.codes for run in subject) for subject in self._runs)

    @cached_property
    def _runs(self) -> tuple[tuple[Run, ...], ...]:
        """The stretches of each subject with the times of their ends, brought into memory."""
        code = self._values.code("what")
        return tuple(tuple(map(Run.of, subject)) for subject in self._in_memory(nw.when(code >= 0).then(code)))

    def _in_memory(self, value: "nw.Expr") -> list[list["pl.DataFrame"]]:
        """The rows of each stretch of each subject, brought into memory; ``value`` is null where there is none."""
        wall = ["wall"] if self._engine.clock.calendar else []

        def values(rows: Frame) -> Frame:
            numbered = self._engine.numbered(rows).with_columns(value=value)
            return numbered.select("who", "when", "stretch", "value", *wall)

        table = self._rows.gather(values).filter(pl.col("value").is_not_null()).sort("who", "when")
        subjects = table.partition_by("who", maintain_order=True)
        return [subject.partition_by("stretch", maintain_order=True) for subject in subjects]

    @property
    def timelines(self) -> tuple[tuple[Timeline, ...], ...]:
        """Stretches joined where their times say how many values are missing between them."""
        if self.reading.time is None or self.step is None:
            return super().timelines
        ticks = self._engine.clock.span(self.step.length, steps=self.step.steps)
        return tuple(tuple(_joined(subject, ticks, step=self.step)) for subject in self._runs)

    def between(self, first: int, last: int) -> Self:
        """Only the values at these times of each series, both included; there must be no gaps."""
        self._check_segments()
        check_segment((first, last), last)
        return self._again(self._sources, replace(self.reading, segment=(first, last)))

    def extended(self, more: object, *, subject: Iterable[object] | None = None) -> Self:
        """With the rows of a further table of the same kind."""
        if subject is not None:
            raise DataError("appended rows must name their subject in a column", got="subject=")
        self._check_whole()
        if isinstance(more, Series | list | tuple):
            raise DataError(
                "only a table can be appended to a series read from a table",
                got="values",
                fix="Append a table or file with the same columns",
            )
        replace(self.reading, files=pattern_of(more)).check_positions()
        sources = (*self._sources, more)
        self._opened(sources)  # refuses tables that do not fit together
        if self.reading.time is not None:
            self._check_later(self._opened([more]))
        return self._again(sources, self.reading)

    def _check_later(self, further: Engine) -> None:
        """New rows must come after those of the same subject: else values that were released change their places."""
        every, clock = self.reading.every, self._engine.clock
        width = 1 if every is None else clock.span(every.length, steps=every.steps)
        ended = self._engine.rows.group_by("who").agg(nw.col("when").max().alias("ended"))
        begun = further.rows.group_by("who").agg(nw.col("when").min().alias("begun"))
        early = begun.join(ended, on="who", how="inner").filter(nw.col("begun") // width <= nw.col("ended") // width)
        count = int(self._engine.collect(early.select(nw.len().alias("n"))).item())
        if count:
            raise DataError(
                "appended rows must be later than all rows before",
                got=f"earlier rows for {count} subjects",
                why="values that were already released would change position",
            )

    def _again(self, sources: Sequence[object], reading: Reading) -> Self:
        return type(self)(
            sources, self._opened, reading, states=self.states, spare=self._spare, progress=self._progress
        )


def _check_places(totals: Mapping[str, int], reading: Reading, spare: str | None) -> None:
    """Refuse rows that cannot be placed: said with how many there are, never with what they hold.

    Where no subject was named, one may be needed; ``spare`` is the column that seems to be it, by its name alone.
    """
    whose = "" if spare is None else f", it seems to be subject='{spare}'"
    whose = "" if reading.subject is not None else f" with subject={whose}. "
    for name, holes in ((reading.subject, totals["nobody"]), (reading.time, totals.get("untimed", 0))):
        if holes:
            raise DataError(
                f"column {name!r} must have a value in every row",
                got=f"{holes} missing" + (" or not finite" if name == reading.time else ""),
                why="a row without it cannot be placed",
            )
    if totals.get("unsorted") and reading.unsorted == "refuse":
        raise DataError(
            f"rows must be sorted by column {reading.time!r}",
            got=f"{totals['unsorted']} earlier than the row before",
            why="unexpected order often means the wrong file",
            fix=(whose and f"If times start again with each person, name the column that tells people apart{whose}")
            + "Else sort them: unsorted='sort'",
        )
    if totals.get("repeated"):
        raise DataError(
            f"column {reading.time!r} must not repeat a time within a subject",
            got=f"{totals['repeated']} repeated",
            why="the order of such rows is not known",
            fix=(whose and f"Name the subject column{whose}") + "Else keep one row per time: duplicates='drop'",
        )
    if totals.get("clash"):
        raise DataError(
            f"column {reading.time!r} must not repeat a time with a different value",
            got=f"{totals['clash']} times with different values",
            why="only rows with the same value can be dropped",
        )


def _joined(runs: Sequence[Run], ticks: int, *, step: Duration) -> Iterator[Timeline]:
    """The stretches of a subject, with -1 between them unless a gap is longer than the stretches beside it.

    ``ticks`` is the step in the units of their times.
    """
    begin = 0
    for n, run in enumerate(runs, 1):
        if n == len(runs) or _missing(run, runs[n], ticks) > max(len(run.codes), len(runs[n].codes)):
            parts = [runs[begin].codes]
            for before, after in itertools.pairwise(runs[begin:n]):
                parts += [np.full(_missing(before, after, ticks), -1, dtype=np.int64), after.codes]
            wall = None if step.steps else runs[begin].wall
            yield Timeline(np.concatenate(parts), None if wall is None else wall // int(step.length))
            begin = n


def _missing(before: Run, after: Run, ticks: int) -> int:
    """How many values there would be between two stretches: at least one."""
    return max(1, round((after.first - before.last) / ticks) - 1)


def part_keys(window: Window | None, *, by_subject: bool) -> list[str]:
    """The columns by which the values of subjects and windows are told apart."""
    return ["who"] * by_subject + ["window"] * (window is not None)


def by_label(parts: Mapping[tuple[Any, ...], P], window: Window | None, *, by_subject: bool) -> dict[str, P]:
    """What is known of one subject, one window, or one window of one subject, by its name."""
    named = {}
    for key in sorted(parts, key=lambda key: [natural(str(field)) for field in key]):
        words = [str(key[0])] * by_subject + ([] if window is None else [window.label(int(key[-1]))])
        named[" ".join(words)] = parts[key]
    return named


def _each(how: Mapping[str, str]) -> list["nw.Expr"]:
    """Sums, or least or most values, of columns."""
    return [getattr(nw.col(name), aggregate)() for name, aggregate in how.items()]


def _times(flag: "nw.Expr", n: "nw.Expr") -> "nw.Expr":
    return nw.when(flag).then(n).otherwise(nw.lit(0))
