"""What was done to the user's table on its way in."""

from __future__ import annotations

from dataclasses import dataclass, field

from ivicl.data.encoding import Coding
from ivicl.data.lost import NOBODY, LostPeople
from ivicl.data.oddities import Oddity


@dataclass(frozen=True)
class DataReport:
    """What was done to the user's table on its way in."""

    n: int
    """People used: the sum of the frequency weights of the rows kept."""
    n_rows: int
    """Rows used."""
    n_dropped: int
    """Rows left out (missing values, zero weight)."""
    codings: dict[str, Coding] = field(default_factory=dict)
    """Role -> column, and which of its values became 0 and 1."""
    notes: list[str] = field(default_factory=list)
    """Sentences on what was dropped, filled, joined or recoded."""
    sampled_from: int | None = None
    """Rows of the whole table, if an engine held too many different ones and only a sample of them was read."""
    variables: tuple[str, ...] = ()
    """Covariates by the caller's names; one of text becomes several columns of x."""
    lost: LostPeople = NOBODY
    """People by [z][t] whose outcome, and nothing else, is missing, whether they were dropped or kept."""
    references: dict[str, str] = field(default_factory=dict)
    """Text covariate -> its first level, which has no column of its own."""
    oddities: list[Oddity] = field(default_factory=list)
    """What looks wrong in the columns although they can be read."""
    cap: float | None = None
    """Where an amount was cut off, if the user asked for it."""
