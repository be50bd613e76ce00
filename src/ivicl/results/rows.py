"""One flat row of a result: the same columns from `to_frame`, `fit_many` and `ivicl batch`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ivicl.methods.estimands import FROM_ARMS

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult

COLUMNS: dict[str, type] = {
    "method": str,
    "estimand": str,
    "lower": float,
    "upper": float,
    "width": float,
    "alpha": float,
    "interval": str,
    "covers": str,
    "estimate_lower": float,
    "estimate_upper": float,
    "posterior_median": float,
    "prob_positive": float,
    "set_lower": float,
    "set_upper": float,
    "not_identified": float,
    "not_enough_data": float,
    "att_lower": float,
    "att_upper": float,
    "att_estimate_lower": float,
    "att_estimate_upper": float,
    "lift_lower": float,
    "lift_upper": float,
    "lift_estimate_lower": float,
    "lift_estimate_upper": float,
    "itt_lower": float,
    "itt_upper": float,
    "itt_estimate": float,
    "late_lower": float,
    "late_upper": float,
    "late_estimate": float,
    "n": int,
    "n_rows": int,
    "n_dropped": int,
    "n_lost": int,
    "lost_if_z0": float,
    "lost_if_z1": float,
    "lost_outcomes": str,
    "cap": float,
    "n_clusters": int,
    "design_effect": float,
    "covariates": str,
    "instrument_one": str,
    "treatment_one": str,
    "outcome_one": str,
    "treated_if_z0": float,
    "treated_if_z1": float,
    "first_stage": float,
    "first_stage_f": float,
    "grade": str,
    "findings": str,
    "warnings": str,
    "error": str,
    "version": str,
}
"""The columns, after those that name the study; docs/columns.md says what they mean."""


def row(result: BoundsResult) -> dict[str, Any]:
    """The result as one flat row of COLUMNS."""
    losses, design = result.diagnostics.losses, result.diagnostics.design
    stage, posterior, parts, estimates = (
        result.diagnostics.first_stage,
        result.posterior,
        result.width_parts,
        result.estimates,
    )
    limited = math.isfinite(result.upper)  # else null, as in JSON and in files, which have no infinity
    found = {
        "method": result.method,
        "estimand": result.estimand,
        "lower": result.lower,
        "upper": result.upper if limited else None,
        "width": result.width if limited else None,
        "alpha": result.alpha,
        "interval": result.interval_kind,
        "covers": result.covers,
        "estimate_lower": estimates.lower if estimates else None,
        "estimate_upper": estimates.upper if estimates else None,
        "posterior_median": float(posterior.quantile(0.5)) if posterior else None,
        "prob_positive": posterior.prob_positive if posterior else None,
        "set_lower": parts.lower if parts else None,
        "set_upper": parts.upper if parts else None,
        "not_identified": parts.not_identified if parts else None,
        "not_enough_data": parts.not_enough_data if parts else None,
        "n": result.n,
        "n_rows": result.n_rows,
        "n_dropped": result.n_dropped,
        "n_lost": losses.total if losses else 0,
        "lost_if_z0": losses.share_z0 if losses else 0.0,
        "lost_if_z1": losses.share_z1 if losses else 0.0,
        "lost_outcomes": ("free" if losses.free else "dropped") if losses else None,
        "cap": result.cap,
        "n_clusters": design.n_clusters if design else None,
        "design_effect": max(design.design_effect_lower, design.design_effect_upper) if design else None,
        "covariates": ",".join(result.covariates),
        **{f"{role}_one": _one(result, role) for role in ("instrument", "treatment", "outcome")},
        "treated_if_z0": stage.treated_if_z0,
        "treated_if_z1": stage.treated_if_z1,
        "first_stage": stage.difference,
        "first_stage_f": stage.f,
        "grade": result.grade,
        "findings": " | ".join(finding.text for finding in result.diagnostics.worth_reading),
        "warnings": " | ".join(result.warnings),
        "version": result.version,
    }
    return blank_row() | _estimands(result) | found


def _estimands(result: BoundsResult) -> dict[str, float | None]:
    """The columns of estimands that studies are often judged by, if the method has them."""
    found: dict[str, float | None] = {}
    for name in ("ATT", "LIFT", "ITT", "LATE"):
        entry = result.estimands.get(name)
        if entry is None:
            continue
        start = name.lower()
        found |= {f"{start}_lower": entry.lower, f"{start}_upper": entry.upper}
        if name in FROM_ARMS:
            found[f"{start}_estimate"] = entry.estimate_lower
        else:
            found[f"{start}_estimate_lower"] = entry.estimate_lower
            found[f"{start}_estimate_upper"] = entry.estimate_upper
    return found


def _one(result: BoundsResult, role: str) -> str | None:
    """The value that means 1, as text."""
    coding = result.codings.get(role)
    return None if coding is None or coding.one is None else str(coding.one)


def blank_row() -> dict[str, Any]:
    return dict.fromkeys(COLUMNS)


def frame_of(rows: Sequence[Mapping[str, Any]], by: Sequence[str] = ()) -> Any:
    """A polars frame with the columns of `by` and of COLUMNS."""
    import polars as pl

    types = {float: pl.Float64, int: pl.Int64, str: pl.String}
    overrides = {name: types[kind] for name, kind in COLUMNS.items()}
    frame = pl.DataFrame(list(rows), infer_schema_length=None, schema_overrides=overrides)
    return frame.select([*by, *COLUMNS])
