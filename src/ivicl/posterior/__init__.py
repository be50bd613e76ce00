"""Posteriors: of one number, of the ends of an identified set, and what its width is made of."""

from __future__ import annotations

from ivicl.posterior.binned import EFFECT_EDGES, N_BINS, BinnedPosterior
from ivicl.posterior.ends import IdentifiedSet, WidthParts, width_parts

__all__ = ["EFFECT_EDGES", "N_BINS", "BinnedPosterior", "IdentifiedSet", "WidthParts", "width_parts"]
