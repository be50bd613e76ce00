"""Lost outcomes of people whose instrument and treatment are known: how many, how evenly, and how much they matter."""

from __future__ import annotations

import numpy as np

from ivicl._shared.numbers import shown_p
from ivicl._shared.special import chi_squared_tail
from ivicl.data import IVData
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.inequalities import nearest_law
from ivicl.identification.laws import count_arms
from ivicl.identification.losses import LOST, free_ends, nearest_cells
from ivicl.methods.lost import soft_table
from ivicl.results.diagnostics.records import Finding, Losses, percent

UNEVEN_P = 0.01
"""Below this, a loss differs between arms, or between treated and untreated, by more than chance."""
LARGE_MOVE, SMALL_MOVE = 0.05, 0.001
"""Shares of the outcome's range: lost outcomes that can move an end by more than the first are worth a look, however
even the loss is; if the loss is uneven, more than the second is enough."""


def losses(data: IVData) -> Losses | None:
    """What was lost; None if nothing was."""
    lost = np.asarray(data.report.lost, dtype=np.float64)
    if not lost.any():
        return None
    seen = count_arms(data.z, data.t, data.w)
    people = seen + lost
    shares = lost.sum(axis=1) / people.sum(axis=1)
    span = data.outcome_range[1] - data.outcome_range[0]
    table = soft_table(data)
    table[..., LOST] = lost
    free, dropped = free_ends(nearest_cells(table)), sharp_ends(nearest_law(table[..., :LOST]))
    return Losses(
        people=data.report.lost,
        share_z0=float(shares[0]),
        share_z1=float(shares[1]),
        p_arms=_p_value([(lost.sum(axis=1), people.sum(axis=1))]),
        p_treatment=_p_value([(lost[arm], people[arm]) for arm in (0, 1)]),
        free=data.lost is not None,
        lower_move=max(span * float(dropped[0] - free[0]), 0.0),
        upper_move=max(span * float(free[1] - dropped[1]), 0.0),
    )


def _p_value(pairs: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """P-value of the chi-squared test that the shares `lost / people` of each pair are equal, one degree per pair."""
    total, degrees = 0.0, 0
    for lost, people in pairs:
        if (people == 0).any():
            continue
        pooled = lost.sum() / people.sum()
        if 0 < pooled < 1:
            total += float(np.diff(lost / people)[0] ** 2 / (pooled * (1 - pooled) * (1 / people).sum()))
            degrees += 1
    return chi_squared_tail(total, degrees) if degrees else 1.0


def loss_finding(found: Losses | None, span: float) -> list[Finding]:
    """A loss that differs between the arms is no contradiction by itself: the lost may still be like the others.

    So it is graded look and not stop, and the finding says how far the bounds could move.
    """
    if found is None:
        return []
    name = "lost outcomes"
    what = (
        f"The outcome is lost for {percent(found.share_z0)} of the people with Z = 0 and {percent(found.share_z1)} of "
        f"those with Z = 1"
    )
    uneven = []
    if found.p_arms < UNEVEN_P:
        uneven.append(f"between the arms ({shown_p(found.p_arms)})")
    if found.p_treatment < UNEVEN_P:
        uneven.append(f"between treated and untreated ({shown_p(found.p_treatment)})")
    differs = f"; it differs {' and '.join(uneven)} by more than chance explains" if uneven else ""
    moves = f"{found.lower_move:.3g} further down and {found.upper_move:.3g} further up"
    if found.free:
        sentence = f"{what}{differs}. Each may have been anything in the range: the estimated bounds reach {moves}."
        return [Finding(name, "ok", sentence)]
    largest = max(found.lower_move, found.upper_move) / span
    sentence = (
        f"{what}{differs}. They were left out, as if they were like the others; if their outcomes may have been "
        f"anything, the estimated bounds reach {moves}."
    )
    if largest > LARGE_MOVE or (uneven and largest > SMALL_MOVE):
        remedy = "missing_outcome='bounds' (--missing-outcome bounds) assumes nothing about them."
        return [Finding(name, "look", sentence, remedy)]
    return [Finding(name, "ok", sentence)]
