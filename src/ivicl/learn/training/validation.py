"""Loss of the network on fixed tables, never trained on, by kind of outcome."""

from __future__ import annotations

from functools import lru_cache

import torch

from ivicl.learn.network.model import IVNetwork
from ivicl.learn.prior import (
    CountBatch,
    Form,
    PriorConfig,
    TableBatch,
    generator_for,
    sample_compressed,
    sample_counts,
    sample_rows,
)
from ivicl.learn.scoring import LossWeights
from ivicl.learn.training.losses import count_loss, table_loss

SEED = 987_654_321
FORMS = (Form(), Form(4, True), Form(2, False, True), Form(3, True, True))
SHAPES = ((32, 256, 8), (8, 2048, 10))
"""(tables, rows, covariates) of the row tables."""


@lru_cache(maxsize=2)
def fixed_tables(prior: PriorConfig) -> list[tuple[CountBatch, list[TableBatch]]]:
    """For each of FORMS: count tables, and tables with covariates."""
    found = []
    for k, form in enumerate(FORMS):
        counts = sample_counts(prior, generator_for(SEED, 10, k), 2048, 16, form)
        tables = [sample_compressed(prior, generator_for(SEED, 11, k), 64, form=form)]
        tables += [
            sample_rows(prior, generator_for(SEED, 12 + i, k), b, n, d, form) for i, (b, n, d) in enumerate(SHAPES)
        ]
        found.append((counts, tables))
    return found


@torch.no_grad()
def validate(network: IVNetwork, prior: PriorConfig) -> dict[str, float]:
    """Nats: without covariates (counts) and with (rows); a_ is for amounts, d_ for tables told that nobody defies."""
    result: dict[str, list[float]] = {}

    def note(name: str, value: torch.Tensor) -> None:
        result.setdefault(name, []).append(value.item())

    for form, (counts, tables) in zip(FORMS, fixed_tables(prior), strict=True):
        kind = ("d_" if form.no_defiers else "") + ("a_" if form.amounts else "")
        found = count_loss(network, counts, LossWeights(), generator_for(SEED, 20, 0))
        note(f"{kind}counts", found["effect"])
        note(f"{kind}count_ends", found["ends"])
        note("count_others", found["others"])
        if form.no_defiers:
            note("count_late", found["late"])
        for batch in tables:
            found = table_loss(network, batch, LossWeights(), generator_for(SEED, 21, 0))
            note(f"{kind}rows", found["effect"])
            note(f"{kind}ends", found["ends"])
            note("others", found["others"])
            note("law", found["law"])
    return {name: round(sum(values) / len(values), 5) for name, values in result.items()}
