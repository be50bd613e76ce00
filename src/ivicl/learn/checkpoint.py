"""Weights to go on training from: one safetensors file, with the whole config in its header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ivicl.errors import ModelFileError
from ivicl.learn.architectures import Network, build, config_from_dict
from ivicl.learn.export import HALF_FROM
from ivicl.learn.files import load_tensors, save_tensors


def save_weights(network: Network, path: Path, record: dict[str, Any]) -> None:
    """Large tensors in half precision, as in the exported graph."""
    state = {name: (v.half() if v.numel() >= HALF_FROM else v) for name, v in network.state_dict().items()}
    save_tensors(path, state, {"network": network.config.to_dict(), **record})


def load_weights(path: Path) -> tuple[Network, dict[str, Any]]:
    """The network and what was recorded with it."""
    tensors, record = load_tensors(path)
    if "network" not in record:
        raise ModelFileError(
            f"The file {str(path)!r} holds no network's weights; to start from a run, name its folder."
        )
    network = build(config_from_dict(record["network"]))
    network.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return network.eval(), record
