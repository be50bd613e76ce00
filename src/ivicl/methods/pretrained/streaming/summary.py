"""The summary path of `learn.network.summary` for one table, from its totals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ivicl.identification.end_scores import Averages, noise
from ivicl.identification.mean_terms import mean_terms
from ivicl.methods.pretrained.streaming.constants import FLOOR
from ivicl.methods.pretrained.streaming.layers import Layers
from ivicl.methods.pretrained.streaming.source import Totals
from ivicl.methods.pretrained.streaming.weights import Weights


@dataclass(frozen=True)
class Spikes:
    """(C,) each: where they lie, how uncertain that is, and the logarithm of their rough share of the mass."""

    place: np.ndarray
    spread: np.ndarray
    log_share: np.ndarray


@dataclass(frozen=True)
class Summarised:
    """What the table says without its covariates."""

    hidden: np.ndarray
    """(S,)."""
    value: np.ndarray
    """(Q,) the quantities."""
    se: np.ndarray
    """(Q,)."""
    spikes: Spikes
    spiked: bool
    """The corners of the sixteen strata say something: outcomes of 0 and 1, and defiers not excluded."""


def summarise(totals: Totals, scale: float, no_defiers: bool, layers: Layers, depth: int, gamma: float) -> Summarised:
    """`scale`: what a person is worth."""
    pseudo_count = 4 * gamma
    counts = totals.counts.reshape(8) * scale
    spiked = totals.binary and not no_defiers
    law = _smoothed(counts, pseudo_count)
    value, se = _estimates(counts, totals.spread, pseudo_count)
    spikes = _spikes(law, counts.reshape(2, 4).sum(1), layers.weights, gamma)
    arms = counts.reshape(2, 4)
    size = arms.sum(1)
    unit = math.log(1e4)
    spread = totals.spread.reshape(4)
    parts = [
        2 * (arms / np.maximum(size, 1)[:, None]).reshape(8), np.log(counts + 0.1) / unit, np.log(size + 0.1) / unit,
        mean_terms(law.reshape(2, 2, 2)).reshape(16), value, np.log(np.maximum(se, 1e-6)) / unit + 1,
        spread, np.log(spread + 1e-3) / 4, [float(totals.binary)], [float(no_defiers)],
        (1 + spikes.log_share / -math.log(FLOOR)) * spiked,
    ]  # fmt: skip
    hidden = layers.linear("summary.embed", np.concatenate(parts))
    for k in range(depth):
        hidden = layers.residual(f"summary.blocks.{k}", hidden)
    return Summarised(layers.norm("summary.norm", hidden), value, se, spikes, spiked)


def _smoothed(counts: np.ndarray, pseudo_count: float) -> np.ndarray:
    """(2,4) posterior means of the law."""
    arms = counts.reshape(2, 4)
    found: np.ndarray = (arms + pseudo_count) / (arms.sum(1, keepdims=True) + 4 * pseudo_count)
    return found


def _estimates(counts: np.ndarray, spread: np.ndarray, pseudo_count: float) -> tuple[np.ndarray, np.ndarray]:
    """The quantities without covariates, and their standard errors."""
    people = counts.reshape(2, 4).sum(1)
    law = _smoothed(counts, pseudo_count)
    arms = ((people + 1) / (people + 1).sum())[None]
    temperature = noise(people)
    about = Averages.of(law.reshape(1, 8), arms, np.ones(1), temperature)
    c = about.coefficients(law.reshape(1, 8), arms, temperature)[0].reshape(-1, 2, 2, 2)
    cells = law.reshape(2, 2, 2)
    shown = cells.sum(-1)
    high = cells[..., 1] / np.maximum(shown, 1e-30)
    centre, slope = c[..., 0] * (1 - high) + c[..., 1] * high, c[..., 1] - c[..., 0]
    within = slope**2 * high * (1 - high) * spread
    variance = (shown * (centre**2 + within)).sum(-1) - (shown * centre).sum(-1) ** 2  # (Q,2)
    total = (np.maximum(variance, 0) / (people + 4 * pseudo_count + 1)).sum(-1)
    # Nobody has seen everything: even a table without variation leaves the weight of a person open.
    return about.values(), np.sqrt(total + (0.1 / (people + 2) ** 2).sum())


def _spikes(law: np.ndarray, people: np.ndarray, weights: Weights, gamma: float) -> Spikes:
    """`learn.network.vertices.CornerTable`."""
    p = law.reshape(8)
    strata, members, effects, owners = (
        weights.wide(f"corners.{n}") for n in ("strata", "members", "effects", "owners")
    )

    def deviation(functions: np.ndarray) -> np.ndarray:
        padded = np.concatenate([functions, np.zeros((len(functions), 1))], 1)
        variance = np.full(len(functions), 1e-8)
        for z in (0, 1):
            part, of_arm = p[4 * z : 4 * z + 4], padded[:, 4 * z : 4 * z + 4]
            spread = of_arm**2 @ part - (of_arm @ part) ** 2
            variance += np.maximum(spread, 0) / (people[z] + 16 * gamma + 1)
        answer: np.ndarray = np.sqrt(variance)
        return answer

    unit = deviation(strata)
    u = (strata @ p[:7]) / unit
    log_size = np.log(unit) + 0.5 * np.log(np.maximum(u, 0) ** 2 + 0.1)
    log_held = (gamma - 1) * log_size - 0.5 * np.minimum(u, 0) ** 2
    log_kind = members @ np.maximum(log_held, -60)
    mass = np.exp(log_kind - log_kind.max()) @ owners
    place = (effects @ p[:7]).clip(-1, 1)
    return Spikes(place, deviation(effects), np.log(mass / mass.sum() + FLOOR))
