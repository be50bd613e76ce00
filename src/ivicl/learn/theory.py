"""The theory as torch needs it, for the prior and the network, which know nothing of each other.

The numbers are those of `ivicl.identification`; here they are tensors. B tables, N rows, S = 16 strata.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ivicl.identification import balke_pearl, strata

STRATA = torch.tensor(strata.STRATA)
"""(16, 4) columns T(0), T(1), Y(0), Y(1)."""
LAW = torch.tensor(strata.LAW, dtype=torch.float32)
"""(16, 8) which of the eight cells [z][t][y] each stratum feeds."""
SWAPS = torch.tensor(strata.SWAPS)
"""(16, 16) the strata's order after each combination of the four swaps; row 0 is the identity."""
EFFECT = torch.tensor(strata.EFFECT, dtype=torch.float32)
"""(16,) Y(1) - Y(0) of each stratum."""

# (8, 9): the coefficients in the order [z][t][y] and the constant. A plain list is a constant to every exporter.
_LOWER = np.column_stack([balke_pearl.LOWER_TABLE.reshape(8, 8), balke_pearl.LOWER_CONSTANTS]).tolist()
_UPPER = np.column_stack([balke_pearl.UPPER_TABLE.reshape(8, 8), balke_pearl.UPPER_CONSTANTS]).tolist()


def law_of(p: Tensor) -> Tensor:
    """(..., 16) strata probabilities to (..., 2, 2, 2) = P(T=t, Y=y | Z=z)."""
    return torch.unflatten(p @ LAW.to(p), -1, (2, 2, 2))


def orbit_effects(mass: Tensor) -> Tensor:
    """(B, 16) mean strata to the (B, 16) effects after each combination of swaps; column 0 is the effect itself."""
    return mass[..., SWAPS.to(mass.device)] @ EFFECT.to(mass)


def observe(stratum: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """Treatment and outcome by consistency: T = T(Z), Y = Y(T)."""
    codes = STRATA.to(stratum.device)[stratum]
    t = torch.where(z > 0, codes[..., 1], codes[..., 0])
    y = torch.where(t > 0, codes[..., 3], codes[..., 2])
    return t, y


def sharp_terms(law: Tensor) -> tuple[Tensor, Tensor]:
    """(...,2,2,2) P(T=t, Y=y | Z=z) -> Balke-Pearl's lower terms (...,8) and upper terms (...,8), as two matmuls."""
    flat = law.flatten(-3)
    lower, upper = flat.new_tensor(_LOWER), flat.new_tensor(_UPPER)
    return flat @ lower[:, :8].T + lower[:, 8], flat @ upper[:, :8].T + upper[:, 8]


def sharp_ends(law: Tensor) -> tuple[Tensor, Tensor]:
    """The two ends of the identified set of the average effect, each of law's leading shape."""
    lower, upper = sharp_terms(law)
    return lower.amax(-1), upper.amin(-1)


def _mean_terms(t: int, y: int) -> list[list[float]]:
    """P(Y(t)=y) is at least each of four functions of the law: rows of coefficients in the order [z][t][y].

    What is seen of it in either arm; and what is seen in arm 0, less the people of arm 1 with T=t and the other
    outcome, plus the excess of one outcome among those with the other treatment in arm 0.
    """
    rows = np.zeros((4, 2, 2, 2))
    rows[0, 1, t, y] = rows[1, 0, t, y] = 1
    for row, other in ((2, 0), (3, 1)):
        rows[row, 0, t, y], rows[row, 1, t, 1 - y] = 1, -1
        rows[row, 0, 1 - t, other], rows[row, 1, 1 - t, other] = 1, -1
    found: list[list[float]] = rows.reshape(4, 8).tolist()
    return found


MEAN_TERMS = [_mean_terms(t, y) for t, y in ((1, 1), (1, 0), (0, 1), (0, 0))]
"""Terms behind the least E Y(1), the least 1 - E Y(1), the least E Y(0), the least 1 - E Y(0)."""


def mean_terms(law: Tensor) -> Tensor:
    """(...,2,2,2) soft laws to (...,4,4): the terms of each of MEAN_TERMS."""
    flat = law.flatten(-3)
    return torch.unflatten(flat @ flat.new_tensor(MEAN_TERMS).flatten(0, 1).T, -1, (4, 4))


def mean_ends(law: Tensor) -> Tensor:
    """(...,2,2,2) soft laws to (...,4): the least and the largest E Y(1), the least and the largest E Y(0)."""
    most = mean_terms(law).amax(-1)
    return torch.stack([most[..., 0], 1 - most[..., 1], most[..., 2], 1 - most[..., 3]], -1)
