"""The summary path: from what is left of a table without its covariates to a representation, in float32.

That is people and soft counts by (z, t, y), the spread of the outcome by (z, t), and whether anybody may move against
the instrument. B tables, S width, Q quantities.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ivicl.learn.network.ends import QUANTITIES, quantities
from ivicl.learn.network.precision import wide
from ivicl.learn.network.residual import Residual, smoothed_law
from ivicl.learn.network.vertices import Spikes
from ivicl.learn.theory import mean_terms
from ivicl.methods.pretrained.streaming.constants import CORNERS as COUNT
from ivicl.methods.pretrained.streaming.constants import FLOOR

FEATURES = 8 + 8 + 2 + 16 + 2 * QUANTITIES + 8 + 2 + COUNT


class Moments(NamedTuple):
    """A table without its covariates, in canonical coding."""

    counts: Tensor
    """(B,8) float64: sums of 1-y and y by (z, t)."""
    spread: Tensor
    """(B,4) variance of y by (z, t), over m (1-m)."""
    binary: Tensor
    """(B,1) 1 where every outcome is 0 or 1."""
    no_defiers: Tensor
    """(B,1) 1 where nobody moves against one direction."""


class CountEstimates(NamedTuple):
    """(B,Q) each, float64: the quantities at the smoothed law, and their standard errors."""

    value: Tensor
    se: Tensor


def moments_of(cell: Tensor, y: Tensor, v: Tensor, w: Tensor, most: float) -> tuple[Tensor, Tensor, Tensor]:
    """Counts (B,8) scaled down to at most `most` people, spread (B,4) and binary (B,1), from rows."""
    people = wide(cell) * wide(w).unsqueeze(-1)
    counts = people.sum(1)
    at = (torch.unflatten(people, -1, (4, 2)).sum(-1)).transpose(1, 2)  # (B,4,N) people of each row in each (z, t)
    total = at.sum(-1)
    mean = (at * wide(y).unsqueeze(1)).sum(-1) / total.clamp(min=1e-30)
    square = (at * (wide(v).unsqueeze(1) + (wide(y).unsqueeze(1) - mean.unsqueeze(-1)).square())).sum(-1) / total.clamp(
        min=1e-30
    )
    top = mean * (1 - mean)
    spread = torch.where(top > 1e-12, square / top.clamp(min=1e-12), 1.0).clamp(0, 1)
    odd = (wide(w) > 0).to(top.dtype) * (wide(y) * (1 - wide(y)) + wide(v))
    binary = (odd.amax(1, keepdim=True) < 1e-9).to(top.dtype)
    scale = (most / counts.sum(1, keepdim=True).clamp(min=1e-30)).clamp(max=1)
    return counts * scale, spread, binary


def noise(counts: Tensor) -> Tensor:
    """(B,1) rough standard error of a difference between the arms."""
    return (0.25 / (counts.view(-1, 2, 4).sum(-1) + 2)).sum(-1, keepdim=True).sqrt()


def count_estimates(moments: Moments, pseudo_count: float) -> CountEstimates:
    """The quantities without covariates; the variance of each arm is that of the smoothed law and of the spread."""
    counts = wide(moments.counts)
    people = counts.view(-1, 2, 4).sum(-1)
    law = smoothed_law(counts, pseudo_count).flatten(2)  # (B,2,4)
    arms = ((people + 1) / (people + 1).sum(-1, keepdim=True)).unsqueeze(1)
    one = torch.ones_like(counts[:, :1])
    value, c = quantities(law.unsqueeze(1), arms, one, noise(counts))
    c = torch.unflatten(c.squeeze(1), -1, (2, 2, 2))  # (B,Q,z,t,y)
    cells = torch.unflatten(law, -1, (2, 2)).unsqueeze(1)  # (B,1,z,t,y)
    shown = cells.sum(-1)
    high = cells[..., 1] / shown.clamp(min=1e-30)
    centre = c[..., 0] * (1 - high) + c[..., 1] * high
    slope = c[..., 1] - c[..., 0]
    within = slope.square() * high * (1 - high) * wide(moments.spread).view(-1, 1, 2, 2)
    variance = (shown * (centre.square() + within)).sum(-1) - (shown * centre).sum(-1).square()  # (B,Q,z)
    total = (variance.clamp(min=0) / (people + 4 * pseudo_count + 1).unsqueeze(1)).sum(-1)
    # Nobody has seen everything: even a table without variation leaves the weight of a person open.
    floor = (0.1 / (people + 2).square()).sum(-1, keepdim=True)
    return CountEstimates(value, (total + floor).sqrt())


def features(moments: Moments, estimates: CountEstimates, spikes: Spikes, pseudo_count: float) -> Tensor:
    """(B,FEATURES): what the MLP reads."""
    counts = moments.counts.float()
    arms = counts.view(-1, 2, 4)
    size = arms.sum(-1)
    frequency = arms / size.clamp(min=1).unsqueeze(-1)
    terms = mean_terms(smoothed_law(counts, pseudo_count))
    spread = moments.spread.float()
    scale = math.log(1e4)
    corners = (1 + spikes.log_share / -math.log(FLOOR)) * spikes_count(moments)
    parts = [
        2 * frequency.flatten(1), (counts + 0.1).log() / scale, (size + 0.1).log() / scale, terms.flatten(1),
        estimates.value.float(), estimates.se.float().clamp(min=1e-6).log() / scale + 1,
        spread, (spread + 1e-3).log() / 4, moments.binary.float(), moments.no_defiers.float(), corners,
    ]  # fmt: skip
    return torch.cat(parts, 1)


def spikes_count(moments: Moments) -> Tensor:
    """(B,1) 1 where the corners of the sixteen strata say something: outcomes of 0 and 1, and defiers not excluded."""
    return (moments.binary * (1 - moments.no_defiers)).float()


class Summary(nn.Module):
    """(B,FEATURES) -> (B,S)."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.embed = nn.Linear(FEATURES, width)
        self.blocks = nn.ModuleList(Residual(width, 2 * width) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.embed(x)
        for block in self.blocks:
            hidden = block(hidden)
        found: Tensor = self.norm(hidden)
        return found
