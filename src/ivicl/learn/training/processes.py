"""One run in several processes: joining them, and summing what they found."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist

from ivicl.learn.network.model import IVNetwork


def sum_over_processes(network: IVNetwork, sums: dict[str, float], sizes: dict[str, int]) -> None:
    for parameter in network.parameters():
        if parameter.requires_grad:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            dist.all_reduce(parameter.grad)
    values = torch.tensor([*sums.values(), *sizes.values()], dtype=torch.float64)
    dist.all_reduce(values)
    for key, value in zip([*sums], values[: len(sums)].tolist(), strict=True):
        sums[key] = value
    for key, value in zip([*sizes], values[len(sums) :].tolist(), strict=True):
        sizes[key] = int(value)


def join() -> tuple[int, int]:
    """Join the process group that torchrun set up, if any."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world > 1 and not dist.is_initialized():
        dist.init_process_group("gloo")
    return (dist.get_rank(), world) if world > 1 else (0, 1)


def leave(world: int) -> None:
    """Wait for the others and leave the group."""
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()
