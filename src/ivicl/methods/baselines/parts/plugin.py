"""The plug-in estimator: mean over the rows of the Balke-Pearl bounds at the estimated p(y, t | z, x)."""

from __future__ import annotations

import time

import numpy as np

from ivicl.data import IVData
from ivicl.identification.balke_pearl import terms
from ivicl.methods.base import NO_SAMPLING_ERROR, Estimates, MethodBounds, Request
from ivicl.methods.baselines.parts.one_step import fit_nuisances


def bounds(data: IVData, request: Request) -> MethodBounds:
    """Point estimates of the covariate-adjusted bounds."""
    started = time.perf_counter()
    nuisances, levels = fit_nuisances(data, request)
    share = nuisances.mass / nuisances.mass.sum()
    low = high = crossed = 0.0
    for j, step in enumerate(levels.steps, start=1):
        lower_terms, upper_terms = terms(nuisances.binary_law(j))
        lower, upper = lower_terms.max(-1), upper_terms.min(-1)
        low += float(step * (share @ lower))
        high += float(step * (share @ upper))
        crossed = max(crossed, float(share @ (lower > upper + 1e-12)))
    warnings = [*levels.notes, NO_SAMPLING_ERROR]
    if low > high:
        warnings.append(
            f"the estimated lower bound {low:.4f} exceeds the upper bound {high:.4f}: the data contradict the "
            "instrument's assumptions, or the nuisances are poor; the interval spans both."
        )
    span = float(levels.steps.sum())
    details = {
        "crossed_share": crossed,
        "thresholds": len(levels.steps),
        "slack": levels.slack,
        "nuisance": nuisances.details,
        "seconds": time.perf_counter() - started,
    }
    return MethodBounds(
        lower=float(np.clip(min(low, high), -span, span)),
        upper=float(np.clip(max(low, high), -span, span)),
        estimates=Estimates(low, high),
        warnings=tuple(warnings),
        details=details,
    )
