"""Double precision, where the device has it."""

from __future__ import annotations

import torch
from torch import Tensor

WITHOUT_DOUBLE = frozenset({"mps"})
"""Kinds of devices that have no float64: a network may be trained there in float32; it is exported on the CPU."""


def wide(values: Tensor) -> Tensor:
    """The values in float64, or in float32 on a device that has nothing wider."""
    return values.float() if values.device.type in WITHOUT_DOUBLE else values.double()


def moved(values: Tensor, device: torch.device) -> Tensor:
    """The values on that device, float64 as wide as it has: what is drawn on the CPU may be wider than it takes."""
    fits = values.dtype != torch.float64 or device.type not in WITHOUT_DOUBLE
    return (values if fits else values.float()).to(device)
