"""Weights of candidates under which their mixture makes the rows most likely: EM over likelihoods kept for each row.

What is kept is small, so that all the steps over the rows cost less than one pass of the network. C candidates.
"""

from __future__ import annotations

import numpy as np

from ivicl.methods.pretrained.streaming.constants import EM_POWER, EM_STEPS

AT_ONCE = 16_384
"""Outcomes of a step: what is made of them stays in a core's cache."""


class Likelihoods:
    """Of one arm's rows: the probability of what was seen, by each candidate, in float32."""

    def __init__(self, worth: np.ndarray, most: int) -> None:
        """worth (C,): what each candidate's likelihoods are multiplied by; most: outcomes that will be added.

        One array for all: many small ones would lie between what threads need for a moment, and hold its memory.
        """
        self._worth, self._used = worth, 0
        self._people: np.ndarray = np.empty(most, np.float32)
        self._likely = np.empty((most, len(worth)), np.float32)

    def add(self, people: np.ndarray, likely: np.ndarray) -> None:
        """people (n,k) of each outcome, likely (n,k,C)."""
        shown = people > 0
        found = people[shown]
        here = slice(self._used, self._used + len(found))
        if self._people.dtype == np.float32 and (found.astype(np.float32) != found).any():
            exact = np.empty(len(self._people))  # outcomes times weights that are not one
            exact[: self._used] = self._people[: self._used]
            self._people = exact
        self._people[here], self._likely[here] = found, likely[shown]
        self._used = here.stop

    def shares(self) -> np.ndarray:
        """(C,) by EM steps from equal weights. One more person is shared equally: an arm may be empty."""
        equal = 1 / len(self._worth)
        shares = np.full(len(self._worth), equal)
        parts = [slice(start, min(start + AT_ONCE, self._used)) for start in range(0, self._used, AT_ONCE)]
        total = 1 + sum(float(self._people[here].sum(dtype=np.float64)) for here in parts)
        for _ in range(EM_STEPS):
            pulled, weight = np.zeros(len(shares)), self._worth * shares
            for here in parts:
                likely = self._likely[here]
                pulled += (self._people[here] / np.maximum(likely @ weight, 1e-12)) @ likely
            shares = shares * ((self._worth * pulled + equal / shares) / total) ** EM_POWER
            shares /= shares.sum()
        return shares
