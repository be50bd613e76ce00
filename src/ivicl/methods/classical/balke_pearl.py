"""`balke-pearl`: the closed form at the sample's law, by thresholds for an outcome that is not binary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.inequalities import level_excess, nearest_law
from ivicl.identification.laws import count_thresholds, law_of
from ivicl.methods.base import NO_SAMPLING_ERROR, Estimates, Method, MethodBounds, Request
from ivicl.methods.inequalities import check, warning_of


def outcome_ends(data: IVData) -> tuple[float, float, int]:
    """Bounds of the average effect in outcome units, and the number of tables whose law had to be repaired.

    For a bounded outcome each threshold is bounded sharply and the bounds are added up: valid, not always sharp.
    """
    if data.binary:
        counts, lengths = data.counts()[None], np.ones(1)
    else:
        counts, lengths = count_thresholds(data.z, data.t, data.y, data.w, data.outcome_range)
    lower, upper = sharp_ends(nearest_law(counts))
    repaired = int((level_excess(law_of(counts)).max(axis=1) > 1e-12).sum())
    return float(lengths @ lower), float(lengths @ upper), repaired


@dataclass(frozen=True)
class BalkePearlOptions:
    """Where the formula is applied."""

    within: str | None = None
    """"covariates": inside each stratum of the covariates, then averaged."""

    def __post_init__(self) -> None:
        if self.within not in (None, "covariates"):
            raise InputError(f"within must be None or 'covariates', but is {self.within!r}.")


def bounds(data: IVData, request: Request) -> MethodBounds:
    """`method="balke-pearl"`. Strata with an empty arm say nothing, and count with the whole possible range."""
    own: BalkePearlOptions = request.own
    span = data.outcome_range[1] - data.outcome_range[0]
    warnings = [NO_SAMPLING_ERROR]
    details: dict[str, object] = {}
    if own.within is None:
        lower, upper, repaired = outcome_ends(data)
        if data.covariates:
            warnings.append("covariates were not used; within='covariates' bounds the effect inside each stratum.")
    else:
        strata = _strata(data)
        parts = [(part.n, *(outcome_ends(part) if _both_arms(part) else (-span, span, 0))) for part in strata]
        weight = np.array([part[0] for part in parts]) / data.n
        lower, upper = float(weight @ [part[1] for part in parts]), float(weight @ [part[2] for part in parts])
        repaired = sum(part[3] for part in parts)
        empty = sum(part.n for part in strata if not _both_arms(part))
        details |= {"n_strata": len(strata), "n_in_one_armed_strata": empty}
        if empty:
            warnings.append(
                f"{empty} of {data.n} people are in strata with an empty arm, and count with the whole range."
            )
        if len(strata) > data.n / 20:
            warnings.append(
                f"{len(strata)} strata for {data.n} people: bounds inside small strata are biased to be narrow."
            )
    if repaired:
        violated = warning_of(check(data))
        reason = violated or "inside some strata or at some thresholds the sample violates an instrumental inequality"
        warnings.append(reason + "; the bounds are those of the most likely law that satisfies it.")
    details["repaired_laws"] = repaired
    estimates = Estimates(max(lower, -span), min(upper, span))
    return MethodBounds(
        estimates.lower,
        estimates.upper,
        estimates=estimates,
        adjusted=own.within is not None,
        warnings=tuple(warnings),
        details=details,
    )


def _strata(data: IVData) -> list[IVData]:
    _, place = np.unique(data.x, axis=0, return_inverse=True)
    order = np.argsort(place.ravel(), kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(place.ravel()[order])) + 1)
    return [data.take(g) for g in groups]


def _both_arms(data: IVData) -> bool:
    return bool((data.z == 0).any() and (data.z == 1).any())


METHOD = Method(
    name="balke-pearl",
    label="Balke-Pearl",
    load=bounds,
    interval="estimate",
    summary="sharp bounds for binary outcomes, closed form; by thresholds for other outcomes; "
    '`within="covariates"` for strata',
    procedure="the closed-form bounds of Balke and Pearl (1997)",
    options=BalkePearlOptions,
    rung=2,
    colour="#648fff",
)
