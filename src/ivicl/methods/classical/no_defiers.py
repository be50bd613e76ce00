"""Bounds of the ATE under one more assumption: that the instrument moves nobody against its direction."""

from __future__ import annotations

from dataclasses import replace

from ivicl.data import IVData
from ivicl.data.encoding import weighted_quantile
from ivicl.identification.laws import arm_means, law_of
from ivicl.identification.losses import LOST, free_ends
from ivicl.identification.weaker_ends import without_defiers
from ivicl.methods.base import Method, MethodBounds, Request
from ivicl.methods.estimands import ALL
from ivicl.methods.lost import soft_table


def raising(data: IVData) -> tuple[IVData, bool]:
    """The data with Z coded so that it raises T, and whether it had to be recoded."""
    everybody = data.filled()
    _, shares = arm_means(everybody.z, everybody.t, everybody.y, everybody.w)
    if shares[1, 1] >= shares[0, 1]:
        return data, False
    lost = None if data.lost is None else replace(data.lost, z=1.0 - data.lost.z)
    return replace(data, z=1.0 - data.z, lost=lost), True


def bounds(data: IVData, request: Request) -> MethodBounds:
    """`method="no-defiers"`: bounds of the ATE; their width is the outcome's range times (1 - first stage)."""
    data, recoded = raising(data)
    (lower, _), (_, upper), always, never = *map(_ends, (data.filled(), data.filled(up=True))), *_takers(data)
    if data.lost is not None:
        # The simple fill may need defiers although another completion needs none; the linear program is then narrower.
        span = data.outcome_range[1] - data.outcome_range[0]
        table = data.cells() if data.binary else soft_table(data)
        least, most = (span * float(end) for end in free_ends(law_of(table), without_defiers=True))
        if least <= most:
            lower, upper = max(lower, least), min(upper, most)
    warnings = []
    if recoded:
        warnings.append("the instrument lowers the treatment; nobody is assumed to be moved the other way.")
    contradiction = _negative_complier_mass(data)
    if contradiction > 1e-12:
        warnings.append(
            f"the sample contradicts the absence of defiers: some outcome would have a negative share of compliers "
            f"({-contradiction:.4f})."
        )
    return MethodBounds.estimated(lower, upper, warnings, details={"always_takers": always, "never_takers": never})


def _takers(data: IVData) -> tuple[float, float]:
    """The shares of always-takers and of never-takers."""
    everybody = data.filled()
    _, shares = arm_means(everybody.z, everybody.t, everybody.y, everybody.w)
    return float(shares[0, 1]), float(shares[1, 0])


def _ends(data: IVData) -> tuple[float, float]:
    low, high = data.outcome_range
    means, shares = arm_means(data.z, data.t, data.y, data.w)
    always, never = shares[0, 1], shares[1, 0]
    # Compliers' effect is the intention-to-treat effect. Always-takers show Y(1) in arm 0, never-takers Y(0) in arm 1.
    seen = means[1].sum() - means[0].sum() + means[0, 1] - means[1, 0]
    return float(seen - always * high + never * low), float(seen - always * low + never * high)


def _negative_complier_mass(data: IVData) -> float:
    """How far P(Y=y, T=1 | Z) falls, or P(Y=y, T=0 | Z) rises, with Z: above zero only if there are defiers.

    For an outcome that is not binary, this is about whether Y is at least its median, or about its means if nothing
    else is known.
    """
    if data.v is not None:
        cells = soft_table(data)
    else:
        binary = data if data.binary else data.threshold(float(weighted_quantile(data.y, data.w, 0.5)))
        cells = binary.cells()
    law = law_of(cells)
    seen, lost = law[..., :LOST], law[..., LOST]
    more_treated = seen[0, 1] - seen[1, 1] - lost[1, 1]
    more_untreated = seen[1, 0] - seen[0, 0] - lost[0, 0]
    return float(max(more_treated.max(), more_untreated.max()))


METHOD = Method(
    name="no-defiers",
    label="No defiers",
    load=bounds,
    interval="estimate",
    summary="bounds of the ATE if nobody does the opposite of the assignment",
    procedure="the closed-form bounds of the average effect in the absence of defiers",
    assumptions=("exchangeable", "exclusion", "no-interference", "bounded", "no-defiers"),
    estimands=ALL,
    means=without_defiers,
    lost_outcomes="free",
    moments=True,
    colour="#e67700",
)
