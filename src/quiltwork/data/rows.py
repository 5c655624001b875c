"""Rows as they are counted: values as states, one row a step, within the segment, each with what came before it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import polars as pl

from quiltwork.data.engines.base import Engine
from quiltwork.data.reading import Reading
from quiltwork.data.tables import Frame
from quiltwork.data.times import Window
from quiltwork.data.values import Bins, exact_numbers, flags_by_name, missing_words, not_values
from quiltwork.errors import DataError, ParameterError
from quiltwork.types import Duration, Progress

ABSENT, UNKNOWN = -2, -1


@dataclass(frozen=True)
class Matching:
    """How the values of a column are matched to states, as expressions."""

    kind: Any
    column: str
    states: Sequence[str] | None
    bins: Bins | None

    def __post_init__(self) -> None:
        known = self.kind.is_numeric() or self.kind in (nw.Boolean, nw.String, nw.Categorical) or self.kind == nw.Enum
        if not known:
            raise not_values(self.column, str(self.kind))

    @property
    def levels(self) -> bool:
        """Whether values are numbers, which become levels."""
        return self.bins is not None

    @property
    def _text(self) -> bool:
        return not self.kind.is_numeric() and self.kind != nw.Boolean

    def absent(self, value: "nw.Expr") -> "nw.Expr":
        """Whether it is missing."""
        return value.is_null() if self.levels else self._absent(value)

    def _absent(self, value: "nw.Expr") -> "nw.Expr":
        gone = value.is_null()
        if self._text:
            words = sorted({"", *missing_words(self.states)} - set(self.states or ()))
            return gone | value.str.strip_chars().is_in(words).fill_null(False)
        return gone | value.is_nan().fill_null(False) if self.kind.is_float() else gone

    def cleaned(self, rows: Frame) -> Frame:
        """With null in place of all that means a missing value."""
        if not self._text and not self.kind.is_float():
            return rows
        value = nw.col("what")
        return rows.with_columns(what=nw.when(~self._absent(value)).then(value))

    def code(self, column: str) -> "nw.Expr":
        """The code of the state in a column; ABSENT for a missing value, UNKNOWN for one that is no state."""
        value = nw.col(column)
        return nw.when(self.absent(value)).then(nw.lit(ABSENT)).otherwise(self._known(value))

    def _known(self, value: "nw.Expr") -> "nw.Expr":
        if self.levels:
            return value
        read, codes = self._keys(value)
        if not codes:
            return nw.lit(UNKNOWN)
        return read.replace_strict(list(codes), list(codes.values()), default=UNKNOWN, return_dtype=nw.Int64)

    def hits(self, value: "nw.Expr") -> list["nw.Expr"]:
        """Whether it is each of the states."""
        if self.levels:
            return [value == level for level in range(len(self.states or ()))]
        read, codes = self._keys(value)
        by_code = {code: key for key, code in codes.items()}
        return [
            read == nw.lit(by_code[n]) if n in by_code else nw.lit(0) == 1  # a name that no number has
            for n in range(len(self.states or ()))
        ]

    def _keys(self, value: "nw.Expr") -> tuple["nw.Expr", dict[Any, int]]:
        """The value as it is compared, and the code of each such value that is a state."""
        states = tuple(self.states or ())
        if self._text or (self.kind == nw.Boolean and flags_by_name(states)):
            names = value.str.strip_chars() if self._text else value.cast(nw.String)
            return names, {state: n for n, state in enumerate(states)}
        whole = self.kind == nw.Boolean or self.kind.is_integer()
        return value.cast(nw.Int64 if whole else nw.Float64), exact_numbers(states, whole=whole)

    def numbers(self, rows: Frame, engine: Engine) -> tuple[Frame, "nw.Expr"]:
        """With the column as ``number``, null where missing; and whether a value is neither number nor missing."""
        rows = engine.numbers(rows) if self._text else rows.with_columns(number=nw.col("what").cast(nw.Float64))
        absent = self._absent(nw.col("what"))
        wrong = ~absent & nw.col("number").is_null()
        number = nw.col("number")
        rows = rows.with_columns(number=nw.when(~absent & ~number.is_nan().fill_null(False)).then(number))
        return rows, wrong

    def level(self, number: "nw.Expr") -> "nw.Expr":
        """The level of a number, null for none."""
        if self.bins is None:
            raise ParameterError("levels need bins", got="none")
        return nw.when(~number.is_null()).then(self.bins.level(number))

    def levelled(self, rows: Frame, engine: Engine) -> Frame:
        """With levels in place of numbers; UNKNOWN where a value is neither number nor missing."""
        numbered, wrong = self.numbers(rows, engine)
        return numbered.with_columns(what=self.known_level(wrong, nw.col("number"))).drop("number")

    def known_level(self, wrong: "nw.Expr", number: "nw.Expr") -> "nw.Expr":
        """The level of a number; UNKNOWN where that is wrong."""
        return nw.when(wrong).then(nw.lit(UNKNOWN)).otherwise(self.level(number))

    def finished(self, rows: Frame) -> Frame:
        """The rows as they are counted."""
        return rows


class NumberMatching(Matching):
    """Numbers that stay what they are: ``what`` is the number until rows are counted, then 0 for all of them."""

    @property
    def levels(self) -> bool:
        """All finite numbers are one level."""
        return True

    def known_level(self, wrong: "nw.Expr", number: "nw.Expr") -> "nw.Expr":
        """The number; infinity where that is wrong."""
        return nw.when(wrong).then(nw.lit(float("inf"))).otherwise(number)

    def finished(self, rows: Frame) -> Frame:
        """With the number as ``number``, and 0 in place of it; UNKNOWN where it is not finite."""
        known = {name for name in ("what", "before") if name in rows.collect_schema()}
        rows = rows.with_columns(number=nw.col("what"))
        return rows.with_columns(**{name: _finite(nw.col(name)) for name in sorted(known)})


def _finite(number: "nw.Expr") -> "nw.Expr":
    """0 for a finite number, UNKNOWN for another, null for none."""
    code = nw.when(number.is_finite()).then(nw.lit(0)).otherwise(nw.lit(UNKNOWN))
    return nw.when(~number.is_null()).then(code)


@dataclass(frozen=True)
class Rows:
    """The rows of an engine, read in some way.

    A row that was followed has ``before`` and ``since`` (value and time of the subject's row before) and ``opens``:
    whether a stretch begins with it, because it is the first, because the value before is missing, or because more
    time than the gap has passed.
    """

    engine: Engine
    reading: Reading
    matching: Matching
    progress: Progress | None = None

    def __post_init__(self) -> None:
        reading, clock = self.reading, self.engine.clock
        for name in ("gap", "every"):
            span: Duration | None = getattr(reading, name)
            if span is None:
                continue
            if reading.time is None:
                raise DataError(f"{name} needs times", got="no time column", fix="Name it: time='T'")
            in_steps = span.steps and not (name == "gap" and reading.every is not None)
            if in_steps and clock.ticks is not None:
                raise DataError(
                    f"{name} must be a duration where times are dates or clock times",
                    got=f"{span.length:g} steps",
                    fix="For example 15min or 1h; steps are known with every=, or where times are numbers",
                )
            if not span.steps and clock.ticks is None:
                raise DataError(
                    f"{name} must be a number where times are numbers",
                    got="a duration",
                    fix="For example 3, in the unit of the times",
                )

    @property
    def ordered(self) -> bool:
        """Whether the order of rows matters to lengths and counts."""
        r = self.reading
        return r.time is not None or r.missing == "split" or r.segment is not None

    @property
    def plain(self) -> bool:
        """Whether all rows are taken as they are."""
        r = self.reading
        return r.segment is None and r.every is None and r.duplicates == "refuse"

    def gather(self, query: Callable[[Frame], Frame], *, ordered: bool = True) -> "pl.DataFrame":
        """The results of a query on rows that were followed in time; some subjects at a time, if there are many."""
        engine = self.engine
        if ordered:
            self.check_order()
        passes = engine.passes(ordered=ordered, sort=self.reading.unsorted == "sort", progress=self.progress)
        frames = [engine.collect(query(self._followed(rows) if ordered else self._counted(rows))) for rows in passes]
        if self.progress is not None:
            self.progress(1.0)
        return pl.concat(frames, how="vertical_relaxed")

    def gather_within(
        self, window: Window | None, query: Callable[[Frame], Frame], *, ordered: bool = False
    ) -> "pl.DataFrame":
        """The same where rows have the number of their window, if there is one; in order only where that matters."""
        by_place = window is not None and not window.on_the_clock
        return self.gather(
            lambda rows: query(self._windowed(rows, window)), ordered=ordered or by_place or not self.plain
        )

    def check_order(self) -> None:
        """Rows must have an order: their own, or that of their times."""
        if not self.engine.in_order and self.reading.time is None:
            raise DataError(
                "the rows of a database's table have no order",
                got="no time column",
                why="a series needs its values in order",
                fix="Name the column to sort by: time=...",
            )

    def _counted(self, rows: Frame) -> Frame:
        """Rows in no order; missing values are found among the few different ones, afterwards."""
        return self.matching.finished(self._valued(rows)) if self.matching.levels else rows

    def _valued(self, rows: Frame) -> Frame:
        """With levels in place of numbers, if there are bins, and null in place of missing values."""
        if not self.matching.levels:
            return self.matching.cleaned(rows)
        return rows if self.reading.take == "mean" else self.matching.levelled(rows, self.engine)

    def _followed(self, rows: Frame) -> Frame:
        """With what came before, and whether a stretch opens; within the segment, one row a step."""
        engine, reading = self.engine, self.reading
        rows = self._valued(rows)
        if reading.duplicates == "drop":
            rows = self._deduplicated(rows)
        if reading.every is not None:
            rows = self._thinned(rows)
        if reading.segment is not None:
            first, last = reading.segment
            rows = engine.placed(rows).filter(nw.col("place") >= first, nw.col("place") <= last)
        followed = engine.followed(rows)
        opens = nw.col("before").is_null()
        if self._pause is not None:
            opens = opens | (nw.col("when") - nw.col("since") > self._pause)
        return self.matching.finished(followed.with_columns(opens=opens.fill_null(True)))

    @property
    def _pause(self) -> float | None:
        """The longest pause within a stretch, in the units of ``when``."""
        reading, clock = self.reading, self.engine.clock
        if reading.gap is None:
            return None if reading.every is None else 1
        if reading.every is not None:
            if reading.gap.steps:
                return reading.gap.length
            return max(1, reading.gap.length // reading.every.length)
        return clock.span(reading.gap.length, steps=reading.gap.steps)

    def _deduplicated(self, rows: Frame) -> Frame:
        """One row a time; where several differ, ``clash`` says so."""
        wall = [nw.col("wall").min()] if self.engine.clock.calendar else []
        kept = rows.group_by("who", "when").agg(nw.col("what").min(), nw.col("what").max().alias("other"), *wall)
        kept = kept.with_columns(clash=(nw.col("what") != nw.col("other")).fill_null(False).cast(nw.Int64)).drop(
            "other"
        )
        return self._resorted(kept)

    def _resorted(self, rows: Frame) -> Frame:
        return rows.sort("who", "when") if self.engine.in_order else rows

    def _thinned(self, rows: Frame) -> Frame:
        """One row a step; ``when`` then counts steps, and ``again`` rows that repeated a time."""
        reading, clock = self.reading, self.engine.clock
        assert reading.every is not None  # noqa: S101 - the caller asked
        width = clock.span(reading.every.length, steps=reading.every.steps)
        followed = self.engine.followed(rows)
        again = (nw.col("when") == nw.col("since")).fill_null(False).cast(nw.Int64)
        back = (nw.col("when") < nw.col("since")).fill_null(False).cast(nw.Int64)
        steps = followed.with_columns(again=again, twice=again, back=back, step=_floor(nw.col("when"), width))
        if reading.take == "mean":
            return self._averaged(steps)
        times = nw.col("when")
        chosen = times.min() if reading.take == "first" else times.max()
        marked = steps.with_columns(
            chosen=chosen.over("who", "step"),
            again=nw.col("again").sum().over("who", "step"),
            back=nw.col("back").sum().over("who", "step"),
        )
        kept = ((nw.col("when") == nw.col("chosen")) & (nw.col("twice") == 0)) | nw.col("when").is_null()
        thinned = marked.filter(kept).with_columns(when=nw.col("step"))
        return thinned.drop("before", "since", "chosen", "step", "twice")

    def _averaged(self, steps: Frame) -> Frame:
        """The level of the mean of each step."""
        numbers, wrong = self.matching.numbers(steps, self.engine)
        wall = [nw.col("wall").min()] if self.engine.clock.calendar else []
        means = (
            numbers.with_columns(wrong=wrong.cast(nw.Int64))
            .group_by("who", "step")
            .agg(
                nw.col("number").mean().alias("mean"),
                nw.col("wrong").sum(),
                nw.col("again").sum(),
                nw.col("back").sum(),
                *wall,
            )
        )
        return self._resorted(
            means.with_columns(
                what=self.matching.known_level(nw.col("wrong") > 0, nw.col("mean")),
                when=nw.col("step"),
            ).drop("step", "mean", "wrong")
        )

    def _windowed(self, rows: Frame, window: Window | None) -> Frame:
        if window is None:
            return rows
        if window.on_the_clock:
            return window.numbered(rows, nw.col("wall"))
        rows = rows if self.reading.segment is not None else self.engine.placed(rows)
        return window.numbered(rows, nw.col("place") - 1)


def _floor(number: "nw.Expr", width: float) -> "nw.Expr":
    """How many times the width goes into a number, rounded down: the same on every engine."""
    return number // width
