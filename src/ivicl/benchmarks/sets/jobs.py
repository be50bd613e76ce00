"""Jobs: the National Supported Work trial as an instrumental-variable benchmark.

Outcome log(re78 + 1). Observed: demographics. Hidden: log earnings of 1974 and 1975. The paper varies the strength beta
from 0.25 to 8 and pools a weak and a strong instrument in its table without giving their values. Ours: weak has the
correlation of STAR's weak instrument (about 0.29), strong is the top of the range, beta = 8.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from ivicl.benchmarks.base import Benchmark, TrialFile
from ivicl.benchmarks.dataset import BenchmarkDataset
from ivicl.benchmarks.paper_tables import PaperTable, paper_cells
from ivicl.benchmarks.rct_to_iv import RCTConversion, rct_to_iv
from ivicl.benchmarks.settings import Number, SettingForm
from ivicl.benchmarks.sources import load_nsw

OBSERVED = ("age", "educ", "black", "hisp", "married", "nodegree")
HIDDEN = ("re74", "re75")
BETAS = {"weak": 1.5, "strong": 8.0}
SETTINGS = tuple(BETAS)
FORM = SettingForm(((*BETAS, Number("beta")),))


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
    (strength,) = FORM.parse(setting)
    beta = BETAS[strength] if isinstance(strength, str) else strength
    return BenchmarkDataset.from_trial(convert(beta, seed, path), beta)


PAPER = (
    PaperTable(
        "tab:binary-and-jobs",
        "Jobs, weak and strong pooled",
        ("weak", "strong"),
        None,
        paper_cells(
            "1.00 0.00  0.439 0.040  1.77 0.29",
            "0.70 0.09  0.541 0.029  68.5 17.0",
            "0.90 0.07  0.836 0.040  92.9 10.3",
            "0.60 0.07  0.545 0.053  92.6 16.0",
            "0.90 0.10  0.429 0.089  136.46 16.09",
            "0.25 0.14  0.229 0.045  254.55 19.93",
        ),
    ),
)
BENCHMARK = Benchmark(
    name="jobs",
    title="the National Supported Work trial, log earnings",
    make=dataset,
    settings=SETTINGS,
    form=FORM,
    source=TrialFile("nsw", "the National Supported Work data"),
    paper=PAPER,
    order=20,
)
