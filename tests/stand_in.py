"""A model that answers at once: bounds from the weighted counts, moved a little by the covariates.

It keeps the promises of the real graph that the product relies on (rows of weight zero and constant covariates change
nothing; weights are counts), so that a mistake in stacking, padding or unstacking shows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ivicl.identification.balke_pearl import sharp_ends
from ivicl.methods.pretrained.schema_1 import FirstGraph
from ivicl.methods.pretrained.schema_1 import FirstPosteriors as Posteriors
from ivicl.posterior import EFFECT_EDGES


class StandIn:
    name = "stand-in"
    sha256 = "0" * 64
    graph = FirstGraph()
    staged = None

    def __init__(self, max_features: int = 64) -> None:
        self.metadata = {"network": {"max_features": max_features, "max_count": 1e8}}
        self.shapes: list[tuple[int, ...]] = []

    def predict(self, x, z, t, y, w, *_) -> Posteriors:
        x, z, t, y, w = (np.asarray(v, dtype=np.float64) for v in (x, z, t, y, w))
        self.shapes.append(x.shape)
        parts = [self._one(*each) for each in zip(x, z, t, y, w, strict=True)]
        return Posteriors(*(np.stack(part) for part in zip(*parts, strict=True)))

    def predict_side_by_side(self, passes) -> Iterator[Posteriors]:
        return (self.predict(*arrays) for arrays in passes)

    def predict_counts(self, tables) -> Posteriors:
        counts = np.asarray(tables, np.float64).reshape(-1, 8)
        cell = np.broadcast_to(np.arange(8), counts.shape)
        return self.predict(np.zeros((*counts.shape, 0)), cell // 4, cell // 2 % 2, cell % 2, counts)

    def _one(self, x, z, t, y, w):
        counts = np.bincount((4 * z + 2 * t + y).astype(int), w, 8).reshape(2, 2, 2) + 0.25
        lower, upper = sharp_ends(counts / counts.sum(axis=(1, 2), keepdims=True))
        middle = (lower + upper) / 2
        lower, upper = min(lower, middle), max(upper, middle)
        moved = float(np.tanh((w @ np.abs(np.clip(x, -1e3, 1e3))).sum() / w.sum())) if x.shape[1] else 0.0
        half = (upper - lower) / 2 * (1 - 0.3 * moved) + 0.01
        spread = 0.4 / np.sqrt(w.sum() + 4)
        return (
            _between(middle - half, middle + half),
            _between(middle - half - spread, middle - half + spread),
            _between(middle + half - spread, middle + half + spread),
        )


def _between(low: float, high: float) -> np.ndarray:
    cumulated = np.clip((EFFECT_EDGES - low) / (high - low), 0, 1)
    cumulated[0], cumulated[-1] = 0, 1
    return np.diff(cumulated)


def made_up(n: int, seed: int = 0, d: int = 3, amounts: bool = False) -> dict[str, np.ndarray]:
    """A study with covariates x0.., an instrument, a treatment and an outcome that is binary or an amount."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    z = rng.integers(0, 2, n)
    z[:2] = 0, 1
    t = (rng.random(n) < 0.15 + 0.5 * z).astype(int)
    y = np.round(2 * t + x[:, 0] + rng.normal(size=n), 3) if amounts else (rng.random(n) < 0.3 + 0.3 * t).astype(int)
    return {"z": z, "t": t, "y": y} | {f"x{j}": x[:, j] for j in range(d)}
