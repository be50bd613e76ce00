"""The theory in torch, for the prior and the network, which do not import each other.

The numbers are those of `ivicl.identification`, here as tensors.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.identification import mean_terms as mean_terms_of_numpy
from ivicl.identification import strata

SWAPS = torch.tensor(strata.SWAPS)
"""(16, 16) the strata's order after each combination of the four swaps; row 0 is the identity."""
# Every exporter treats a plain list as a constant.
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
