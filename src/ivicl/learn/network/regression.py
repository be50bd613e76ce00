"""Regression as a layer: the soft law of (t, y) given z, and P(Z=1), at every row, in closed form.

Candidates, from stiff to flexible: the arm's means; linear ridge; ridge on the few columns that matter (penalties that
follow the size of the coefficients); ridge and logistic fits on ReLU features of x and of the directions that a linear
fit finds; leaf means of shallow random trees, and of one tree that asks the best questions. All are leave-one-out at a
row's own arm, and they are mixed by weights that make people whom no candidate has seen most likely. Row weights are
frequencies. Shapes as in `arms`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ivicl.learn.network.arms import Arm, per_table, standardised, to_simplex
from ivicl.learn.network.grown import GrownTree
from ivicl.learn.network.linalg import inverse
from ivicl.learn.network.mixture import mixture
from ivicl.learn.network.precision import wide
from ivicl.learn.network.propensity import propensity
from ivicl.learn.network.trees import Trees
from ivicl.methods.pretrained.streaming.constants import (
    COSTS,
    DIRECTIONS,
    FOREST,
    HINGES,
    LINEAR,
    LOGISTIC,
    RELATIVE_FLOOR,
    SPARSE,
    SPARSE_ROUNDS,
)


class Regressed(NamedTuple):
    """What the layer knows of each row."""

    features: Tensor
    """(B,N,outputs) for the network."""
    law: Tensor
    """(B,N,2,4) E[soft cell of (t, y) | z, x], leave-one-out at the row's own arm."""
    propensity: Tensor
    """(B,N) P(Z=1 | x), leave-one-out."""
    shares: Tensor
    """(B,2,C) weights of the candidates in each arm."""


class RegressionLayer(nn.Module):
    """x (B,N,P) strongest first, score (B,P), outcome (B,N,4) soft cells, arm (B,N,2) weights -> Regressed."""

    outputs = DIRECTIONS + 8 + 8 + 8 + 8 + 2 + 2

    def __init__(self, columns: int, features: int, trees: int, depth: int, pseudo_count: float) -> None:
        super().__init__()
        self.pseudo_count = pseudo_count
        # Strong covariates come first; later ones are more often noise, so their weights start smaller.
        generator = torch.Generator().manual_seed(1)
        decay = (1 + torch.arange(columns)).float().rsqrt().unsqueeze(1)
        scale = torch.where(torch.arange(features) % 2 == 0, 1.0, 0.3)
        weight = torch.randn(columns + DIRECTIONS, features, generator=generator)
        weight[:columns] *= decay * scale
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.bias = nn.Parameter(torch.randn(features, generator=generator), requires_grad=False)
        self.trees = Trees(trees, depth)
        self.grown = GrownTree()

    @torch.no_grad()
    def forward(self, x: Tensor, score: Tensor, outcome: Tensor, arm: Tensor) -> Regressed:
        weight: Tensor = self.weight
        bias: Tensor = self.bias
        if not self.training:
            # A solve multiplies rounding errors by the condition number, and the order of rows must not show.
            x, score, outcome, arm = (wide(part) for part in (x, score, outcome, arm))
            weight, bias = wide(weight), wide(bias)
        plain = Arm.both(x, outcome, arm, self.pseudo_count)
        stiff = plain.solvers(x.new_tensor(LINEAR).exp())
        directions = standardised(per_table(plain.directions(stiff[1])).flatten(2), arm.sum(-1, keepdim=True))
        hinges = nn.functional.relu(torch.cat([x, directions], 2) @ weight + bias)
        bent = Arm.both(hinges, outcome, arm, self.pseudo_count)
        logistic = x.new_tensor(LOGISTIC).exp()
        *flexible, sharp = bent.solvers(torch.cat([x.new_tensor(HINGES).exp(), 2 * logistic.view(1)]))
        bent_fits = [bent.fit(solver) for solver in flexible]
        mean = torch.unflatten(plain.mean.flatten(1), 0, (-1, 2))  # (B,2,4)
        forest, chosen = self.trees(x, score, outcome, arm, mean)
        candidates = [plain.means(), *(plain.fit(solver)[0] for solver in stiff), self._sparse(plain, stiff[0])]
        candidates += [*(fit for fit, _ in bent_fits), bent.logistic(logistic, sharp)]
        stack = per_table(torch.stack(candidates, 2))  # (B,N,2,.,4) without the trees
        leaves = [forest, chosen, *self.grown(x, outcome, arm, mean)]
        stack = to_simplex(torch.cat([stack, *(part.unsqueeze(3).to(stack.dtype) for part in leaves)], 3))
        shares = mixture(stack, outcome, arm, COSTS)
        law = (stack * shares.unsqueeze(1).unsqueeze(-1)).sum(3)
        chance = propensity(x, arm)
        hinged, logit, chosen = (stack[:, :, :, place] for place in (4, FOREST - 1, FOREST + 1))
        features = [directions, law.log(), hinged, logit.log(), chosen]
        features += [per_table(bent_fits[-1][1]).clamp(max=1), chance.unsqueeze(-1), chance.logit().unsqueeze(-1)]
        return Regressed(torch.cat([part.flatten(2) for part in features], 2).float(), law, chance, shares)

    def _sparse(self, arm: Arm, solver: Tensor) -> Tensor:
        """Ridge whose penalties follow the size of the last fit's coefficients: what is small is pushed to zero."""
        slope, scale = solver @ arm.moment, None
        for _ in range(SPARSE_ROUNDS):
            size = slope.square().sum(-1).sqrt()
            scale = size / size.amax(1, keepdim=True).clamp(min=1e-12)  # (B,P)
            gram = arm.gram * scale.unsqueeze(1) * scale.unsqueeze(2)
            ridge = arm.gram.new_tensor(SPARSE).exp() + RELATIVE_FLOOR * arm.eigenvalue
            inner = inverse(gram, ridge)
            solver = inner * scale.unsqueeze(1) * scale.unsqueeze(2)
            slope = solver @ arm.moment
        return arm.fit(solver)[0]
