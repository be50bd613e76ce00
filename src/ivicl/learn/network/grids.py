"""Posteriors on grids of their own: an anchor, a unit, and log masses of cells that are fine near the anchor.

Cells are uniform in s, a place being anchor + unit * REACH * sinh(s): a fifteenth of a unit in the middle, sixty
units at the ends. Cells are cut to what the quantity can be; those outside hold nothing.
B tables, Q quantities, M cells.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ivicl.learn.network.outward import Limit
from ivicl.learn.network.precision import wide
from ivicl.methods.pretrained.schema_2 import CELLS, REACH, SPAN
from ivicl.methods.pretrained.streaming.constants import TAIL

STEP = 2 * SPAN / CELLS
STEEPEST = 1.0
"""Largest step of the log density that the place of a grid learns from."""


class Grid(NamedTuple):
    """Where the cells lie; float64, (B,Q)."""

    anchor: Tensor
    unit: Tensor


def offsets(like: Tensor) -> Tensor:
    """(M+1,) edges of the cells, in units from the anchor."""
    places = [REACH * math.sinh(-SPAN + STEP * k) for k in range(CELLS + 1)]
    return like.new_tensor(places)


def edges(grid: Grid, lowest: Tensor) -> Tensor:
    """(B,Q,M+1) edges of the cells, cut to [lowest, 1]; lowest (Q,)."""
    raw = grid.anchor.unsqueeze(-1) + grid.unit.unsqueeze(-1) * offsets(grid.anchor)
    return torch.maximum(raw, lowest.view(1, -1, 1)).clamp(max=1)


def log_masses(raw: Tensor, grid: Grid, lowest: Tensor, limit: Limit | None = None) -> Tensor:
    """(B,Q,M) normalised log masses from raw (B,Q,M) corrections to the logarithm of a t density, damped outside of a
    limit."""
    cut = edges(grid, lowest)
    width = (cut[..., 1:] - cut[..., :-1]) / grid.unit.unsqueeze(-1)
    middle = offsets(grid.anchor)
    middle = 0.5 * (middle[1:] + middle[:-1])
    logits = raw - TAIL * (1 + middle.square() / 3).log().to(raw.dtype) + width.clamp(min=1e-12).log().to(raw.dtype)
    if limit is not None:
        logits = logits - limit.damping(cut, grid.unit).to(raw.dtype)
    return logits.masked_fill(width <= 1e-9, -1e9).log_softmax(-1)


def place(value: Tensor, grid: Grid) -> Tensor:
    """Where values (B,Q,...) lie among the cells: 0 at the first edge, M at the last."""
    extra = value.dim() - grid.anchor.dim()
    anchor, unit = (part.reshape(*part.shape, *[1] * extra) for part in grid)
    u = (value - anchor) / (unit * REACH)
    # The inverse of sinh, by functions that every runtime has.
    s = torch.where(u < 0, -1.0, 1.0).to(u.dtype) * (u.abs() + (u.square() + 1).sqrt()).log()
    return (s + SPAN) / STEP


def log_density(log_mass: Tensor, grid: Grid, lowest: Tensor, value: Tensor) -> Tensor:
    """(B,Q) log density at values (B,Q).

    The density has steps, and between steps it tells the grid nothing but to shrink. So the masses learn from the
    steps, and the grid from the lines through the middles of the cells.
    """
    cut = edges(grid, lowest)
    inside = torch.minimum(torch.maximum(value.to(cut.dtype), lowest + 1e-9), cut.new_tensor(1 - 1e-9))
    at = place(inside, grid)
    index = at.detach().floor().clamp(0, CELLS - 1).long().unsqueeze(-1)
    width = (cut[..., 1:] - cut[..., :-1]).detach()
    found = log_mass.gather(-1, index) - width.gather(-1, index).clamp(min=1e-12).log().to(log_mass.dtype)
    if not (grid.anchor.requires_grad or grid.unit.requires_grad):
        return found.squeeze(-1)
    drift = _slope(log_mass.detach(), width, at.detach()) * at - grid.unit.log()
    return found.squeeze(-1) + (drift - drift.detach()).to(found.dtype)


def _slope(log_mass: Tensor, width: Tensor, at: Tensor) -> Tensor:
    """(B,Q) by how much the log density rises from one cell to the next, those two whose middles are around `at`.

    Zero at the ends of what can be; steep steps count as STEEPEST, or where a sharp peak lies would drown all else.
    """
    left = (at - 0.5).floor().clamp(0, CELLS - 2).long().unsqueeze(-1)
    height = log_mass.to(width.dtype) - width.clamp(min=1e-12).log()
    there = (width.gather(-1, left) > 0) & (width.gather(-1, left + 1) > 0)
    rise = (height.gather(-1, left + 1) - height.gather(-1, left)).clamp(-STEEPEST, STEEPEST)
    return torch.where(there, rise, 0.0).squeeze(-1)


def mixed(log_mass: Tensor, grid: Grid, share: Tensor) -> tuple[Tensor, Grid]:
    """The mixture (B,Q,M) over C copies of each table, on one grid: log_mass (C,Q,M), grid (C,Q), share (B,C)."""
    reference = Grid(share @ grid.anchor, share @ grid.unit)
    # Differences of sums: in float32 a small mass beside a large one would be noise.
    mass = wide(log_mass).exp()
    cumulated = torch.cat([torch.zeros_like(mass[..., :1]), mass.cumsum(-1)], -1)  # (C,Q,M+1)
    owner = (share > 0).to(grid.anchor.dtype).T  # (C,B): each copy belongs to one table
    own = Grid(owner @ reference.anchor, owner @ reference.unit)
    wanted = own.anchor.unsqueeze(-1) + own.unit.unsqueeze(-1) * offsets(own.anchor)
    at = place(wanted, grid).clamp(0, CELLS)
    left = at.floor().clamp(max=CELLS - 1)
    index = left.long()
    low, high = cumulated.gather(-1, index), cumulated.gather(-1, index + 1)
    read = low + (high - low) * (at - left).to(low.dtype)
    # What lies beyond the reference grid belongs to its outermost cells.
    total = cumulated[..., -1:]
    read = torch.cat([torch.zeros_like(total), read[..., 1:-1], total], -1)
    together = torch.einsum("bc,cqm->bqm", share.to(read.dtype), read)
    return (together[..., 1:] - together[..., :-1]).clamp(min=1e-30).log().to(log_mass.dtype), reference
