"""Many studies in Spark: merged by Spark, fitted in its workers, one row per study in a Spark frame.

    from ivicl.scale.spark import fit_many

    bounds = fit_many(df, by="campaign", outcome="bought", treatment="saw", instrument="offered")
    bounds.write.parquet("bounds")

Nothing runs before the frame is asked for, except for one small query for each coding that the call does not name
(which value means 1, the outcome's range), and one for clusters, which must not lie in two studies. A worker loads the
model once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ivicl.data.roles import RoleArguments, Roles
from ivicl.errors import InputError, MissingDependencyError
from ivicl.estimator import IVBounds
from ivicl.results.rows import COLUMNS
from ivicl.scale.merged_studies import MergedStudies

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fit_many(
    df: DataFrame, *, by: str | Sequence[str], estimator: IVBounds | None = None, **roles: Unpack[RoleArguments]
) -> DataFrame:
    """Bounds for many studies: a Spark frame with one row per study, in no particular order.

    Args:
        df: the table, with one row per person, or a row of weight k for k people.
        by: the column, or columns, that tell the studies apart.
        estimator: an `IVBounds` with the method and its options; the network when None.
        **roles: outcome, treatment, instrument, covariates, weights and the others of `IVBounds.fit`. If the codings
            (`ones`, `outcome_range`) are named, and without `cluster`, nothing runs before the frame is asked for.

    Examples:
        >>> from pyspark.sql import SparkSession  # doctest: +SKIP
        >>> from ivicl import datasets
        >>> from ivicl.scale.spark import fit_many
        >>> spark = SparkSession.builder.master("local[1]").getOrCreate()  # doctest: +SKIP
        >>> trial = datasets.load("cholestyramine").to_pandas().assign(site="one")  # doctest: +SKIP
        >>> roles = {"outcome": "y", "treatment": "t", "instrument": "z", "weights": "people"}
        >>> found = fit_many(spark.createDataFrame(trial), by="site", **roles)  # doctest: +SKIP
        >>> [(row.site, row.n) for row in found.collect()]  # doctest: +SKIP
        [('one', 337)]
    """
    try:
        from pyspark.sql import types
        from pyspark.sql.pandas.types import to_arrow_schema
    except ImportError as error:
        raise MissingDependencyError("Spark needs pyspark: install it with pip install 'ivicl[spark]'.") from error
    import narwhals as nw

    frame: Any = nw.from_native(df)
    if not isinstance(frame, nw.LazyFrame) or not frame.implementation.is_spark_like():
        raise InputError(f"the data is a {type(df).__name__}, not a Spark frame; IVBounds().fit_many takes others.")
    job = MergedStudies.of(frame, estimator or IVBounds(), by, Roles.named("fit_many", roles))
    kinds = {str: types.StringType(), float: types.DoubleType(), int: types.LongType()}
    fields = [types.StructField(name, df.schema[name].dataType) for name in job.by]
    schema = types.StructType(fields + [types.StructField(name, kinds[kind]) for name, kind in COLUMNS.items()])
    merged: Any = nw.to_native(job.merged(frame))
    together = merged.repartition(*job.keys).sortWithinPartitions(*job.keys)
    found: DataFrame = together.mapInArrow(_Worker(job, to_arrow_schema(schema)), schema)
    return found


class _Worker:
    """From Arrow batches of merged rows to Arrow batches of results."""

    def __init__(self, job: MergedStudies, schema: Any) -> None:
        self.job, self.schema = job, schema

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import polars as pl
        import pyarrow as pa

        parts = (pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch]))) for batch in batches)
        for found in self.job.fit_as_they_come(parts):
            yield from found.to_arrow().cast(self.schema).to_batches()
