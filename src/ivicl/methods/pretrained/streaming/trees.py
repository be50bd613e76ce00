"""Leaf means of the shallow random trees of `learn.network.trees`, from sums over rows.

K trees of depth d with L = 2^d leaves, C cuts, n rows of a chunk.
"""

from __future__ import annotations

import numpy as np

from ivicl.methods.pretrained.streaming.constants import CUTS, SHRINKAGE, STRONGEST, TEMPER
from ivicl.methods.pretrained.streaming.source import Chunk

_CUTS = np.array(CUTS, np.float32)


def places(chunk: Chunk) -> np.ndarray:
    """(p,n) how many of the cuts lie below each of the strongest covariates."""
    steps = (chunk.x[:, :STRONGEST].T.astype(np.float64) - CUTS[0]) / (CUTS[1] - CUTS[0])
    return np.ceil(steps, out=steps).clip(0, len(CUTS)).astype(np.uint8)


def below(chunk: Chunk) -> np.ndarray:
    """(p,C) people at or below each cut."""
    found = [np.bincount(column, chunk.w, len(CUTS) + 1)[:-1].cumsum() for column in places(chunk)]
    return np.array(found).reshape(-1, len(CUTS))


class Forest:
    """Questions, then leaves, then laws: each needs one more pass over the rows than the last."""

    def __init__(
        self, choice: np.ndarray, quantile: np.ndarray, depth: int, below: np.ndarray, score: np.ndarray, columns: int
    ) -> None:
        """choice and quantile (K*d,) are constants of the network; below (p,C) are shares; columns it keeps at most."""
        self.trees, self.depth, self.leaves = len(choice) // depth, depth, 2**depth
        asked = min(STRONGEST, columns)
        strength, shares = np.zeros(asked), np.ones((asked, len(CUTS)))
        # A covariate that is not there is zero everywhere.
        shares[:, _CUTS < 0] = 0.0
        here = min(len(score), asked)
        strength[:here], shares[:here] = score[:here], below[:here]
        ladder = strength.cumsum() / max(strength.sum(), 1e-30)
        column = np.minimum((ladder < choice[:, None]).sum(1), asked - 1)
        told = shares[column]
        useless = (told < 0.02) | (told > 0.98)
        cut = (np.abs(told - quantile[:, None]) + 10 * useless).argmin(1)
        # A question about a covariate that is not there has one answer for all.
        zero = np.where(_CUTS[cut] < 0, 1, 0)
        self._fixed = np.where(column >= here, zero, 0).reshape(self.trees, depth)
        self._column = np.where(column >= here, 0, column).reshape(self.trees, depth)
        self._cut = np.where(column >= here, 255, cut).astype(np.uint8).reshape(self.trees, depth)
        self.held = np.zeros((self.trees, self.leaves, 2, 2, 2))

    def leaf(self, chunk: Chunk) -> np.ndarray:
        """(K,n) the leaf of each row in each tree."""
        place = places(chunk)
        found = np.zeros((self.trees, len(chunk.w)), np.uint16)
        for level in range(self.depth):
            answer = place[self._column[:, level]] > self._cut[:, level, None]
            answer |= self._fixed[:, level, None] > 0
            found |= answer.astype(np.uint16) << np.uint16(level)
        return found

    def sums(self, chunk: Chunk) -> np.ndarray:
        """(K,L,2) people of the chunk in each leaf."""
        people = chunk.people.T
        found = [[np.bincount(leaf, outcome, self.leaves) for outcome in people] for leaf in self.leaf(chunk)]
        return np.array(found).transpose(0, 2, 1)

    def grow(self, mean: np.ndarray) -> None:
        """Laws in the leaves from the sums held; mean (2,4) of the arms."""
        pull = SHRINKAGE * mean.reshape(2, 2, 2)
        law = self.held + pull
        size = law.sum((3, 4))  # (K,L,2)
        # Who is in the arm is left out of it: one person fewer.
        self._own, self._other = 1 / np.maximum(size - 1, 1e-6), 1 / np.maximum(size, 1e-6)
        self._pulled = law

    def log_likelihood(self, chunk: Chunk) -> np.ndarray:
        """(K,) of the chunk's people, by the trees that have not seen them."""
        z, t = chunk.z, chunk.t
        high, low = chunk.seen[:, 1], chunk.seen[:, 0]
        square = low**2 + high**2
        over = self._own[:, :, z]
        laws = self._pulled[:, :, z, t] * over[..., None]
        found = np.empty(self.trees)
        for k, leaf in enumerate(self.leaf(chunk).astype(np.intp)):
            likely = low * laws[k, leaf, 0] + high * laws[k, leaf, 1] - square * over[k, leaf]
            found[k] = chunk.w @ np.log(np.maximum(likely, 1e-4))
        return found

    def choose(self, log_likelihood: np.ndarray) -> None:
        """Weights of the trees; tables of their laws by the arm of the row, once for all alike and once by weight."""
        share = np.exp(TEMPER * (log_likelihood - log_likelihood.max()))
        share /= share.sum()
        self._tables = []
        for z in (0, 1):
            over = np.where(np.arange(2) == z, self._own, self._other)  # (K,L,2)
            laws = (self._pulled * over[..., None, None]).reshape(self.trees, self.leaves, 8)
            table = np.concatenate([laws, self._own[:, :, z, None]], 2)  # (K,L,9)
            self._tables.append(np.concatenate([table / self.trees, table * share[:, None, None]], 2))

    def laws(self, chunk: Chunk) -> tuple[np.ndarray, np.ndarray]:
        """(n,2,4) twice: the mean of all trees, and that of those that predict well; leave-one-out in the own arm."""
        table = self._tables[chunk.z]
        total = np.zeros((len(chunk.w), 18))
        for k, leaf in enumerate(self.leaf(chunk)):
            total += table[k].take(leaf, 0)
        found = []
        for part in (total[:, :9], total[:, 9:]):
            law = part[:, :8].reshape(-1, 2, 4)
            law[:, chunk.z, 2 * chunk.t : 2 * chunk.t + 2] -= chunk.seen * part[:, 8:]
            found.append(law)
        return found[0], found[1]
