"""What one more assumption buys: the instrument moves nobody against its direction. Then the ATE has simple bounds."""

from __future__ import annotations

from dataclasses import replace

from ivicl.data import IVData
from ivicl.data.encoding import weighted_quantile
from ivicl.identification.laws import arm_means, law_of
from ivicl.methods.base import NO_SAMPLING_ERROR, Estimates, Method, MethodBounds, Request


def raising(data: IVData) -> tuple[IVData, bool]:
    """The data with Z coded so that it raises T, and whether it had to be recoded."""
    _, shares = arm_means(data.z, data.t, data.y, data.w)
    if shares[1, 1] >= shares[0, 1]:
        return data, False
    return replace(data, z=1.0 - data.z), True


def bounds(data: IVData, request: Request) -> MethodBounds:
    """`method="no-defiers"`: bounds of the ATE; their width is the outcome's range times (1 - first stage)."""
    data, recoded = raising(data)
    low, high = data.outcome_range
    means, shares = arm_means(data.z, data.t, data.y, data.w)
    itt = means[1].sum() - means[0].sum()
    always, never = shares[0, 1], shares[1, 0]
    # Compliers' effect is the intention-to-treat effect. Always-takers show Y(1) in arm 0, never-takers Y(0) in arm 1.
    seen = itt + means[0, 1] - means[1, 0]
    lower = seen - always * high + never * low
    upper = seen - always * low + never * high
    warnings = [NO_SAMPLING_ERROR]
    if recoded:
        warnings.append("the instrument lowers the treatment; nobody is assumed to be moved the other way.")
    contradiction = _negative_complier_mass(data)
    if contradiction > 1e-12:
        warnings.append(
            f"the sample contradicts the absence of defiers: some outcome would have a negative share of compliers "
            f"({-contradiction:.4f})."
        )
    estimates = Estimates(float(lower), float(upper))
    details = {"always_takers": float(always), "never_takers": float(never)}
    return MethodBounds(
        estimates.lower, estimates.upper, estimates=estimates, warnings=tuple(warnings), details=details
    )


def _negative_complier_mass(data: IVData) -> float:
    """How far P(Y=y, T=1 | Z) falls, or P(Y=y, T=0 | Z) rises, with Z: above zero only if there are defiers.

    For an outcome that is not binary, the question is put to Y at least its median.
    """
    binary = data if data.binary else data.threshold(float(weighted_quantile(data.y, data.w, 0.5)))
    law = law_of(binary.counts())
    return float(max((law[0, 1] - law[1, 1]).max(), (law[1, 0] - law[0, 0]).max()))


METHOD = Method(
    name="no-defiers",
    label="No defiers",
    load=bounds,
    interval="estimate",
    summary="bounds of the ATE if nobody does the opposite of the assignment",
    procedure="the closed-form bounds of the average effect in the absence of defiers",
    assumptions=("exchangeable", "exclusion", "no-interference", "bounded", "no-defiers"),
    colour="#e67700",
)
