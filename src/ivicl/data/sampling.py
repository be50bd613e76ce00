"""A seeded sample of rows, drawn by the engine that holds them: each engine has its own way, and narwhals has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ivicl.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw

ROW = "row number"
"""A name that no column has: the frame that is sampled has short names (k0, k1, ...) only."""


def sampled(frame: nw.LazyFrame[Any], share: float, seed: int) -> nw.LazyFrame[Any]:
    """A sample with equal chances for all rows. The same seed gives the same rows, if the engine keeps their order."""
    import narwhals as nw

    drawn: nw.LazyFrame[Any] = nw.from_native(_draw(frame.to_native(), frame.implementation, share, seed))
    return drawn


def _draw(native: Any, kind: nw.Implementation, share: float, seed: int) -> Any:
    """The sample in the engine's own terms.

    For polars and DuckDB, rows are numbered and those whose number hashes below the share are kept, because these
    engines' own samplers depend on the number of threads.
    """
    if kind.is_polars():
        import polars as pl

        return native.with_row_index(ROW).filter(pl.col(ROW).hash(seed) < int(share * 2**64)).drop(ROW)
    if kind.is_duckdb():
        numbered = f'SELECT *, row_number() OVER () AS "{ROW}" FROM frame'
        low = f'hash("{ROW}" + {int(seed)} * 1000003) < {int(share * 2**64)}::UBIGINT'
        return native.query("frame", f'SELECT * EXCLUDE ("{ROW}") FROM ({numbered}) WHERE {low}')
    if kind.is_spark_like():
        return native.sample(False, share, seed)
    if kind.is_dask():
        return native.sample(frac=share, random_state=seed)
    if kind.is_ibis():
        return native.sample(share, method="row", seed=seed)
    raise InputError(f"the table has too many different rows, and tables of {kind} cannot be sampled: do so before.")
