"""The theory in torch, for the prior and the network, which do not import each other.

The numbers are those of `ivicl.identification`, here as tensors. B tables, N rows, S = 16 strata.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ivicl.identification import balke_pearl, strata
from ivicl.identification import mean_terms as mean_terms_of_numpy

STRATA = torch.tensor(strata.STRATA)
"""(16, 4) columns T(0), T(1), Y(0), Y(1)."""
LAW = torch.tensor(strata.LAW, dtype=torch.float32)
"""(16, 8) which of the eight cells [z][t][y] each stratum appears in."""
SWAPS = torch.tensor(strata.SWAPS)
"""(16, 16) the strata's order after each combination of the four swaps; row 0 is the identity."""
EFFECT = torch.tensor(strata.EFFECT, dtype=torch.float32)
"""(16,) Y(1) - Y(0) of each stratum."""

# (8, 9): the coefficients in the order [z][t][y] and the constant. Every exporter treats a plain list as a constant.
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


MEAN_TERMS: list[list[list[float]]] = mean_terms_of_numpy.MEAN_TERMS.tolist()
"""The terms of the least E Y(1), the least 1 - E Y(1), the least E Y(0), the least 1 - E Y(0)."""


def mean_terms(law: Tensor) -> Tensor:
    """From soft laws (...,2,2,2) to the values (...,4,4) of MEAN_TERMS."""
    flat = law.flatten(-3)
    return torch.unflatten(flat @ flat.new_tensor(MEAN_TERMS).flatten(0, 1).T, -1, (4, 4))


def mean_ends(law: Tensor) -> Tensor:
    """(...,2,2,2) soft laws to (...,4): the least and the largest E Y(1), the least and the largest E Y(0)."""
    most = mean_terms(law).amax(-1)
    return torch.stack([most[..., 0], 1 - most[..., 1], most[..., 2], 1 - most[..., 3]], -1)
