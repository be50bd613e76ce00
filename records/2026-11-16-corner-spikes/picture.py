"""Exact posteriors of large tables without covariates, and where the corners say that they should peak.

python records/2026-11-16-corner-spikes/picture.py
"""

from pathlib import Path

import matplotlib
import numpy as np
import torch

from ivicl.benchmarks.model_card import reference
from ivicl.learn.network.summary import smoothed_law
from ivicl.learn.network.vertices import CornerTable
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior

matplotlib.use("Agg")
import matplotlib.pyplot as plt

known = reference.load().part("prior")
counts = torch.tensor(known.counts.reshape(-1, 8), dtype=torch.float32)
spikes = CornerTable(0.1)(smoothed_law(counts, 0.4), counts.view(-1, 2, 4).sum(-1))
people = counts.sum(1).numpy()
centres = (EFFECT_EDGES[1:] + EFFECT_EDGES[:-1]) / 2
figure, grid = plt.subplots(3, 3, figsize=(11, 7.5), constrained_layout=True)
for table, axes in zip(np.argsort(-people)[3::13], grid.flat, strict=False):
    density = known.effect[table] * 512
    low, high = BinnedPosterior(EFFECT_EDGES, known.effect[table]).interval(0.01)
    top = min(12.0, density.max() * 1.05)
    share = spikes.log_share[table].exp().numpy()
    axes.vlines(spikes.place[table], 0, share / share.max() * top, color="#dc267f", linewidth=1.2, label="corners")
    axes.plot(centres, density, color="#1b1b1b", linewidth=0.9, label="exact posterior")
    axes.set(xlim=(low - 0.1, high + 0.1), ylim=(0, top), title=f"{people[table]:,.0f} people")
    axes.spines[["top", "right"]].set_visible(False)
grid[0, 0].legend(frameon=False)
figure.supxlabel("effect")
figure.savefig(Path(__file__).with_name("corners.png"), dpi=80)
