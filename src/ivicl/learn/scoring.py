"""What the losses share."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ivicl.posterior import N_BINS


@dataclass(frozen=True)
class LossWeights:
    """Weights of the teachers."""

    effect: float = 1.0
    """The posterior of the effect itself."""
    ends: float = 1.0
    """Posteriors of the identified set's two ends: they teach the shared body, the effect never reads them."""
    law: float = 5.0
    """Per-row law p(t,y|z,x): teaches the rows to regress."""


def bin_of(value: Tensor) -> Tensor:
    """Index of the bin of [-1, 1] that holds each value."""
    return ((value + 1) * (N_BINS / 2)).long().clamp(0, N_BINS - 1)
