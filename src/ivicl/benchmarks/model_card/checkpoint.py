"""A network as training left it, with the interface of a model file, so that a run can be judged while it goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.pretrained.schema_2 import Graph
from ivicl.methods.pretrained.stacks import Stack


class Checkpoint(Model):
    """The network of a training run's folder."""

    def __init__(self, path: Path) -> None:
        from ivicl.learn.training.run import STATE, result_of

        network, record = result_of(path)
        self.name, self.graph = path.name, Graph()
        self.metadata = {"schema": 2, "network": network.config.to_dict(), **record}
        self.sha256 = hashlib.sha256((path / STATE).read_bytes()).hexdigest()
        self.network = network

    def predict(self, *arrays: np.ndarray | None) -> Any:
        """The posteriors for the tables of a `Stack`, given as the stack's parts."""
        from ivicl.learn.asking import ask

        feed = self.graph.feed(Stack(*arrays))  # type: ignore[arg-type]
        return self.graph.read(ask(self.network, feed, self.graph.outputs))

    def on_one_thread(self) -> Model:
        return self  # torch shares its threads among callers

    def predict_side_by_side(self, passes: Iterable[tuple[np.ndarray | None, ...]]) -> Iterator[Any]:
        """`predict` for each of many passes, in order."""
        return (self.predict(*arrays) for arrays in passes)


def load(path: Path | None) -> Model:
    """The model in a file or in a training run's folder; the shipped one if no path is given."""
    if path is None:
        return Model.shipped()
    return Checkpoint(path) if path.is_dir() else Model.load(path)
