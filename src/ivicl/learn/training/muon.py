"""Muon in float32: updates of matrices, made orthogonal.

torch.optim.Muon takes the same steps but orthogonalises in bf16. A processor without bf16 emulates it, at 16
times the time (`records/2026-11-16-library-optimisers`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from ivicl.learn.training.processes import sum_tensors

MOMENTUM = 0.95


def orthogonalise(matrix: Tensor, steps: int = 5) -> Tensor:
    """Nearest semi-orthogonal matrix, roughly, by a quintic Newton-Schulz iteration."""
    x: Tensor
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


def all_orthogonalised(matrices: list[Tensor]) -> list[Tensor]:
    """Every one of them; processes that share a run share this work, which for wide layers is half of a step."""
    world = dist.get_world_size() if dist.is_initialized() else 1
    if world == 1 or not matrices:
        return [orthogonalise(matrix) for matrix in matrices]
    mine = dist.get_rank()
    return sum_tensors([orthogonalise(m) if k % world == mine else torch.zeros_like(m) for k, m in enumerate(matrices)])


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, orthogonalised; decoupled weight decay.

    An update has the root mean square of an AdamW step, so that one learning rate serves both.
    """

    def __init__(self, params: Iterable[dict[str, Any]], lr: float) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        wanted: list[tuple[dict[str, Any], Tensor]] = []
        directions = []
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(parameter)
                momentum = state["momentum_buffer"].mul_(MOMENTUM).add_(parameter.grad)
                wanted.append((group, parameter))
                directions.append(parameter.grad + MOMENTUM * momentum)
        for (group, parameter), update in zip(wanted, all_orthogonalised(directions), strict=True):
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
            parameter.add_(update, alpha=-group["lr"] * 0.2 * math.sqrt(max(parameter.shape)))
