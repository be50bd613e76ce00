"""Where a run computes. Tables are always drawn on the CPU, so that every device sees the same ones."""

from __future__ import annotations

import torch

from ivicl.errors import InputError

DEVICES = ("auto", "cpu", "cuda", "mps")


def pick(name: str, local_rank: int = 0) -> torch.device:
    """The device that a setting means on this machine, for one of the processes that run on it.

    `auto` is a CUDA device where there is one, else the CPU. An Apple GPU must be asked for: it has no float64.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if local_rank >= count:
            raise InputError(
                f"device is 'cuda', but PyTorch sees {count} CUDA devices and this is process {local_rank + 1} "
                "on this machine; start as many processes as there are devices, or set device=cpu."
            )
        return torch.device("cuda", local_rank)
    if name == "mps" and not torch.backends.mps.is_available():
        raise InputError("device is 'mps', but PyTorch sees no Apple GPU; set device=auto or device=cpu.")
    return torch.device(name)


def rows_in_bf16(precision: str, device: torch.device) -> bool:
    """Whether the rows' blocks compute in bf16: where asked for, or by `auto` where the device multiplies it natively.

    Emulated, bf16 is a hundred times slower than float32.
    """
    if precision != "auto":
        return precision == "bf16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())


def backend(device: torch.device) -> str:
    """What processes talk through: NCCL between CUDA devices, else Gloo."""
    if device.type == "mps":
        raise InputError("Several processes cannot share an Apple GPU; set device=cpu, or start one process.")
    return "nccl" if device.type == "cuda" else "gloo"


def use_threads(count: int) -> None:
    """Threads of this process for all computing on the CPU from now on."""
    torch.set_num_threads(count)
