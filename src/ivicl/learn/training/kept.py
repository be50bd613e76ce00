"""Tables that are read once and kept: what the pool reads of a table is small, however many rows it had.

Nothing before the pool depends on what the pool has learnt. So a stage that teaches it alone reads each table once, and
goes through what it kept as often as it likes, in batches of hundreds: long tables, of which an ordinary step sees a
few, can then teach as much as short ones do.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ivicl._shared.progress import progress_bar
from ivicl.errors import InputError
from ivicl.learn.files import load_tensors, save_tensors
from ivicl.learn.network.model import IVNetwork
from ivicl.learn.network.rows import Reading
from ivicl.learn.network.summary import Moments
from ivicl.learn.prior import draw_form, generator_for, sample_compressed, sample_rows
from ivicl.learn.prior.batches import Labels, TableBatch
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.losses import predicted, score
from ivicl.learn.training.plan import row_shape
from ivicl.learn.training.processes import Processes
from ivicl.learn.training.stop import StopSignals

if TYPE_CHECKING:
    from ivicl.learn.training.run import Run

logger = logging.getLogger(__name__)

FOLDER = "kept"
FILE_BATCHES = 32
"""Micro-batches in a file: what a kill can cost."""
MOST_TABLES = 64
"""Tables in a micro-batch of short ones."""
PLACE = 1_000_000
"""Number of a kept micro-batch among the seeds: far from those of steps."""
DECIDING = ("seed", "prior", "rows", "long_rows", "covariates", "row_tokens", "compressed_batch", "kept_mix")
"""Settings that decide which tables are drawn. They stand in each file."""


@dataclass(frozen=True)
class KeptTables:
    """B tables."""

    reading: Reading
    moments: Moments
    labels: Labels
    coding: Tensor
    """(B,) the canonical one."""
    rows: Tensor
    """(B,) how many it had."""

    def tensors(self) -> dict[str, Tensor]:
        """By names, for a file."""
        labels = {name: getattr(self.labels, name) for name in ("effect", "draws", "ends", "late")}
        return {
            **{f"reading.{name}": value for name, value in self.reading._asdict().items()},
            **{f"moments.{name}": value for name, value in self.moments._asdict().items()},
            **{f"labels.{name}": value for name, value in labels.items()},
            "coding": self.coding,
            "rows": self.rows,
        }

    @staticmethod
    def of(tensors: dict[str, Tensor]) -> KeptTables:
        """The inverse of `tensors`."""

        def part(name: str) -> dict[str, Tensor]:
            return {key.removeprefix(f"{name}."): v for key, v in tensors.items() if key.startswith(f"{name}.")}

        return KeptTables(
            Reading(**part("reading")), Moments(**part("moments")), Labels(**part("labels")),
            tensors["coding"], tensors["rows"],
        )  # fmt: skip

    @staticmethod
    def together(parts: list[KeptTables]) -> KeptTables:
        """All tables of some batches."""
        tensors = [part.tensors() for part in parts]
        return KeptTables.of({name: torch.cat([each[name] for each in tensors]) for name in tensors[0]})

    def chosen(self, index: Tensor) -> KeptTables:
        """Some of the tables."""
        return KeptTables.of({name: value[index] for name, value in self.tensors().items()})

    def drawn(self, size: int, generator: torch.Generator) -> KeptTables:
        """Some at random: long tables are few, and drawn more often."""
        return self.chosen(torch.multinomial(self.rows.float().sqrt(), size, replacement=True, generator=generator))


@torch.no_grad()
def read_batch(network: IVNetwork, config: TrainConfig, index: int) -> KeptTables:
    """Micro-batch `index`: compressed tables, short ones or long ones, in turn (`kept_mix`)."""
    generator = generator_for(config.seed, PLACE, index)
    form = draw_form(config.prior, generator)
    compressed, short, long = config.kept_mix
    kind = index % (compressed + short + long)
    if kind < compressed:
        batch: TableBatch = sample_compressed(config.prior, generator, config.compressed_batch, form=form)
    else:
        n, d = row_shape(config, config.rows if kind < compressed + short else config.long_rows, generator)
        batch = sample_rows(config.prior, generator, min(MOST_TABLES, max(1, config.row_tokens // n)), n, d, form)
    prediction, coding = predicted(network.train(), batch, generator)
    # A table whose covariates say nothing is answered by the summary path alone.
    here = prediction.law_tables
    assert here is not None and prediction.reading is not None and prediction.moments is not None
    labels = Labels(batch.effect[here], batch.draws[here], batch.ends[here], batch.late[here])
    rows = (batch.w[here] > 0).sum(1)
    return KeptTables(prediction.reading, prediction.moments, labels, coding[here], rows)


def kept_loss(network: IVNetwork, kept: KeptTables, config: TrainConfig) -> dict[str, Tensor]:
    """Loss on kept tables."""
    prediction = network.from_reading(kept.reading, kept.moments)
    return score(prediction, kept.labels, kept.coding, kept.moments.no_defiers[:, 0], config.loss)


def keep(run: Run, processes: Processes, stop: StopSignals, progress: bool) -> KeptTables | None:
    """Read what is not kept yet, each process its share of the files, and hand over all; None if asked to stop."""
    folder = run.folder / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{k:05d}.safetensors" for k in range(math.ceil(run.config.kept_batches / FILE_BATCHES))]
    missing = [k for k, file in enumerate(files) if not file.exists()][processes.rank :: processes.world]
    logger.info("%d of %d files of kept tables to read", len(missing), len(files))
    with progress_bar("files of tables read", len(missing), on=progress and processes.first) as advance:
        for k in missing:
            if stop.asked:
                break
            own = range(k * FILE_BATCHES, min((k + 1) * FILE_BATCHES, run.config.kept_batches))
            tables = KeptTables.together([read_batch(run.network, run.config, i) for i in own])
            save_tensors(files[k], tables.tensors(), deciding(run.config))
            advance(1)
    # Nobody goes on before all have read their share, or one was told to stop.
    if processes.any(stop.asked):
        return None
    return KeptTables.together([_load(file, run.config) for file in files])


def deciding(config: TrainConfig) -> dict[str, Any]:
    """What files of kept tables say of the settings they were read with."""
    settings = config.to_dict()
    return {name: settings[name] for name in DECIDING}


def _load(file: Path, config: TrainConfig) -> KeptTables:
    tensors, read_with = load_tensors(file)
    for name, value in deciding(config).items():
        if read_with.get(name) != value:
            raise InputError(
                f"The kept tables in {str(file.parent)!r} were read with other settings: {name} was "
                f"{read_with.get(name)!r} and is {value!r}; delete that folder, or give the run another."
            )
    return KeptTables.of(tensors)
