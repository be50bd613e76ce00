"""How the people of a table came to be in it: clusters, strata and sampling weights.

Frequency weights say how many people a row stands for; sampling weights how many of the population each of them does.
Both may be given: k people, each standing for s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Design:
    """One entry a row; None where the user named no such column."""

    cluster: np.ndarray | None = None
    """(N,) codes of the groups that were sampled, or assigned, together."""
    strata: np.ndarray | None = None
    """(N,) codes of the blocks within which people or clusters were sampled or assigned."""
    sampling: np.ndarray | None = None
    """(N,) sampling weight of one person, positive; only their ratios matter."""

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Those that were given, by name."""
        named = {"cluster": self.cluster, "strata": self.strata, "sampling": self.sampling}
        return {name: values for name, values in named.items() if values is not None}

    def take(self, rows: np.ndarray) -> Design:
        """The design of some of the rows."""
        return Design(**{name: values[rows] for name, values in self.columns.items()})

    @staticmethod
    def joined(parts: Sequence[Design]) -> Design:
        """The design of the rows of one after the other, for all of which the same columns were named."""
        return Design(**{name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns})
