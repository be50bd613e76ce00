"""Regression as a layer: p(t, y | z, x) at every row by weighted ridge regressions, in closed form.

What covariates add is the law of (t, y) given z at each x. A network can learn to regress in context, at great cost;
here it gets the regression for free and only learns what to make of the fits.

Candidates, from stiff to flexible: the arm's means; linear ridge; ridge on ReLU features of x and of the directions
that a linear fit finds (where the law varies in *this* table), with several penalties; logistic regression on them. A
row's own arm is predicted leave-one-out, so that no fit can flatter itself, and the candidates are averaged with
weights that follow their leave-one-out likelihood. Weights of rows are frequencies: k copies of a row and one row of
weight k give the same fits.
"""

from __future__ import annotations

import contextlib

import torch
from torch import Tensor, nn

from ivicl.learn.network.linalg import inverse
from ivicl.learn.network.logistic import logistic_fit
from ivicl.learn.network.precision import wide
from ivicl.methods.pretrained.streaming.constants import DIRECTIONS, LEAST, RELATIVE_FLOOR


class Arm:
    """The rows of one arm, or of several as one batch: centred features, their Gram matrix and cross moments."""

    def __init__(self, features: Tensor, outcome: Tensor, weight: Tensor, pseudo_count: float) -> None:
        self.pseudo_count = pseudo_count
        self.outcome, self.weight = outcome, weight.unsqueeze(-1)
        self.size = weight.sum(1).clamp(min=1e-6).view(-1, 1, 1)
        mean = (self.weight * features).sum(1, keepdim=True) / self.size
        count = (self.weight * outcome).sum(1, keepdim=True)
        self.mean = (count + pseudo_count) / (self.size + 4 * pseudo_count)
        self.centred = features - mean
        self.weighted = (self.centred * self.weight).transpose(1, 2)
        self.gram = self.weighted @ self.centred
        self.moment = self.weighted @ (outcome - self.mean)
        # The mean of the diagonal, written so that it exports as two nodes.
        eye = torch.eye(features.shape[-1], dtype=features.dtype, device=features.device)
        self.eigenvalue = (self.gram * eye).sum((1, 2)) / features.shape[-1]

    @staticmethod
    def both(features: Tensor, outcome: Tensor, arm: Tensor, pseudo_count: float) -> Arm:
        """Both arms of each table, (B,N,.) -> a batch of 2B: one pass through the graph instead of two."""
        twice = [part.unsqueeze(1).expand(-1, 2, -1, -1).flatten(0, 1) for part in (features, outcome)]
        return Arm(twice[0], twice[1], arm.transpose(1, 2).flatten(0, 1), pseudo_count)

    def solvers(self, penalties: Tensor) -> Tensor:
        """(C,B,F,F) inverses of the Gram matrix under penalties (C,)."""
        return inverse(self.gram, penalties.unsqueeze(1) + RELATIVE_FLOOR * self.eigenvalue)

    def fit(self, solver: Tensor) -> tuple[Tensor, Tensor]:
        """Fits (B,N,4), leave-one-out at the arm's own rows, and leverages (B,N)."""
        fit = self.mean + self.centred @ (solver @ self.moment)
        leverage = ((self.centred @ solver) * self.centred).sum(-1, keepdim=True) + self._mean_leverage()
        return self._without_self(fit, leverage), leverage.flatten(1)

    def logistic(self, penalty: Tensor, solver: Tensor) -> Tensor:
        """Logistic fits (B,N,4), leave-one-out at the arm's own rows; `solver` is that of twice the penalty."""
        return logistic_fit(self, penalty, RELATIVE_FLOOR * self.eigenvalue, 2 * solver)

    def means(self) -> Tensor:
        """The arm's means at every row, leave-one-out at its own rows."""
        return self._without_self(self.mean.expand_as(self.outcome), self._mean_leverage())

    def directions(self, solver: Tensor) -> Tensor:
        """(B,N,4) linear fits as functions of x alone. Not leave-one-out: that would carry a row's own outcome."""
        return self.centred @ (solver @ self.moment)

    def _mean_leverage(self) -> Tensor:
        """What one person weighs in the arm's smoothed means."""
        return 1 / (self.size + 4 * self.pseudo_count)

    def _without_self(self, fit: Tensor, leverage: Tensor) -> Tensor:
        # The influence of one person, not of the row's weight: that keeps k copies and weight k equal.
        share = leverage.clamp(max=0.95) * (self.weight > 0).to(fit.dtype)
        return (fit - share * self.outcome) / (1 - share)


def to_simplex(fit: Tensor) -> Tensor:
    fit = fit.clamp(min=LEAST)
    return fit / fit.sum(-1, keepdim=True)


class RegressionLayer(nn.Module):
    """x (B,N,P), outcome (B,N,4) one-hot of 2t + y, arm (B,N,2) weights -> row inputs (B,N,outputs), law (B,N,2,4).

    Outside training it computes, and returns the law, in float64.
    """

    def __init__(self, columns: int, features: int, penalties: int, learned: bool, pseudo_count: float) -> None:
        super().__init__()
        self.pseudo_count = pseudo_count
        self.learned = learned
        self.outputs = DIRECTIONS + 8 + 2 * 8 + 2
        # Strong covariates come first; later ones are more often noise, so their weights start smaller.
        decay = (1 + torch.arange(columns)).float().rsqrt().unsqueeze(1)
        scale = torch.where(torch.arange(features) % 2 == 0, 1.0, 0.3)
        weight = torch.cat([torch.randn(columns, features) * decay * scale, torch.randn(DIRECTIONS, features)])
        self.weight = nn.Parameter(weight, requires_grad=learned)
        self.bias = nn.Parameter(torch.randn(features), requires_grad=learned)
        self.log_linear = nn.Parameter(torch.tensor([2.0, 5.0]), requires_grad=learned)
        self.log_penalty = nn.Parameter(torch.linspace(4.0, 6.0, penalties), requires_grad=learned)
        self.log_logistic = nn.Parameter(torch.tensor(2.5), requires_grad=learned)
        self.log_temper = nn.Parameter(torch.tensor(-1.0), requires_grad=learned)

    def forward(self, x: Tensor, outcome: Tensor, arm: Tensor) -> tuple[Tensor, Tensor]:
        with contextlib.nullcontext() if self.learned else torch.no_grad():
            return self._forward(x, outcome, arm)

    def _forward(self, x: Tensor, outcome: Tensor, arm: Tensor) -> tuple[Tensor, Tensor]:
        weight: Tensor = self.weight
        bias: Tensor = self.bias
        linear, penalty = self.log_linear.exp(), self.log_penalty.exp()
        if not self.training:
            # A solve multiplies rounding errors by the condition number, and the order of rows must not show.
            x, outcome, arm = wide(x), wide(outcome), wide(arm)
            weight, bias, linear, penalty = wide(weight), wide(bias), wide(linear), wide(penalty)
        plain = Arm.both(x, outcome, arm, self.pseudo_count)
        stiff = plain.solvers(linear)
        directions = _standardised(_per_table(plain.directions(stiff[0])).flatten(2), arm.sum(-1, keepdim=True))
        hinges = nn.functional.relu(torch.cat([x, directions], 2) @ weight + bias)
        bent = Arm.both(hinges, outcome, arm, self.pseudo_count)
        logistic = self.log_logistic.exp().to(x.dtype)
        *flexible, sharp = bent.solvers(torch.cat([penalty, 2 * logistic.view(1)]))
        fits = [plain.fit(solver) for solver in stiff] + [bent.fit(solver) for solver in flexible]
        candidates = [plain.means(), *(fit for fit, _ in fits), bent.logistic(logistic, sharp)]
        stack = _per_table(to_simplex(torch.stack(candidates, 2)))  # (B,N,2,C,4)
        law = self._averaged(stack, outcome, arm)
        bent_fit, sharp_fit = stack[:, :, :, len(linear) + 1], stack[:, :, :, -1].log()
        parts = [
            directions,
            law.log().flatten(2),
            bent_fit.flatten(2),
            sharp_fit.flatten(2),
            _per_table(fits[-1][1]).clamp(max=1),
        ]
        return torch.cat(parts, 2).float(), law

    def _averaged(self, stack: Tensor, outcome: Tensor, arm: Tensor) -> Tensor:
        """Mean of the candidates by their leave-one-out likelihood, tempered: fits of one table err together."""
        likelihood = (stack * outcome.unsqueeze(2).unsqueeze(2)).sum(-1).clamp(min=LEAST / 2).log()
        total = (likelihood * arm.unsqueeze(-1)).sum((1, 2))
        share = (self.log_temper.exp().to(total.dtype) * total).softmax(-1)
        return (stack * share.unsqueeze(1).unsqueeze(1).unsqueeze(-1)).sum(3)


def _per_table(values: Tensor) -> Tensor:
    """(2B,N,...) of both arms -> (B,N,2,...)."""
    return values.reshape(-1, 2, *values.shape[1:]).transpose(1, 2)


def _standardised(values: Tensor, weight: Tensor) -> Tensor:
    """Mean 0 and variance 1, softly, unlike `prepare.standardise`: what hardly varies stays small, gradients finite."""
    total = weight.sum(1, keepdim=True).clamp(min=1e-6)
    centred = values - (weight * values).sum(1, keepdim=True) / total
    return centred / ((weight * centred.square()).sum(1, keepdim=True) / total + 1e-6).sqrt()
