"""KL of the law at the rows from the true one, nats: the first network's layer, random trees, the second's mixture.

    python records/2026-11-16-second-layer/compare.py

Laws made for this comparison: neither the prior's nor the judge's (`benchmarks/efficiency`).
"""

from __future__ import annotations

import time

import torch
from torch import Tensor

from ivicl.learn.network import prepare
from ivicl.learn.network.regression import RegressionLayer as FirstLayer
from ivicl.learn.second.regression import RegressionLayer as SecondLayer
from ivicl.learn.prior.strata import strata_of

COLUMNS = {"regions": 6, "sparse": 40, "smooth": 12, "trial": 7}


def tables(name: str, rows: int, batch: int, seed: int) -> tuple[Tensor, ...]:
    """x, z, t, y and the true law (B, N, 2, 4)."""
    g = torch.Generator().manual_seed(seed)
    columns = COLUMNS[name]
    x = torch.randn(batch, rows, columns, generator=g)
    if name == "smooth":
        x = x + 0.8 * torch.randn(batch, rows, 1, generator=g)
        hidden = torch.tanh(x @ (torch.randn(batch, columns, 6, generator=g) / columns**0.5))
        logits = 1.3 * hidden @ torch.randn(batch, 6, 16, generator=g)
    elif name == "regions":
        region = (x[..., 0] > 0.3).long() + 2 * (x[..., 1] > -0.4).long() + 4 * (x[..., 2] > 0.6).long()
        level = 2.2 * torch.randn(batch, 8, 16, generator=g)
        logits = level.gather(1, region[..., None].expand(batch, rows, 16))
    else:
        slope = torch.randn(batch, columns, 16, generator=g) * (0.25 if name == "trial" else 0.8)
        slope[:, 5 if name == "sparse" else columns :] = 0
        logits = x @ slope
    p = (logits + 1.5 * torch.randn(batch, 1, 16, generator=g)).softmax(-1)
    z = (torch.rand(batch, rows, generator=g) < 0.5).float()
    t, y = strata_of(2).observe(torch.multinomial(p.flatten(0, 1), 1, generator=g).view(batch, rows), z)
    return x, z, t.float(), y.float(), strata_of(2).law_of(p).flatten(3)


def divergence(truth: Tensor, law: Tensor) -> float:
    truth = truth.clamp(min=1e-9)
    return float((truth * (truth.log() - law.clamp(min=1e-9).log())).sum(-1).mean())


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    first = FirstLayer(64, 128, 2, False, 0.4).eval()
    second = SecondLayer(64, 96, 64, 5, 0.4).eval()
    print("| law | rows | first layer | trees alike | trees by likelihood | second layer | seconds, first | second |")
    print("|---|---|---|---|---|---|---|---|")
    for name in COLUMNS:
        for rows in (300, 1000, 4000):
            x, z, t, y, truth = tables(name, rows, max(2, 4000 // rows), rows + 7)
            w = torch.ones_like(z)
            cell = prepare.cells(z, t, y)
            kept, score = prepare.order_covariates_scored(prepare.standardise(x.double(), w), cell, w, 64)
            arm, outcome = cell.view(*z.shape, 2, 4).sum(-1), cell[:, :, :4] + cell[:, :, 4:]
            started = time.perf_counter()
            plain = first(kept, outcome, arm)[1]
            middle = time.perf_counter()
            mixed = second(kept, score, outcome, arm).law
            ended = time.perf_counter()
            mean = torch.einsum("bna,bnc->bac", arm, outcome) / arm.sum(1).unsqueeze(-1)
            trees = second.trees(kept, score, outcome, arm, mean)
            found = [divergence(truth, law) for law in (plain, *trees, mixed)]
            times = (middle - started, ended - middle)
            print(
                f"| {name} | {rows:,} | "
                + " | ".join([*(f"{v:.3f}" for v in found), *(f"{s:.2f}" for s in times)])
                + " |"
            )


if __name__ == "__main__":
    main()
