"""From raw outputs to posteriors: the effect's bins, the quantities' grids, and the mixture over tied codings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.methods.pretrained import recoding
from ivicl.methods.pretrained.schema_2 import CELLS, LOWEST, OFFSETS, REACH, SPAN
from ivicl.methods.pretrained.streaming.constants import (
    CORNERS,
    EFFECT_PARTS,
    EFFECT_SPAN,
    END_SPAN,
    PLAIN,
    PYRAMID,
    TAIL,
)
from ivicl.methods.pretrained.streaming.layers import softmax
from ivicl.methods.pretrained.streaming.outward import Limit
from ivicl.methods.pretrained.streaming.summary import Spikes
from ivicl.posterior import N_BINS as BINS

_CENTRES = (np.arange(BINS) + 0.5) * (2 / BINS) - 1
_PLACES = np.arange(BINS, dtype=np.float32) * np.float32(PLAIN - 1) / np.float32(BINS - 1)
_PLACES = _PLACES.astype(np.float64) / (PLAIN - 1)
"""Of the bins on the plain grid; in float32, as the runtimes round them, which a steep grid would show."""


@dataclass(frozen=True)
class Written:
    """Of one table in one coding."""

    effect: np.ndarray
    """(K,) probabilities."""
    anchor: np.ndarray
    """(Q,)."""
    unit: np.ndarray
    """(Q,)."""
    mass: np.ndarray
    """(Q,M) probabilities."""

    def recoded(self, coding: int, flips: tuple[int, int, int]) -> Written:
        """In the caller's coding."""
        source, sign, offset = (part[coding] for part in (recoding.SOURCE, recoding.SIGN, recoding.OFFSET))
        mass = np.where(sign[:, None] < 0, self.mass[source][:, ::-1], self.mass[source])
        effect = self.effect[::-1] if flips[0] != flips[1] else self.effect
        return Written(effect, self.anchor[source] * sign + offset, self.unit[source], mass)


def write(
    raw: np.ndarray,
    anchor: np.ndarray,
    unit: np.ndarray,
    about_effect: np.ndarray,
    spikes: Spikes | None,
    limit: Limit | None,
) -> Written:
    """raw: the effect's parts, then (Q,M) corrections; anchor and unit (Q,), and the unit as the effect reads it."""
    lower, upper = anchor[:2]
    # A unit below one bin cannot be seen at the bins' centres.
    scale = about_effect[:2].clip(1.5 / BINS, 0.25)
    plain, inner, left, right, share, shape, ends = np.split(raw, np.cumsum(EFFECT_PARTS))
    smooth = _read_grid(plain, _PLACES)
    smooth = smooth + _read_grid(inner, _relative(lower, max(upper - lower, 0.01), EFFECT_SPAN))
    smooth = smooth + _read_grid(left, _relative(lower, scale[0], END_SPAN))
    smooth = smooth + _read_grid(right, _relative(upper, scale[1], END_SPAN))
    effect = softmax(smooth)
    if spikes is not None:
        spiky = np.maximum(_spread_mass(spikes, shape), 1e-12)
        effect = effect + (spiky - effect) / (1 + np.exp(-share))
    return Written(np.maximum(effect, 1e-30), anchor, unit, _masses(ends.reshape(-1, CELLS), anchor, unit, limit))


def _read_grid(values: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Linear interpolation of values given on a uniform grid of [0, 1]; flat outside."""
    answer: np.ndarray = np.interp(position, np.linspace(0, 1, len(values)), values)
    return answer


def _relative(anchor: float, scale: float, span: tuple[float, float]) -> np.ndarray:
    found: np.ndarray = ((_CENTRES - anchor) / scale - span[0]) / (span[1] - span[0])
    return found


def _spread_mass(spikes: Spikes, raw: np.ndarray) -> np.ndarray:
    """(K,) the spikes' mass on bins: `learn.network.vertices.spread_mass`."""
    shift, stretch, tilt = np.split(raw, [CORNERS, CORNERS + 1])
    share = softmax(spikes.log_share + shift)
    level = (np.log(spikes.spread) + stretch)[None] - np.log(2 / np.array(PYRAMID))[:, None]
    mass = share * softmax((tilt[:, None] - level**2).T).T  # (levels,C)
    total = np.zeros(0)
    for cells, here in reversed(list(zip(PYRAMID, mass, strict=True))):
        finer = 0.5 * _doubled(total) if len(total) else np.zeros(cells)
        total = finer + _histogram(spikes.place, here, cells)
    answer: np.ndarray = total / total.sum()
    return answer


def _doubled(values: np.ndarray) -> np.ndarray:
    """Cells cut in two, read by interpolation between the middles."""
    middles = np.arange(len(values)) + 0.5
    answer: np.ndarray = np.interp((np.arange(2 * len(values)) + 0.5) / 2, middles, values)
    return answer


def _histogram(place: np.ndarray, mass: np.ndarray, cells: int) -> np.ndarray:
    """(cells,): mass at places of [-1, 1], shared between the two nearest cells."""
    position = ((place + 1) * (cells / 2) - 0.5).clip(0, cells - 1)
    left = np.minimum(np.floor(position), cells - 2).astype(np.intp)
    right = position - left
    found: np.ndarray = np.bincount(left, mass * (1 - right), cells) + np.bincount(left + 1, mass * right, cells)
    return found


def _masses(raw: np.ndarray, anchor: np.ndarray, unit: np.ndarray, limit: Limit | None) -> np.ndarray:
    """(Q,M) from corrections to the logarithm of a t density, cut to what each quantity can be, damped outside of a
    limit."""
    edges = (anchor[:, None] + unit[:, None] * OFFSETS).clip(np.array(LOWEST)[:, None], 1)
    width = np.diff(edges) / unit[:, None]
    middle = 0.5 * (OFFSETS[1:] + OFFSETS[:-1])
    logits = raw - TAIL * np.log(1 + middle**2 / 3) + np.log(np.maximum(width, 1e-12))
    if limit is not None:
        logits = logits - limit.damping(edges, unit)
    return softmax(np.where(width <= 1e-9, -1e9, logits))


def mixed(parts: list[Written], weights: np.ndarray) -> Written:
    """The mixture over codings, on one grid."""
    anchor, unit, effect = (
        np.einsum("c,c...->...", weights, np.stack([getattr(part, name) for part in parts]))
        for name in ("anchor", "unit", "effect")
    )
    wanted = anchor[:, None] + unit[:, None] * OFFSETS
    together = np.zeros(wanted.shape)
    for weight, part in zip(weights, parts, strict=True):
        u = (wanted - part.anchor[:, None]) / (part.unit[:, None] * REACH)
        at = ((np.arcsinh(u) + SPAN) * (CELLS / (2 * SPAN))).clip(0, CELLS)
        for q, places in enumerate(at):
            cumulated = np.concatenate([[0.0], part.mass[q].cumsum()])
            read = np.interp(places, np.arange(CELLS + 1), cumulated)
            # What lies beyond the reference grid belongs to its outermost cells.
            read[0], read[-1] = 0.0, cumulated[-1]
            together[q] += weight * read
    return Written(effect, anchor, unit, np.maximum(np.diff(together), 1e-30))
