"""A model that answers at once: bounds from the weighted counts, moved a little by the covariates.

It keeps the promises of the real graph that the product relies on (rows of weight zero and constant covariates change
nothing; weights are counts), so that a mistake in stacking, padding or unstacking shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.end_scores import end_scores
from ivicl.methods.pretrained.schema_2 import OFFSETS, Graph, Posteriors
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior

EVEN = np.diff(np.clip((OFFSETS + 1) / 2, 0, 1))
"""Masses of a posterior that is even within a unit of its anchor."""


@dataclass(frozen=True)
class BinnedAnswers:
    """Posteriors (B,K) of the effect and of the two ends on bins of [-1, 1], for tests that lay them out by hand."""

    effect: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def __len__(self) -> int:
        return len(self.effect)

    def of(self, name: str, table: int = 0) -> BinnedPosterior:
        return BinnedPosterior(EFFECT_EDGES, getattr(self, name)[table])

    @classmethod
    def joined(cls, parts: list[BinnedAnswers]) -> BinnedAnswers:
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("effect", "lower", "upper")))


class StandIn:
    name = "stand-in"
    sha256 = "0" * 64
    graph = Graph()
    staged = None

    def __init__(self, max_features: int = 64) -> None:
        self.metadata = {"network": {"max_features": max_features, "max_count": 1e8}}
        self.shapes: list[tuple[int, ...]] = []

    def predict(self, x, z, t, y, w, v=None, no_defiers=None, design=None) -> Posteriors:
        x, z, t, y, w = (np.asarray(v, dtype=np.float64) for v in (x, z, t, y, w))
        self.shapes.append(x.shape)
        parts = [self._one(*each) for each in zip(x, z, t, y, w, strict=True)]
        effect, anchor, unit = (np.stack(part) for part in zip(*parts, strict=True))
        unit = unit if design is None else unit / np.sqrt(design)
        mass = np.broadcast_to(EVEN, (*anchor.shape, len(EVEN)))
        return Posteriors(effect, anchor, unit, mass, (None,) * len(effect))

    def on_one_thread(self) -> StandIn:
        return self

    def predict_side_by_side(self, passes) -> Iterator[Posteriors]:
        return (self.predict(*arrays) for arrays in passes)

    def predict_counts(self, tables) -> Posteriors:
        counts = np.asarray(tables, np.float64).reshape(-1, 8)
        cell = np.broadcast_to(np.arange(8), counts.shape)
        return self.predict(np.zeros((*counts.shape, 0)), cell // 4, cell // 2 % 2, cell % 2, counts)

    def _one(self, x, z, t, y, w):
        cell = (4 * z + 2 * t).astype(int)
        counts = (np.bincount(cell, w * (1 - y), 8) + np.bincount(cell + 1, w * y, 8)).reshape(2, 2, 2) + 0.25
        law = counts / counts.sum(axis=(1, 2), keepdims=True)
        lower, upper = sharp_ends(law)
        middle = (lower + upper) / 2
        lower, upper = min(lower, middle), max(upper, middle)
        moved = float(np.tanh((w @ np.abs(np.clip(x, -1e3, 1e3))).sum() / w.sum())) if x.shape[1] else 0.0
        half = (upper - lower) / 2 * (1 - 0.3 * moved) + 0.01
        anchor = end_scores(law[None], np.array([w @ z / w.sum()]), z, t, y, w).value
        anchor[:2] = middle - half, middle + half
        return _between(middle - half, middle + half), anchor, np.full(11, 0.4 / np.sqrt(w.sum() + 4))


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
