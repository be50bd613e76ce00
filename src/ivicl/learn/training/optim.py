"""Muon for the matrices inside blocks, AdamW for the rest; a state that is nothing but named tensors."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def is_block_matrix(name: str, parameter: Tensor) -> bool:
    """Muon is for hidden matrices; embeddings, heads, norms, biases and latents go to AdamW."""
    return parameter.ndim == 2 and ".blocks." in name


def orthogonalise(matrix: Tensor, steps: int = 5) -> Tensor:
    """Nearest semi-orthogonal matrix, roughly, by a quintic Newton-Schulz iteration."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


class MuonAdamW:
    """Both optimizers behind one `step`. `scales[name]` multiplies the learning rate of a parameter."""

    def __init__(
        self, model: nn.Module, lr: float, muon: bool = True, weight_decay: float = 0.01, betas: tuple = (0.9, 0.98)
    ) -> None:
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.lr = lr
        self.betas = betas
        self.weight_decay = weight_decay
        self.muon = {name for name, p in self.parameters.items() if muon and is_block_matrix(name, p)}
        self.state: dict[str, Tensor] = {}
        for name, p in self.parameters.items():
            self.state[f"first.{name}"] = torch.zeros_like(p)
            if name not in self.muon:
                self.state[f"second.{name}"] = torch.zeros_like(p)
            # Counted apart for each parameter: paths may start learning at different steps.
            self.state[f"steps.{name}"] = torch.zeros((), dtype=torch.float64)

    @torch.no_grad()
    def step(self, scales: dict[str, float]) -> None:
        for name, p in self.parameters.items():
            if p.grad is None or scales.get(name, 1.0) == 0:
                continue
            lr = self.lr * scales.get(name, 1.0)
            self.state[f"steps.{name}"] += 1
            first = self.state[f"first.{name}"]
            if p.ndim >= 2:
                p.mul_(1 - lr * self.weight_decay)
            if name in self.muon:
                first.mul_(0.95).add_(p.grad)
                update = orthogonalise(p.grad + 0.95 * first)
                # This scale gives the update the root mean square of an AdamW step, so one learning rate serves both.
                p.add_(update, alpha=-lr * 0.2 * math.sqrt(max(p.shape)))
            else:
                beta1, beta2 = self.betas
                count = self.state[f"steps.{name}"].item()
                second = self.state[f"second.{name}"]
                first.lerp_(p.grad, 1 - beta1)
                second.lerp_(p.grad.square(), 1 - beta2)
                denominator = (second / (1 - beta2**count)).sqrt_().add_(1e-8)
                p.addcdiv_(first, denominator, value=-lr / (1 - beta1**count))


def clip_gradients(model: nn.Module, most: float) -> float:
    """Scale the gradients of each part of the model to a joint norm of at most `most`; returns the largest norm before.

    Each part by itself, so that a wild step of one does not silence the others.
    """
    norms = [0.0]
    for part in model.children():
        gradients = [p for p in part.parameters() if p.grad is not None]
        if gradients:
            norms.append(float(nn.utils.clip_grad_norm_(gradients, most)))
    return max(norms)
