"""Amounts merged in the engine: people who are alike in all else become a count, a sum and a sum of squares.

The sums are of the outcome measured from the middle of its range in units of the range, so that squares lose no digits
and cannot overflow. People at an end of the range are kept apart from those in between: a yes/no outcome is then merged
by its values as usual, and the range can still be seen in the merged rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl.data.asking import collected
from ivicl.data.columns import Column
from ivicl.data.roles import Roles
from ivicl.data.rules import refusal
from ivicl.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

MISSING, BELOW, LOWEST, BETWEEN, HIGHEST, ABOVE = range(6)
"""Where an outcome lies in its range: rows are grouped by this instead of by the outcome itself."""


@dataclass(frozen=True)
class Within:
    """What is known about the outcomes of each entry's people beside their mean; arrays (N,)."""

    sd: np.ndarray
    least: np.ndarray
    most: np.ndarray

    def take(self, keep: np.ndarray) -> Within:
        return Within(self.sd[keep], self.least[keep], self.most[keep])

    def cut_off(self, above: np.ndarray, limit: float) -> Within:
        """The same after a cap; either everybody in an entry is above it (`above`) or nobody is."""
        sd, least, most = np.where(above, [[0.0], [limit], [limit]], [self.sd, self.least, self.most])
        return Within(sd, least, most)

    def extremes(self, outcome: Column, seen: np.ndarray) -> Column:
        """A column that holds the smallest and the largest outcome of every entry."""
        values = np.concatenate([self.least[seen], self.most[seen]])
        return replace(outcome, values=values, missing=np.zeros(len(values), dtype=bool))


def as_number(column: str, text: bool) -> nw.Expr:
    import narwhals as nw

    value = nw.col(column)
    return (value.str.strip_chars() if text else value).cast(nw.Float64)


@dataclass(frozen=True)
class Amount:
    """An outcome that can be merged into moments."""

    key: str
    """Its column in the frame that is merged."""
    low: float
    high: float
    """The range asked for, or the one observed; a cap is the highest value."""
    text: bool = False
    """The numbers are still texts."""

    def placed(self, frame: nw.LazyFrame[Any], weight: str | None) -> nw.LazyFrame[Any]:
        """The frame with a column `place`, to group by instead of the outcome, and the columns that `sums` adds up."""
        import narwhals as nw

        value = as_number(self.key, self.text)
        frame = frame.with_columns(lost=value.is_null() | value.is_nan().fill_null(False))
        # A number that nobody reads instead of null: for Dask, a column with None in it is text.
        frame = frame.with_columns(outcome=nw.when(nw.col("lost")).then(nw.lit(self.low)).otherwise(value))
        value = nw.col("outcome")
        place = nw.when(value > self.high).then(nw.lit(ABOVE)).otherwise(nw.lit(BETWEEN))
        place = nw.when(value == self.high).then(nw.lit(HIGHEST)).otherwise(place)
        place = nw.when(value == self.low).then(nw.lit(LOWEST)).otherwise(place)
        place = nw.when(value < self.low).then(nw.lit(BELOW)).otherwise(place)
        place = nw.when(nw.col("lost")).then(nw.lit(MISSING)).otherwise(place)
        unit = (value - self.low) / (self.high - self.low) - 0.5
        frame = frame.with_columns(place=place, unit=unit)
        people = nw.lit(1.0) if weight is None else nw.col(weight)
        return frame.with_columns(first=nw.col("unit") * people, second=nw.col("unit") * nw.col("unit") * people)

    @staticmethod
    def sums() -> list[Any]:
        """What is computed in each group."""
        import narwhals as nw

        added = [nw.col(name).sum().alias(name) for name in ("first", "second")]
        return [*added, nw.col("outcome").min().alias("least_y"), nw.col("outcome").max().alias("most_y")]

    def settled(self, merged: pl.DataFrame, weighted: bool, column: str) -> pl.DataFrame:
        """Merged rows with the mean outcome under its key, and `sd`, instead of the sums."""
        import polars as pl

        lost = merged["place"].to_numpy() == MISSING
        names = ("first", "second", "least_y", "most_y")
        first, second, least, most = (np.where(lost, 0.0, merged[name].fill_null(0.0).to_numpy()) for name in names)
        if not (np.isfinite(least).all() and np.isfinite(most).all()):
            raise refusal("infinite", column=column, count="an", s="")
        size = np.maximum(merged["people" if weighted else "rows"].to_numpy().astype(np.float64), 1.0)
        mean, span, alone = first / size, self.high - self.low, least == most
        value = np.where(alone, least, np.clip(self.low + span * (mean + 0.5), least, most))
        sd = np.where(alone, 0.0, span * np.sqrt(np.maximum(second / size - mean**2, 0.0)))
        found = merged.drop("place", *names).with_columns(
            pl.Series(self.key, value), sd=pl.Series(sd), least_y=pl.Series(least), most_y=pl.Series(most)
        )
        return found.with_columns(pl.when(pl.Series(~lost)).then(pl.col(self.key)).alias(self.key))


def amount_of(frame: nw.LazyFrame[Any], column: str, asked: Roles) -> Amount | None:
    """The outcome in this column, if it holds amounts; its range is the one asked for, or found by a small query."""
    import narwhals as nw

    kind = frame.collect_schema()[column]
    # Text files are scanned as text; databases know which of their columns are numbers.
    text = kind == nw.String and frame.implementation.is_polars()
    if asked.outcome in (asked.ones or {}):
        return None
    if not (holds_numbers(frame.to_native(), column) if text else kind.is_numeric()):
        return None
    if asked.outcome_range is not None:
        low, high = (float(end) for end in asked.outcome_range)
    else:
        seen = frame.select(value=as_number(column, text)).filter(~nw.col("value").is_nan().fill_null(True))
        ends = collected(seen.select(low=nw.col("value").min(), high=nw.col("value").max()))
        if ends["low"][0] is None:
            return None
        low, high = float(ends["low"][0]), float(ends["high"][0])
    if isinstance(asked.cap, str):
        raise InputError(
            f"cap={asked.cap!r} is a quantile of the outcome '{asked.outcome}', whose values are too many to be taken "
            "out of the engine: find it there, and give the number."
        )
    high = high if asked.cap is None else min(high, float(asked.cap))
    if not (np.isfinite(low) and np.isfinite(high)):
        raise refusal("infinite", column=asked.outcome, count="an", s="")
    return Amount(column, low, high, text) if low < high else None


def holds_numbers(frame: pl.LazyFrame, column: str) -> bool:
    """Whether every value of a column that is scanned as text is a number, or missing."""
    import polars as pl

    read = pl.col(column).str.strip_chars().cast(pl.Float64, strict=False)
    odd = frame.select((pl.col(column).is_not_null() & read.is_null()).sum()).collect(engine="streaming")
    return int(odd.item()) == 0
