"""Tables of the prior, read once and kept.

    python read.py runs/carried runs/far            # or only some: python read.py runs/carried runs/far long cells

`runs/carried` is what records/2026-11-18-bent-instruments/carry_over.py makes. Files: short (48 to 1,024 rows), middle
(to 16,384) and long (to 65,536), the last two also with tree functions alone, and tables of cells with up to 5e7 people.
SEED=12 in the environment draws others than those of this record.
"""

import os
import sys
from pathlib import Path

import torch

from ivicl.learn.files import save_tensors
from ivicl.learn.prior import draw_form, generator_for, sample_compressed, sample_rows
from ivicl.learn.prior.batches import Labels
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.kept import KeptTables
from ivicl.learn.training.losses import predicted
from ivicl.learn.training.plan import row_shape
from ivicl.learn.training.run import result_of

TREES = (("trees", 1.0),)
MIDDLE, LONG = (1_024, 16_384), (16_384, 65_536)
KINDS = {  # range of rows, functions, micro-batches
    "short": ((48, 1_024), None, 90),
    "middle": (MIDDLE, None, 100),
    "middle-trees": (MIDDLE, TREES, 50),
    "long": (LONG, None, 50),
    "long-trees": (LONG, TREES, 50),
    "cells": (None, None, 20),
}


@torch.no_grad()
def read(network, config: TrainConfig, kind: str, index: int) -> KeptTables:
    rows, functions, _ = KINDS[kind]
    g = generator_for(config.seed, list(KINDS).index(kind), index)
    prior = config.prior.with_options(function_families=functions) if functions else config.prior
    form = draw_form(prior, g)
    if rows is None:
        batch = sample_compressed(prior, g, config.compressed_batch, form=form)
    else:
        n, d = row_shape(config, rows, g)
        batch = sample_rows(prior, g, min(64, max(1, config.row_tokens // n)), n, d, form)
    found, coding = predicted(network, batch, g)
    here = found.law_tables
    labels = Labels(batch.effect[here], batch.draws[here], batch.ends[here], batch.late[here])
    return KeptTables(found.reading, found.moments, labels, coding[here], (batch.w[here] > 0).sum(1))


if __name__ == "__main__":
    network, _ = result_of(Path(sys.argv[1]))
    config = TrainConfig(network=network.config, seed=int(os.environ.get("SEED", "11")), row_tokens=16_384, precision="fp32")
    for kind in sys.argv[3:] or KINDS:
        kept = KeptTables.together([read(network.train(), config, kind, index) for index in range(KINDS[kind][2])])
        save_tensors(Path(sys.argv[2]) / f"{kind}.safetensors", kept.tensors(), {})
