"""Ends that do not lightly change the term of the formula: `learn.network.steady`, from sums over chunks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.identification.end_scores import Averages
from ivicl.identification.mean_terms import MEAN_TERMS, mean_terms
from ivicl.methods.pretrained.streaming.constants import LEADS
from ivicl.methods.pretrained.streaming.layers import softmax
from ivicl.methods.pretrained.streaming.source import Chunk
from ivicl.methods.pretrained.streaming.sums import LawSums

_AHEAD = np.array(LEADS)[:, None, None, None] * np.eye(4)[:, None, :]  # [lead][who has it][mean][term]


@dataclass(frozen=True)
class Steady:
    """What the steady ends of a table are."""

    ends: np.ndarray
    """(L+1, Q)."""
    lost: np.ndarray
    """(4, 4)."""
    behind: np.ndarray
    """(4, 4)."""

    def news(self, one_step: np.ndarray, unit: np.ndarray) -> np.ndarray:
        """For the pool, beside the ends (Q,) that change terms freely, in units (Q,)."""
        apart = ((self.ends - one_step) / unit / 3).clip(-3, 3)
        short = np.stack([self.lost, self.behind]) / unit[2:6, None]
        return np.concatenate([apart.reshape(-1), np.log(np.maximum(short, 0) + 0.01).reshape(-1) / 5])


class SteadySums(LawSums):
    """Sums over the rows seen so far."""

    def __init__(self, temperature: float) -> None:
        super().__init__((), (len(LEADS), 4, 4), (4, 4), (4, 4), 8, 8)
        self._temperature = temperature

    def part(self, chunk: Chunk, law: np.ndarray, chance: np.ndarray) -> list[np.ndarray]:
        """Sums over the rows of a chunk, with law (n,2,4) and P(Z=1 | x) (n,)."""
        terms = mean_terms(law.reshape(-1, 2, 2, 2))
        arm, taken = slice(4 * chunk.z, 4 * chunk.z + 4), slice(2 * chunk.t, 2 * chunk.t + 2)
        left = -law[:, chunk.z]
        left[:, taken] += chunk.seen
        left /= (chance if chunk.z else 1 - chance)[:, None]
        shown = terms + np.einsum("nc,kjc->nkj", left, MEAN_TERMS[:, :, arm])
        w, cells, one_step = chunk.w, np.zeros(8), chunk.w @ law.reshape(-1, 8)
        led = np.empty((len(LEADS), 4, 4))
        for k, lead in enumerate(_AHEAD):
            for leader in range(4):
                active = softmax((terms + lead[leader]) / self._temperature)
                led[k, :, leader] = w @ (active * shown).sum(-1)
        cells[arm][taken] = w @ chunk.seen
        one_step[arm] += w @ left
        lost = np.tensordot(w, terms.max(-1, keepdims=True) - terms, 1)
        return [w.sum(), led, np.tensordot(w, shown, 1), lost, cells, one_step]

    def answer(self) -> Steady:
        people = max(float(self._sums[0]), 1e-30)
        led, average, lost, seen, law = (total / people for total in self._sums[1:])
        ends = [Averages.of_means(m, seen, law, self._temperature).values() for m in (*led.max(-1), average.max(-1))]
        return Steady(np.stack(ends), lost, average.max(-1, keepdims=True) - average)
