"""The sixteen strata as tensors: `ivicl.identification.strata` in float32, for torch code.

B tables, N rows, S = 16 strata.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.identification import strata

STRATA = torch.tensor(strata.STRATA)
"""(16, 4) columns T(0), T(1), Y(0), Y(1)."""
LAW = torch.tensor(strata.LAW, dtype=torch.float32)
"""(16, 8) which of the eight cells [z][t][y] each stratum feeds."""
SWAPS = torch.tensor(strata.SWAPS)
"""(16, 16) the strata's order after each combination of the four swaps; row 0 is the identity."""
EFFECT = torch.tensor(strata.EFFECT, dtype=torch.float32)
"""(16,) Y(1) - Y(0) of each stratum."""


def law_of(p: Tensor) -> Tensor:
    """(..., 16) strata probabilities to (..., 2, 2, 2) = P(T=t, Y=y | Z=z)."""
    return (p @ LAW.to(p)).unflatten(-1, (2, 2, 2))


def orbit_effects(mass: Tensor) -> Tensor:
    """(B, 16) mean strata to the (B, 16) effects after each combination of swaps; column 0 is the effect itself."""
    return mass[..., SWAPS.to(mass.device)] @ EFFECT.to(mass)


def observe(stratum: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """Treatment and outcome by consistency: T = T(Z), Y = Y(T)."""
    codes = STRATA.to(stratum.device)[stratum]
    t = torch.where(z > 0, codes[..., 1], codes[..., 0])
    y = torch.where(t > 0, codes[..., 3], codes[..., 2])
    return t, y
