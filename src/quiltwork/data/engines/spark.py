"""Tables on a Spark cluster. Rows are counted there; noise and ledger stay with the program that asks."""

import os
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from quiltwork.data.tables import files_of
from quiltwork.data.text_files import SEPARATORS, check_separator, ending_of, separator_of
from quiltwork.errors import DataError, InputError, NotInstalledError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
