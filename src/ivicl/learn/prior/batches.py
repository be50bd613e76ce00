"""What the prior hands to the trainer. B tables, N rows, D covariates, R posterior draws."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class TableBatch:
    """Tables with (possibly weighted) rows and everything that is known about their laws."""

    x: Tensor
    """(B, N, D) covariates."""
    z: Tensor
    """(B, N) instrument in {0, 1}."""
    t: Tensor
    """(B, N) treatment in {0, 1}."""
    y: Tensor
    """(B, N) outcome in {0, 1}."""
    w: Tensor
    """(B, N) frequency weights; 0 is padding."""
    effect: Tensor
    """(B,) the SATE."""
    orbit: Tensor
    """(B, 16) the SATE after each combination of the four pair swaps: exact posterior draws. Column 0 is `effect`."""
    lower: Tensor
    """(B,) lower end of the identified set: weighted mean over rows of the conditional bound."""
    upper: Tensor
    """(B,) upper end."""
    law: Tensor
    """(B, N, 2, 2, 2) P(T=t, Y=y | Z=z, x), indexed [z][t][y]."""

    def to(self, device: torch.device | str) -> TableBatch:
        """The same tables on another device."""
        return replace(self, **{f.name: getattr(self, f.name).to(device) for f in fields(self)})


@dataclass(frozen=True)
class CountBatch:
    """Tables without covariates: eight counts each."""

    counts: Tensor
    """(B, 2, 2, 2) float64 counts, indexed [z][t][y]."""
    effect: Tensor
    """(B,) the true effect."""
    draws: Tensor
    """(B, R) exact posterior draws of the effect."""
    lower: Tensor
    """(B,) lower end of the identified set."""
    upper: Tensor
    """(B,) upper end."""

    def to(self, device: torch.device | str) -> CountBatch:
        """The same tables on another device."""
        return replace(self, **{f.name: getattr(self, f.name).to(device) for f in fields(self)})
