"""What a recoding of t, y and z does to the quantities: which becomes which, mirrored or not.

A flip of y turns a mean m into 1 - m and an effect into its negative, and swaps ends. A flip of t swaps E Y(1) and
E Y(0), turns ATT into -ATU, and negates the other effects. A flip of z changes nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.learn.network.prepare import CODINGS
from ivicl.learn.second.ends import QUANTITIES


def _rules(flip_t: int, flip_y: int) -> tuple[list[int], list[float], list[float]]:
    """For each quantity in the caller's coding: which of the canonical ones it is, times what, plus what."""
    source, sign, offset = [], [], []
    for pair, kind in enumerate(("effect", "mean", "mean", "effect", "effect")):
        partner = {1: 2, 2: 1, 3: 4, 4: 3}.get(pair, pair) if flip_t else pair
        mirrored = flip_y if kind == "mean" else flip_t ^ flip_y
        for end in (0, 1):
            source.append(2 * partner + (1 - end if mirrored else end))
            sign.append(-1.0 if mirrored else 1.0)
            offset.append(1.0 if mirrored and kind == "mean" else 0.0)
    mirrored = flip_t ^ flip_y
    return [*source, QUANTITIES - 1], [*sign, -1.0 if mirrored else 1.0], [*offset, 0.0]


_TABLE = [_rules(flip_t, flip_y) for flip_t, flip_y, _ in CODINGS]
SOURCE = torch.tensor([rule[0] for rule in _TABLE])
"""(8,Q) for each of CODINGS."""
SIGN = torch.tensor([rule[1] for rule in _TABLE])
OFFSET = torch.tensor([rule[2] for rule in _TABLE])


def values(quantities: Tensor, coding: Tensor) -> Tensor:
    """(B,Q) numbers under recodings (B,) of CODINGS; each recoding is its own inverse."""
    source, sign, offset = (t.to(quantities.device)[coding] for t in (SOURCE, SIGN, OFFSET))
    return quantities.gather(1, source) * sign.to(quantities.dtype) + offset.to(quantities.dtype)


def pick(parts: Tensor, coding: Tensor) -> Tensor:
    """(B,Q,...) what belongs to each quantity after the recoding, signs apart."""
    source = SOURCE.to(parts.device)[coding]
    return parts.gather(1, source.view(*source.shape, *[1] * (parts.dim() - 2)).expand(-1, -1, *parts.shape[2:]))


def masses(log_mass: Tensor, coding: Tensor) -> Tensor:
    """(B,Q,M) masses of grids that are symmetric about their anchor: mirrored where the quantity is."""
    chosen = pick(log_mass, coding)
    mirrored = SIGN.to(log_mass.device)[coding].unsqueeze(-1) < 0
    return torch.where(mirrored, chosen.flip(-1), chosen)
