"""Measurements of the design: first stage, compliance, the outcome's range."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ivicl.data import IVData
from ivicl.data.encoding import weighted_quantile
from ivicl.identification.laws import count_arms
from ivicl.identification.losses import free_ends, nearest_cells
from ivicl.methods.design.variance import mean_variance
from ivicl.methods.lost import soft_table
from ivicl.results.diagnostics.records import Compliance, FirstStage, OutcomeRange

ROWS_AT_ONCE = 262_144


def first_stage(data: IVData) -> FirstStage:
    """The effect of the instrument on the treatment, with its standard error, F statistic and correlation."""
    shares, sizes, mass = [], [], data.mass
    for arm in (0.0, 1.0):
        here = data.z == arm
        sizes.append(data.w[here].sum())
        shares.append(mass[here] @ data.t[here] / mass[here].sum())
    share_z = mass @ data.z / mass.sum()
    variance = sum(s * (1 - s) / n for s, n in zip(shares, sizes, strict=True))
    if data.design is not None:
        side = np.where(data.z == 1, 1 / share_z, -1 / (1 - share_z))
        variance = float(mean_variance((side * data.t)[:, None], data).variance[0])
    difference = shares[1] - shares[0]
    share_t = (1 - share_z) * shares[0] + share_z * shares[1]
    spread = share_t * (1 - share_t)
    return FirstStage(
        treated_if_z0=float(shares[0]),
        treated_if_z1=float(shares[1]),
        difference=float(difference),
        se=float(np.sqrt(variance)),
        f=float(difference**2 / variance) if variance > 0 else None,
        correlation=float(difference * np.sqrt(share_z * (1 - share_z) / spread)) if spread > 0 else None,
        n_z0=int(sizes[0]),
        n_z1=int(sizes[1]),
        partial_f=_partial_f(data),
    )


def _partial_f(data: IVData) -> float | None:
    """F of the instrument in a regression of the treatment on it and the covariates, robust to unequal variances.

    Computed in chunks of rows: of many millions of rows, a copy of the covariates would take more than the table.
    """
    low, high = data.x.min(axis=0), data.x.max(axis=0)
    span = 0.5 * high - 0.5 * low
    varies = span > 1e-13 * np.maximum(np.abs(low), np.abs(high))
    if not varies.any():
        return None
    mass, both = data.mass, np.column_stack([data.z, data.t])
    chunks = [slice(start, start + ROWS_AT_ONCE) for start in range(0, len(mass), ROWS_AT_ONCE)]

    def columns(rows: slice) -> np.ndarray:
        unit = (0.5 * data.x[rows][:, varies] - 0.5 * low[varies]) / span[varies]
        return np.column_stack([np.ones(len(unit)), unit])

    centre = sum(mass[rows] @ columns(rows) for rows in chunks) / mass.sum()
    centre[0] = 0.0
    gram, moments = np.zeros((len(centre), len(centre))), np.zeros((len(centre), 2))
    for rows in chunks:
        here = columns(rows) - centre
        gram += (here * mass[rows, None]).T @ here
        moments += (here * mass[rows, None]).T @ both[rows]
    # In units of each column's spread, so that the pseudo-inverse drops only columns that are sums of others.
    unit = np.sqrt(np.maximum(np.diagonal(gram), 1e-300))
    slopes = np.linalg.pinv(gram / np.outer(unit, unit), hermitian=True) @ (moments / unit[:, None]) / unit[:, None]
    z, t = np.concatenate([both[rows] - (columns(rows) - centre) @ slopes for rows in chunks]).T
    spread = mass @ z**2 / mass.sum()
    if spread < 1e-9:
        return None
    slope = mass @ (z * t) / mass.sum() / spread
    scores = z * (t - slope * z) / spread
    if data.design is not None:
        variance = float(mean_variance(scores[:, None], data).variance[0])
    else:
        variance = float(data.w @ scores**2) / data.w.sum() ** 2
    return float(slope**2 / variance) if variance > 0 else None


def compliance(data: IVData) -> Compliance:
    """People by [z][t], and who did not do as the instrument said."""
    people = count_arms(data.z, data.t, data.w) + data.lost_counts()
    treated = people[:, 1] > 0
    untreated = people[:, 0] > 0
    if not (treated[0] or untreated[1]) or not (treated[1] or untreated[0]):
        kind = "perfect"
    elif treated.all() and untreated.all():
        kind = "two-sided"
    elif not treated.any() or not untreated.any():
        kind = "no variation"
    else:
        kind = "one-sided"
    (n00, n01), (n10, n11) = people.astype(int).tolist()
    counts = _as_tuples(data.counts().astype(int).tolist()) if data.binary else None
    return Compliance(((n00, n01), (n10, n11)), kind, counts)


def _as_tuples(nested: Any) -> Any:
    return tuple(map(_as_tuples, nested)) if isinstance(nested, list) else nested


def outcome(data: IVData) -> OutcomeRange:
    """The possible range, the observed one and, unless only means are known, where nearly all outcomes lie."""
    if data.v is not None:
        seen = float(data.y.min()), float(data.y.max())  # right, because people at an end of the range are not merged
        return OutcomeRange(data.outcome_range, seen, None, float(data.w @ data.y / data.w.sum()))
    low, high = weighted_quantile(data.y, data.w, np.array([0.01, 0.99]))
    return OutcomeRange(
        range=data.outcome_range,
        observed=(float(data.y.min()), float(data.y.max())),
        central_98_percent=(float(low), float(high)),
        mean=float(data.w @ data.y / data.w.sum()),
        top_percent_of_width=None if data.binary else _made_by_the_top(data, float(high)),
    )


def _made_by_the_top(data: IVData, quantile: float) -> float:
    """The share by which the bounds by means get narrower if the outcome is cut off at the quantile."""
    low, top = data.outcome_range
    if not low < quantile < top:
        return 0.0
    widths = []
    for limit in (quantile, top):
        cut = replace(data, y=np.minimum(data.y, limit), outcome_range=(low, limit))
        lower, upper = free_ends(nearest_cells(soft_table(cut)))
        widths.append((limit - low) * float(upper - lower))
    return max(0.0, 1 - widths[0] / widths[1]) if widths[1] > 0 else 0.0
