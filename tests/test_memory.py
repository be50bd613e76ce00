"""What a further row takes, beside the table itself, in the steps around the network; numpy's arrays are traced."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from ivicl import IVData
from ivicl.data import compression, merging
from ivicl.identification import laws
from ivicl.methods import one_step_means
from ivicl.methods.classical.balke_pearl import outcome_ends
from ivicl.methods.pretrained.tables import merged_table
from ivicl.results.diagnostics import measurements

D = 10
X = [f"x{j}" for j in range(D)]
ROLES = {"outcome": "y", "treatment": "t", "instrument": "z", "covariates": X}


def amounts(n: int) -> pl.DataFrame:
    """Every row is different; some outcomes lie at an end of the range."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(n, D)), rng.integers(0, 2, n)
    t = (rng.random(n) < 0.2 + 0.5 * z).astype(np.int64)
    y = np.clip(0.3 + 0.2 * t + 0.1 * x[:, 1] + 0.1 * rng.normal(size=n), 0, 1)
    return pl.DataFrame({"z": z, "t": t, "y": y} | dict(zip(X, x.T, strict=True)))


def sorted_amounts(n: int) -> IVData:
    """As an engine hands them over."""
    return IVData.from_frame(amounts(n).sort("x0").to_dict(as_series=False), **ROLES)


STEPS: dict[str, tuple[Callable[[IVData], object], int]] = {
    "the table that the network sees": (merged_table, 50),
    "the rung without covariates": (lambda data: merged_table(data.without_covariates()), 100),
    "Balke and Pearl by thresholds": (lambda data: outcome_ends(data.without_covariates()), 80),
    "adjusted means": (one_step_means.adjusted_means, 50),
    "first stage": (measurements.first_stage, 50),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_further_row_takes_less_than_a_copy_of_the_table(step, monkeypatch):
    """The table itself has 112 bytes a row. Without polars, whose memory is not traced and was more than twice that."""
    monkeypatch.setattr(merging, "_by_polars", lambda *_: pytest.fail("rows that all differ were grouped"))
    for module, name in ((one_step_means, "MOST_ROWS"), (measurements, "ROWS_AT_ONCE"), (laws, "TABLES_AT_ONCE")):
        monkeypatch.setattr(module, name, 2_000)
    work, most = STEPS[step]
    peaks = []
    for n in (8_000, 24_000):
        data = sorted_amounts(n)
        tracemalloc.start()
        work(data)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (peaks[1] - peaks[0]) / 16_000 < most


def test_an_engine_is_asked_about_a_continuous_column_alone(monkeypatch):
    """All columns at once would be merged in several times the memory of the rows that are looked at."""
    asked, count = [], compression.row_count

    def counted(frame):
        asked.append(len(frame.collect_schema()))
        return count(frame)

    monkeypatch.setattr(compression, "row_count", counted)
    monkeypatch.setattr(compression, "MOST_ENTRIES", 1_000)
    data = IVData.from_frame(amounts(5_000).lazy(), **ROLES)
    assert len(data.w) == 5_000 and (np.diff(data.x[:, 0]) > 0).all()
    assert max(asked[:-1]) == 1 and asked[-1] == D + 3  # the last counts all rows
