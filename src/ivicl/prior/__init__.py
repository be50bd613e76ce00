"""The prior over IV data sets that the network learns from (PyTorch)."""

from __future__ import annotations

from ivicl.prior.batches import CountBatch, TableBatch
from ivicl.prior.compressed import sample_compressed
from ivicl.prior.config import PriorConfig
from ivicl.prior.counts import sample_counts
from ivicl.prior.ends import sharp_ends, sharp_terms
from ivicl.prior.randomness import generator_for
from ivicl.prior.sampler import sample_rows

__all__ = [
    "CountBatch",
    "PriorConfig",
    "TableBatch",
    "generator_for",
    "sample_compressed",
    "sample_counts",
    "sample_rows",
    "sharp_ends",
    "sharp_terms",
]
