"""Kinds of damping on tables of the prior: log density at the truth, what is missed, and how far intervals reach.

    python damping.py runs/carried runs/far

Only ends that the limit is relied on for. Log densities are differences from no damping, with standard errors; missed
are true ends outside of the 0.5, 2.5 and 10 % quantile on the outer side; the last column is how far the 0.5 % quantile
lies beyond the true end on average, in units (60 at most).
"""

import sys
from pathlib import Path

import torch
from errors import SIDE, limit_of, tables, truth_of

from ivicl.learn.network.grids import Grid, edges
from ivicl.learn.training.run import result_of
from ivicl.methods.pretrained.streaming.constants import SLACK

WAYS = {
    "none": (0.0, 0.0, 0.0), "square from 1.5": (1.5, 0.5, SLACK), "square from 2": (2.0, 0.5, SLACK),
    "square from 2.5": (2.5, 0.5, SLACK), "square from 3": (3.0, 0.5, SLACK), "square from 4": (4.0, 0.5, SLACK),
    "square from 2, no slack": (2.0, 0.5, 0.0), "square from 2, slack .0007": (2.0, 0.5, 0.0007),
}  # fmt: skip


def quantile(mass: torch.Tensor, cut: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
    """(B,6) of masses (B,6,M) between edges (B,6,M+1), at a level for each column."""
    above, level = mass.cumsum(-1), level.view(1, -1, 1)
    cell = (above < level).sum(-1, keepdim=True).clamp(max=mass.shape[-1] - 1)
    inside = (level - above.gather(-1, cell)) / mass.gather(-1, cell).clamp(min=1e-12) + 1
    low, high = cut.gather(-1, cell), cut.gather(-1, cell + 1)
    return (low + (high - low) * inside.clamp(0, 1)).squeeze(-1)


network = result_of(Path(sys.argv[1]))[0].eval()
for kinds in (("short",), ("middle", "middle-trees"), ("long", "long-trees"), ("cells",)):
    kept = tables(Path(sys.argv[2]), *kinds)
    limit, _ = limit_of(network, kept)
    with torch.no_grad():  # an instrument that varies much: nothing is damped
        free = network.from_reading(kept.reading._replace(spread=kept.reading.spread + 1), kept.moments)
    unit, truth = free.grid.unit[:, :6], truth_of(kept)[:, :6]
    cut = edges(Grid(free.grid.anchor[:, :6], unit), network.lowest(free.grid.anchor)[:6])
    width, middle = cut.diff(dim=-1), 0.5 * (cut[..., 1:] + cut[..., :-1])
    inside = torch.minimum(torch.maximum(truth, cut[..., 0] + 1e-9), cut[..., -1] - 1e-9).unsqueeze(-1)
    at = (torch.searchsorted(cut.contiguous(), inside, right=True) - 1).clamp(0, width.shape[-1] - 1)
    here = limit.trusted[:, :6] > 0
    print(f"\n{', '.join(kinds)}: {int(here.sum()):,} ends\n")
    print("| damping | log density | missed 0.5 % | 2.5 % | 10 % | reach |\n|---|---|---|---|---|---|")
    before = None
    for name, (near, strength, slack) in WAYS.items():
        outside = (limit.place[:, :6, None] - middle) * SIDE.view(1, -1, 1) / (unit + slack).unsqueeze(-1)
        lowered = strength * limit.trusted[:, :6, None] * (outside - near).clamp(min=0).square()
        mass = (free.masses[:, :6].double() - lowered).log_softmax(-1)
        density = (mass - width.clamp(min=1e-12).log()).gather(-1, at).squeeze(-1)
        before = density if before is None else before
        gain = (density - before)[here]
        missed = []
        for level in (0.005, 0.025, 0.1):
            outer = quantile(mass.exp(), cut, torch.where(SIDE > 0, level, 1 - level))
            beyond = ((truth - outer) * SIDE / unit)[here]
            missed.append(f"{100 * (beyond < 0).double().mean():.2f} %")
            reach = beyond.clamp(max=60).mean() if level == 0.005 else reach
        print(f"| {name} | {gain.mean():+.4f} ({gain.std() / len(gain) ** 0.5:.4f}) |", " | ".join(missed), f"| {reach:.2f} |")
