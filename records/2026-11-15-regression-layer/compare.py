"""How well does each candidate of the regression layer know p(t, y | z, x)? Untrained, closed form, on fixed tables.

Run: python records/2026-11-15-regression-layer/compare.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ivicl.benchmarks.sets.synthetic import generate
from ivicl.identification.strata import law_of as observed_law
from ivicl.learn.network import prepare
from ivicl.learn.network.model import row_ends
from ivicl.learn.network.regression import Arm, RegressionLayer, _standardised, to_simplex
from ivicl.learn.prior import PriorConfig
from ivicl.learn.training.validation import SHAPES, fixed_tables

Fit = Callable[[Tensor, Tensor, Tensor], Tensor]
LINEAR, TEMPER = (2.0, 5.0), 0.37
PSEUDO = 0.4


def prepared(x: Tensor, z: Tensor, t: Tensor, y: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    cell = prepare.cells(z, t, y)
    columns = prepare.order_covariates(prepare.standardise(x, w), cell, w, 64)
    return columns, cell[:, :, :4] + cell[:, :, 4:], cell.unflatten(2, (2, 4)).sum(-1) * w.unsqueeze(-1)


def divergence(truth: Tensor, law: Tensor) -> float:
    truth = truth.clamp(min=1e-9)
    return float((truth * (truth.log() - to_simplex(law).log())).sum(-1).mean())


def solver(arm: Arm, penalty: Tensor) -> Tensor:
    return arm.solvers(penalty.view(1))[0]


def stacked(layer: RegressionLayer, ridges: tuple[float, ...], logistic: tuple[float, ...], leaky: bool = False) -> Fit:
    """Average by leave-one-out likelihood of means, linear ridges, ridges and logistic fits on ReLU features."""

    def fit(x: Tensor, outcome: Tensor, arm: Tensor) -> Tensor:
        plain = [Arm(x, outcome, arm[:, :, z], PSEUDO) for z in (0, 1)]
        penalties = torch.tensor(LINEAR).exp()
        solved = [solver(a, penalties[0]) for a in plain]
        found = [a.fit(s)[0] if leaky else a.directions(s) for a, s in zip(plain, solved, strict=True)]
        directions = _standardised(torch.cat(found, 2), arm.sum(-1, keepdim=True))
        hinges = torch.relu(torch.cat([x, directions], 2) @ layer.weight + layer.bias)
        bent = [Arm(hinges, outcome, arm[:, :, z], PSEUDO) for z in (0, 1)]
        candidates = [torch.stack([a.means() for a in plain], 2)]
        candidates += [torch.stack([a.fit(solver(a, p))[0] for a in plain], 2) for p in penalties]
        candidates += [torch.stack([a.fit(solver(a, p))[0] for a in bent], 2) for p in torch.tensor(ridges).exp()]
        candidates += [
            torch.stack([a.logistic(torch.tensor(p), solver(a, torch.tensor(2 * p))) for a in bent], 2)
            for p in logistic
        ]
        stack = to_simplex(torch.stack(candidates, 3))
        score = (stack * outcome.unsqueeze(2).unsqueeze(2)).sum(-1).clamp(min=0.0015).log()
        share = (TEMPER * (score * arm.unsqueeze(-1)).sum((1, 2))).softmax(-1)
        return (stack * share[:, None, None, :, None]).sum(3)

    return fit


def means(x: Tensor, outcome: Tensor, arm: Tensor) -> Tensor:
    return torch.stack([Arm(x, outcome, arm[:, :, z], PSEUDO).means() for z in (0, 1)], 2)


def linear(x: Tensor, outcome: Tensor, arm: Tensor) -> Tensor:
    arms = [Arm(x, outcome, arm[:, :, z], PSEUDO) for z in (0, 1)]
    return torch.stack([a.fit(solver(a, torch.tensor(20.0)))[0] for a in arms], 2)


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layer, wide = RegressionLayer(64, 128, 2, False, PSEUDO), RegressionLayer(64, 256, 2, False, PSEUDO)
    rivals: dict[str, Fit] = {
        "means of the arms": means,
        "linear ridge": linear,
        "stack, directions leave-one-out (leaks)": stacked(layer, (3.0, 5.0, 7.0), (), leaky=True),
        "stack of ridges": stacked(layer, (3.0, 5.0, 7.0), ()),
        "stack of ridges, 256 features": stacked(wide, (3.0, 5.0, 7.0), ()),
        "stack, two ridges and one logistic": stacked(layer, (4.0, 6.0), (12.2,)),
        "stack, one ridge and three logistic": stacked(layer, (5.0,), (10.0, 50.0, 250.0)),
    }
    tables = fixed_tables(PriorConfig.default())[2]
    synthetic = [generate(seed) for seed in range(10)]
    print(
        "| candidates | "
        + " | ".join(f"N = {n}, D = {d}" for _, n, d in SHAPES)
        + " | mean | synthetic | width | seconds |"
    )
    print("|---" * (len(SHAPES) + 5) + "|")
    for name, fit in rivals.items():
        started = time.perf_counter()
        found = [divergence(b.law.flatten(3), fit(*prepared(b.x, b.z, b.t, b.y, b.w))) for b in tables]
        seconds = time.perf_counter() - started
        errors, widths = [], []
        for made in synthetic:
            d = made.data
            x = torch.tensor(d.x)[None]
            z, t, y, w = (torch.tensor(a, dtype=torch.float32)[None] for a in (d.z, d.t, d.y, d.w))
            law = to_simplex(fit(*prepared(x, z, t, y, w)))
            errors.append(divergence(torch.tensor(observed_law(made.strata)).flatten(2)[None].float(), law))
            lower, upper = row_ends(law.log(), w)
            widths.append(float(upper - lower))
        cells = [f"{v:.3f}" for v in found] + [
            f"{np.mean(found):.4f}",
            f"{np.mean(errors):.3f}",
            f"{np.mean(widths):.3f}",
        ]
        print(f"| {name} | " + " | ".join(cells) + f" | {seconds:.1f} |", flush=True)
    print(f"\ntrue width of the synthetic tables: {np.mean([m.upper - m.lower for m in synthetic]):.3f}")


if __name__ == "__main__":
    main()
