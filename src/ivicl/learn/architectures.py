"""The networks that can be trained, behind one door: each is made from its config; a saved config names its kind."""

from __future__ import annotations

from typing import Any

from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.network.model import IVNetwork
from ivicl.learn.second.config import SecondConfig
from ivicl.learn.second.model import SecondNetwork

Network = IVNetwork | SecondNetwork
Config = NetworkConfig | SecondConfig


def build(config: Config) -> Network:
    """A network with fresh weights."""
    return SecondNetwork(config) if isinstance(config, SecondConfig) else IVNetwork(config)


def config_from_dict(values: dict[str, Any]) -> Config:
    """The inverse of a config's `to_dict`."""
    return SecondConfig.from_dict(values) if "architecture" in values else NetworkConfig.from_dict(values)
