"""The effect's K bins of [-1, 1], and grids laid out from anchors that are read at them.

A linear map to K bins has to learn every location of every peak. But where a posterior ends is known roughly: near the
plug-in ends of the identified set. So logits are also written on short grids laid out from these anchors, and read off
at the bins by interpolation; one learned shape then serves every location. Plain bins remain beside them.

A grid's cell may be a few thousandths wide, so one unit in the last place of a float32 anchor, which the order of the
rows is enough to change, would show in the posterior. So places are computed in double.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ivicl.posterior import N_BINS as BINS


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


def relative(anchor: Tensor, scale: Tensor, span: tuple[float, float]) -> Tensor:
    """(B,K) place of each bin on a grid that spans `span` in units of `scale` around `anchor` (B,1)."""
    return ((centres(anchor) - anchor) / scale - span[0]) / (span[1] - span[0])


def plain(values: Tensor) -> Tensor:
    """Read a grid (B,G) that spans [-1, 1] at the bins."""
    return nn.functional.interpolate(values.unsqueeze(1), size=BINS, mode="linear", align_corners=True).squeeze(1)
