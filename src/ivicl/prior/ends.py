"""Balke and Pearl's sharp bounds in torch: eight linear terms for each end of the identified set."""

from __future__ import annotations

import torch
from torch import Tensor


def sharp_terms(p: Tensor) -> tuple[Tensor, Tensor]:
    """The eight lower and eight upper terms (..., 8); p (..., 2, 2, 2) is P(T=t, Y=y | Z=z), indexed [z][t][y]."""

    def q(y: int, t: int, z: int) -> Tensor:  # the paper's p_{yt.z}
        return p[..., z, t, y]

    lower, upper = [], []
    for z in (0, 1):
        o = 1 - z
        lower += [
            q(1, 1, o) + q(0, 0, z) - 1,
            -q(0, 1, z) - q(1, 0, z),
            q(1, 1, z) - q(1, 1, o) - q(1, 0, o) - q(0, 1, z) - q(1, 0, z),
            q(0, 0, z) - q(0, 1, z) - q(1, 0, z) - q(0, 1, o) - q(0, 0, o),
        ]
        upper += [
            1 - q(0, 1, o) - q(1, 0, z),
            q(1, 1, z) + q(0, 0, z),
            -q(0, 1, z) + q(0, 1, o) + q(0, 0, o) + q(1, 1, z) + q(0, 0, z),
            -q(1, 0, z) + q(1, 1, z) + q(0, 0, z) + q(1, 1, o) + q(1, 0, o),
        ]
    return torch.stack(lower, -1), torch.stack(upper, -1)


def sharp_ends(p: Tensor) -> tuple[Tensor, Tensor]:
    """Lower and upper end, each (...)."""
    lower, upper = sharp_terms(p)
    return lower.amax(-1), upper.amin(-1)
