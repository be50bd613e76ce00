"""One exact move along a line on which the observed law does not change.

Shapes: C chains; P cells that grow along the line, M that shrink; K knots.

On such a line the likelihood is constant, so the target is the Dirichlet prior: a product of powers of the cells. With
a concentration near 0.1 nearly all mass lies within 1e-3, 1e-6, 1e-12 ... of the ends, where some cell vanishes: no
uniform grid and no random walk can see it. In the log-odds l of the position the log density is almost piecewise
linear, with a bend where the position passes the distance to the next cell's zero. So knots are put around the bends
and joined by straight lines, which gives a density that can be drawn from exactly; one Metropolis-Hastings step
corrects the rest. The proposal does not depend on where the chain is, so that the correction is exact and the proposal
is nearly always accepted.
"""

from __future__ import annotations

import numpy as np

BEND_OFFSETS = np.array([-2.0, 2.0])[:, None]
"""Two knots per bend: 98 % of the proposals are accepted; five knots reach 99.7 % in nearly twice the time."""

TINY = 1e-290


def line_move(
    growing: np.ndarray,
    shrinking: np.ndarray,
    growing_shapes: np.ndarray,
    shrinking_shapes: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """New cells (P, C) and (M, C) after one move by some d: growing + d, shrinking - d; shapes (P, C) and (M, C).

    Each cell x has prior density x^(shape - 1). Cells are rebuilt from their distance to the nearer end, never by
    subtraction, so that a cell of 1e-200 keeps all its digits.
    """
    up, down = growing.min(axis=0), shrinking.min(axis=0)
    length = up + down
    line = _Line(growing - up, shrinking - down, growing_shapes - 1, shrinking_shapes - 1, length)
    knots = _knots(line)
    heights = line.log_density(knots)
    top = heights.max(axis=0)
    heights = heights - top

    rise = np.diff(heights, axis=0)
    run = np.diff(knots, axis=0)
    slope = rise / np.maximum(run, 1e-12)
    columns = np.arange(growing.shape[1])
    left_slope = growing_shapes[growing.argmin(axis=0), columns]
    right_slope = shrinking_shapes[shrinking.argmin(axis=0), columns]
    masses = np.empty((len(knots) + 1, knots.shape[1]))
    base = np.exp(heights)
    masses[0] = base[0] / left_slope
    masses[-1] = base[-1] / right_slope
    # The integral of exp(linear), computed from its higher end: stable for a slope near zero, and without overflow.
    masses[1:-1] = np.maximum(base[:-1], base[1:]) * run * _expm1_ratio(-np.abs(rise))

    cumulated = np.cumsum(masses, axis=0)
    target = rng.random(knots.shape[1]) * cumulated[-1]
    segment = (cumulated < target).sum(axis=0).clip(max=len(knots))
    inside = np.clip(rng.random(knots.shape[1]), 1e-300, 1.0)
    proposed = _draw_in_segment(segment, inside, knots, rise, slope, left_slope, right_slope).clip(-640.0, 640.0)
    current = np.log(np.maximum(up, TINY)) - np.log(np.maximum(down, TINY))

    def log_proposal(odds: np.ndarray) -> np.ndarray:
        place = (knots < odds).sum(axis=0)
        anchor = np.clip(place - 1, 0, len(knots) - 1)
        inner = slope[np.minimum(anchor, len(slope) - 1), columns]
        chosen = np.where(place == 0, left_slope, np.where(place == len(knots), -right_slope, inner))
        log_height: np.ndarray = heights[anchor, columns] + chosen * (odds - knots[anchor, columns])
        return log_height

    gain = line.log_density(proposed[None])[0] - log_proposal(proposed)
    loss = line.log_density(current[None])[0] - log_proposal(current)
    accepted = np.log(np.clip(rng.random(len(up)), 1e-300, 1.0)) < gain - loss
    accepted &= length > 1e-250
    moved = np.where(accepted, proposed, 0.0)
    u, r = length / (1 + np.exp(-moved)), length / (1 + np.exp(moved))
    new_growing = np.where(accepted, line.growing_gaps + np.maximum(u, TINY), growing)
    new_shrinking = np.where(accepted, line.shrinking_gaps + np.maximum(r, TINY), shrinking)
    return new_growing, new_shrinking


class _Line:
    """The target along one line, in the log-odds of the position."""

    def __init__(
        self,
        growing_gaps: np.ndarray,
        shrinking_gaps: np.ndarray,
        growing_powers: np.ndarray,
        shrinking_powers: np.ndarray,
        length: np.ndarray,
    ) -> None:
        self.growing_gaps = growing_gaps
        self.shrinking_gaps = shrinking_gaps
        self.growing_powers = growing_powers
        self.shrinking_powers = shrinking_powers
        self.length = np.maximum(length, TINY)

    def log_density(self, log_odds: np.ndarray) -> np.ndarray:
        """The log density at log-odds (K, C), with the Jacobian u r / length, up to a constant."""
        odds = np.exp(-log_odds)
        u = np.maximum(self.length / (1 + odds), TINY)
        r = np.maximum(u * odds, TINY)
        total: np.ndarray = np.log(u) + np.log(r)
        for gap, power in zip(self.growing_gaps, self.growing_powers, strict=True):
            total += power * np.log(gap + u)
        for gap, power in zip(self.shrinking_gaps, self.shrinking_powers, strict=True):
            total += power * np.log(gap + r)
        return total


def _knots(line: _Line) -> np.ndarray:
    """(K, C) sorted log-odds around the bends: the second-smallest cell of each side, and the middle."""
    left = _bend(line.growing_gaps, line.length)
    right = -_bend(line.shrinking_gaps, line.length)
    middle = np.zeros_like(left)
    knots = np.concatenate([left + BEND_OFFSETS, middle + BEND_OFFSETS, right + BEND_OFFSETS])
    knots.sort(axis=0)
    return knots


def _bend(gaps: np.ndarray, length: np.ndarray) -> np.ndarray:
    second = np.partition(gaps, 1, axis=0)[1]
    log_odds: np.ndarray = np.log(np.clip(second / length, 1e-250, 1.0))
    return log_odds


def _expm1_ratio(x: np.ndarray) -> np.ndarray:
    """(e^x - 1) / x, with its limit 1 at zero."""
    small = np.abs(x) < 1e-8
    safe = np.where(small, 1.0, x)
    return np.where(small, 1.0 + x / 2, np.expm1(safe) / safe)


def _draw_in_segment(
    segment: np.ndarray,
    inside: np.ndarray,
    knots: np.ndarray,
    rise: np.ndarray,
    slope: np.ndarray,
    left_slope: np.ndarray,
    right_slope: np.ndarray,
) -> np.ndarray:
    """A draw from the exponential pieces: segment 0 is the left tail, segment K the right one."""
    columns = np.arange(len(segment))
    piece = np.clip(segment - 1, 0, len(rise) - 1)
    start, up, s = knots[piece, columns], rise[piece, columns], slope[piece, columns]
    run = knots[piece + 1, columns] - start
    flat = np.abs(up) < 1e-8
    # log(1 + inside (e^up - 1)), written for either sign of `up` so that nothing overflows
    grown = np.where(
        up > 0, up + np.log(inside + (1 - inside) * np.exp(-np.abs(up))), np.log1p(inside * np.expm1(-np.abs(up)))
    )
    middle = start + np.where(flat, inside * run, grown / np.where(flat, 1.0, s))
    log_inside = np.log(inside)
    drawn: np.ndarray = np.where(segment == 0, knots[0] + log_inside / left_slope, middle)
    drawn = np.where(segment == len(knots), knots[-1] - log_inside / right_slope, drawn)
    return drawn
