"""The effect among compliers, another estimand: a number, if the instrument moves nobody against its direction."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np

from ivicl.data import IVData
from ivicl.identification.laws import arm_means
from ivicl.methods.base import Estimates, Method, MethodBounds, Request


def bounds(data: IVData, request: Request) -> MethodBounds:
    """`method="late"`: Wald's ratio, with Anderson and Rubin's interval, which a weak instrument cannot fool.

    Where lost outcomes are free, from the lower end with all of them low in one arm and high in the other to the upper
    end with them the other way round.
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
        warnings=tuple(dict.fromkeys((*first.warnings, *second.warnings))),
    )


def _filled_by_arm(data: IVData, high_arm: float) -> IVData:
    """Everybody, with lost outcomes as high as possible in one arm and as low as possible in the other."""
    assert data.lost is not None
    everybody, (low, high) = data.filled(), data.outcome_range
    y = np.concatenate([data.y, np.where(data.lost.z == high_arm, high, low)])
    return replace(everybody, y=y)


def _wald(data: IVData, request: Request) -> MethodBounds:
    means, shares = arm_means(data.z, data.t, data.y, data.w)
    span = data.outcome_range[1] - data.outcome_range[0]
    y_effect, t_effect = means[1].sum() - means[0].sum(), shares[1, 1] - shares[0, 1]
    var_y, var_t, cov = _arm_variances(data)
    z = NormalDist().inv_cdf(1 - request.alpha / 2)
    lower, upper, bounded = _anderson_rubin(y_effect, t_effect, var_y, var_t, cov, z, span)
    warnings = ["LATE is the effect among compliers, if there are no defiers; it is not the average effect of all."]
    details: dict[str, object] = {"reduced_form": float(y_effect), "first_stage": float(t_effect), "bounded": bounded}
    estimates = None
    if t_effect != 0:
        ratio = y_effect / t_effect
        variance = max(var_y - 2 * ratio * cov + ratio**2 * var_t, 0.0) / t_effect**2
        se = float(np.sqrt(variance))
        estimates = Estimates(float(ratio), float(ratio), se, se)
        if abs(ratio) > span:
            warnings.append(f"the estimate {ratio:.4f} lies outside the possible range: is the instrument valid?")
    if not bounded:
        warnings.append("the instrument is too weak for a bounded interval at this level.")
    if data.covariates:
        warnings.append("method 'late' does not use covariates.")
    return MethodBounds(
        lower,
        upper,
        covers="effect",
        estimand="LATE",
        estimates=estimates,
        warnings=tuple(warnings),
        details=details,
    )


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


METHOD = Method(
    name="late",
    label="LATE: compliers only",
    load=bounds,
    interval="confidence",
    summary="Wald's ratio with Anderson and Rubin's interval: the effect among compliers",
    procedure="Wald's ratio, with the interval of Anderson and Rubin (1949)",
    estimands=("LATE",),
    assumptions=("exchangeable", "exclusion", "no-interference", "no-defiers", "large-sample"),
    covers=("effect",),
    lost_outcomes="free",
    rung=3,
    colour="#5c940d",
)
