"""What `levis` and `whitehouse` share: the mean of the scores, its standard errors, and the interval."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm
from scipy.stats import t as student

from ivicl.data import DataReport, IVData
from ivicl.errors import InputError
from ivicl.methods.base import Estimates, MethodBounds, Request
from ivicl.methods.baselines.parts.levels import OutcomeLevels, outcome_levels
from ivicl.methods.baselines.parts.nuisance import NuisanceConfig, Nuisances, estimate_nuisances
from ivicl.methods.baselines.parts.options import NuisanceOptions
from ivicl.methods.baselines.parts.scores import end_scores
from ivicl.methods.design.variance import mean_variance


@dataclass(frozen=True)
class EndEstimates:
    """Estimated ends of the identified set, in outcome units."""

    lower: float
    upper: float
    se_lower: float
    se_upper: float
    degrees: float = np.inf
    """Degrees of freedom, if there are clusters."""


def fit_nuisances(data: IVData, request: Request) -> tuple[Nuisances, OutcomeLevels]:
    """Nuisances of the data's outcome levels (two when binary)."""
    chosen = {f.name: getattr(request.own, f.name) for f in fields(NuisanceOptions)}
    config = NuisanceConfig(random_state=request.random_state, **chosen)
    levels = outcome_levels(data, request.n_thresholds)
    nuisances = estimate_nuisances(
        data.x, data.z, data.t, levels.level, data.w, len(levels.steps) + 1, config, request.progress,
        data.design,
    )  # fmt: skip
    return nuisances, levels


def estimate_ends(nuisances: Nuisances, steps: np.ndarray, form: str, sharpness: float | None) -> EndEstimates:
    """Means of the scores with standard errors. Thresholds are correlated, so scores are summed over them first."""
    lower, upper = np.zeros(len(nuisances.z)), np.zeros(len(nuisances.z))
    for j, step in enumerate(steps, start=1):
        above = nuisances.level >= j
        one = end_scores(
            nuisances.binary_law(j), nuisances.e, nuisances.z, nuisances.t, above, form=form, sharpness=sharpness
        )
        lower += step * one.lower
        upper += step * one.upper
    scores, n, mass = np.column_stack([lower, upper]), nuisances.weight.sum(), nuisances.mass
    low, high = mass @ scores / mass.sum()
    if nuisances.design is None:
        se = np.sqrt(mass @ (scores - [low, high]) ** 2 / max(n - 1.0, 1.0) / n)
        return EndEstimates(float(low), float(high), float(se[0]), float(se[1]))
    people = _as_data(nuisances)
    together, alone = mean_variance(scores, people), mean_variance(scores, people, clusters=False)
    se = np.sqrt(np.maximum(together.variance, alone.variance))  # clusters never make people worth more
    return EndEstimates(float(low), float(high), float(se[0]), float(se[1]), float(together.degrees.min()))


def _as_data(nuisances: Nuisances) -> IVData:
    """The people of the pieces and their design, without outcomes and covariates."""
    size = len(nuisances.z)
    report = DataReport(int(nuisances.weight.sum()), size, 0)
    nothing = np.zeros((size, 0))
    return IVData(
        nothing, nuisances.z, nuisances.t, np.zeros(size), nuisances.weight, (), (0.0, 1.0), True, report,
        nuisances.design,
    )  # fmt: skip


def critical_value(kind: str, alpha: float, width: float, se: float, degrees: float = np.inf) -> float:
    """Multiplier of the standard errors; from Student's t if `degrees` is finite, as with few clusters.

    "imbens-manski" covers the effect with probability 1 - alpha wherever it lies in the identified set; "z" gives
    each end its own one-sided interval of level 1 - alpha / 2, so that the whole identified set is covered.
    """
    law = norm if np.isinf(degrees) else student(degrees)
    if kind == "z":
        return float(law.ppf(1.0 - alpha / 2.0))
    if se <= 0.0:
        return float(law.ppf(1.0 - alpha))
    shift = max(width, 0.0) / se
    return float(brentq(lambda c: law.cdf(c + shift) - law.cdf(-c) - (1.0 - alpha), 0.0, 1e6))


def interval_kind(request: Request) -> str:
    """The interval that is asked for, by its name or by what it is to cover."""
    wanted = {"set": "z", "effect": "imbens-manski"}
    named = request.own.interval
    if named is None:
        return wanted[request.covers or "effect"]
    if request.covers is not None and wanted[request.covers] != named:
        raise InputError(
            f"interval='{named}' does not cover the {request.covers}; leave out interval, or take '"
            f"{wanted[request.covers]}'."
        )
    return str(named)


def one_step_bounds(
    data: IVData,
    request: Request,
    form: str,
    sharpness: float | None,
    correction: float = 0.0,
    extra_details: dict[str, Any] | None = None,
) -> MethodBounds:
    """Fit, estimate, and wrap up. `correction` moves both ends outward, per unit of the outcome's range."""
    started = time.perf_counter()
    kind = interval_kind(request)
    nuisances, levels = fit_nuisances(data, request)
    if nuisances.details["folds"] == 1:  # one law for everybody, so one term is the largest: nothing to smooth
        form, sharpness, correction = "margin", None, 0.0
    ends = estimate_ends(nuisances, levels.steps, form, sharpness)
    span = float(levels.steps.sum())
    lower, upper = ends.lower - correction * span, ends.upper + correction * span
    c = critical_value(kind, request.alpha, upper - lower, max(ends.se_lower, ends.se_upper), ends.degrees)
    warnings = list(levels.notes)
    if lower > upper:
        warnings.append(
            f"the estimated lower bound {lower:.4f} exceeds the upper bound {upper:.4f}: the data contradict the "
            "instrument's assumptions, or the nuisances are poor; the interval spans both."
        )
    if nuisances.details.get("propensity_clipped_share", 0.0) > 0.0:
        share = nuisances.details["propensity_clipped_share"]
        warnings.append(
            f"P(Z=1 | x) was clipped to [{nuisances.details['propensity_clip']}, "
            f"{1 - nuisances.details['propensity_clip']}] for {100 * share:.1f} % of people: positivity is weak there."
        )
    low, high = lower - c * ends.se_lower, upper + c * ends.se_upper
    low, high = min(low, high), max(low, high)
    details = {
        "interval": kind,
        "critical_value": c,
        "form": form,
        "thresholds": len(levels.steps),
        "slack": levels.slack,
        **(extra_details or {}),
        "nuisance": nuisances.details,
    }
    if sharpness is not None:
        details["sharpness"] = sharpness
    if correction:
        details["uncorrected_bounds"] = [ends.lower, ends.upper]
        details["correction"] = correction * span
    details["seconds"] = time.perf_counter() - started
    return MethodBounds(
        lower=float(np.clip(low, -span, span)),
        upper=float(np.clip(high, -span, span)),
        covers="set" if kind == "z" else "effect",
        estimates=Estimates(lower, upper, ends.se_lower, ends.se_upper),
        warnings=tuple(warnings),
        details=details,
    )
