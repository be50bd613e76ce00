"""Weights to go on training from: safetensors, with the whole config in the header."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file

from ivicl.errors import ModelFileError
from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.network.export import HALF_FROM
from ivicl.learn.network.model import IVNetwork


def save_weights(network: IVNetwork, path: Path, record: dict[str, Any]) -> None:
    """Large tensors in half precision, as in the exported graph."""
    state = {k: (v.half() if v.numel() >= HALF_FROM else v).contiguous() for k, v in network.state_dict().items()}
    save_file(state, path, {"ivicl": json.dumps({"network": network.config.to_dict(), **record}, sort_keys=True)})


def load_weights(path: Path) -> tuple[IVNetwork, dict[str, Any]]:
    """The network and what was recorded with it."""
    try:
        with safe_open(path, framework="pt") as file:
            record = json.loads(file.metadata()["ivicl"])
            state = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError as error:
        raise ModelFileError(f"There are no weights at {str(path)!r}.") from error
    except Exception as error:
        raise ModelFileError(f"The weights file {str(path)!r} cannot be read: {error}.") from error
    network = IVNetwork(NetworkConfig.from_dict(record["network"]))
    network.load_state_dict(state)
    return network.eval(), record
