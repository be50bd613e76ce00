"""Tables of the prior as data frames in long format, one row per person or weighted row; labels in a second frame."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import torch
from torch import Tensor

from ivicl.errors import InputError
from ivicl.learn.prior.batches import CountBatch, Labels, TableBatch
from ivicl.learn.prior.compressed import sample_compressed
from ivicl.learn.prior.config import PriorConfig
from ivicl.learn.prior.counts import sample_counts
from ivicl.learn.prior.randomness import generator_for
from ivicl.learn.prior.sampler import sample_rows

KINDS = ("rows", "compressed", "counts")
MICRO_BATCH = 64


def sample_frames(
    config: PriorConfig, kind: str, tables: int, rows: int, covariates: int, seed: int
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Pairs (data, labels) of up to 64 tables each; the first tables do not depend on how many are asked for."""
    if kind not in KINDS:
        raise InputError(f"--kind is {kind!r}, but must be one of {', '.join(KINDS)}.")
    for step, start in enumerate(range(0, tables, MICRO_BATCH)):
        g = generator_for(seed, step)
        kept = min(MICRO_BATCH, tables - start)
        if kind == "counts":
            yield _count_frames(sample_counts(config, g, MICRO_BATCH), start, kept)
        elif kind == "compressed":
            columns = min(covariates, 4) or None
            yield _table_frames(sample_compressed(config, g, MICRO_BATCH, n_covariates=columns), start, kept)
        else:
            yield _table_frames(sample_rows(config, g, MICRO_BATCH, rows, covariates), start, kept)


def _table_frames(batch: TableBatch, first: int, kept: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    data = _person_frame(batch.z, batch.t, batch.y, batch.w, first, kept)
    people = batch.w[:kept] > 0
    for d in range(batch.x.shape[-1]):
        data = data.with_columns(pl.Series(f"x{d + 1}", batch.x[:kept, :, d][people].numpy()))
    return data, _label_frame(batch, first, kept)


def _count_frames(batch: CountBatch, first: int, kept: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    z, t, y = torch.cartesian_prod(*[torch.arange(2.0)] * 3).T.unsqueeze(1).expand(3, len(batch.counts), 8)
    return _person_frame(z, t, y, batch.counts.flatten(1), first, kept), _label_frame(batch, first, kept)


def _person_frame(z: Tensor, t: Tensor, y: Tensor, w: Tensor, first: int, kept: int) -> pl.DataFrame:
    people = w[:kept] > 0
    table = (first + torch.arange(kept))[:, None].expand_as(people)[people]
    columns = {"table": table.to(torch.int32)}
    columns |= {name: value[:kept][people].to(torch.int8) for name, value in (("z", z), ("t", t), ("y", y))}
    columns["w"] = w[:kept][people].to(torch.int64)
    return pl.DataFrame({name: value.numpy() for name, value in columns.items()})


def _label_frame(batch: Labels, first: int, kept: int) -> pl.DataFrame:
    labels = {"effect": batch.effect, "lower": batch.lower, "upper": batch.upper}
    labels |= {f"draw{k + 1}": draw for k, draw in enumerate(batch.draws.unbind(1))}
    table = {"table": (first + torch.arange(kept)).to(torch.int32).numpy()}
    return pl.DataFrame(table | {name: value[:kept].numpy() for name, value in labels.items()})
