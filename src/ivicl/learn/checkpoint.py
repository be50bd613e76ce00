"""Weights to continue training from: a model file holds all of them, and the config, so no other file is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.network.model import IVNetwork
from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.pretrained.streaming.weights import PLACES, Weights


def load_weights(path: Path) -> tuple[IVNetwork, dict[str, Any]]:
    """The network of a model file, exactly as it was exported, and what the file records about it.

    The exporter recorded where each parameter is (`export._places`), because tracing renames, transposes and shares
    them.
    """
    model = Model.load(path)
    record = model.metadata
    network = IVNetwork(NetworkConfig.from_dict(record["network"]))
    held = Weights(path.read_bytes(), record[PLACES])
    network.load_state_dict({name: torch.from_numpy(held[name]).to(v) for name, v in network.state_dict().items()})
    return network.eval(), record
