"""Weights to go on training from: a model file holds them all, and the config, so that no second file is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.network.model import IVNetwork
from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.pretrained.streaming.weights import PLACES, Weights


def load_weights(path: Path) -> tuple[IVNetwork, dict[str, Any]]:
    """The network of a model file, to the bit as it was exported, and what is recorded there about it.

    The exporter says where each parameter is (`export._places`), for tracing renames, turns and shares them.
    """
    model = Model.load(path)
    record = model.metadata
    network = IVNetwork(NetworkConfig.from_dict(record["network"]))
    held = Weights(path.read_bytes(), record[PLACES])
    network.load_state_dict({name: torch.from_numpy(held[name]).to(v) for name, v in network.state_dict().items()})
    return network.eval(), record
