"""What a recoding of t, y and z does to the quantities, for tensors: the rules are those of the product."""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.methods.pretrained import recoding

SOURCE = torch.tensor(recoding.SOURCE)
"""(8,Q) for each of CODINGS: which of the canonical quantities it is, times SIGN, plus OFFSET."""
SIGN = torch.tensor(recoding.SIGN, dtype=torch.float32)
OFFSET = torch.tensor(recoding.OFFSET, dtype=torch.float32)


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
