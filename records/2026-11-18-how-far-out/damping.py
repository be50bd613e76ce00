"""Kinds of damping on tables of the prior: log density at the truth, what is missed, and how far intervals reach.

    python damping.py runs/carried runs/far

Only ends that the limit is relied on for. Log densities are differences from no damping, with standard errors; missed
are true ends outside of the 0.5, 2.5 and 10 % quantile on the outer side; the last column is how far the 0.5 % quantile
lies beyond the true end on average, in units (60 at most).
"""

import sys
from pathlib import Path

import torch
from errors import limit_of, tables
from undamped import Undamped, shown

from ivicl.learn.training.run import result_of
from ivicl.methods.pretrained.streaming.constants import SLACK

WAYS = {
    "none": (0.0, 0.0, 0.0), "square from 1.5": (1.5, 0.5, SLACK), "square from 2": (2.0, 0.5, SLACK),
    "square from 2.5": (2.5, 0.5, SLACK), "square from 3": (3.0, 0.5, SLACK), "square from 4": (4.0, 0.5, SLACK),
    "square from 2, no slack": (2.0, 0.5, 0.0), "square from 2, slack .0007": (2.0, 0.5, 0.0007),
}  # fmt: skip


network = result_of(Path(sys.argv[1]))[0].eval()
for kinds in (("short",), ("middle", "middle-trees"), ("long", "long-trees"), ("cells",)):
    kept = tables(Path(sys.argv[2]), *kinds)
    limit, _ = limit_of(network, kept)
    free, here = Undamped.of(network, kept), limit.trusted[:, :6] > 0
    print(f"\n{', '.join(kinds)}: {int(here.sum()):,} ends\n")
    print("| damping | log density | missed 0.5 % | 2.5 % | 10 % | reach |\n|---|---|---|---|---|---|")
    before = free.lowered(torch.zeros_like(free.masses))
    for name, (near, strength, slack) in WAYS.items():
        outside = (free.outside(limit.place, slack) - near).clamp(min=0)
        change = free.lowered(strength * limit.trusted[:, :6, None] * outside.square())
        print(f"| {name} | {shown(change, before, here)} |", flush=True)
