"""Data too large for one pass: equal rows are merged, which is exact; beyond a limit, people are sampled.

A model of graph schema 2 takes rows in chunks (`streaming`), all of them unless a limit is asked for. The limit is a
fixed number of distinct rows and does not depend on free memory: the same data must give the same answer on every
machine. A subsample counts only its own people, so its interval is honest, only a little wider.
"""

from __future__ import annotations

import numpy as np

from ivicl.data import IVData

MAX_ROWS = 65_536
"""The most distinct rows in one pass of the network, unless the user says otherwise: under 1 GB."""
MAX_ROWS_PER_THRESHOLD = 16_384
"""The same for an outcome that is not binary, whose rows pass once for each threshold."""
BYTES_PER_ROW = 12_000
"""Peak memory per row in the forward pass, rounded up; it doubles near a tie of codings (half are treated, say)."""
SECONDS_PER_ROW = 6e-5
"""Rough time per row on two ordinary cores, only for the estimate that is shown before a long pass."""


def shrink(data: IVData, max_rows: int, rng: np.random.Generator) -> IVData:
    """At most about `max_rows` distinct rows: each person is kept with the same probability, independently.

    With weights, the probability is chosen so that the expected number of distinct rows that remain is the limit; a row
    of weight k keeps a binomial number of its people.
    """
    if len(data.w) <= max_rows:
        return data
    kept = rng.binomial(data.w.astype(np.int64), keep_probability(data.w, max_rows)).astype(np.float64)
    rows = np.flatnonzero(kept)
    return data.take(rows, kept[rows])


def keep_probability(weights: np.ndarray, rows: int) -> float:
    """The f with sum(1 - (1 - f)^w) = rows, by bisection: (1 - f) is small when weights are large, so use logs."""
    low, high = -40.0, 0.0  # log f
    for _ in range(60):
        middle = (low + high) / 2
        expected = -np.expm1(weights * np.log1p(-np.exp(middle))).sum() if middle < 0 else float(len(weights))
        low, high = (middle, high) if expected < rows else (low, middle)
    return float(np.exp(low))


def sample_sentence(data: IVData, used: IVData, max_rows: int, in_chunks: bool) -> str:
    """What was done, for the result's warnings; with `in_chunks` the model could have taken all rows."""
    all_rows = (
        f"max_rows={len(data.w)} would take them all, in about {len(data.w) * BYTES_PER_ROW / 1e9:.0f} GB of memory"
        if not in_chunks
        else f"without max_rows all would be used, in chunks, in about {seconds(len(data.w)):.0f} s"
    )
    return (
        f"{len(data.w):,} different rows are more than max_rows = {max_rows:,}, so the network saw a random subsample "
        f"of {used.n:,} of the {data.n:,} people; the interval is honest for that number, and with all rows it could "
        f"only be narrower ({all_rows})."
    )


def cost_sentence(data: IVData, used: int, width: float, set_width: float) -> str:
    """What the sample costs in width, in numbers: the part that is sampling error shrinks as 1 / sqrt(people)."""
    people = data.n
    if data.report.sampled_from is not None:
        people = round(people * data.report.sampled_from / (data.report.n_rows + data.report.n_dropped))
    cost = max(width - set_width, 0.0) * (1 - np.sqrt(min(used / people, 1.0)))
    return (
        f"with {used:,} of {people:,} people instead of all, the interval is wider by about {cost:.2g} of {width:.3g}."
    )


def seconds(rows: int) -> float:
    """A rough forecast of the forward passes over that many rows."""
    return rows * SECONDS_PER_ROW
