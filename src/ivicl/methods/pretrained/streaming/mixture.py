"""Weights of candidates under which their mixture makes the rows most likely: EM over likelihoods kept for each row.

What is kept is small, so that thirty steps over all rows cost less than one pass of the network. C candidates.
"""

from __future__ import annotations

import numpy as np

from ivicl.methods.pretrained.streaming.constants import EM_POWER, EM_STEPS


class Likelihoods:
    """Of one arm's rows: the probability of what was seen, by each candidate, in float32."""

    def __init__(self, worth: np.ndarray) -> None:
        """worth (C,): what each candidate's likelihoods are multiplied by."""
        self._worth = worth
        self._people: list[np.ndarray] = []
        self._likely: list[np.ndarray] = []

    def add(self, people: np.ndarray, likely: np.ndarray) -> None:
        """people (n,k) of each outcome, likely (n,k,C)."""
        shown = people > 0
        self._people.append(people[shown])
        self._likely.append(likely[shown])

    def shares(self) -> np.ndarray:
        """(C,) by EM steps from equal weights. One more person is shared equally: an arm may be empty."""
        equal = 1 / len(self._worth)
        shares = np.full(len(self._worth), equal)
        total = 1 + sum(float(people.sum()) for people in self._people)
        for _ in range(EM_STEPS):
            pulled, weight = np.zeros(len(shares)), self._worth * shares
            for people, likely in zip(self._people, self._likely, strict=True):
                pulled += (people / np.maximum(likely @ weight, 1e-12)) @ likely
            shares = shares * ((self._worth * pulled + equal / shares) / total) ** EM_POWER
            shares /= shares.sum()
        return shares
