"""P(Z=1 | x) at the rows of each chunk: `learn.network.propensity`, in the passes that the laws' fits need anyway.

P kept covariates, F features: these, and products of the strongest. n rows of a chunk.
"""

from __future__ import annotations

import numpy as np

from ivicl.methods.pretrained.streaming.arms import Arm, Sums, to_simplex, without_self
from ivicl.methods.pretrained.streaming.constants import (
    PROPENSITY,
    PROPENSITY_COSTS,
    PROPENSITY_LEAST,
    STRONGEST,
    WITHIN,
)
from ivicl.methods.pretrained.streaming.layers import softmax
from ivicl.methods.pretrained.streaming.logistic import Logistic
from ivicl.methods.pretrained.streaming.mixture import Likelihoods
from ivicl.methods.pretrained.streaming.source import Chunk, Recoded

Steps = tuple[tuple[np.ndarray, np.ndarray], ...]


def features_of(x: np.ndarray) -> np.ndarray:
    """(n,F) covariates, and products of the strongest; one far out counts as WITHIN."""
    strong = x[:, :STRONGEST].clip(-WITHIN, WITHIN)
    products = [strong[:, k : k + 1] * strong[:, k:] for k in range(strong.shape[1])]
    return np.concatenate([x, *products], 1)


def sums_of(chunk: Chunk) -> Sums:
    """What a chunk adds to the sums of its arm."""
    return Sums.of(features_of(chunk.wide), np.ones((len(chunk.w), 1)), chunk.w)


class Propensity:
    """Candidates: the share of Z=1, a stiff linear fit, logistic fits on covariates and on all features."""

    def __init__(self, arms: list[Sums], columns: int, kept: int) -> None:
        """arms: sums of features of either; columns that there are, and those that the network keeps."""
        strong = min(STRONGEST, kept)
        every = Sums.none(len(arms[0].features), 2)
        for z, sums in enumerate(arms):
            every.add(sums, slice(z, z + 1))
        few = slice(0, columns)
        plain = Sums(every.size, every.features[few], every.squares[few, few], every.products[few], every.outcomes)
        first, second = Arm(plain, 0.5, kept), Arm(every, 0.5, kept + strong * (strong + 1) // 2)
        self._columns, self._arm = columns, first
        self._stiff = first.ridge(first.solver(np.exp(PROPENSITY)))
        self._logistic = [Logistic(first, plain), Logistic(second, every)]

    def gradients(self, chunk: Chunk, x: np.ndarray) -> Steps:
        """For the next step of the logistic fits."""
        own = slice(chunk.z, chunk.z + 1)
        return tuple(
            fit.gradient(some, chunk.w, 1.0, own) for fit, some in zip(self._logistic, self._both(x), strict=True)
        )

    def add(self, steps: Steps) -> None:
        for fit, sums in zip(self._logistic, steps, strict=True):
            fit.add(sums)

    def step(self) -> None:
        for fit in self._logistic:
            fit.step()

    def curvatures(self, chunk: Chunk, x: np.ndarray) -> list[tuple[float, np.ndarray]]:
        """For leaving a row out of the logistic fits."""
        return [fit.curvature(some, chunk.w) for fit, some in zip(self._logistic, self._both(x), strict=True)]

    def add_curvatures(self, sums: list[tuple[float, np.ndarray]]) -> None:
        for fit, part in zip(self._logistic, sums, strict=True):
            fit.add_curvature(part)

    def settle(self, rows: Recoded) -> None:
        """All sums are in; likelihoods come next."""
        for fit in self._logistic:
            fit.settle()
        worth = np.exp(-np.array(PROPENSITY_COSTS) / rows.source.total)
        self._likelihoods: Likelihoods | None = Likelihoods(worth, sum(rows.arms))

    def likely(self, chunk: Chunk, x: np.ndarray) -> np.ndarray:
        """(n,1,4) of the instrument that each row has."""
        return self._candidates(chunk, x)[:, None, :, chunk.z].astype(np.float32)

    def add_likely(self, chunk: Chunk, likely: np.ndarray) -> None:
        assert self._likelihoods is not None
        self._likelihoods.add(chunk.w[:, None], likely)

    def mix(self) -> None:
        """Weights of the candidates; what they are made from is not needed any more."""
        assert self._likelihoods is not None
        self._shares, self._likelihoods = self._likelihoods.shares(), None

    def __call__(self, chunk: Chunk, x: np.ndarray) -> np.ndarray:
        """(n,)."""
        chance: np.ndarray = self._shares @ self._candidates(chunk, x)[:, :, 1].T
        return chance.clip(PROPENSITY_LEAST, 1 - PROPENSITY_LEAST)

    def _both(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        every = features_of(x)
        return every[:, : self._columns], every

    def _candidates(self, chunk: Chunk, x: np.ndarray) -> np.ndarray:
        """(n,4,2) of P(Z | x), leave-one-out."""
        outcome = np.zeros((len(x), 2))
        outcome[:, chunk.z] = 1
        fits = [without_self(np.broadcast_to(self._arm.mean, outcome.shape), self._arm.mean_leverage, outcome)]
        fits.append(without_self(x @ self._stiff.slope + self._stiff.level, self._stiff.weighing(x), outcome))
        for fit, some in zip(self._logistic, self._both(x), strict=True):
            slope, level = fit.fit
            fits.append(softmax(fit.without_self(some @ slope + level, some, outcome)))
        return to_simplex(np.stack(fits, 1))
