"""`balke-pearl`: the closed form at the sample's law, by thresholds for an outcome that is not binary."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.identification.laws import law_of
from ivicl.identification.losses import free_ends, nearest_cells
from ivicl.identification.weaker_ends import sharp
from ivicl.methods.base import Method, MethodBounds, Request
from ivicl.methods.estimands import ALL
from ivicl.methods.inequalities import check, warning_of
from ivicl.methods.lost import count_tables


def outcome_ends(data: IVData) -> tuple[float, float, int]:
    """Bounds of the average effect in outcome units, and the number of tables whose law had to be repaired.

    For an outcome that is not binary, each threshold is bounded sharply and the bounds are added up: valid, but not
    always sharp. Lost outcomes that are free may have been anything.
    """
    ends, repaired = np.zeros(2), 0
    for counts, lengths in count_tables(data):
        cells = nearest_cells(counts)
        ends += [lengths @ end for end in free_ends(cells)]
        repaired += int((np.abs(cells - law_of(counts)).max(axis=(1, 2, 3)) > 1e-12).sum())
    return float(ends[0]), float(ends[1]), repaired


@dataclass(frozen=True)
class BalkePearlOptions:
    """Where the formula is applied."""

    within: str | None = None
    """With "covariates" the formula is applied inside each stratum of the covariates, and the bounds are averaged."""

    def __post_init__(self) -> None:
        if self.within not in (None, "covariates"):
            raise InputError(f"within must be None or 'covariates', but is {self.within!r}.")


def bounds(data: IVData, request: Request) -> MethodBounds:
    """`method="balke-pearl"`. Strata with an empty arm say nothing, and enter with the whole possible range."""
    own: BalkePearlOptions = request.own
    span = data.outcome_range[1] - data.outcome_range[0]
    warnings = []
    details: dict[str, object] = {}
    if own.within is None:
        lower, upper, repaired = outcome_ends(data)
        if data.covariates:
            warnings.append("covariates were not used; within='covariates' bounds the effect inside each stratum.")
    else:
        strata = _strata(data)
        parts = [(part.filled().n, *(outcome_ends(part) if _both_arms(part) else (-span, span, 0))) for part in strata]
        everybody = data.filled().n
        weight = np.array([part[0] for part in parts]) / everybody
        lower, upper = float(weight @ [part[1] for part in parts]), float(weight @ [part[2] for part in parts])
        repaired = sum(part[3] for part in parts)
        empty = sum(part.filled().n for part in strata if not _both_arms(part))
        details |= {"n_strata": len(strata), "n_in_one_armed_strata": empty}
        if empty:
            warnings.append(
                f"{empty} of {everybody} people are in strata with an empty arm, and count with the whole range."
            )
        if len(strata) > everybody / 20:
            warnings.append(
                f"{len(strata)} strata for {everybody} people: bounds inside small strata are biased to be narrow."
            )
    if repaired:
        violated = warning_of(check(data))
        reason = violated or "inside some strata or at some thresholds the sample violates an instrumental inequality"
        warnings.append(reason + "; the bounds are those of the most likely law that satisfies it.")
    details["repaired_laws"] = repaired
    return MethodBounds.estimated(
        max(lower, -span), min(upper, span), warnings, adjusted=own.within is not None, details=details
    )


def _strata(data: IVData) -> list[IVData]:
    """The people of each stratum, each with its own lost people, whose rows come after the others in `filled`."""
    _, place = np.unique(data.filled().x, axis=0, return_inverse=True)
    order = np.argsort(place.ravel(), kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(place.ravel()[order])) + 1)
    seen = len(data.w)
    parts = [(data.take(g[g < seen]), g[g >= seen] - seen) for g in groups]
    if data.lost is None:
        return [part for part, _ in parts]
    return [replace(part, lost=data.lost.take(gone) if len(gone) else None) for part, gone in parts]


def _both_arms(data: IVData) -> bool:
    return len(np.unique(data.filled().z)) == 2


METHOD = Method(
    name="balke-pearl",
    label="Balke-Pearl",
    load=bounds,
    interval="estimate",
    summary="sharp bounds for binary outcomes, closed form; by thresholds for other outcomes; "
    '`within="covariates"` for strata',
    procedure="the closed-form bounds of Balke and Pearl (1997)",
    options=BalkePearlOptions,
    estimands=ALL,
    means=sharp,
    lost_outcomes="free",
    rung=2,
    colour="#648fff",
)
