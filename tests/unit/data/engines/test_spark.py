"""Spark is an extra."""

import sys

import pytest

from quiltwork import InputError
from quiltwork.data.engines.sql import spark_session, spark_table


def test_spark_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    with pytest.raises(InputError, match=r'pip install "quiltwork\[spark\]", and Java 17'):
        spark_session()
    with pytest.raises(InputError, match="none of that name"):
        spark_table("nowhere/*.parquet")
