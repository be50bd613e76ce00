"""Running a network on arrays, as its exported graph would be run; and picking tables from a batch of the prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ivicl.learn.export import signature
from ivicl.learn.network.model import IVNetwork
from ivicl.learn.prior import TableBatch


@torch.no_grad()
def ask(network: IVNetwork, feed: Mapping[str, np.ndarray], outputs: Sequence[str]) -> list[np.ndarray]:
    """The named outputs of a network for the named inputs; the names are those of the exported file."""
    told = signature()
    found = network(*(torch.from_numpy(feed[name]) for name in told.arguments))
    named = dict(zip(told.outputs, found, strict=False))
    return [named[name].numpy() for name in outputs]


def take(batch: TableBatch, tables: np.ndarray) -> TableBatch:
    """Some tables of a batch."""
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    kept: dict[str, Any] = {
        name: value[torch.from_numpy(tables)] for name, value in values.items() if isinstance(value, Tensor)
    }
    return replace(batch, **kept)
