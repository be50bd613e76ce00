"""A logistic fit, by steps that need one pass over the rows each: `learn.network.logistic`."""

from __future__ import annotations

import numpy as np

from ivicl.methods.pretrained.streaming.arms import Arm, Leverage, Sums, inverse
from ivicl.methods.pretrained.streaming.constants import LOGISTIC
from ivicl.methods.pretrained.streaming.layers import softmax


class Logistic:
    """Of L classes on F features; slopes (F,L) belong to centred ones, shifts (L,) to their mean."""

    def __init__(self, arm: Arm, sums: Sums) -> None:
        self._arm, self._penalty = arm, float(np.exp(LOGISTIC))
        self._preconditioner = 2 * arm.solver(2 * self._penalty)
        self._base = np.log(arm.mean)
        self._slope = self._ahead = np.zeros_like(arm.moment)
        self._shift = self._ahead_shift = np.zeros(len(arm.mean))
        self._steps = 0
        # The first step starts where every row has the arm's means: its sums are known.
        start = softmax(self._base)
        self._pull = sums.products - np.outer(sums.features, start)
        self._residual = sums.outcomes - sums.size * start
        self.step()

    def gradient(
        self, features: np.ndarray, w: np.ndarray, seen: np.ndarray | float, classes: slice
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums of residuals times features, and of residuals, where the next step starts; seen: those classes."""
        level = self._base + self._ahead_shift - self._arm.centre @ self._ahead
        residual = -softmax(features @ self._ahead + level)
        residual[:, classes] += seen
        residual *= w[:, None]
        return features.T @ residual, residual.sum(0)

    def add(self, sums: tuple[np.ndarray, np.ndarray]) -> None:
        self._pull = self._pull + sums[0]
        self._residual = self._residual + sums[1]

    def step(self) -> None:
        """Go on with the sums of all rows, and look where the next step starts."""
        centred = self._pull - np.outer(self._arm.centre, self._residual)
        slope = self._ahead + self._preconditioner @ (centred - self._penalty * self._ahead)
        shift = self._ahead_shift + 2 * self._residual / (self._arm.size + 2)
        self._steps += 1
        momentum = self._steps / (self._steps + 3)
        self._ahead = slope + momentum * (slope - self._slope)
        self._ahead_shift = shift + momentum * (shift - self._shift)
        self._slope, self._shift = slope, shift
        self._pull, self._residual = np.zeros_like(slope), np.zeros_like(shift)
        self._weight, self._weighted = 0.0, np.zeros(len(slope))
        self._gram = np.zeros((len(slope), len(slope)))

    def curvature(self, features: np.ndarray, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Sums for the step that leaves a row out."""
        slope, level = self.fit
        weight = w * _curvature(softmax(features @ slope + level))
        centred = features - self._arm.centre
        return float(weight.sum()), (centred * weight[:, None]).T @ centred

    def add_curvature(self, sums: tuple[float, np.ndarray]) -> None:
        self._weight += sums[0]
        self._gram += sums[1]

    def settle(self) -> None:
        solver = inverse(self._gram, self._penalty + self._arm.floor)
        self._weighing = Leverage(solver, self._arm.centre, 1 / (self._weight + 0.5))

    @property
    def fit(self) -> tuple[np.ndarray, np.ndarray]:
        """Slope (F,L) and level (L,) of the log odds."""
        return self._slope, self._base + self._shift - self._arm.centre @ self._slope

    def without_self(self, score: np.ndarray, features: np.ndarray, outcome: np.ndarray) -> np.ndarray:
        """One Newton step away from the row's own outcome, with the mean curvature of its classes."""
        fitted = softmax(score)
        leverage = self._weighing(features)
        step = leverage / (1 - np.minimum(leverage * _curvature(fitted), 0.9))
        answer: np.ndarray = score - step[:, None] * (outcome - fitted)
        return answer


def _curvature(fitted: np.ndarray) -> np.ndarray:
    found: np.ndarray = (1 - (fitted**2).sum(-1)) / (fitted.shape[-1] - 1)
    return found
