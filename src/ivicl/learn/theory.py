"""The theory as torch needs it, for the prior and the network, which know nothing of each other."""

from __future__ import annotations

from ivicl.learn.prior.ends import sharp_ends, sharp_terms
from ivicl.learn.prior.strata import EFFECT, LAW

__all__ = ["EFFECT", "LAW", "sharp_ends", "sharp_terms"]
