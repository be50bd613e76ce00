"""The optimizer and the average that the trainer had until 2026-11-16, behind the interface of today's."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ivicl.learn.network.groups import ParameterGroup, Teacher

BETAS = (0.9, 0.98)


def orthogonalise(matrix: Tensor, steps: int = 5) -> Tensor:
    """Nearest semi-orthogonal matrix, roughly, by a quintic Newton-Schulz iteration, in float32."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


class Ours:
    def __init__(self, groups: Mapping[str, ParameterGroup], lr: float, muon: bool, weight_decay: float) -> None:
        self.groups, self.lr, self.weight_decay = groups, lr, weight_decay
        self.muon = {name for group in groups.values() for name in group.hidden if muon}
        self.first: dict[str, Tensor] = {}
        self.second: dict[str, Tensor] = {}
        self.steps: dict[str, int] = {}
        for name, p in ((n, p) for group in groups.values() for n, p in group.parameters.items()):
            self.first[name], self.second[name], self.steps[name] = torch.zeros_like(p), torch.zeros_like(p), 0

    @torch.no_grad()
    def step(self, rates: Mapping[Teacher, float]) -> None:
        for group in self.groups.values():
            lr = self.lr * rates[group.teacher]
            for name, p in group.parameters.items():
                if p.grad is not None and lr > 0:
                    self._update(name, p, p.grad, lr)

    def _update(self, name: str, p: nn.Parameter, grad: Tensor, lr: float) -> None:
        self.steps[name] += 1
        first, second, count = self.first[name], self.second[name], self.steps[name]
        if p.ndim >= 2:
            p.mul_(1 - lr * self.weight_decay)
        if name in self.muon:
            first.mul_(0.95).add_(grad)
            p.add_(orthogonalise(grad + 0.95 * first), alpha=-lr * 0.2 * math.sqrt(max(p.shape)))
        else:
            first.lerp_(grad, 1 - BETAS[0])
            second.lerp_(grad.square(), 1 - BETAS[1])
            denominator = (second / (1 - BETAS[1] ** count)).sqrt_().add_(1e-8)
            p.addcdiv_(first, denominator, value=-lr / (1 - BETAS[0] ** count))


class OurAverage:
    """Every weight's running average, by name; as AveragedModel, of which it does what the trainer calls."""

    def __init__(self, network: nn.Module, most: float) -> None:
        self.values = {name: value.detach().clone() for name, value in network.state_dict().items()}
        self.most, self.count = most, 0

    @torch.no_grad()
    def update_parameters(self, network: nn.Module) -> None:
        decay = min(self.most, (1 + self.count) / (10 + self.count))
        for name, value in network.state_dict().items():
            self.values[name].lerp_(value, 1 - decay)
        self.count += 1
