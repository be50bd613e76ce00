"""Many studies in Dask: merged by Dask, fitted in its partitions, one row per study in a Dask frame.

from ivicl.scale.dask import fit_many

bounds = fit_many(ddf, by="campaign", outcome="bought", treatment="saw", instrument="offered").compute()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ivicl.data.roles import RoleArguments, Roles
from ivicl.errors import InputError, MissingDependencyError
from ivicl.estimator import IVBounds
from ivicl.results.rows import COLUMNS, blank_row, frame_of
from ivicl.scale.merged_studies import MergedStudies

if TYPE_CHECKING:
    import pandas as pd

KINDS = {str: "object", float: "float64", int: "Int64"}


def fit_many(
    df: Any, *, by: str | Sequence[str], estimator: IVBounds | None = None, **roles: Unpack[RoleArguments]
) -> Any:
    """Bounds for many studies: a Dask frame with one row per study, in no particular order.

    The arguments are those of `ivicl.scale.spark.fit_many`.

    Examples:
        >>> import dask.dataframe as dd  # doctest: +SKIP
        >>> from ivicl import datasets
        >>> from ivicl.scale.dask import fit_many
        >>> trial = datasets.load("cholestyramine").to_pandas().assign(site="one")  # doctest: +SKIP
        >>> roles = {"outcome": "y", "treatment": "t", "instrument": "z", "weights": "people"}
        >>> found = fit_many(dd.from_pandas(trial, npartitions=1), by="site", **roles).compute()  # doctest: +SKIP
        >>> found[["site", "n"]].values.tolist()  # doctest: +SKIP
        [['one', 337]]
    """
    try:
        import dask.dataframe  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("Dask needs dask: install it with pip install 'ivicl[dask]'.") from error
    import narwhals as nw

    frame: Any = nw.from_native(df)
    if not isinstance(frame, nw.LazyFrame) or not frame.implementation.is_dask():
        raise InputError(f"the data is a {type(df).__name__}, not a Dask frame; IVBounds().fit_many takes others.")
    job = MergedStudies.of(frame, estimator or IVBounds(), by, Roles.named("fit_many", roles))
    merged: Any = nw.to_native(job.merged(frame))
    # A GROUP BY may claim to have one partition and have more; but the rows of a study must be in one.
    merged = merged.shuffle(on=job.keys, npartitions=df.npartitions)
    empty = df._meta[list(job.by)].head(0).reset_index(drop=True)
    meta = _typed(empty.join(frame_of([blank_row()]).to_pandas().head(0)))
    return merged.map_partitions(_fit, job, meta, meta=meta)


def _fit(part: pd.DataFrame, job: MergedStudies, meta: pd.DataFrame) -> pd.DataFrame:
    import polars as pl

    if not len(part):
        return meta
    found = job.fit(pl.from_pandas(part.reset_index(drop=True))).to_pandas()
    return _typed(found).astype({name: meta[name].dtype for name in job.by})


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({name: KINDS[kind] for name, kind in COLUMNS.items()})
