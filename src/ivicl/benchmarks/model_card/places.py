"""Where the truth lies in a posterior: what should be uniform over tables of the prior, and a test of whether it is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ivicl._shared.special import chi_squared_tail
from ivicl.methods.pretrained.schema_2 import LOWEST, OFFSETS, Posteriors
from ivicl.posterior import EFFECT_EDGES

BINS = 20


def place_in_cells(edges: np.ndarray, mass: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(B,) probability below the truth, plus a random share of its cell: uniform where the posterior is right.

    Edges (B,M+1) rising, mass (B,M), truth (B,). A spike is narrower than a cell, and what lies at an end of what is
    possible belongs to the last cell that has a width: the random share spreads both over their cell.
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
    """(B,) of the effects."""
    edges = np.broadcast_to(EFFECT_EDGES, (len(found), len(EFFECT_EDGES)))
    return place_in_cells(edges, found.effect, truth, rng)


def quantity_places(found: Posteriors, quantity: int, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(B,) of one of the quantities."""
    raw = found.anchor[:, quantity, None] + found.unit[:, quantity, None] * OFFSETS
    return place_in_cells(np.clip(raw, LOWEST[quantity], 1.0), found.mass[:, quantity], truth, rng)


def uniform_p(places: np.ndarray) -> float:
    """p of the chi-squared test that they are uniform."""
    histogram = np.histogram(places, np.linspace(0, 1, BINS + 1))[0]
    even = len(places) / BINS
    return chi_squared_tail(float(((histogram - even) ** 2 / even).sum()), BINS - 1)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """p-values for several tests at once: each is small only if so are all that are smaller, times what is left."""
    adjusted, worst = {}, 0.0
    for k, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        worst = max(worst, min(1.0, p * (len(p_values) - k)))
        adjusted[name] = worst
    return {name: adjusted[name] for name in p_values}
