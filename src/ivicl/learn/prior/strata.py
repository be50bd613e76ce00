"""The sixteen strata: their coding, the law of the data they imply, the pair swaps, and the effect.

Stratum s = 8*T(0) + 4*T(1) + 2*Y(0) + Y(1). B tables, N rows, S = 16 strata.
"""

from __future__ import annotations

from itertools import product

import torch
from torch import Tensor

STRATA = torch.tensor(list(product((0, 1), repeat=4)))
"""(16, 4) columns T(0), T(1), Y(0), Y(1)."""

PAIRS = tuple(
    (8 * t0 + 4 * t1 + (2 - t0) * seen, 8 * t0 + 4 * t1 + (2 - t0) * seen + (1 + t0))
    for t0, t1 in ((1, 1), (0, 0))
    for seen in (0, 1)
)
"""The pairs that differ only in an outcome nobody sees: always-takers with Y(1)=0, 1; never-takers with Y(0)=0, 1."""


def _law_matrix() -> Tensor:
    matrix = torch.zeros(16, 2, 2, 2)
    for s, (t0, t1, y0, y1) in enumerate(STRATA.tolist()):
        for z, t in ((0, t0), (1, t1)):
            matrix[s, z, t, y1 if t else y0] = 1
    return matrix.reshape(16, 8)


def _swaps() -> Tensor:
    rows = []
    for swapped in product((False, True), repeat=4):
        order = list(range(16))
        for (a, b), swap in zip(PAIRS, swapped, strict=True):
            if swap:
                order[a], order[b] = order[b], order[a]
        rows.append(order)
    return torch.tensor(rows)


LAW = _law_matrix()
"""(16, 8) which of the eight cells [z][t][y] each stratum feeds."""
SWAPS = _swaps()
"""(16, 16) the strata's order after each combination of the four swaps; row 0 is the identity."""
EFFECT = (STRATA[:, 3] - STRATA[:, 2]).float()
"""(16,) Y(1) - Y(0) of each stratum."""


def law_of(p: Tensor) -> Tensor:
    """(..., 16) strata probabilities to (..., 2, 2, 2) = P(T=t, Y=y | Z=z)."""
    return (p @ LAW.to(p)).unflatten(-1, (2, 2, 2))


def effect_of(mass: Tensor) -> Tensor:
    """(..., 16) mean strata to the average effect."""
    return mass @ EFFECT.to(mass)


def orbit_effects(mass: Tensor) -> Tensor:
    """(B, 16) mean strata to the (B, 16) effects after each combination of swaps; column 0 is the effect itself."""
    return mass[..., SWAPS.to(mass.device)] @ EFFECT.to(mass)


def observe(stratum: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """Treatment and outcome by consistency: T = T(Z), Y = Y(T)."""
    codes = STRATA.to(stratum.device)[stratum]
    t = torch.where(z > 0, codes[..., 1], codes[..., 0])
    y = torch.where(t > 0, codes[..., 3], codes[..., 2])
    return t, y
