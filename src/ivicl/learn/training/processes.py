"""One run in several processes: joining them, and agreeing on what they found.

Every collective call is made by all processes in the same order. That is why a wish to stop is agreed on as well: a
process that left on its own would pair its goodbye with the others' next sum.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ivicl.learn.training.devices import backend


def local_rank() -> int:
    """The number of this process on its machine, as torchrun gives it."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def is_first() -> bool:
    """Whether this process is the one that writes, by torchrun's count over all machines."""
    return os.environ.get("RANK", "0") == "0"


@dataclass(frozen=True)
class Processes:
    """This process among those of the run."""

    rank: int
    world: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Whether this is the one that writes."""
        return self.rank == 0

    def sum_gradients(self, network: nn.Module) -> None:
        """Add up the gradients of all processes, in place."""
        if self.world == 1:
            return
        learnt = [parameter for parameter in network.parameters() if parameter.requires_grad]
        own = [torch.zeros_like(p) if p.grad is None else p.grad for p in learnt]
        for parameter, gradient in zip(learnt, sum_tensors(own), strict=True):
            parameter.grad = gradient

    def sum_values(self, values: list[float]) -> list[float]:
        """Sums over processes."""
        if self.world == 1:
            return values
        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        summed: list[float] = total.tolist()
        return summed

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process; all get the same answer."""
        return self.sum_values([float(flag)])[0] > 0

    def wait(self) -> None:
        """Until all have come here: what the first wrote before is there for all."""
        self.any(False)


def sum_tensors(tensors: list[Tensor]) -> list[Tensor]:
    """Sums over processes, each of the shape it had; in one call, for a call for each costs more than what it sends."""
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    dist.all_reduce(flat)
    sums = torch.split(flat, [tensor.numel() for tensor in tensors])
    return [total.view_as(tensor) for total, tensor in zip(sums, tensors, strict=True)]


@contextlib.contextmanager
def joined(device: torch.device) -> Iterator[Processes]:
    """Join the group that torchrun set up, if any and not joined yet, and leave it together."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Processes(0, 1, device)
        return
    if dist.is_initialized():
        yield Processes(dist.get_rank(), world, device)
        return
    dist.init_process_group(backend(device), device_id=device if device.type == "cuda" else None)
    try:
        processes = Processes(dist.get_rank(), world, device)
        yield processes
        processes.wait()
    finally:
        dist.destroy_process_group()
