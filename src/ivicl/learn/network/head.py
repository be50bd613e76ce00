"""From a representation to log posteriors on K bins of [-1, 1]; logits in float32, places on grids in float64.

A linear map to K bins has to learn every location of every peak. But where a posterior ends is known roughly: near the
plug-in ends of the identified set. So logits are also written on short grids laid out from these anchors, and read off
at the bins by interpolation; one learned shape then serves every location. Plain bins remain beside them.

A grid's cell may be a few thousandths wide, so one unit in the last place of a float32 anchor, which the order of the
rows is enough to change, would show in the posterior. So places are computed in double.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ivicl.learn.network.config import BINS
from ivicl.learn.network.vertices import Spikes, spread_mass
from ivicl.methods.pretrained.streaming.constants import EFFECT_PARTS, EFFECT_SPAN, END_GRID, END_SPAN

COARSE = 128
SIZES = {"effect": sum(EFFECT_PARTS), "end": COARSE + END_GRID}


def centres(like: Tensor) -> Tensor:
    """(K,) bin centres, of the kind of `like`."""
    return (torch.arange(BINS, device=like.device, dtype=like.dtype) + 0.5) * (2 / BINS) - 1


def read_grid(values: Tensor, position: Tensor) -> Tensor:
    """Linear interpolation of values (B,G), given on a uniform grid of [0, 1], at position (B,K); flat outside."""
    last = values.shape[1] - 1
    place = position.clamp(0, 1) * last
    left = place.detach().floor().clamp(max=last - 1)
    index = left.long()
    low, high = values.gather(1, index), values.gather(1, index + 1)
    return low + (high - low) * (place - left).to(values.dtype)


def _relative(anchor: Tensor, scale: Tensor, span: tuple[float, float]) -> Tensor:
    """(B,K) place of each bin on a grid that spans `span` in units of `scale` around `anchor` (B,1)."""
    return ((centres(anchor) - anchor) / scale - span[0]) / (span[1] - span[0])


class Anchors(NamedTuple):
    """Where the grids lie, in float64: plug-in ends (B,1) and the unit of the ends' posteriors (B,1)."""

    lower: Tensor
    upper: Tensor
    scale: Tensor


def _plain(values: Tensor) -> Tensor:
    """Read a grid (B,G) that spans [-1, 1] at the bins."""
    return nn.functional.interpolate(values.unsqueeze(1), size=BINS, mode="linear", align_corners=True).squeeze(1)


def write_bins(
    effect: Tensor, lower: Tensor, upper: Tensor, anchors: Anchors, spikes: Spikes | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Raw outputs of the maps below -> log probabilities (B,K) of the effect, and logits (B,K) of lower and upper."""
    # A unit below one bin cannot be seen at the bins' centres.
    scale = anchors.scale.clamp(min=1.5 / BINS, max=0.25)
    at_lower = _relative(anchors.lower, scale, END_SPAN)
    at_upper = _relative(anchors.upper, scale, END_SPAN)
    between = _relative(anchors.lower, (anchors.upper - anchors.lower).clamp(min=0.01), EFFECT_SPAN)
    plain, inner, left, right, share, shape = effect.split_with_sizes(EFFECT_PARTS, 1)
    smooth = _plain(plain) + read_grid(inner, between) + read_grid(left, at_lower) + read_grid(right, at_upper)
    effect = smooth.softmax(1)
    if spikes is not None:
        effect = torch.lerp(effect, spread_mass(spikes, shape).clamp(min=1e-12), share.sigmoid())
    effect = effect.clamp(min=1e-30).log()
    ends = []
    for raw, place in ((lower, at_lower), (upper, at_upper)):
        plain, near = raw.split_with_sizes([COARSE, END_GRID], 1)
        ends.append(_plain(plain) + read_grid(near, place))
    return effect, ends[0], ends[1]


class AnchoredHead(nn.Module):
    """Representation -> raw outputs for `write_bins`. Those of several heads may be added before they are written."""

    def __init__(self, width: int, zero: bool) -> None:
        super().__init__()
        self.effect = nn.Linear(width, SIZES["effect"])
        self.lower = nn.Linear(width, SIZES["end"])
        self.upper = nn.Linear(width, SIZES["end"])
        for linear in (self.effect, self.lower, self.upper):
            nn.init.zeros_(linear.bias)
            if zero:
                nn.init.zeros_(linear.weight)
            else:
                nn.init.normal_(linear.weight, std=0.02)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.effect(x), self.lower(x), self.upper(x)


class LinearHead(nn.Module):
    """The paper's head: one linear map to the bins of each posterior. Needs no anchors and no writing."""

    def __init__(self, width: int, zero: bool) -> None:
        super().__init__()
        self.out = nn.Linear(width, 3 * BINS)
        nn.init.zeros_(self.out.bias)
        if zero:
            nn.init.zeros_(self.out.weight)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        effect, lower, upper = self.out(x).split(BINS, 1)
        return effect, lower, upper


def make_head(width: int, anchored: bool, zero: bool) -> nn.Module:
    """A head of the kind that the config names; `zero` starts it silent."""
    return AnchoredHead(width, zero) if anchored else LinearHead(width, zero)
