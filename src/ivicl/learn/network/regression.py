"""Regression as a layer: the soft law of (t, y) given z, and P(Z=1), at every row, in closed form.

Candidates, from stiff to flexible: the arm's means; linear ridge; ridge on the few columns that matter (penalties that
follow the size of the coefficients); ridge and logistic fits on ReLU features of x and of the directions that a linear
fit finds; leaf means of shallow random trees, and of one tree that asks the best questions. All are leave-one-out at a
row's own arm, and they are mixed by weights that make people whom no candidate has seen most likely. Row weights are
frequencies. Shapes as in `arms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ivicl.learn.network.arms import Arm, per_table, standardised, to_simplex
from ivicl.learn.network.grown import GrownTree
from ivicl.learn.network.linalg import inverse
from ivicl.learn.network.precision import wide
from ivicl.learn.network.trees import Trees
from ivicl.methods.pretrained.streaming.constants import (
    COSTS,
    DIRECTIONS,
    EM_POWER,
    EM_STEPS,
    FOREST,
    HINGES,
    LINEAR,
    LOGISTIC,
    PROPENSITY,
    PROPENSITY_LEAST,
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
        propensity = self._propensity(x, hinges, arm)
        hinged, logit, chosen = (stack[:, :, :, place] for place in (4, FOREST - 1, FOREST + 1))
        features = [directions, law.log(), hinged, logit.log(), chosen]
        chance = propensity.unsqueeze(-1)
        features += [per_table(bent_fits[-1][1]).clamp(max=1), chance, chance.logit()]
        return Regressed(torch.cat([part.flatten(2) for part in features], 2).float(), law, propensity, shares)

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

    def _propensity(self, x: Tensor, hinges: Tensor, arm: Tensor) -> Tensor:
        """The share of Z=1, and ridge regressions of Z, mixed: most instruments depend on few things, or on nothing."""
        w = arm.sum(-1)
        one = arm[:, :, 1:] / w.unsqueeze(-1).clamp(min=1e-30)
        outcome = torch.cat([1 - one, one], 2)
        plain, bent = (Arm(features, outcome, w, 0.5) for features in (x, hinges))
        fits = [plain.means(), plain.fit(plain.solvers(x.new_tensor(PROPENSITY).exp())[0])[0]]
        fits.append(bent.fit(bent.solvers(x.new_tensor(PROPENSITY).exp())[0])[0])
        stack = to_simplex(torch.stack(fits, 2)).unsqueeze(2)  # (B,N,1,3,2)
        shares = mixture(stack, outcome, w.unsqueeze(-1))
        chance = (stack * shares.unsqueeze(1).unsqueeze(-1)).sum(3)[:, :, 0, 1]
        return chance.clamp(PROPENSITY_LEAST, 1 - PROPENSITY_LEAST)


def mixture(stack: Tensor, outcome: Tensor, arm: Tensor, costs: Sequence[float] = ()) -> Tensor:
    """(B,A,C) weights under which the candidates' mixture makes the rows most likely, by EM steps from equal weights.

    stack (B,N,A,C,L) leave-one-out laws of A arms; outcome (B,N,L), whose two halves are the treatments if L = 4. A
    soft row is its people with y=1 and its people with y=0. A candidate must be more likely by its cost, in nats a
    table, spread over all people. Likelihoods are in float32, which is enough; their sums
    over all rows are as exact as the stack, so that the order of rows does not show.
    """
    arms, half = arm.shape[2], outcome.shape[2] // 2
    own = (arm > 0).float().unsqueeze(-1).unsqueeze(-1)
    likely = (stack.float() * own).sum(2)  # (B,N,C,L) at the row's own arm
    shown = outcome.float()
    if half == 2:
        # Only one treatment was taken: its two outcomes are all that is needed.
        took = (shown[:, :, 2:].sum(-1, keepdim=True) > 0).float().unsqueeze(-1)
        likely = likely[..., :2] * (1 - took) + likely[..., 2:] * took
        shown = shown[:, :, :2] + shown[:, :, 2:]
    likely = likely.transpose(2, 3).flatten(1, 2).to(stack.dtype)  # (B,2N,C)
    people = (arm.to(stack.dtype).unsqueeze(2) * shown.unsqueeze(-1)).flatten(1, 2)  # (B,2N,A)
    if costs:
        everybody = people.sum((1, 2)).clamp(min=1e-6).view(-1, 1, 1)
        likely = likely * (-likely.new_tensor(costs) / everybody).exp()
    inside = (people > 0).to(stack.dtype)
    total = people.sum(1).unsqueeze(-1) + 1  # (B,A,1); one more, who is shared equally: an arm may be empty
    equal = 1 / stack.shape[3]
    shares = (0 * likely[:, :1] + equal).expand(-1, arms, -1)
    for _ in range(EM_STEPS):
        mixed = (likely @ shares.transpose(1, 2)).clamp(min=1e-12)  # (B,2N,A)
        pulled = (people * inside / mixed).transpose(1, 2) @ likely  # (B,A,C)
        # An EM step multiplies the weights; a power of it goes the same way, faster.
        shares = shares * ((pulled + equal / shares) / total).pow(EM_POWER)
        shares = shares / shares.sum(-1, keepdim=True)
    return shares
