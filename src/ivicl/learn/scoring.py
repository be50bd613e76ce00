"""What the losses have in common."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ivicl.posterior import N_BINS


@dataclass(frozen=True)
class LossWeights:
    """Weights of the parts of the loss."""

    effect: float = 1.0
    """The posterior of the effect itself."""
    ends: float = 1.0
    """Posteriors of the identified set's two ends: they train the shared body; the effect's head never reads them."""
    law: float = 5.0
    """Per-row law p(t,y|z,x): trains the regression on covariates."""


def bin_of(value: Tensor) -> Tensor:
    """Index of the bin of [-1, 1] that holds each value."""
    return ((value + 1) * (N_BINS / 2)).long().clamp(0, N_BINS - 1)
