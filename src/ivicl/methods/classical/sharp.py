"""`sharp`: sharp bounds for an outcome on K levels, by the closed form of `ivicl.identification.amounts`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.data import IVData
from ivicl.data.encoding import weighted_quantile
from ivicl.errors import InputError
from ivicl.identification.amounts import mean_ends
from ivicl.identification.estimands import average_effect
from ivicl.identification.inequalities import level_excess, nearest_law
from ivicl.identification.laws import count_levels, law_of
from ivicl.identification.losses import free_ends, nearest_cells
from ivicl.identification.weaker_ends import sharp as at_two_levels
from ivicl.methods.base import Method, MethodBounds, Request
from ivicl.methods.estimands import ALL
from ivicl.methods.inequalities import check, warning_of
from ivicl.methods.lost import count_tables, soft_table


def level_counts(data: IVData, most_levels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """People on levels [z][t][k], the levels' low and high values, and whether outcomes had to be grouped.

    The ends of the outcome's range are levels too, because an unseen outcome may lie there.
    """
    low, high = data.outcome_range
    values = np.unique(np.concatenate([[low], data.y, [high]]))
    if len(values) <= most_levels:
        place = np.searchsorted(values, data.y)
        low_values = high_values = values
        grouped = False
    else:
        cuts = np.unique(weighted_quantile(data.y, data.w, np.linspace(0, 1, most_levels + 1)[1:-1]))
        cuts = cuts[(cuts > low) & (cuts < high)]
        place = np.searchsorted(cuts, data.y, side="left")
        low_values, high_values = np.concatenate([[low], cuts]), np.concatenate([cuts, [high]])
        grouped = True
    return count_levels(data.z, data.t, place, data.w, len(low_values)), low_values, high_values, grouped


@dataclass(frozen=True)
class SharpOptions:
    """How finely the outcome is divided into levels."""

    levels: int = 64
    """If there are more values than this, they are grouped, and the bounds allow for it by being wider."""

    def __post_init__(self) -> None:
        if not isinstance(self.levels, int) or self.levels < 2:
            raise InputError(f"levels must be a whole number of at least 2, but is {self.levels!r}.")


def bounds(data: IVData, request: Request) -> MethodBounds:
    """`method="sharp"`: sharp bounds for an outcome on K levels."""
    if data.lost is not None:
        return _with_lost(data)
    counts, low_values, high_values, grouped = level_counts(data, request.own.levels)
    low, high = data.outcome_range
    span = high - low
    # Measure from the low end of the range in units of it: the shift does not change an effect, and saves digits.
    ends = average_effect(mean_ends(nearest_law(counts), (low_values - low) / span, (high_values - low) / span))
    lower, upper = (span * float(end) for end in ends)
    moved = max(0.0, float(level_excess(law_of(counts)).max()))
    warnings = []
    if grouped:
        warnings.append(
            f"the outcome's values were joined into {len(low_values)} groups; the bounds hold wherever inside its "
            "group an outcome lies, and are a little wider for it."
        )
    if data.covariates:
        warnings.append("method 'sharp' does not use covariates.")
    if moved > 1e-9:
        reason = warning_of(check(data)) or "the sample violates an instrumental inequality"
        warnings.append(f"{reason}; the bounds are those of the nearest law that satisfies it ({moved:.4f} away).")
    details = {"n_levels": len(low_values), "law_moved": moved}
    return MethodBounds.estimated(max(lower, -span), min(upper, span), warnings, details=details)


def _with_lost(data: IVData) -> MethodBounds:
    """The narrower of the bounds by thresholds and by means: both hold whatever the lost outcomes are."""
    span = data.outcome_range[1] - data.outcome_range[0]
    soft = soft_table(data)
    by_means = [span * float(end) for end in free_ends(nearest_cells(soft))]
    by_thresholds = np.zeros(2)
    for tables, lengths in count_tables(data):
        by_thresholds += [lengths @ end for end in free_ends(nearest_cells(tables))]
    lower, upper = max(by_means[0], float(by_thresholds[0])), min(by_means[1], float(by_thresholds[1]))
    warnings = []
    if not data.binary:
        warnings.append(
            "with lost outcomes method 'sharp' takes the narrower of the bounds by thresholds and by means: they hold, "
            "but need not be sharp."
        )
    if data.covariates:
        warnings.append("method 'sharp' does not use covariates.")
    if lower > upper:  # only possible if the law was repaired
        lower = upper = (lower + upper) / 2
    return MethodBounds.estimated(lower, upper, warnings)


METHOD = Method(
    name="sharp",
    label="Sharp for levels",
    load=bounds,
    interval="estimate",
    summary="sharp bounds for outcomes on K levels",
    procedure="the sharp bounds for an outcome on finitely many levels, in closed form",
    options=SharpOptions,
    estimands=ALL,
    means=at_two_levels,
    lost_outcomes="free",
    colour="#087f5b",
)
