"""Manski's bounds: what the range of the outcome alone implies, without and with the instrument."""

from __future__ import annotations

from ivicl.data import IVData
from ivicl.identification.laws import arm_means
from ivicl.identification.weaker_ends import mean_independent, without_instrument
from ivicl.methods.base import Method, MethodBounds, Request
from ivicl.methods.estimands import ALL, FROM_MEANS


def bounds(data: IVData, request: Request) -> MethodBounds:
    """`method="manski"`: the natural bounds, which use no instrument; their width is the outcome's range."""
    low, high = data.outcome_range
    ends = []
    for people in (data.filled(), data.filled(up=True)):  # the same people unless lost outcomes are free
        treated, untreated = people.w * (people.t == 1), people.w * (people.t == 0)
        share = treated.sum() / people.n
        seen = treated @ people.y / people.n - untreated @ people.y / people.n
        ends.append((seen + (1 - share) * low - share * high, seen + (1 - share) * high - share * low))
    return MethodBounds.estimated(float(ends[0][0]), float(ends[1][1]))


def bounds_iv(data: IVData, request: Request) -> MethodBounds:
    """`method="manski-iv"`: Y(0) and Y(1) are each mean independent of the instrument."""
    low, high = data.outcome_range
    down, up = data.filled(), data.filled(up=True)  # the same people unless lost outcomes are free
    (means_down, shares), (means_up, _) = (arm_means(each.z, each.t, each.y, each.w) for each in (down, up))
    ends = []
    crossed = False
    for t in (0, 1):
        # People who did not take t could have had any outcome in the range; both arms bound the same mean.
        # Lost outcomes of the untreated are high in the data set that pulls the effect down.
        least_means, most_means = (means_down, means_up) if t else (means_up, means_down)
        least = float((least_means[:, t] + (1 - shares[:, t]) * low).max())
        most = float((most_means[:, t] + (1 - shares[:, t]) * high).min())
        crossed |= least > most
        ends.append((least, most) if least <= most else ((least + most) / 2,) * 2)
    warnings = []
    if crossed:
        warnings.append(
            "the sample contradicts the assumption: the two arms bound the mean of a potential outcome by intervals "
            "that do not meet; the middle of the gap was taken."
        )
    (least_0, most_0), (least_1, most_1) = ends
    details = {"mean_if_untreated": ends[0], "mean_if_treated": ends[1]}
    return MethodBounds.estimated(least_1 - most_0, most_1 - least_0, warnings, details=details)


METHODS = (
    Method(
        name="manski",
        label="Manski, no instrument",
        load=bounds,
        interval="estimate",
        summary="bounds from the outcome's range alone",
        procedure="Manski's (1990) bounds from the range of the outcome, without an instrument",
        estimands=FROM_MEANS,
        means=without_instrument,
        assumptions=("no-interference", "bounded"),
        lost_outcomes="free",
        moments=True,
        rung=0,
        colour="#495057",
    ),
    Method(
        name="manski-iv",
        label="Manski with the instrument",
        load=bounds_iv,
        interval="estimate",
        summary="bounds from the outcome's range and mean independence of the instrument",
        procedure="Manski's (1990) bounds under mean independence of the instrument",
        estimands=ALL,
        means=mean_independent,
        assumptions=("mean-independent", "exclusion", "no-interference", "bounded"),
        lost_outcomes="free",
        moments=True,
        rung=1,
        colour="#0b7285",
    ),
)
