"""By how much the units of each quantity must grow for its 90 % interval to hold the truth in 90 of 100 tables.

    python calm.py runs/bent runs/bent/kept 106        # files from number 106 on were not learnt from

Factors are those beyond CALM. Tables of the prior with rows, not those of compressed counts.
"""

import sys
from pathlib import Path

import numpy as np
import torch

from ivicl.benchmarks.model_card.places import place_in_cells
from ivicl.learn.files import load_tensors
from ivicl.learn.network import recode
from ivicl.learn.network.grids import Grid, edges
from ivicl.learn.training.kept import KeptTables
from ivicl.learn.training.run import result_of
from ivicl.methods.pretrained.schema_2 import QUANTITIES

FACTORS = np.arange(0.9, 1.5, 0.02)


def places(network, kept: KeptTables, factor: float) -> np.ndarray:
    """(B,Q) of the truth within posteriors whose units are so many times as large, about their anchors."""
    with torch.no_grad():
        answer = network.from_reading(kept.reading, kept.moments)
    truth = recode.values(torch.cat([kept.labels.ends, kept.labels.late.unsqueeze(1)], 1).double(), kept.coding)
    cut = edges(Grid(answer.grid.anchor, factor * answer.grid.unit), network.lowest(answer.grid.anchor)).numpy()
    # Cells that the possible values cut off give their mass to the outermost that is left.
    mass, rng = answer.masses.double().exp().numpy(), np.random.default_rng(0)
    return np.stack(
        [place_in_cells(cut[:, q], mass[:, q], truth[:, q].numpy(), rng) for q in range(len(QUANTITIES))], 1
    )


network = result_of(Path(sys.argv[1]))[0].eval()
files = [file for file in sorted(Path(sys.argv[2]).glob("*.safetensors"))]
for name, some in (
    ("learnt from", files[:40]),
    ("not learnt from", [f for f in files if int(f.stem) >= int(sys.argv[3])]),
):
    kept = KeptTables.together([KeptTables.of(load_tensors(file)[0]) for file in some])
    kept = kept.chosen(((kept.moments.counts.sum(1) - kept.rows).abs() < 0.5).nonzero().flatten())
    told = kept.moments.no_defiers[:, 0].numpy() > 0
    found = {factor: places(network, kept, factor) for factor in FACTORS}
    print(f"{name}, {len(told):,} tables: held at 90 %, and the factor that makes it 90 of 100")
    for q, quantity in enumerate(QUANTITIES):
        here = told if q == len(QUANTITIES) - 1 else np.ones(len(told), bool)
        held = {f: float(((p[here, q] >= 0.05) & (p[here, q] <= 0.95)).mean()) for f, p in found.items()}
        enough = [f for f, share in held.items() if share >= 0.9]
        print(
            f"  {quantity:12s} {min(held.items(), key=lambda i: abs(i[0] - 1))[1]:.3f}  {enough[0] if enough else 9:.2f}"
        )
