"""The prior over IV data sets that the network learns from (PyTorch)."""

from __future__ import annotations

from ivicl.learn.prior.batches import BINARY, ESTIMANDS, CountBatch, Form, TableBatch
from ivicl.learn.prior.compressed import sample_compressed
from ivicl.learn.prior.config import PriorConfig
from ivicl.learn.prior.counts import sample_counts
from ivicl.learn.prior.randomness import generator_for
from ivicl.learn.prior.sampler import draw_form, sample_rows

__all__ = [
    "BINARY",
    "ESTIMANDS",
    "CountBatch",
    "Form",
    "PriorConfig",
    "TableBatch",
    "draw_form",
    "generator_for",
    "sample_compressed",
    "sample_counts",
    "sample_rows",
]
