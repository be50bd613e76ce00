"""Balke-Pearl's terms in torch: the tables of `ivicl.identification.balke_pearl` as constants, exported as matmuls."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from ivicl.identification import balke_pearl

# Plain lists, (8, 9): the coefficients in the order [z][t][y] and the constant. A list is a constant to every exporter.
_LOWER = np.column_stack([balke_pearl.LOWER_TABLE.reshape(8, 8), balke_pearl.LOWER_CONSTANTS]).tolist()
_UPPER = np.column_stack([balke_pearl.UPPER_TABLE.reshape(8, 8), balke_pearl.UPPER_CONSTANTS]).tolist()


def sharp_terms(law: Tensor) -> tuple[Tensor, Tensor]:
    """(...,2,2,2) P(T=t, Y=y | Z=z) -> the lower terms (...,8) and the upper terms (...,8)."""
    flat = law.flatten(-3)
    lower, upper = flat.new_tensor(_LOWER), flat.new_tensor(_UPPER)
    return flat @ lower[:, :8].T + lower[:, 8], flat @ upper[:, :8].T + upper[:, 8]


def sharp_ends(law: Tensor) -> tuple[Tensor, Tensor]:
    """The two ends of the identified set of the average effect, each of law's leading shape."""
    lower, upper = sharp_terms(law)
    return lower.amax(-1), upper.amin(-1)
