"""Loss on fixed tables, never trained on: cheap enough to run every few minutes."""

from __future__ import annotations

from functools import lru_cache

import torch

from ivicl.learn.network.model import IVNetwork
from ivicl.learn.prior import (
    CountBatch,
    PriorConfig,
    TableBatch,
    generator_for,
    sample_compressed,
    sample_counts,
    sample_rows,
)
from ivicl.learn.scoring import LossWeights
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.losses import count_loss, table_loss

VALIDATION_SEED = 987_654_321
SHAPES = ((64, 64, 3), (64, 256, 8), (32, 1024, 8), (16, 2048, 10))
"""(tables, rows, covariates) of the row tables."""


@lru_cache(maxsize=2)
def fixed_tables(prior: PriorConfig) -> tuple[CountBatch, TableBatch, list[TableBatch]]:
    """The validation tables of a prior."""
    counts = sample_counts(prior, generator_for(VALIDATION_SEED, 0, 0), 4096, n_draws=64)
    compressed = sample_compressed(prior, generator_for(VALIDATION_SEED, 0, 1), 128)
    rows = [
        sample_rows(prior, generator_for(VALIDATION_SEED, 1, k), batch, n, d) for k, (batch, n, d) in enumerate(SHAPES)
    ]
    return counts, compressed, rows


@torch.no_grad()
def validate(network: IVNetwork, config: TrainConfig) -> dict[str, float]:
    """Nats: effect on counts, compressed tables and rows (orbit labels, the one true label); ends, law on rows."""
    counts, compressed, rows = fixed_tables(config.prior)
    result: dict[str, float] = {}

    def generator() -> torch.Generator:
        return generator_for(VALIDATION_SEED, 2, 0)

    if network.summary is not None:
        losses = count_loss(network, counts, LossWeights(), generator())
        result["counts"] = losses["effect"].item()
        result["count_ends"] = losses["ends"].item()
    result["compressed"] = table_loss(network, compressed, LossWeights(), generator())["effect"].item()
    parts = [table_loss(network, batch, LossWeights(), generator()) for batch in rows]
    single = [table_loss(network, batch, LossWeights(), generator(), one_label=True) for batch in rows]
    result["rows"] = sum(p["effect"].item() for p in parts) / len(parts)
    result["rows_one_label"] = sum(p["effect"].item() for p in single) / len(single)
    result["ends"] = sum(p["ends"].item() for p in parts) / len(parts)
    result["law"] = sum(p["law"].item() for p in parts) / len(parts)
    return {key: round(value, 5) for key, value in result.items()}
