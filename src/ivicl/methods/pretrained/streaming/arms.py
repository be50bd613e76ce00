"""Weighted ridge regressions from sums over rows: `learn.network.arms.Arm`, for rows that are not all here.

F features, L classes of the outcome, n rows of a chunk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.methods.pretrained.streaming.constants import LEAST, RELATIVE_FLOOR


@dataclass
class Sums:
    """Of weights, of features and outcomes times weights, and of their products."""

    size: float
    features: np.ndarray
    """(F,)."""
    squares: np.ndarray
    """(F,F)."""
    products: np.ndarray
    """(F,L)."""
    outcomes: np.ndarray
    """(L,)."""

    @staticmethod
    def none(features: int, classes: int) -> Sums:
        zeros = np.zeros
        return Sums(0.0, zeros(features), zeros((features, features)), zeros((features, classes)), zeros(classes))

    @staticmethod
    def of(features: np.ndarray, outcome: np.ndarray, w: np.ndarray) -> Sums:
        weighted = (features * w[:, None]).T
        return Sums(float(w.sum()), weighted.sum(1), weighted @ features, weighted @ outcome, w @ outcome)

    def add(self, other: Sums, classes: slice | None = None) -> None:
        """`classes`: those that the other's outcomes are."""
        at = slice(None) if classes is None else classes
        self.size += other.size
        self.features += other.features
        self.squares += other.squares
        self.products[:, at] += other.products
        self.outcomes[at] += other.outcomes


class Arm:
    """The people of one arm, by their sums: means, Gram matrix and cross moments of centred features."""

    def __init__(self, sums: Sums, pseudo_count: float, columns: int) -> None:
        """`columns` of features, counting those that are zero everywhere, which are not among the sums."""
        size = max(sums.size, 1e-6)
        self.size = size
        self.centre = sums.features / size
        self.mean = (sums.outcomes + pseudo_count) / (size + 4 * pseudo_count)
        left = sums.features - sums.size * self.centre  # zero, except in an empty arm
        self.gram = sums.squares - np.outer(self.centre, sums.features) - np.outer(left, self.centre)
        self.moment = sums.products - np.outer(self.centre, sums.outcomes) - np.outer(left, self.mean)
        self.floor = RELATIVE_FLOOR * float(np.trace(self.gram)) / columns
        self.mean_leverage = 1 / (size + 4 * pseudo_count)

    def solver(self, penalty: float) -> np.ndarray:
        """(F,F) inverse of the Gram matrix under a penalty."""
        return inverse(self.gram, penalty + self.floor)

    def ridge(self, solver: np.ndarray) -> Fit:
        slope = solver @ self.moment
        return Fit(slope, self.mean - self.centre @ slope, Leverage(solver, self.centre, self.mean_leverage))


@dataclass(frozen=True)
class Fit:
    """A fitted function of the features, and what a person weighs in it."""

    slope: np.ndarray
    """(F,L)."""
    level: np.ndarray
    """(L,) at features of zero."""
    weighing: Leverage


class Leverage:
    """What one person weighs in a fit at features. In float32: it corrects a fit by a small part of an outcome."""

    def __init__(self, solver: np.ndarray, centre: np.ndarray, least: float) -> None:
        """`least`: that at the centre."""
        self._solver, self._centre, self._least = solver.astype(np.float32), centre, least

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """(n,)."""
        centred = (features - self._centre).astype(np.float32)
        found: np.ndarray = np.einsum("ij,ij->i", centred @ self._solver, centred).astype(np.float64) + self._least
        return found


def inverse(gram: np.ndarray, ridge: float) -> np.ndarray:
    return np.linalg.inv(gram + ridge * np.eye(len(gram)))


def without_self(fit: np.ndarray, leverage: np.ndarray | float, outcome: np.ndarray) -> np.ndarray:
    """Fits (n,L) at rows that were fitted, less the influence of one person of each."""
    share = np.minimum(np.broadcast_to(leverage, len(fit)), 0.95)[:, None]
    answer: np.ndarray = (fit - share * outcome) / (1 - share)
    return answer


def to_simplex(fit: np.ndarray) -> np.ndarray:
    fit = np.maximum(fit, LEAST)
    fit /= np.einsum("...k->...", fit)[..., None]
    return fit
