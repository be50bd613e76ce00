"""Muon for the matrices of hidden layers, AdamW for the rest; a state that is nothing but named tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ivicl.learn.network.groups import ParameterGroup, Teacher
from ivicl.learn.training.muon import Muon


class MuonAdamW:
    """Both optimizers behind one `step`, with a learning rate for each teacher."""

    def __init__(self, groups: Mapping[str, ParameterGroup], lr: float, muon: bool, weight_decay: float) -> None:
        self.lr = lr
        self.parameters = {name: p for group in groups.values() for name, p in group.parameters.items()}
        matrices, others = [], []
        for group in groups.values():
            hidden = group.hidden if muon else frozenset()
            rest = {name: p for name, p in group.parameters.items() if name not in hidden}
            matrices.append((group.teacher, [group.parameters[name] for name in sorted(hidden)], weight_decay))
            # Only what multiplies is decayed.
            others.append((group.teacher, [p for p in rest.values() if p.ndim >= 2], weight_decay))
            others.append((group.teacher, [p for p in rest.values() if p.ndim < 2], 0.0))
        self.optimizers: list[torch.optim.Optimizer] = [torch.optim.AdamW(_named(others), lr, (0.9, 0.98))]
        if any(parameters for _, parameters, _ in matrices):
            self.optimizers.append(Muon(_named(matrices), lr))

    def step(self, rates: Mapping[Teacher, float]) -> None:
        """One update at `rates` times the learning rate; what has rate 0 stays as it is, its momenta included."""
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.lr * rates[group["teacher"]]
                if not group["lr"]:
                    for parameter in group["params"]:
                        parameter.grad = None
            optimizer.step()

    def state(self) -> dict[str, Tensor]:
        """All momenta and counts of steps, by parameter."""
        found = {}
        for name, parameter in self.parameters.items():
            for optimizer in self.optimizers:
                found.update({f"{name}.{key}": value for key, value in optimizer.state.get(parameter, {}).items()})
        return found

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what `state` returned."""
        owners = {p: o for o in self.optimizers for group in o.param_groups for p in group["params"]}
        for name, value in state.items():
            of, _, key = name.rpartition(".")
            parameter = self.parameters[of]
            # torch keeps the counts of steps on the CPU, whatever the device.
            owners[parameter].state[parameter][key] = value if key == "step" else value.to(parameter.device)


def _named(groups: list[tuple[Teacher, list[nn.Parameter], float]]) -> list[dict[str, Any]]:
    return [
        {"params": parameters, "teacher": teacher, "weight_decay": decay}
        for teacher, parameters, decay in groups
        if parameters
    ]


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
