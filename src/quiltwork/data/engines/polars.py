"""Rows in files or in memory, read by polars as a stream."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import narwhals as nw
import polars as pl

from quiltwork.data.engines.base import FURTHEST, Clock, Engine, Order, not_times, written_as_text
from quiltwork.data.reading import Reading
from quiltwork.data.tables import Frame, mixed_zones
from quiltwork.data.text_files import UNREAD, unreadable
from quiltwork.data.times import WHOLE, Form, mixed_times
from quiltwork.errors import DataError
from quiltwork.types import Progress

FILE = "data file "
PART = 10_000_000  # rows that are followed in memory at a time
MANY = 40_000_000  # rows that are counted at a time, where rows of a subject are not together
LOOK = 100_000  # rows that show whether they are


class PolarsEngine(Engine):
    """Rows in files or in memory, read by polars as a stream."""

    in_order = True

    def __init__(self, native: "pl.LazyFrame", reading: Reading, where: str):
        self._where = where
        super().__init__(native, reading, dict(nw.from_native(native).collect_schema()))

    def _named(self, native: "pl.LazyFrame", schema: Mapping[str, Any]) -> "pl.LazyFrame":
        subject, time = self.reading.subject, self.reading.time
        what = _uncategorised(str(self.reading.column), schema).alias("what")
        who = (pl.lit(0) if subject is None else _uncategorised(subject, schema)).alias("who")
        if subject is not None and schema[subject].is_float():
            who = who.fill_nan(None)
        if time is None:
            return native.select(who, what, when=pl.int_range(pl.len()))
        when, wall = self._times(native, time)
        return native.select(who, what, when.alias("when"), *([wall.alias("wall")] if self.clock.calendar else []))

    def _times(self, native: "pl.LazyFrame", time: str) -> tuple["pl.Expr", "pl.Expr"]:
        """Times as whole numbers, and as readings of the wall clock."""
        dtype = native.select(time).collect_schema()[time]
        column = pl.col(time)
        if dtype == pl.String:
            return self._times_in_text(native, time)
        if self.reading.date_format is not None:
            raise written_as_text(time)
        if dtype.is_integer():
            return column.cast(pl.Int64), column
        if dtype.is_float() or dtype.is_decimal():
            return self._fractions(column.cast(pl.Float64)), column
        if dtype == pl.Time:
            self.clock = Clock(1000)
            return column.cast(pl.Int64), column
        if dtype == pl.Date:
            column, dtype = column.cast(pl.Datetime("us")), pl.Datetime("us")
        if not isinstance(dtype, pl.Datetime):
            raise not_times(time, str(dtype.base_type()))
        unit, ticks = ("ns", 1000) if dtype.time_unit == "ns" else ("us", 1)
        self.clock = Clock(ticks, calendar=True)
        return column.dt.timestamp(unit), column.dt.replace_time_zone(None).dt.timestamp("us")  # type: ignore[arg-type]

    def _fractions(self, number: "pl.Expr") -> "pl.Expr":
        """Times with fractions as whole numbers of millionths, null where they are none."""
        self.clock = Clock(None, millionths=True)
        known = number.is_finite() & (number.abs() < FURTHEST)
        return pl.when(known).then((number * 1e6).round()).cast(pl.Int64)

    def _times_in_text(self, native: "pl.LazyFrame", time: str) -> tuple["pl.Expr", "pl.Expr"]:
        column = pl.col(time)
        examples = self._run(native.select(column).drop_nulls().head(1))
        if examples.height == 0:
            return column.cast(pl.Int64, strict=False), column
        form = Form.of(str(examples.item()), time, self.reading.date_format)
        fits = column.str.contains(form.pattern)
        zone = column.str.extract(r"(Z|[-+]\d{2}:?\d{2})\s*$")
        read = _reader(column.str.strip_chars(), form)
        facts = self._run(
            native.select(
                others=(~fits).sum(),
                unread=(fits & read.is_null()).sum(),
                whole=column.str.contains(WHOLE).all(),
                zones=zone.n_unique() if form.kind == "datetime" else pl.lit(1),
            )
        ).row(0, named=True)
        if facts["zones"] > 1:
            raise mixed_zones(time)
        if facts["others"] or facts["unread"]:
            raise mixed_times(time, facts["others"] + facts["unread"])
        if form.kind == "number":
            number = column.str.strip_chars()
            return number.cast(pl.Int64) if facts["whole"] else self._fractions(number.cast(pl.Float64)), column
        if form.kind == "time":
            self.clock = Clock(1000)
            return read.cast(pl.Int64), column
        self.clock = Clock(1, calendar=True)
        ticks = read.cast(pl.Datetime("us")).dt.timestamp("us")
        return ticks, ticks + form.offset

    def numbers(self, rows: Frame) -> Frame:
        """With values of text as numbers, null where they are none."""
        read = pl.col("what").str.strip_chars().cast(pl.Float64, strict=False)
        return nw.from_native(nw.to_native(rows).with_columns(number=read))

    def collect(self, small: Frame) -> "pl.DataFrame":
        """The result of a query, computed as a stream."""
        return self._run(nw.to_native(small))

    def _run(self, query: "pl.LazyFrame") -> "pl.DataFrame":
        try:
            return query.collect(engine="streaming")
        except pl.exceptions.ColumnNotFoundError:
            raise DataError(
                f"all files of {self._where} must have the same columns", got="a file without some of them"
            ) from None
        except (pl.exceptions.SchemaError, pl.exceptions.SchemaFieldNotFoundError):
            raise DataError(
                f"a column must have one type in all files of {self._where}", got="different columns or types"
            ) from None
        except UNREAD as problem:
            if self._where.startswith(FILE):
                raise unreadable(self._where.removeprefix(FILE), problem) from None
            raise DataError(f"{self._where} cannot be read", why="it is not well-formed") from None

    def passes(self, *, ordered: bool, sort: bool = False, progress: Progress | None = None) -> Iterator[Frame]:
        """Some subjects at a time, so that memory stays bounded; in order, if that matters, by sorting each piece."""
        order = self.order if ordered else self._look()
        pieces = self._pieces(order) if ordered else self._heaps(order)
        for n, piece in enumerate(pieces):
            if progress is not None:
                progress(n / len(pieces))
            yield nw.from_native(self._sorted(piece, order, sort) if ordered else piece)

    def _pieces(self, order: Order) -> list["pl.LazyFrame"]:
        """All rows of some subjects each, few enough to be followed in memory."""
        if order.count <= PART or self.reading.subject is None or not order.by_subject:
            return self._by_hash(-(-order.count // PART))
        who = pl.col("who")
        cuts = self._run(self._native.select("who").gather_every(PART))["who"].drop_nulls().unique(maintain_order=True)
        within = [(who >= cut) for cut in cuts]
        ranges = [a & ~b for a, b in pairwise(within)] + within[-1:]
        return [
            self._native.filter(~pl.any_horizontal(ranges).fill_null(value=False)),
            *map(self._native.filter, ranges),
        ]

    def _heaps(self, order: Order) -> list["pl.LazyFrame"]:
        """All rows of some subjects each; of rows that come subject by subject all at once, for they add up soon."""
        return self._by_hash(1 if order.by_subject else -(-order.count // MANY))

    def _by_hash(self, count: int) -> list["pl.LazyFrame"]:
        if count <= 1 or self.reading.subject is None:
            return [self._native]
        return [self._native.filter(pl.col("who").hash() % count == n) for n in range(count)]

    def _look(self) -> Order:
        """How the first rows come; enough to know how to count them in little memory."""
        if "order" in self.__dict__ or self.reading.subject is None:
            return self.order if "order" in self.__dict__ else Order(by_subject=True)
        count = int(self._run(self._native.select(pl.len())).item())
        first = self._native.select("who").head(LOOK).with_columns(above=pl.col("who").shift())
        apart = self._run(first.select((pl.col("who") < pl.col("above")).sum())).item()
        return Order(count, by_subject=apart == 0)

    def _sorted(self, piece: "pl.LazyFrame", order: Order, sort: bool) -> "pl.LazyFrame":
        rows = self._run(piece)
        if sort and not order.rising:
            rows = rows.sort("who", "when", maintain_order=True)
        elif not order.by_subject:
            rows = rows.sort("who", maintain_order=True)
        return rows.lazy()

    @cached_property
    def order(self) -> Order:
        """By a look at each row and the one above: are they sorted by subject, then time; or by time, then subject?"""
        who, when, above, since, step = (pl.col(name) for name in ("who", "when", "above", "since", "step"))
        if self.reading.time is None:
            rows = self._native.select("who").with_columns(above=who.shift())
            facts = self._run(rows.select(count=pl.len(), apart=(who < above).sum())).row(0, named=True)
            return Order(facts["count"], by_subject=facts["apart"] == 0, rising=True)
        holes = who.is_null() | when.is_null()
        rows = self._native.with_columns(above=who.shift(), since=when.shift())
        common = {"count": pl.len(), "holes": holes.sum()}
        if self._look().by_subject:
            with_steps = rows.with_columns(step=pl.when(who == above).then(when - since))
            asked = {"apart": (who < above).sum(), "least": step.min(), "most": step.max()}
            facts = self._run(with_steps.select(**common, **asked)).row(0, named=True)
            if facts["apart"] == 0:
                rising = not facts["holes"] and (facts["least"] is None or facts["least"] > 0)
                return Order(facts["count"], by_subject=True, rising=rising, least=facts["least"], most=facts["most"])
        asked = {
            "back": ((when < since) | ((when == since) & (who <= above))).sum(),
            "nearest": pl.when(when > since).then(when - since).min(),
        }
        facts = self._run(rows.select(**common, **asked)).row(0, named=True)
        # sorted by time, then subject: no subject has a time twice
        rising = not facts["holes"] and not facts["back"]
        return Order(facts["count"], by_subject=False, rising=rising, least=facts["nearest"])

    def followed(self, rows: Frame) -> Frame:
        """By looking at the row above, for rows in order."""
        above = {"above": pl.col("who").shift(), "before": pl.col("what").shift(), "since": pl.col("when").shift()}
        same = pl.col("who") == pl.col("above")
        within_subject = {name: pl.when(same).then(pl.col(name)) for name in ("before", "since")}
        return nw.from_native(nw.to_native(rows).with_columns(**above).with_columns(**within_subject).drop("above"))

    def placed(self, rows: Frame) -> Frame:
        """By counting from where a subject begins, for rows in order."""
        new = (pl.col("who") != pl.col("who").shift()).fill_null(value=True)
        begun = pl.when(new).then(pl.col("place")).forward_fill()
        counted = nw.to_native(rows).with_columns(place=pl.int_range(pl.len()))
        return nw.from_native(counted.with_columns(place=pl.col("place") - begun + 1))

    def numbered(self, rows: Frame) -> Frame:
        """By counting the rows that open a stretch, for rows in order: the first of a subject always does."""
        return nw.from_native(nw.to_native(rows).with_columns(stretch=pl.col("opens").cast(pl.Int64).cum_sum()))


def _uncategorised(name: str, schema: Mapping[str, Any]) -> "pl.Expr":
    kind = schema[name]
    return pl.col(name).cast(pl.String) if kind in (nw.Categorical, nw.Enum) else pl.col(name)


def _reader(column: "pl.Expr", form: Form) -> "pl.Expr":
    """Text as times, null where it is none."""
    if form.kind == "number":
        return column.cast(pl.Float64, strict=False)
    if form.kind == "time":
        return column.str.to_time(form.format, strict=False)
    if form.kind == "date":
        return column.str.to_date(form.format, strict=False)
    if form.format.endswith("%z"):
        column = column.str.replace("Z$", "+00:00")
        return column.str.to_datetime(form.format, time_unit="us", strict=False).dt.replace_time_zone(None)
    return column.str.to_datetime(form.format, time_unit="us", strict=False)
