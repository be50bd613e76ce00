"""How far off each end is, in units, on tables of the prior that were kept: what the anchor can be made from.

python errors_of_ends.py runs/steady
"""

import sys
from pathlib import Path

import torch

from ivicl.learn.files import load_tensors
from ivicl.learn.network import recode
from ivicl.learn.training.kept import FOLDER, KeptTables

NAMES = ("plug-in", "one-step", "network's plug-in", "lead .05", "lead .15", "one term")
BANDS = ((0, 300), (300, 1_000), (1_000, 4_000), (4_000, 16_000), (16_000, 70_000))
files = sorted((Path(sys.argv[1]) / FOLDER).glob("*.safetensors"))
kept = KeptTables.together([KeptTables.of(load_tensors(file)[0]) for file in files])
labels = torch.cat([kept.labels.ends, kept.labels.late.unsqueeze(1)], 1).double()
truth = (recode.values(labels, kept.coding) - kept.reading.plug_in)[:, :2] / kept.reading.unit[:, :2]
steps = torch.cat([torch.zeros_like(kept.reading.steps[:, :1]), kept.reading.steps], 1)[:, :, :2]
# Negative is too far out.
error = (steps - truth.unsqueeze(1)) * torch.tensor([1.0, -1.0])
told = kept.moments.no_defiers[:, 0] > 0
print(f"{len(files)} files, {len(kept.rows):,} tables: mean / root mean square error in units\n")
print("| rows | tables |", " | ".join(NAMES), "|\n|" + "---|" * (len(NAMES) + 2))
for alike in (False, True):
    if alike:
        print("\nOf these, tables whose one-term end lies within a unit of the one-step end:\n")
        print("| rows | tables |", " | ".join(NAMES), "|\n|" + "---|" * (len(NAMES) + 2))
    for low, high in BANDS:
        here = (kept.rows >= low) & (kept.rows < high) & ~told
        if alike:
            here &= (error[:, 5] - error[:, 1]).abs().amax(1) < 1
        some = error[here]
        shown = [f"{some[:, k].mean():+.2f} / {some[:, k].square().mean().sqrt():.2f}" for k in range(len(NAMES))]
        print(f"| {low:,} to {high:,} | {len(some):,} |", " | ".join(shown), "|")
