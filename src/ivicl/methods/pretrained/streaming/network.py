"""The whole network for one table in chunks: what its graph would say of all the rows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ivicl.identification.end_scores import noise
from ivicl.methods.pretrained import recoding
from ivicl.methods.pretrained.schema_2 import CELLS, QUANTITIES, SecondPosteriors
from ivicl.methods.pretrained.stacks import Table
from ivicl.methods.pretrained.streaming.constants import CODINGS, LOGISTIC_STEPS
from ivicl.methods.pretrained.streaming.covariates import read_rows
from ivicl.methods.pretrained.streaming.layers import Layers
from ivicl.methods.pretrained.streaming.regression import Regression, Shape
from ivicl.methods.pretrained.streaming.source import Recoded, Source
from ivicl.methods.pretrained.streaming.summary import summarise
from ivicl.methods.pretrained.streaming.weights import Weights
from ivicl.methods.pretrained.streaming.writing import Written, mixed, write


class StagedNetwork:
    """The network of a model file, run in stages."""

    def __init__(self, weights: Weights, config: dict[str, Any]) -> None:
        self._weights, self._config = weights, config
        self._layers = Layers(weights, config["heads"])

    @property
    def passes(self) -> int:
        """Times that it goes through the rows, for one coding."""
        standardising, sums, likelihoods, pooled = 5, 2, 1, 1
        return standardising + sums + LOGISTIC_STEPS + likelihoods + int(self._config["depth"]) + pooled

    def predict(self, table: Table, on_rows: Callable[[int], None] = lambda rows: None) -> SecondPosteriors:
        """The posteriors of one table with covariates. `on_rows` is told the rows done, of `passes` times all."""
        source = Source(table, on_rows)
        design = np.ones(len(QUANTITIES)) if table.design is None else np.asarray(table.design, np.float32)
        weights = source.coding_weights(self._config["tie_ramp"])
        parts, shares = [], []
        for coding, flips in enumerate(CODINGS):
            if weights[coding] > 0:
                told = design[recoding.SOURCE[coding]].astype(np.float64)
                parts.append(self._canonical(source, flips, table.no_defiers, told).recoded(coding, flips))
                shares.append(float(weights[coding]))
        found = mixed(parts, shares)
        effect, mass = (part / part.sum(-1, keepdims=True) for part in (found.effect, found.mass))
        return SecondPosteriors(effect[None], found.anchor[None], found.unit[None], mass[None], (None,))

    def _canonical(self, source: Source, flips: tuple[int, int, int], no_defiers: bool, design: np.ndarray) -> Written:
        config, layers = self._config, self._layers
        rows = Recoded(source, flips, config["max_features"])
        fewer = min(config["max_count"] / source.total, 1.0)
        people = rows.totals.counts.sum((1, 2)) * fewer
        worth = fewer * min(float(design[:2].min()), 1.0)
        told = summarise(rows.totals, worth, no_defiers, layers, config["summary_depth"], config["gamma"])
        shape = Shape(config["max_features"], config["regression_features"], config["tree_depth"], 4 * config["gamma"])
        found = read_rows(rows, Regression(rows, self._weights, shape), layers, config["depth"], told, noise(people))
        raw = []
        for part in ("effect", "ends"):
            base, extra = layers.linear(f"summary_heads.{part}", told.hidden), layers.linear(f"covariate_heads.{part}", found.pooled)
            raw.append(base + extra)
        # A design that is worth a share f of its people makes standard errors 1/sqrt(f) as large; within what can be.
        unit = (found.unit / np.sqrt(np.maximum(design, 1e-6))).clip(1e-7, 0.5)
        return write((raw[0], raw[1].reshape(-1, CELLS)), found.anchor, unit, told.spikes if told.spiked else None)
