"""Where the truth lies within its posterior, and a test of whether that is uniform over tables of the prior."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ivicl._shared.special import chi_squared_tail
from ivicl.methods.pretrained.schema_2 import LOWEST, OFFSETS, Posteriors
from ivicl.posterior import EFFECT_EDGES

BINS = 20


def place_in_cells(edges: np.ndarray, mass: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(B,) probability below the truth, plus a random share of its cell: uniform where the posterior is right.

    Edges (B,M+1) rising, mass (B,M), truth (B,). The random share spreads the truth over its cell, because a spike can
    be narrower than a cell. A truth at an end of the possible values belongs to the outermost cell with a width.
    """
    inside = np.clip(truth, edges[:, 0], edges[:, -1])
    at = (edges[:, :-1] <= inside[:, None]).sum(axis=1) - 1
    width = np.diff(edges, axis=1) > 0
    last = width.shape[1] - 1 - width[:, ::-1].argmax(axis=1)
    at = np.clip(at, width.argmax(axis=1), last)
    rows = np.arange(len(mass))
    below = np.cumsum(mass, axis=1)[rows, at] - mass[rows, at]
    found: np.ndarray = below + rng.random(len(mass)) * mass[rows, at]
    return np.where(truth < edges[:, 0], 0.0, np.where(truth > edges[:, -1], 1.0, found))


def effect_places(found: Posteriors, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(B,) places of the true effects."""
    edges = np.broadcast_to(EFFECT_EDGES, (len(found), len(EFFECT_EDGES)))
    return place_in_cells(edges, found.effect, truth, rng)


def quantity_places(found: Posteriors, quantity: int, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(B,) places of one of the quantities."""
    raw = found.anchor[:, quantity, None] + found.unit[:, quantity, None] * OFFSETS
    return place_in_cells(np.clip(raw, LOWEST[quantity], 1.0), found.mass[:, quantity], truth, rng)


def histogram_of(places: np.ndarray) -> np.ndarray:
    """(BINS,) how many places lie in each slice of [0, 1]."""
    counts: np.ndarray = np.histogram(places, np.linspace(0, 1, BINS + 1))[0]
    return counts


def uniform_p(places: np.ndarray) -> float:
    """p-value of the chi-squared test that the places are uniform."""
    histogram, even = histogram_of(places), len(places) / BINS
    return chi_squared_tail(float(((histogram - even) ** 2 / even).sum()), BINS - 1)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """p-values adjusted for several tests at once, by Holm's step-down method."""
    adjusted, worst = {}, 0.0
    for k, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        worst = max(worst, min(1.0, p * (len(p_values) - k)))
        adjusted[name] = worst
    return {name: adjusted[name] for name in p_values}
