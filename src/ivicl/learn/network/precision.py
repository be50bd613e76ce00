"""Double precision, where the device has it."""

from __future__ import annotations

from torch import Tensor

WITHOUT_DOUBLE = frozenset({"mps"})
"""Kinds of devices that have no float64: a network may be trained there in float32; it is exported on the CPU."""


def wide(values: Tensor) -> Tensor:
    """The values in float64, or in float32 on a device that has nothing wider."""
    return values.float() if values.device.type in WITHOUT_DOUBLE else values.double()
