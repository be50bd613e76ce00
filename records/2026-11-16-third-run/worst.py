"""Where the network's quantiles differ from the exact ones: by size of the table, and the ten worst tables.

Run: python records/2026-11-16-third-run/worst.py [model.onnx]
"""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np

from ivicl.benchmarks.model_card import reference
from ivicl.methods.pretrained.runtime import Model
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior

SIZES = (0, 100, 1_000, 10_000, 100_000, np.inf)


def ends(probabilities: np.ndarray) -> np.ndarray:
    return np.array([BinnedPosterior(EFFECT_EDGES, p).interval(0.01) for p in probabilities])


model = Model.load(sys.argv[1]) if len(sys.argv) > 1 else Model.shipped()
truth = reference.load().part("prior")
exact = ends(truth.effect)
gap = ends(model.predict_counts(truth.counts).effect) - exact
error = np.abs(gap).mean(1)
people = truth.counts.reshape(len(error), -1).sum(1)
for low, high in pairwise(SIZES):
    here = error[(people >= low) & (people < high)]
    print(f"{low:>7,} people or more: {len(here):3} tables, mean error {here.mean():.4f}, worst {here.max():.4f}")
for i in np.argsort(-error)[:10]:
    cells = truth.counts[i].ravel().astype(int).tolist()
    print(f"{error[i]:.4f}  exact [{exact[i, 0]:.3f}, {exact[i, 1]:.3f}]  off by {gap[i].round(4).tolist()}  {cells}")
