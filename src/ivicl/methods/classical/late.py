"""The effect among compliers, another estimand: a number, if the instrument moves nobody against its direction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ivicl.data import IVData
from ivicl.methods.arm_effects import OF_LATE, ArmEffects
from ivicl.methods.base import Estimates, Method, MethodBounds, Request
from ivicl.methods.one_step_means import LEAST_PEOPLE, adjusted_means


def bounds(data: IVData, request: Request) -> MethodBounds:
    """`method="late"`: Wald's ratio, with Anderson and Rubin's interval, which is valid even if the instrument is weak.

    If lost outcomes are free, the interval spans two answers: with all of them low in one arm and high in the other,
    and the other way round.
    """
    if data.lost is None:
        return _wald(data, request)
    first, second = (_wald(_filled_by_arm(data, high_arm), request) for high_arm in (0.0, 1.0))
    estimates = None
    if first.estimates is not None and second.estimates is not None:
        low, high = sorted((first.estimates, second.estimates), key=lambda point: point.lower)
        estimates = Estimates(low.lower, high.upper, low.se_lower, high.se_upper)
    return replace(
        first,
        lower=min(first.lower, second.lower),
        upper=max(first.upper, second.upper),
        covers="set",
        estimates=estimates,
        estimands={},  # the lost outcomes leave a range for the intention-to-treat effect too
        warnings=tuple(dict.fromkeys((*first.warnings, *second.warnings))),
    )


def _filled_by_arm(data: IVData, high_arm: float) -> IVData:
    """Everybody, with lost outcomes as high as possible in one arm and as low as possible in the other."""
    assert data.lost is not None
    everybody, (low, high) = data.filled(), data.outcome_range
    y = np.concatenate([data.y, np.where(data.lost.z == high_arm, high, low)])
    return replace(everybody, y=y)


def _wald(data: IVData, request: Request) -> MethodBounds:
    """Wald's ratio; with covariates, both differences between the arms are standardised by doubly robust scores."""
    adjusted = adjusted_means(data)
    effects = ArmEffects.of(data) if adjusted is None else adjusted.effects()
    span = data.outcome_range[1] - data.outcome_range[0]
    lower, upper, bounded = effects.ratio_interval(request.alpha)
    ratio, se = effects.ratio, effects.ratio_se
    warnings = ["LATE is the effect among compliers, if there are no defiers; it is not the average effect of all."]
    if ratio is not None and abs(ratio) > 1:
        warnings.append(f"the estimate {span * ratio:.4f} lies outside the possible range: is the instrument valid?")
    if not bounded:
        warnings.append("the instrument is too weak for a bounded interval at this level.")
    if data.covariates and adjusted is None:
        warnings.append(
            f"covariates were not used: they do not vary, or an arm has fewer than {LEAST_PEOPLE} people to learn from."
        )
    details: dict[str, object] = {
        "reduced_form": span * effects.outcome,
        "first_stage": effects.treatment,
        "first_stage_f": effects.f,
        "bounded": bounded,
    }
    return MethodBounds(
        span * lower,
        span * upper,
        covers="effect",
        estimand="LATE",
        estimates=None if ratio is None or se is None else Estimates(*(span * v for v in (ratio, ratio, se, se))),
        estimands={"ITT": effects.itt(request.alpha, span)},
        adjusted=effects.adjusted,
        warnings=tuple(warnings),
        details=details,
    )


METHOD = Method(
    name="late",
    label="LATE: compliers only",
    load=bounds,
    interval="confidence",
    summary="Wald's ratio with Anderson and Rubin's interval: the effect among compliers; adjusted for covariates",
    procedure="Wald's ratio (standardised over the covariates by doubly robust scores where there are some), with the "
    "interval of Anderson and Rubin (1949)",
    estimands=("LATE", "ITT"),
    assumptions=OF_LATE,
    covers=("effect",),
    uses_covariates=True,
    lost_outcomes="free",
    moments=True,
    reads_design=True,
    rung=3,
    colour="#5c940d",
)
