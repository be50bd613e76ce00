"""What each step is made of: a list of micro-batches, each a pure function of (config, step, index)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import torch

from ivicl.learn.network.groups import Teacher
from ivicl.learn.prior import (
    BINARY,
    CountBatch,
    Form,
    TableBatch,
    draw_form,
    generator_for,
    sample_compressed,
    sample_counts,
    sample_rows,
)
from ivicl.learn.training.config import TrainConfig

SMALL = 2000.0
"""People in a small table, at most."""


def micro_batches(config: TrainConfig, step: int) -> list[tuple[str, float]]:
    """Kinds and shares of a step's micro-batches, in fixed order."""
    if config.kept_batches:
        return [("kept", 0.5)] * 2
    if step < config.count_steps:
        return [("counts", 1.0 / config.count_batches)] * config.count_batches
    plan = [("counts", 1.0 / config.count_batches)] * (config.count_batches if config.mixed_count_batch else 0)
    if config.compressed_batch:
        plan.append(("compressed", 0.3))
    return plan + [("rows", 1.0 / config.row_batches)] * config.row_batches


def costs(config: TrainConfig, step: int) -> dict[str, float]:
    """Time of a micro-batch, roughly, in that of a thousand count tables."""
    tables = config.count_batch if step < config.count_steps else config.mixed_count_batch
    counts = tables / config.count_batches / 1000
    rows = config.row_tokens / 9000
    return {"counts": counts, "compressed": config.compressed_batch / 50, "rows": rows, "kept": 1.0}


def own_batches(kinds: list[str], cost: Mapping[str, float], rank: int, world: int) -> list[int]:
    """Which micro-batches of a step a process takes: the costly ones are handed out first, to who has least to do."""
    load, owner = [0.0] * world, {}
    for index in sorted(range(len(kinds)), key=lambda i: -cost[kinds[i]]):
        owner[index] = load.index(min(load))
        load[owner[index]] += cost[kinds[index]]
    return [index for index in range(len(kinds)) if owner[index] == rank]


def make(config: TrainConfig, step: int, index: int, kind: str) -> tuple[CountBatch | TableBatch, torch.Generator]:
    """Draw micro-batch `index` of `step`: the same tables on any machine, after any interruption.

    With it comes the generator that drew them, for what follows.
    """
    generator = generator_for(config.seed, step, index)
    batch: CountBatch | TableBatch
    plain = kind == "counts" and config.count_batches > 1 and index == 0
    form = BINARY if plain else draw_form(config.prior, generator)
    if kind == "counts":
        size = config.count_batch if step < config.count_steps else config.mixed_count_batch
        batch = count_tables(config, generator, max(1, size // config.count_batches), form)
    elif kind == "compressed":
        batch = sample_compressed(config.prior, generator, config.compressed_batch, form=form)
    else:
        n, d = row_shape(config, row_range(config, step), generator)
        batch = sample_rows(config.prior, generator, max(1, config.row_tokens // n), n, d, form)
    return batch, generator


def count_tables(config: TrainConfig, generator: torch.Generator, size: int, form: Form = BINARY) -> CountBatch:
    """Count tables of the prior, and among them the share of small ones that is asked for."""
    # Splits of more than two classes cost more.
    draws = config.count_draws if form.groups == 2 else max(1, config.count_draws // 4)
    small = round(config.small_share * size)
    low, high = config.prior.population
    parts = [sample_counts(config.prior, generator, size - small, draws, form)]
    if small:
        fewer = config.prior.with_options(population=(low, min(SMALL, high)))
        parts.append(sample_counts(fewer, generator, small, draws, form))
    names = [field.name for field in fields(CountBatch) if field.name != "form"]
    joined: dict[str, Any] = {name: torch.cat([getattr(part, name) for part in parts]) for name in names}
    return CountBatch(**joined, form=form)


def row_range(config: TrainConfig, step: int) -> tuple[int, int]:
    """Rows of a step's tables: few for most of the run."""
    progress = (step - config.count_steps) / max(1, config.steps - config.count_steps)
    return config.long_rows if progress >= config.long_from else config.rows


def row_shape(config: TrainConfig, rows: tuple[int, int], generator: torch.Generator) -> tuple[int, int]:
    """(N, D) of a micro-batch of rows, both log-uniform."""
    low, high = rows
    u = torch.rand(2, generator=generator).tolist()
    n = round(math.exp(math.log(low) + u[0] * (math.log(high) - math.log(low))))
    low_d, high_d = config.covariates
    d = int(math.exp(math.log(low_d) + u[1] * (math.log(high_d + 1) - math.log(low_d))))
    return n, min(d, high_d)


def learning_rates(config: TrainConfig, step: int) -> dict[Teacher, float]:
    """What each teacher's parameters learn at, as a share of the peak learning rate: warm-up, constant, decay."""
    counting = config.count_steps
    mixed = max(1, config.steps - counting)
    if step < counting:
        # Stage one ends at the slow rate with which the summary path goes on in stage two.
        last = config.summary_lr if config.steps > counting else 0.0
        return {"counts": _trapezoid(step, counting, config.warmup, config.decay_from, last), "tables": 0.0}
    slow = _trapezoid(step - counting, mixed, 0 if counting else config.warmup, config.decay_from, 0.0)
    main = _trapezoid(step - counting, mixed, config.warmup, config.decay_from, 0.0)
    return {"counts": config.summary_lr * slow, "tables": config.rows_lr * main}


def _trapezoid(step: int, steps: int, warmup: int, decay_from: float, last: float) -> float:
    rise = min(1.0, (step + 1) / warmup) if warmup else 1.0
    fall = max(0.0, (step / steps - decay_from) / (1 - decay_from)) if decay_from < 1 else 0.0
    return rise * (1 - fall * (1 - last))
