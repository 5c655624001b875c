"""Rows in a database or on a Spark cluster, counted there; noise and ledger stay with the program that asks."""

import os
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import narwhals as nw
import polars as pl

from quiltwork.data.engines.base import FURTHEST, Clock, Engine, not_times, written_as_text
from quiltwork.data.tables import Frame, files_of
from quiltwork.data.text_files import SEPARATORS, check_separator, ending_of, separator_of
from quiltwork.errors import DataError, InputError, NotInstalledError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SqlEngine(Engine):
    """Rows in a database, in no order: they are sorted by their times there."""

    product: ClassVar[str]
    modules: ClassVar[tuple[str, ...]]
    """Those whose errors are the product's own."""
    quote: ClassVar[str]
    """What stands around the name of a column."""

    def _named(self, native: Any, schema: Mapping[str, Any]) -> Any:
        subject, time = self.reading.subject, self.reading.time
        who = "0" if subject is None else self._quoted(subject)
        if subject is not None and schema[subject].is_float():
            who = f"CASE WHEN NOT isnan({who}) THEN {who} END"
        named = {"who": who, "what": self._quoted(str(self.reading.column)), "when": "0"}
        named |= {} if time is None else self._times(time, schema[time])
        return self.project(native, [f"{how} AS {self._quoted(name)}" for name, how in named.items()])

    def _quoted(self, name: str) -> str:
        return f"{self.quote}{name.replace(self.quote, 2 * self.quote)}{self.quote}"

    def _times(self, time: str, kind: Any) -> dict[str, str]:
        column = self._quoted(time)
        if self.reading.date_format is not None and kind != nw.String:
            raise written_as_text(time)
        if kind.is_integer():
            return {"when": f"CAST({column} AS BIGINT)"}
        if kind.is_float() or kind == nw.Decimal:
            self.clock = Clock(None, millionths=True)
            number = f"CAST({column} AS DOUBLE)"
            known = f"abs({number}) < {FURTHEST:.0f}"  # neither NaN nor infinity is
            return {"when": f"CASE WHEN {known} THEN CAST(round({number} * 1000000) AS BIGINT) END"}
        if kind == nw.Date or isinstance(kind, nw.Datetime):
            self.clock = Clock(1, calendar=True)
            return {"when": self.moment(column, kind), "wall": self.wall(column)}
        raise not_times(
            time, "text" if kind == nw.String else str(kind), fix="Make it a timestamp: in your query, or as Parquet"
        )

    @abstractmethod
    def project(self, native: Any, named: list[str]) -> Any:
        """The table with these columns, given as SQL."""

    @abstractmethod
    def fetched(self, native: Any) -> list[Any]:
        """The rows of a result, which come to this process."""

    @abstractmethod
    def moment(self, column: str, kind: Any) -> str:
        """A time in microseconds, as SQL."""

    @abstractmethod
    def wall(self, column: str) -> str:
        """The reading of the wall clock in microseconds, as SQL."""

    def numbers(self, rows: Frame) -> Frame:
        """With values of text as numbers, null where they are none."""
        return nw.from_native(self.project(nw.to_native(rows), ["*", "try_cast(trim(what) AS DOUBLE) AS number"]))

    def collect(self, small: Frame) -> "pl.DataFrame":
        """The result of a query. An engine's own messages may quote the data: only the kind of failure is shown."""
        native = nw.to_native(small)
        try:
            rows = self.fetched(native)
        except Exception as problem:
            if type(problem).__module__.partition(".")[0] not in self.modules:
                raise
            raise DataError(f"{self.product} cannot read the data", got=type(problem).__name__) from None
        return pl.DataFrame(rows, schema=list(native.columns), orient="row", infer_schema_length=None)


class DuckDBEngine(SqlEngine):
    """Rows that DuckDB holds."""

    product, modules, quote = "DuckDB", ("duckdb", "_duckdb"), '"'

    def project(self, native: Any, named: list[str]) -> Any:
        """A relation of a relation."""
        return native.project(", ".join(named))

    def fetched(self, native: Any) -> list[Any]:
        """All of them."""
        return list(native.fetchall())

    def moment(self, column: str, kind: Any) -> str:
        """Microseconds since 1970."""
        if isinstance(kind, nw.Datetime) and kind.time_unit == "ns":
            self.clock = Clock(1000, calendar=True)
            return f"epoch_ns({column})"
        return f"epoch_us({column})" if isinstance(kind, nw.Datetime) else self.wall(column)

    def wall(self, column: str) -> str:
        """On the clock of the session's time zone."""
        return f"epoch_us(CAST({column} AS TIMESTAMP))"


class SparkEngine(SqlEngine):
    """Rows on a Spark cluster."""

    product, modules, quote = "Spark", ("pyspark", "py4j"), "`"

    def project(self, native: Any, named: list[str]) -> Any:
        """A data frame of expressions."""
        return native.selectExpr(*named)

    def fetched(self, native: Any) -> list[Any]:
        """As the driver has them."""
        return [tuple(row) for row in native.collect()]

    def moment(self, column: str, kind: Any) -> str:
        """Microseconds since 1970; a time without a zone is taken as it is."""
        zoned = isinstance(kind, nw.Datetime) and kind.time_zone is not None
        return f"unix_micros({column})" if zoned else self.wall(column)

    def wall(self, column: str) -> str:
        """From date and time of day, so that no time zone plays a part."""
        days = f"datediff(to_date({column}), DATE'1970-01-01') * 86400000000L"
        time = f"hour({column}) * 3600000000L + minute({column}) * 60000000L"
        second = f"CAST(extract(SECONDS FROM {column}) * 1000000 AS BIGINT)"
        return f"({days} + {time} + {second})"


def spark_table(
    data: str, *, master: str | None = None, time: str | None = None, separator: str | None = None
) -> "DataFrame":
    """CSV, TSV or Parquet files as Spark reads them; of text only the column of times is taken for what it seems."""
    if "://" not in data and (master is None or master.startswith("local")) and not os.path.isdir(data):
        files_of(data)  # a wrong name is said before Spark has started
    session = spark_session(master)
    ending = ending_of(data.rstrip("/*"))
    try:
        if ending.removesuffix(".gz") in SEPARATORS:
            options: dict[str, Any] = {"header": True, "sep": _separator(data, ending, separator), "escape": '"'}
            frame = session.read.csv(data, **options)
            kinds = dict(session.read.csv(data, inferSchema=True, **options).dtypes) if time in frame.columns else {}
            return frame if time not in kinds else frame.withColumn(time, frame[f"`{time}`"].cast(kinds[time]))
        return session.read.parquet(data)
    except Exception as problem:
        if not type(problem).__module__.startswith("pyspark"):
            raise
        reason = "there is none of that name" if "PATH_NOT_FOUND" in str(problem) else "Spark cannot read it"
        raise DataError(f"data {data} cannot be read", why=reason) from None


def _separator(data: str, ending: str, given: str | None) -> str:
    """As given, or as the first line of a file on this machine shows it."""
    if given is None and "://" not in data:
        with suppress(DataError):
            return separator_of(files_of(data)[0])
    return SEPARATORS[ending.removesuffix(".gz")] if given is None else check_separator(given)


def spark_session(master: str | None = None) -> "SparkSession":
    """The Spark session of this program, or a new one: on a cluster, or with ``local[*]`` on this machine."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise NotInstalledError("Spark", "spark", got="no pyspark", more=", and Java 17 or newer") from None
    builder = SparkSession.builder.appName("quiltwork").config("spark.ui.showConsoleProgress", "false")
    if master is not None:
        builder = builder.master(master)
    if master is None or master.startswith("local"):
        # on one machine the default of 200 pieces only costs time
        pieces = str(2 * (os.cpu_count() or 1))
        builder = builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
        builder = builder.config("spark.sql.shuffle.partitions", pieces)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about a newer pandas, which is not used here
            return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError, ValueError) as problem:
        raise InputError(
            "Spark cannot be started",
            got=f"{type(problem).__name__} for {master or 'local[*]'}",
            why="it needs Java 17 or newer, and a cluster that answers",
        ) from None
