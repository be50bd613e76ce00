"""The whole network for one table in chunks: what its graph would say of all the rows at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ivicl.identification.end_scores import noise
from ivicl.methods.pretrained import recoding
from ivicl.methods.pretrained.schema_2 import QUANTITIES, Posteriors
from ivicl.methods.pretrained.stacks import Table
from ivicl.methods.pretrained.streaming.constants import CODINGS, LOGISTIC_STEPS
from ivicl.methods.pretrained.streaming.covariates import read_rows
from ivicl.methods.pretrained.streaming.grown import PASSES
from ivicl.methods.pretrained.streaming.layers import Layers
from ivicl.methods.pretrained.streaming.regression import Regression, Shape
from ivicl.methods.pretrained.streaming.seen_rows import SeenRows, together
from ivicl.methods.pretrained.streaming.source import Recoded, Source
from ivicl.methods.pretrained.streaming.summary import summarise
from ivicl.methods.pretrained.streaming.weights import Weights
from ivicl.methods.pretrained.streaming.writing import Written, mixed, write

PREPARING = 5
"""Passes over the rows before anything is fitted."""


class StagedNetwork:
    """The network of a model file, run in stages."""

    def __init__(self, weights: Weights, config: dict[str, Any]) -> None:
        self._weights, self._config = weights, config
        self._layers = Layers(weights, config["heads"])

    def predict(self, table: Table, on_rows: Callable[[int], None] = lambda rows: None) -> Posteriors:
        """The posteriors of one table with covariates. `on_rows` is told how many rows' worth of work is done."""
        source = Source(table)
        design = np.ones(len(QUANTITIES)) if table.design is None else np.asarray(table.design, np.float32)
        weights = source.coding_weights(self._config["tie_ramp"])
        codings = np.flatnonzero(weights)
        source.prepare(_evenly(on_rows, PREPARING + len(codings) * self._passes))
        parts, laws = [], []
        for coding in codings:
            flips = CODINGS[coding]
            told = design[recoding.SOURCE[coding]].astype(np.float64)
            written, seen = self._canonical(source, flips, table.no_defiers, told)
            parts.append(written.recoded(int(coding), flips))
            laws.append(None if seen is None else seen.recoded(flips))
        found = mixed(parts, weights[codings].astype(np.float64))
        effect, mass = (part / part.sum(-1, keepdims=True) for part in (found.effect, found.mass))
        rows = together(laws, weights[codings].astype(np.float64))
        return Posteriors(effect[None], found.anchor[None], found.unit[None], mass[None], (rows,))

    @property
    def _passes(self) -> int:
        """Times that it goes through the rows for a coding: sums, tree, logistic steps, likelihoods, blocks, end."""
        return 2 + PASSES + LOGISTIC_STEPS + 1 + int(self._config["depth"]) + 1

    def _canonical(
        self, source: Source, flips: tuple[int, int, int], no_defiers: bool, design: np.ndarray
    ) -> tuple[Written, SeenRows | None]:
        config, layers = self._config, self._layers
        rows = Recoded(source, flips, config["max_features"])
        fewer = min(config["max_count"] / source.total, 1.0)
        smaller = float(design[:2].min())
        worth = min(smaller, 1.0)
        told = summarise(rows.totals, fewer * worth, no_defiers, layers, config["summary_depth"], config["gamma"])
        # The design is allowed for at the end, once and for all: the standard error is that of the people there are.
        told = replace(told, se=told.se * np.sqrt(worth))
        raw = self._heads("summary_heads", told.hidden)
        anchor, unit, limit, seen = told.value, told.se, None, None
        if rows.columns:
            shape = Shape(
                config["max_features"], config["regression_features"], config["tree_depth"], 4 * config["gamma"]
            )
            temperature = noise(rows.totals.counts.sum((1, 2)) * fewer)
            regression = Regression(rows, self._weights, shape)
            # Fewer people have larger units: what decides is the root of how many are left.
            fewest = float(rows.totals.counts.sum((1, 2)).min()) * np.sqrt(worth) * fewer
            found = read_rows(rows, regression, layers, config["depth"], told, temperature, fewest)
            raw += self._heads("covariate_heads", found.pooled)
            anchor, unit, limit, seen = found.anchor, found.unit, found.limit, found.rows
        # A design that is worth a share f of its people makes standard errors 1/sqrt(f) as large; within what can be.
        # The effect takes the smaller of its two ends'.
        own, about_effect = ((unit / np.sqrt(np.maximum(factor, 1e-6))).clip(1e-7, 0.5) for factor in (design, smaller))
        return write(raw, anchor, own, about_effect, told.spikes if told.spiked else None, limit), seen

    def _heads(self, name: str, hidden: np.ndarray) -> np.ndarray:
        """Raw outputs: the effect's parts, then those of the quantities."""
        return np.concatenate([self._layers.linear(f"{name}.{part}", hidden) for part in ("effect", "ends")])


def _evenly(on_rows: Callable[[int], None], passes: int) -> Callable[[int], None]:
    """Rows of so many passes, told as if there were one."""
    done = 0

    def told(rows: int) -> None:
        nonlocal done
        before, done = done // passes, done + rows
        on_rows(done // passes - before)

    return told
