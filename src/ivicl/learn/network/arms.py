"""Ridge and logistic regressions of soft cells, in closed form: the rows of an arm, with what they are worth.

A row's own arm is predicted leave-one-out, so that no fit can flatter itself. Weights of rows are frequencies: k copies
of a row and one row of weight k give the same fits.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.learn.network.linalg import inverse
from ivicl.learn.network.logistic import logistic_fit
from ivicl.methods.pretrained.streaming.constants import LEAST, RELATIVE_FLOOR


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


def per_table(values: Tensor) -> Tensor:
    """(2B,N,...) of both arms -> (B,N,2,...)."""
    return values.reshape(-1, 2, *values.shape[1:]).transpose(1, 2)


def standardised(values: Tensor, weight: Tensor) -> Tensor:
    """Mean 0 and variance 1, softly, unlike `prepare.standardise`: what hardly varies stays small, gradients finite."""
    total = weight.sum(1, keepdim=True).clamp(min=1e-6)
    centred = values - (weight * values).sum(1, keepdim=True) / total
    return centred / ((weight * centred.square()).sum(1, keepdim=True) / total + 1e-6).sqrt()
