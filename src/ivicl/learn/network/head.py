"""From a representation to the effect's 1,024 bins and to the quantities' own grids."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ivicl.learn.network.bins import plain, read_grid, relative
from ivicl.learn.network.ends import QUANTITIES
from ivicl.learn.network.grids import Grid
from ivicl.learn.network.vertices import Spikes, spread_mass
from ivicl.methods.pretrained.schema_2 import CELLS
from ivicl.methods.pretrained.streaming.constants import EFFECT_PARTS, EFFECT_SPAN, END_SPAN
from ivicl.posterior import N_BINS as BINS


class Heads(nn.Module):
    """Representation -> raw outputs. Those of several representations may be added before they are written."""

    def __init__(self, width: int, zero: bool) -> None:
        super().__init__()
        self.effect = nn.Linear(width, sum(EFFECT_PARTS))
        self.ends = nn.Linear(width, QUANTITIES * CELLS)
        for linear in (self.effect, self.ends):
            nn.init.zeros_(linear.bias)
            if zero:
                nn.init.zeros_(linear.weight)
            else:
                nn.init.normal_(linear.weight, std=0.02)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(B,S) -> the effect's parts, and (B,Q,M)."""
        return self.effect(x), self.ends(x).view(-1, QUANTITIES, CELLS)


def write_effect(raw: Tensor, grid: Grid, spikes: Spikes | None, spiked: Tensor) -> Tensor:
    """Log probabilities (B,K) of the effect; the grid's first two quantities are its ends, spiked (B,1) is 0 or 1.

    Without `spikes` no table has any: half of the time, where that is known before.
    """
    lower, upper = grid.anchor[:, :1], grid.anchor[:, 1:2]
    # A unit below one bin cannot be seen at the bins' centres.
    scale = grid.unit[:, :2].clamp(min=1.5 / BINS, max=0.25)
    whole, inner, left, right, share, shape = raw.split_with_sizes(EFFECT_PARTS, 1)
    between = relative(lower, (upper - lower).clamp(min=0.01), EFFECT_SPAN)
    smooth = plain(whole) + read_grid(inner, between)
    smooth = smooth + read_grid(left, relative(lower, scale[:, :1], END_SPAN))
    smooth = smooth + read_grid(right, relative(upper, scale[:, 1:], END_SPAN))
    mixed = smooth.softmax(1)
    if spikes is not None:
        spiky = spread_mass(spikes, shape).clamp(min=1e-12)
        mixed = torch.lerp(mixed, spiky, share.sigmoid() * spiked)
    return mixed.clamp(min=1e-30).log()
