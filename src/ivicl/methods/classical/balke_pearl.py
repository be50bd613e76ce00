"""Balke and Pearl's sharp bounds for a binary instrument, treatment and outcome, in closed form.

They hold when Z is independent of the strata (T(0), T(1), Y(0), Y(1)) jointly. Terms 1-4 need only independence of
each Y(t) by itself; terms 5-8 need the joint form, which is the one assumed here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.identification.inequalities import check, excess, law_of, nearest_law, warning_of
from ivicl.methods.base import NO_SAMPLING_ERROR, Estimates, Method, MethodBounds, Request

# The terms are linear in the law. Each string lists the signed probabilities p_yt.z of one term of the paper's
# appendix, with its constant and in its order.
_LOWER = (
    (-1, "+11.1 +00.0"),
    (-1, "+11.0 +00.1"),
    (0, "-01.1 -10.1"),
    (0, "-01.0 -10.0"),
    (0, "+11.0 -11.1 -10.1 -01.0 -10.0"),
    (0, "+11.1 -11.0 -10.0 -01.1 -10.1"),
    (0, "+00.1 -01.1 -10.1 -01.0 -00.0"),
    (0, "+00.0 -01.0 -10.0 -01.1 -00.1"),
)
_UPPER = (
    (1, "-01.1 -10.0"),
    (1, "-01.0 -10.1"),
    (0, "+11.1 +00.1"),
    (0, "+11.0 +00.0"),
    (0, "-01.0 +01.1 +00.1 +11.0 +00.0"),
    (0, "-01.1 +11.1 +00.1 +01.0 +00.0"),
    (0, "-10.1 +11.1 +00.1 +11.0 +10.0"),
    (0, "-10.0 +11.0 +00.0 +11.1 +10.1"),
)


def _coefficients(rows: tuple[tuple[int, str], ...]) -> tuple[np.ndarray, np.ndarray]:
    """(8,) constants and an (8, 2, 2, 2) array of coefficients on p[z][t][y]."""
    constants = np.array([constant for constant, _ in rows], dtype=np.float64)
    table = np.zeros((8, 2, 2, 2))
    for j, (_, row) in enumerate(rows):
        for entry in row.split():
            y, t, z = int(entry[1]), int(entry[2]), int(entry[4])
            table[j, z, t, y] = 1.0 if entry[0] == "+" else -1.0
    return constants, table


LOWER_CONSTANTS, LOWER_TABLE = _coefficients(_LOWER)
UPPER_CONSTANTS, UPPER_TABLE = _coefficients(_UPPER)


def terms(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eight lower and the eight upper terms, each (..., 8), of laws p (..., 2, 2, 2) indexed [z][t][y]."""
    p = np.asarray(p, dtype=np.float64)
    lower = LOWER_CONSTANTS + np.einsum("...zty,jzty->...j", p, LOWER_TABLE)
    upper = UPPER_CONSTANTS + np.einsum("...zty,jzty->...j", p, UPPER_TABLE)
    return lower, upper


def sharp_ends(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two ends of the identified set of the average effect, for laws p (..., 2, 2, 2) = P(T=t, Y=y | Z=z)."""
    lower, upper = terms(p)
    return lower.max(axis=-1), upper.min(axis=-1)


def level_laws(data: IVData) -> tuple[np.ndarray, np.ndarray]:
    """The counts of 1{Y >= c} for every c in the outcome's range: (M, 2, 2, 2) tables, and the length of range of each.

    Between two observed values the table does not change, so finitely many tables carry the whole integral
    E[Y(1) - Y(0)] = integral over c of E[1{Y(1) >= c} - 1{Y(0) >= c}]: no grid, no discretisation error.
    """
    low, high = data.outcome_range
    levels, place = np.unique(data.y, return_inverse=True)
    cell = (2 * data.z + data.t).astype(np.int64)
    mass = np.zeros((4, len(levels) + 1))
    np.add.at(mass, (cell, place), data.w)
    at_least = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]  # (4, M): people with Y >= levels[k]; the last column is zero
    ones = at_least.T.reshape(-1, 2, 2)
    totals = at_least[:, 0].reshape(2, 2)
    lengths = np.diff(np.concatenate([[low], levels, [high]]))
    return np.stack([totals - ones, ones], axis=-1), lengths


def outcome_ends(data: IVData) -> tuple[float, float, int]:
    """Bounds of the average effect in outcome units, and the number of tables whose law had to be repaired.

    For a bounded outcome each threshold is bounded sharply and the bounds are added up: valid, not always sharp.
    """
    counts, lengths = (data.counts()[None], np.ones(1)) if data.binary else level_laws(data)
    laws = nearest_law(counts)
    lower, upper = sharp_ends(laws)
    repaired = int((excess(law_of(counts)).max(axis=(1, 2)) > 1e-12).sum())
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
    return [replace(data, x=data.x[g], z=data.z[g], t=data.t[g], y=data.y[g], w=data.w[g]) for g in groups]


def _both_arms(data: IVData) -> bool:
    return bool((data.z == 0).any() and (data.z == 1).any())


METHOD = Method(
    name="balke-pearl",
    label="Balke-Pearl, no covariates",
    load=bounds,
    interval="estimate",
    summary="sharp bounds for binary outcomes, closed form; by thresholds for other outcomes; "
    '`within="covariates"` for strata',
    rests_on="The instrument is independent of everybody's type, and acts through the treatment alone.",
    options=BalkePearlOptions,
    rung=2,
    colour="#648fff",
)
