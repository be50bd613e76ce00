"""What a fitted result remembers of its making, for the questions that come after the first; a saved one forgets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ivicl.data import IVData
from ivicl.methods.row_laws import RowLaws

NO_DATA = "this result was loaded from a file, so it has no data; fit it again to ask for {what}."


@dataclass(frozen=True)
class Source:
    """The data of a fit, and the fit itself for other data."""

    data: IVData
    fit: Callable[..., Any]
    """The same method with the same settings on other people: `fit(data, alpha=None) -> BoundsResult`, no ladder."""
    random_state: int
    laws: RowLaws | None = None
    """The law that the method found at each row, where it knows one."""
