"""One table in every engine that is installed here, for tests that hold engines to the same answer."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
import pytest

ALL_ENGINES = bool(os.environ.get("IVICL_ALL_ENGINES"))
"""Set by .ci/run, which installs them: then none may be skipped."""
ROLES: dict[str, Any] = {
    "outcome": "well",
    "treatment": "taken",
    "instrument": "letter",
    "covariates": ["age", "site"],
    "weights": "people",
}


def untidy(n: int = 4000, seed: int = 0) -> pl.DataFrame:
    """Text, missing values of every column, weights (some zero), blanks around words, and few different rows."""
    rng = np.random.default_rng(seed)
    age, z = rng.integers(3, 7, n) * 10.0, rng.integers(0, 2, n)
    t = rng.random(n) < 0.15 + 0.5 * z
    y = rng.random(n) < 0.2 + 0.3 * t + 0.004 * age
    row = np.arange(n)
    frame = pl.DataFrame(
        {
            "letter": np.where(z == 1, "sent", "not sent"),
            "taken": t.astype(np.int64),
            "well": np.where(y, "yes", "no"),
            "age": age,
            "site": rng.choice(["north", "south", " south", "west", " "], n),
            "people": rng.integers(0, 5, n),
            "study": rng.choice(["b", "a", "c"], n),
        }
    )
    lost = {"taken": row % 97 == 1, "well": row % 31 == 2, "age": row % 53 == 3, "letter": row % 211 == 4}
    return frame.with_columns(
        [pl.when(pl.Series(gone)).then(None).otherwise(pl.col(name)).alias(name) for name, gone in lost.items()]
    )


def _polars_lazily(frame: pl.DataFrame) -> Any:
    return frame.lazy()


def _duckdb(frame: pl.DataFrame) -> Any:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("given", frame.to_arrow())
    return connection.sql("select * from given")


def _needed(module: str, reason: str) -> Any:
    """A module, or a skip with the reason; where all engines are to be there (.ci/run), an error."""
    return importlib.import_module(module) if ALL_ENGINES else pytest.importorskip(module, reason=reason)


def _ibis(frame: pl.DataFrame) -> Any:
    ibis = _needed("ibis", "ibis is not installed (pip install 'ibis-framework[duckdb]')")
    return ibis.memtable(frame)


def _dask(frame: pl.DataFrame) -> Any:
    dask = _needed("dask.dataframe", "dask is not installed (pip install 'ivicl[dask]')")
    return dask.from_pandas(frame.to_pandas(), npartitions=3)


def _spark(frame: pl.DataFrame) -> Any:
    return spark_session().createDataFrame(frame.to_arrow())


ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": _polars_lazily,
    "duckdb": _duckdb,
    "ibis": _ibis,
    "dask": _dask,
    "spark": _spark,
}


def spark_session() -> Any:
    """Spark on this machine, or a skip that says what is missing."""
    _needed("pyspark", "pyspark is not installed (pip install 'ivicl[spark]')")
    try:
        return _started()
    except Exception as error:
        if ALL_ENGINES:
            raise
        pytest.skip(f"Spark does not start here (it needs Java 17): {type(error).__name__}")


@lru_cache(maxsize=1)
def _started() -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("ivicl tests")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
