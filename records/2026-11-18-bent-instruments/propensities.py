"""How far P(Z=1 | x) is off, by the ridge regressions before and by what replaced them: KL per row, in 1/1000 nats.

    python propensities.py

Four laws of our own, and tables of the prior whose instrument depends on covariates ("confounded") or not ("by lot").
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from ivicl.learn.network import prepare
from ivicl.learn.network.arms import Arm, per_table, standardised, to_simplex
from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.network.mixture import mixture
from ivicl.learn.network.model import soft_cells
from ivicl.learn.network.propensity import products, propensity
from ivicl.learn.network.regression import RegressionLayer
from ivicl.learn.prior import PriorConfig, draw_form, generator_for, sample_rows
from ivicl.methods.pretrained.streaming.constants import LINEAR, LOGISTIC, PROPENSITY

CONFIG = NetworkConfig()
LAYER = RegressionLayer(
    CONFIG.max_features, CONFIG.regression_features, CONFIG.trees, CONFIG.tree_depth, CONFIG.pseudo_count
)
Columns = tuple[Tensor, ...]
"""x (B,N,D), and z, t, y, w and the true P(Z=1 | x), (B,N) each."""


def hinges(x: Tensor, outcome: Tensor, arm: Tensor) -> Tensor:
    """The bent features of the regression layer."""
    plain = Arm.both(x, outcome, arm, CONFIG.pseudo_count)
    stiff = plain.solvers(x.new_tensor(LINEAR).exp())[1]
    directions = standardised(per_table(plain.directions(stiff)).flatten(2), arm.sum(-1, keepdim=True))
    return nn.functional.relu(torch.cat([x, directions], 2) @ LAYER.weight.double() + LAYER.bias.double())


def found(x: Tensor, outcome: Tensor, arm: Tensor) -> dict[str, Tensor]:
    """(B,N) by each way."""
    w = arm.sum(-1)
    shown = arm / w.unsqueeze(-1)
    plain, bent, squared = (
        Arm(part, shown, w, 0.5) for part in (x, hinges(x, outcome, arm), torch.cat([x, products(x)], 2))
    )
    ridge, penalty = x.new_tensor([PROPENSITY]).exp(), x.new_tensor(LOGISTIC).exp()

    def logistic(people: Arm) -> Tensor:
        return people.logistic(penalty, people.solvers(2 * penalty.view(1))[0])

    def mixed(*fits: Tensor) -> Tensor:
        stack = to_simplex(torch.stack(fits, 2)).unsqueeze(2)
        shares = mixture(stack, shown, w.unsqueeze(-1))
        return (stack * shares.unsqueeze(1).unsqueeze(-1)).sum(3)[:, :, 0, 1]

    share, line, hinge = plain.means(), plain.fit(plain.solvers(ridge)[0])[0], bent.fit(bent.solvers(ridge)[0])[0]
    return {
        "before": mixed(share, line, hinge),
        "and logistic on hinges": mixed(share, line, hinge, logistic(bent)),
        "and with products": mixed(share, line, hinge, logistic(plain), logistic(squared)),
        "now": propensity(x, arm),
    }


def divergences(x: Tensor, z: Tensor, t: Tensor, y: Tensor, w: Tensor, true: Tensor) -> dict[str, Tensor]:
    """(B,) of each way."""
    cell = soft_cells(z, t, y)
    kept, _ = prepare.order_covariates_scored(prepare.standardise(x, w), cell, w, CONFIG.max_features)
    arm = torch.unflatten(cell, -1, (2, 4)).sum(-1) * w.unsqueeze(-1)
    ways = found(kept.double(), (cell[:, :, :4] + cell[:, :, 4:]).double(), arm.double())
    answers = {}
    for name, chance in ways.items():
        p, e = chance.clamp(0.01, 0.99), true.double()
        answers[name] = 1000 * (e * (e / p).log() + (1 - e) * ((1 - e) / (1 - p)).log()).mean(1)
    return answers


LOGITS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda x: 0.8 * x[:, 0] - 0.4 * x[:, 1],
    "curve": lambda x: 0.7 * np.sin(1.5 * x[:, 0]) + 0.35 * (x[:, 1] ** 2 - 1),
    "product": lambda x: 0.9 * x[:, 0] * x[:, 1] + 0.5 * x[:, 2] + 0.3 * x[:, 3] ** 2,
    "box": lambda x: np.where((x[:, 0] > 0.2) & (x[:, 1] < 0.5), 0.8, -0.6) + 0.3 * x[:, 2],
}


def own(logit: str, n: int, seed: int) -> Columns:
    """One data set of a law of our own."""
    rng = np.random.default_rng([8, n, seed])
    x = rng.normal(size=(n, 6))
    chance = np.clip(1 / (1 + np.exp(-LOGITS[logit](x))), 0.05, 0.95)
    z = rng.random(n) < chance
    t = rng.random(n) < 1 / (1 + np.exp(0.5 - x[:, 2] - 1.5 * z))
    y = rng.random(n) < 1 / (1 + np.exp(t - x[:, 0] - x[:, 3]))
    parts = (torch.tensor(part)[None] for part in (z, t, y))
    return (torch.tensor(x)[None], *(part.float() for part in parts), torch.ones(1, n), torch.tensor(chance)[None])


def line(name: str, tables: int, parts: list[dict[str, Tensor]], chosen: list[Tensor]) -> None:
    figures = [torch.cat([p[k][c] for p, c in zip(parts, chosen, strict=True)]).mean() for k in parts[0]]
    print(f"| {name} | {tables} |", " | ".join(f"{figure:.1f}" for figure in figures), "|", flush=True)


if __name__ == "__main__":
    print(
        "| law, people | tables | before | and logistic on hinges | and with products | now |\n|---|---|---|---|---|---|"
    )
    with torch.no_grad():
        for name in LOGITS:
            for n, sets in ((300, 8), (1_000, 8), (8_000, 3), (40_000, 2)):
                parts = [divergences(*own(name, n, seed)) for seed in range(sets)]
                line(f"{name}, {n:,}", sets, parts, [torch.ones(1, dtype=torch.bool)] * sets)
        prior = PriorConfig.default()
        for n, size, batches in ((100, 40, 8), (300, 24, 10), (1_000, 8, 14), (8_000, 2, 20)):
            parts, confounded = [], []
            for k in range(batches):
                g = generator_for(993, n, k)
                form = draw_form(prior, g)
                batch = sample_rows(prior, g, size, n, int(torch.randint(2, 16, (1,), generator=g)), form)
                columns = (batch.x.double(), batch.z, batch.t, batch.y, batch.w, batch.propensity)
                parts.append(divergences(*columns))
                confounded.append(batch.propensity.std(1) > 0.02)
            line(f"prior, confounded, {n:,}", int(sum(c.sum() for c in confounded)), parts, confounded)
            lots = [~c for c in confounded]
            line(f"prior, by lot, {n:,}", int(sum(c.sum() for c in lots)), parts, lots)
