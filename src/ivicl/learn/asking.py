"""Running a network on arrays, as its exported graph would be run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from ivicl.learn.export import signature
from ivicl.learn.network.model import IVNetwork


@torch.no_grad()
def ask(network: IVNetwork, feed: Mapping[str, np.ndarray], outputs: Sequence[str]) -> list[np.ndarray]:
    """The named outputs of a network for the named inputs; the names are those of the exported file."""
    told = signature()
    found = network(*(torch.from_numpy(feed[name]) for name in told.arguments))
    named = dict(zip(told.outputs, found, strict=False))
    return [named[name].numpy() for name in outputs]
