"""What one more assumption buys: that the instrument moves nobody against its direction (no defiers).

Under it the ATE has simple bounds, and the effect among compliers (LATE), another estimand, is a number.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np

from ivicl.data import IVData
from ivicl.data.encoding import weighted_quantile
from ivicl.methods.base import NO_SAMPLING_ERROR, MethodBounds, MethodOptions
from ivicl.methods.classical.manski import arm_means


def raising(data: IVData) -> tuple[IVData, bool]:
    """The data with Z coded so that it raises T, and whether it had to be recoded."""
    _, shares = arm_means(data)
    if shares[1, 1] >= shares[0, 1]:
        return data, False
    return replace(data, z=1.0 - data.z), True


def bounds_no_defiers(data: IVData, options: MethodOptions) -> MethodBounds:
    """`method="no-defiers"`: bounds of the ATE; their width is the outcome's range times (1 - first stage)."""
    options.take_extra("no-defiers")
    data, recoded = raising(data)
    low, high = data.outcome_range
    means, shares = arm_means(data)
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
    details = {"sampling_error": False, "always_takers": float(always), "never_takers": float(never)}
    return MethodBounds(float(lower), float(upper), warnings=tuple(warnings), details=details)


def _negative_complier_mass(data: IVData) -> float:
    """How far P(Y=y, T=1 | Z) falls, or P(Y=y, T=0 | Z) rises, with Z: above zero only if there are defiers.

    For an outcome that is not binary, the question is put to Y at least its median.
    """
    binary = data if data.binary else data.threshold(float(weighted_quantile(data.y, data.w, 0.5)))
    counts = binary.counts()
    law = counts / counts.sum(axis=(1, 2), keepdims=True)
    return float(max((law[0, 1] - law[1, 1]).max(), (law[1, 0] - law[0, 0]).max()))


def bounds(data: IVData, options: MethodOptions) -> MethodBounds:
    """`method="late"`: Wald's ratio, with Anderson and Rubin's interval, which a weak instrument cannot fool."""
    options.take_extra("late")
    means, shares = arm_means(data)
    span = data.outcome_range[1] - data.outcome_range[0]
    y_effect, t_effect = means[1].sum() - means[0].sum(), shares[1, 1] - shares[0, 1]
    var_y, var_t, cov = _arm_variances(data)
    z = NormalDist().inv_cdf(1 - options.alpha / 2)
    lower, upper, bounded = _anderson_rubin(y_effect, t_effect, var_y, var_t, cov, z, span)
    warnings = ["LATE is the effect among compliers, if there are no defiers; it is not the average effect of all."]
    details: dict[str, object] = {"reduced_form": float(y_effect), "first_stage": float(t_effect), "bounded": bounded}
    if t_effect != 0:
        ratio = y_effect / t_effect
        variance = max(var_y - 2 * ratio * cov + ratio**2 * var_t, 0.0) / t_effect**2
        details |= {"estimate": float(ratio), "se": float(np.sqrt(variance))}
        if abs(ratio) > span:
            warnings.append(f"the estimate {ratio:.4f} lies outside the possible range: is the instrument valid?")
    if not bounded:
        warnings.append("the instrument is too weak for a bounded interval at this level.")
    return MethodBounds(lower, upper, covers="effect", estimand="LATE", warnings=tuple(warnings), details=details)


def _arm_variances(data: IVData) -> tuple[float, float, float]:
    """Variances and covariance of the differences in means of Y and of T between the arms."""
    total = np.zeros(3)
    for arm in (0.0, 1.0):
        here = data.z == arm
        w, y, t = data.w[here], data.y[here], data.t[here]
        n = w.sum()
        dy, dt = y - w @ y / n, t - w @ t / n
        total += np.array([w @ dy**2, w @ dt**2, w @ (dy * dt)]) / n**2
    return float(total[0]), float(total[1]), float(total[2])


def _anderson_rubin(
    y_effect: float, t_effect: float, var_y: float, var_t: float, cov: float, z: float, span: float
) -> tuple[float, float, bool]:
    """The effects b with (y_effect - b t_effect)^2 <= z^2 var(y - b t), cut to the possible range.

    A quadratic a b^2 - 2 h b + c <= 0. With a <= 0 the set is unbounded; then the whole range is returned, unless the
    set is what lies outside two roots, whose hull is the whole range as well.
    """
    a = t_effect**2 - z**2 * var_t
    h = y_effect * t_effect - z**2 * cov
    c = y_effect**2 - z**2 * var_y
    if a <= 0:
        return -span, span, False
    root = np.sqrt(max(h * h - a * c, 0.0))
    lower, upper = float(np.clip((h - root) / a, -span, span)), float(np.clip((h + root) / a, -span, span))
    return lower, upper, True
