"""Where the ends lie and how well that is known, from laws that come in chunks: `learn.network.ends` in one pass.

Each quantity's coefficients are a sum of eight simple ones (`identification.end_scores`) by weights that depend on the
whole table. So the simple ones' residuals and their products are summed, and weighted at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.identification.end_scores import Averages, simple_coefficients
from ivicl.identification.mean_terms import mean_terms
from ivicl.methods.pretrained.streaming.source import Chunk
from ivicl.methods.pretrained.streaming.sums import LawSums


@dataclass(frozen=True)
class Estimates:
    """(Q,) each."""

    plug_in: np.ndarray
    one_step: np.ndarray
    se: np.ndarray


class EndSums(LawSums):
    """Sums over the rows seen so far."""

    def __init__(self, temperature: float) -> None:
        super().__init__((), 4, 8, 8, 8, (8, 8))
        self._temperature = temperature

    def part(self, chunk: Chunk, law: np.ndarray, chance: np.ndarray) -> list[np.ndarray]:
        """Sums over the rows of a chunk, with law (n,2,4) and P(Z=1 | x) (n,)."""
        flat = law.reshape(-1, 8)
        arms = np.stack([1 - chance, chance], 1)
        c = simple_coefficients(flat, arms, self._temperature).reshape(-1, 8, 2, 4)[:, :, chunk.z]
        taken = slice(2 * chunk.t, 2 * chunk.t + 2)
        left = -law[:, chunk.z]
        left[:, taken] += chunk.seen
        over = 1 / arms[:, chunk.z, None]
        residual = np.einsum("nbk,nk->nb", c, left) * over
        slope = (c[:, :, taken.start + 1] - c[:, :, taken.start]) * over
        w, v = chunk.w, chunk.w * chunk.v
        squares = (residual * w[:, None]).T @ residual
        if v.any():
            squares += (slope * v[:, None]).T @ slope
        most = w @ mean_terms(flat.reshape(-1, 2, 2, 2)).max(-1)
        return [w.sum(), most, w @ (flat * np.repeat(arms, 4, 1)), w @ flat, w @ residual, squares]

    def estimates(self) -> Estimates:
        people = max(float(self._sums[0]), 1e-30)
        most, seen, law, residual = (total / people for total in self._sums[1:5])
        about = Averages.of_means(most, seen, law, self._temperature)
        mixing, value = about.mixing(), about.values()
        variance = np.einsum("qa,ab,qb->q", mixing, self._sums[5], mixing) / people**2
        return Estimates(value, value + mixing @ residual, np.sqrt(np.maximum(variance, 0)))
