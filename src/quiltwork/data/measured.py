"""Series of real values that stay where they are: added up exactly on the engine that holds them.

A value is brought to a grid, which is public, and sums over a grid are exact. Each value is split into three parts, so
that their sums fit into 64 bits on every engine. Whether values are too large is looked at in all rows at once: a
refusal must not tell anything that differs from question to question.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import narwhals as nw
import numpy as np
import polars as pl

from quiltwork.data.rows import NumberMatching
from quiltwork.data.stored import StoredSeries, by_label, part_keys
from quiltwork.data.tables import Frame
from quiltwork.data.times import Window
from quiltwork.data.values import natural
from quiltwork.errors import DataError
from quiltwork.job import Missing
from quiltwork.types import Codes, Duration, Floats, Integers

PART = 2**31
DISTANCES = 2.0**30  # values of that many distances, or more, are refused
FINEST = 2.0**-60  # the finest grid, in distances: sums of larger values are exact in three parts
MOST_AT_PLACES = 5_000_000
Transform = Callable[["nw.Expr"], "nw.Expr"]


@dataclass(frozen=True)
class Added:
    """A sum of values on a grid, in its units, and how many values were added up."""

    total: int
    values: int


@dataclass(frozen=True)
class Timed:
    """The values of a subject in memory, in time order: each with its place on a grid of steps."""

    numbers: Floats
    places: Integers
    """Whole steps since the first value."""
    wall: Integers | None
    """Readings of the wall clock in microseconds since 1970, where times have dates."""


class Measurements(StoredSeries):
    """Series of real values; what sums, means and trends are asked of. :func:`read_measurements` reads them.

    >>> values = Measurements.of_numbers([1.5, 2.25, None, 4.0], missing="split")
    >>> values
    Measurements(1 subjects, 3 values)
    >>> values.added(unit=Fraction(1, 4))[""]
    Added(total=31, values=3)
    """

    _matching = NumberMatching

    @staticmethod
    def of_numbers(
        values: Iterable[object], *, subject: Iterable[object] | None = None, missing: Missing = "refuse"
    ) -> "Measurements":
        """Values in memory, in time order (for each subject, if there are several); None and NaN are missing."""
        from quiltwork.data.read import read_measurements  # it reads what this class holds

        named = None if subject is None else "subject"
        return read_measurements(_in_memory(values, subject), column="value", subject=named, missing=missing)

    def extended(self, more: object, *, subject: Iterable[object] | None = None) -> Self:
        """With the rows of a further table of the same kind, or further numbers if they are in memory."""
        if isinstance(more, list | tuple | np.ndarray):
            if (self.reading.subject is None) != (subject is None):
                raise DataError("appended values need a subject if those before have one", got="values", fix="subject=")
            return super().extended(_in_memory(more, subject))
        return super().extended(more, subject=subject)

    def __repr__(self) -> str:
        return f"Measurements({self.subjects} subjects, {self.size} values)"

    def _unknown(self, unknown: int, rows: int) -> DataError:
        return DataError(
            f"column {self.reading.column!r} must hold finite numbers",
            got=f"{unknown} of {rows} that are not",
            why="the belief is about real values",
            fix="Clean the column; leave a cell empty where a value is missing, and say missing='split'",
        )

    def added(
        self,
        *,
        unit: Fraction,
        transform: Transform | None = None,
        window: Window | None = None,
        by_subject: bool = False,
    ) -> dict[str, Added]:
        """The sum of values on a grid of this unit, a power of two: of all, or of each window and subject by name."""
        self.check_asked(window=window, ordered=False)
        keys = part_keys(window, by_subject=by_subject)
        sums = self._rows.gather_within(window, lambda rows: _summed(rows, keys, unit, transform))
        found = self._exactly(sums, keys)
        if not keys:
            return {"": found.get((), Added(0, 0))}
        return by_label(found, window, by_subject=by_subject)

    def at_places(self, places: Sequence[tuple[int, int]] | None, *, unit: Fraction) -> dict[str, list[int]]:
        """For each subject, the sums of values at each position, or of those within each of some spans of positions."""
        if places is None and self.longest > MOST_AT_PLACES:
            raise DataError(
                f"weights by position are for up to {MOST_AT_PLACES:,} values of a subject",
                got=f"{self.longest:,}",
                fix="Use longer steps: every='1h', take='mean'",
            )

        def sums(rows: Frame) -> Frame:
            rows = rows if self.reading.segment is not None else self._engine.placed(rows)
            place = nw.col("place") - (0 if self.reading.segment is None else self.reading.segment[0] - 1)
            if places is not None:
                inside = nw.lit(-1)
                for n, (first, last) in enumerate(places):
                    inside = nw.when((place >= first) & (place <= last)).then(nw.lit(n)).otherwise(inside)
                place = inside
            marked = rows.with_columns(place=place)
            return _summed(marked.filter(nw.col("place") >= 0), ["who", "place"], unit, None)

        found = self._exactly(self._rows.gather(sums), ["who", "place"])
        first = 0 if places is not None else 1
        by_name: dict[str, list[int]] = {}
        for who, place in sorted(found, key=lambda key: (natural(str(key[0])), key[1])):
            by_place = by_name.setdefault(str(who), [0] * (0 if places is None else len(places)))
            by_place += [0] * (place - first + 1 - len(by_place))
            by_place[place - first] = found[who, place].total
        return by_name

    def _exactly(self, table: pl.DataFrame, keys: list[str]) -> dict[tuple[Any, ...], Added]:
        """The parts of sums put together, in whole numbers of any size."""
        found: dict[tuple[Any, ...], Added] = {}
        for row in table.iter_rows(named=True):
            key = tuple(row[name] for name in keys)
            before = found.get(key, Added(0, 0))
            high, middle, low = (int(row[name] or 0) for name in ("high", "middle", "low"))
            total = before.total + (high * PART + middle) * PART + low
            found[key] = Added(total, before.values + int(row["n"]))
        return found

    def check_sizes(self, limit: float) -> None:
        """Refuse values of this size, or larger, wherever in the data they are."""
        if self._largest >= limit:
            raise DataError(
                "a value is too large for the distance that is hidden",
                got="values of more than a thousand million distances",
                why="sums would not be exact",
                fix="Check the unit of the data, and of the belief's distance",
            )

    @cached_property
    def _largest(self) -> float:
        """The largest size of a value, in all rows, also outside of a segment."""
        numbers, _ = self._values.numbers(self._engine.rows, self._engine)
        found = self._engine.collect(numbers.select(nw.col("number").abs().max().alias("largest"))).item()
        return 0.0 if found is None else float(found)

    @property
    def placed(self) -> bool:
        """Whether values are at the positions that they seem to be: no gaps, no pauses that count as one step."""
        return self.shape.certain and self.reading.gap is None

    @property
    def nearest(self) -> Duration | None:
        """The shortest time from a row to the next, where rows are taken as they are and have times."""
        if self.reading.time is None or self.reading.every is not None:
            return None
        least, _ = self._spans
        return None if least is None or least <= 0 else self._duration(least)

    @cached_property
    def numbers(self) -> Mapping[str, tuple[Floats, ...]]:
        """The stretches of each subject, brought into memory, by name."""
        subjects = self._in_memory(nw.col("number"))
        return {
            str(runs[0]["who"][0]): tuple(run["value"].to_numpy().astype(np.float64) for run in runs)
            for runs in subjects
        }

    @cached_property
    def timed(self) -> Mapping[str, Timed]:
        """The values of each subject with their places, brought into memory, by name.

        Where times have no usual spacing, or some are less than a step apart, values count as a step apart.

        >>> Measurements.of_numbers([1.5, 2.25, None, 4.0], missing="split").timed["0"].places.tolist()
        [0, 1, 3]
        """

        def values(rows: Frame) -> Frame:
            wall = ["wall"] if self._engine.clock.calendar else []
            return rows.select("who", "when", "number", *wall)

        table = self._rows.gather(values)
        subjects = table.partition_by("who") if self.subjects > 1 else [table]
        placed = {str(rows["who"][0]): self._placed(rows) for rows in subjects if rows.height}
        return {name: placed[name] for name in sorted(placed, key=natural) if len(placed[name].numbers)}

    def _placed(self, rows: pl.DataFrame) -> Timed:
        """The rows of a subject, missing values left out after they were given a place."""
        if (rows["when"].diff() < 0).any():
            rows = rows.sort("when", maintain_order=True)
        places, known = np.arange(rows.height), rows["number"].is_not_null()
        if not known.all():
            rows, places = rows.filter(known), places[known.to_numpy()]
        if self.reading.time is not None and self.step is not None:
            when, clock = rows["when"].to_numpy(), self._engine.clock
            width = 1 if self.reading.every is not None else clock.span(self.step.length, steps=self.step.steps)
            on_grid = (when - when[:1] + width // 2) // width
            if (np.diff(on_grid) > 0).all():
                places = on_grid
        numbers = np.asarray(rows["number"].to_numpy(), dtype=np.float64)
        wall = np.asarray(rows["wall"].to_numpy(), dtype=np.int64) if "wall" in rows.columns else None
        return Timed(numbers, places - places[:1], wall)

    @property
    def by_subject(self) -> tuple[tuple[Codes, ...], ...]:
        """Not known: real values are no states."""
        raise DataError("real values have no states", got="measurements")


def _in_memory(values: Iterable[object], subject: Iterable[object] | None) -> pl.DataFrame:
    """Numbers as a table."""
    try:
        numbers = [None if value is None else float(value) for value in values]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise DataError(
            "every value must be a number", got="something else", why="the belief is about real values"
        ) from None
    columns = {"value": pl.Series(numbers, dtype=pl.Float64)}
    if subject is not None:
        names = list(subject)
        if len(names) != len(numbers):
            raise DataError("subject must have one entry per value", got=f"{len(names)} for {len(numbers)} values")
        columns["subject"] = pl.Series([str(name) for name in names], dtype=pl.String)
    return pl.DataFrame(columns)


def _summed(rows: Frame, keys: list[str], unit: Fraction, transform: Transform | None) -> Frame:
    """Sums of values on a grid for each value of the keys, split into parts."""
    number = nw.col("number")
    added = number if transform is None else transform(number)
    rows = rows.filter(~number.is_null()).with_columns(size=added / float(unit))  # exact: the unit is a power of two
    rows = rows.with_columns(sign=nw.when(nw.col("size") < 0).then(nw.lit(-1)).otherwise(nw.lit(1)))
    rows = rows.with_columns(size=nw.col("size").abs())  # what is left of a size is exact, too
    rows = rows.with_columns(high=(nw.col("size") / float(PART * PART)).floor())
    rows = rows.with_columns(size=nw.col("size") - nw.col("high") * float(PART * PART))
    rows = rows.with_columns(middle=(nw.col("size") / float(PART)).floor())
    rows = rows.with_columns(
        low=(nw.col("size") - nw.col("middle") * float(PART)).round().cast(nw.Int64) * nw.col("sign"),
        middle=nw.col("middle").cast(nw.Int64) * nw.col("sign"),
        high=nw.col("high").cast(nw.Int64) * nw.col("sign"),
        n=nw.lit(1),
    )
    sums = [nw.col(name).sum() for name in ("high", "middle", "low", "n")]
    if keys:
        return rows.group_by(*keys).agg(*sums)
    return rows.select(*sums)
