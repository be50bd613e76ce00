"""How often each design occurs: one line for each kind of table."""

from __future__ import annotations

import time
from collections.abc import Callable

import polars as pl
import torch
from torch import Tensor

from ivicl.learn.prior.batches import CountBatch, TableBatch
from ivicl.learn.prior.compressed import sample_compressed
from ivicl.learn.prior.config import PriorConfig
from ivicl.learn.prior.counts import sample_counts
from ivicl.learn.prior.randomness import generator_for
from ivicl.learn.prior.sampler import sample_rows

BATCH = 64


def people_by_arm(batch: TableBatch | CountBatch) -> Tensor:
    """(B, 2, 2) people by instrument and treatment."""
    if isinstance(batch, CountBatch):
        return batch.counts.sum(-1)
    cells = [(batch.w * (batch.z == z) * (batch.t == t)).sum(-1) for z in (0, 1) for t in (0, 1)]
    return torch.unflatten(torch.stack(cells, -1), -1, (2, 2)).double()


def summarise(config: PriorConfig, kind: str, tables: int, rows: int, covariates: int, seed: int) -> pl.DataFrame:
    """One row: shares of designs, spread of the effect, mean width of the identified set, time to draw."""
    samplers: dict[str, Callable[[torch.Generator], TableBatch | CountBatch]] = {
        "counts": lambda g: sample_counts(config, g, BATCH),
        "compressed": lambda g: sample_compressed(config, g, BATCH),
        "rows": lambda g: sample_rows(config, g, BATCH, rows, covariates),
    }
    people, effect, width = [], [], []
    begin = time.process_time()
    for step in range(-(-tables // BATCH)):
        batch = samplers[kind](generator_for(seed, step))
        people.append(people_by_arm(batch))
        effect.append(batch.effect)
        width.append(batch.upper - batch.lower)
    seconds = time.process_time() - begin
    zt, effects, widths = torch.cat(people), torch.cat(effect), torch.cat(width)
    arms = zt.sum(-1)
    uptake = zt[..., 1] / arms.clamp_min(1)
    first_stage = (uptake[:, 1] - uptake[:, 0]).abs()
    empty = (zt == 0) & (arms > 0)[..., None]
    smaller = arms.amin(-1) / arms.sum(-1)

    def share(condition: Tensor) -> float:
        return round(float(condition.double().mean()), 3)

    return pl.DataFrame(
        {
            "kind": kind,
            "tables": len(zt),
            "one_sided": share(empty.flatten(1).any(-1)),
            "perfect": share((empty[:, 0, 0] & empty[:, 1, 1]) | (empty[:, 0, 1] & empty[:, 1, 0])),
            "first_stage_below_0.05": share(first_stage < 0.05),
            "first_stage_above_0.95": share(first_stage > 0.95),
            "arm_below_0.1": share(smaller < 0.1),
            "effect_sd": round(float(effects.std()), 3),
            "mean_width": round(float(widths.mean()), 3),
            "cpu_ms_per_64_tables": round(1000 * seconds / len(people), 1),
        }
    )
