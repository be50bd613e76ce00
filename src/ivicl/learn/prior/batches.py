"""What the prior hands to the trainer. B tables, N rows, D covariates, R posterior draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

ESTIMANDS = ("ATE", "EY1", "EY0", "ATT", "ATU")
"""The estimands whose identified sets are labels, in this order: lower end, upper end, lower end, ..."""


@dataclass(frozen=True)
class Form:
    """What kind of tables a batch holds."""

    groups: int = 2
    """How many outcome classes there are."""
    amounts: bool = False
    """The outcome is an amount in [0, 1]; otherwise 0 or 1."""
    no_defiers: bool = False
    """Nobody moves against one direction of the instrument, and the network is told so (but not which direction)."""


BINARY = Form()
"""An outcome of 0 and 1, and no assumption about defiers."""


@dataclass(frozen=True)
class Labels:
    """What is true about B tables."""

    effect: Tensor
    """(B,) the average effect."""
    draws: Tensor
    """(B, R) exact posterior draws of the effect."""
    ends: Tensor
    """(B, 10) lower and upper end of the identified set of each of ESTIMANDS."""
    late: Tensor
    """(B,) the effect among those whom the instrument moves; only meaningful if nobody moves the other way."""

    @property
    def lower(self) -> Tensor:
        """(B,) lower end of the effect's identified set."""
        return self.ends[:, 0]

    @property
    def upper(self) -> Tensor:
        """(B,) upper end."""
        return self.ends[:, 1]

    def each(self, change: Callable[[Tensor], Tensor]) -> Self:
        """The same batch with every tensor changed."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: change(v) for name, v in values.items() if isinstance(v, Tensor)})

    def to(self, device: torch.device | str) -> Self:
        """The same tables on another device."""
        return self.each(lambda values: values.to(device))

    def take(self, tables: Tensor | np.ndarray) -> Self:
        """Some of the tables."""
        return self.each(lambda values: values[tables])


@dataclass(frozen=True)
class TableBatch(Labels):
    """Tables with (possibly weighted) rows and everything that is known about their laws."""

    x: Tensor
    """(B, N, D) covariates."""
    z: Tensor
    """(B, N) instrument in {0, 1}."""
    t: Tensor
    """(B, N) treatment in {0, 1}."""
    y: Tensor
    """(B, N) outcome: 0 or 1, or the mean amount of the row's people."""
    v: Tensor
    """(B, N) variance of the amounts of the row's people; 0 for a row of one person."""
    w: Tensor
    """(B, N) frequency weights; 0 is padding."""
    law: Tensor
    """(B, N, 2, 2, 2) E[1-Y, Y; T=t | Z=z, x], indexed [z][t][y]: the law itself, if the outcome is 0 or 1."""
    propensity: Tensor
    """(B, N) P(Z=1 | x)."""
    form: Form = BINARY

    @property
    def orbit(self) -> Tensor:
        """(B, 16) the effect after permutations of what cannot be observed. Column 0 is `effect`."""
        return self.draws


@dataclass(frozen=True)
class CountBatch(Labels):
    """Tables without covariates."""

    counts: Tensor
    """(B, 2, 2, 2) float64, indexed [z][t][y]: people, or the sums of 1-Y and of Y."""
    spread: Tensor
    """(B, 2, 2) variance of the outcome by [z][t], divided by m (1-m) for mean m: 1 for an outcome of 0 and 1."""
    form: Form = BINARY
