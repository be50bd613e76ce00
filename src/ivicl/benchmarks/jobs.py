"""Jobs: the National Supported Work trial as an instrumental-variable benchmark.

Outcome log(re78 + 1). Observed: demographics. Hidden: log earnings of 1974 and 1975. The paper varies the strength beta
from 0.25 to 8 and pools a weak and a strong instrument in its table without giving their values. Ours: weak has the
correlation of STAR's weak instrument (about 0.29), strong is the top of the range, beta = 8.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from ivicl.benchmarks.base import BenchmarkDataset
from ivicl.benchmarks.rct_to_iv import RCTConversion, rct_to_iv
from ivicl.benchmarks.sources import load_nsw

OBSERVED = ("age", "educ", "black", "hisp", "married", "nodegree")
HIDDEN = ("re74", "re75")
BETAS = {"weak": 1.5, "strong": 8.0}
SWEEP = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0)
"""The strengths of the study `strength`."""
SETTINGS = tuple(BETAS)


def trial(path: str | Path | None = None) -> pl.DataFrame:
    """The 445 men with earnings in dollars on the log(earnings + 1) scale; `y` is the outcome."""
    frame = load_nsw(path)
    log = {c: np.log1p(1000 * frame[c].to_numpy()) for c in ("re74", "re75", "re78")}
    return frame.with_columns(re74=log["re74"], re75=log["re75"], y=log["re78"])


def convert(beta: float, seed: int, path: str | Path | None = None) -> RCTConversion:
    return rct_to_iv(
        trial(path), treatment="train", outcome="y", observed=OBSERVED, hidden=HIDDEN, beta=beta, random_state=seed
    )


def dataset(setting: str, seed: int, path: str | Path | None = None) -> BenchmarkDataset:
    """`setting` is weak, strong, or beta=<number>."""
    beta = BETAS[setting] if setting in BETAS else float(setting.removeprefix("beta="))
    return BenchmarkDataset.from_trial(convert(beta, seed, path), "jobs", setting, seed, beta)
