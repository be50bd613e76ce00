"""What a fitted result keeps of its fit, to answer further questions; it is not saved with the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ivicl._shared.frames import POLARS
from ivicl.data import IVData
from ivicl.methods.row_laws import RowLaws

NO_DATA = "this result was loaded from a file, so it has no data; fit it again to ask for {what}."


@dataclass(frozen=True)
class Source:
    """The data of a fit, and the fit itself for other data."""

    data: IVData
    fit: Callable[..., Any]
    """`fit(data, alpha=None) -> BoundsResult`: the same method and settings for other people, without a ladder."""
    random_state: int
    laws: RowLaws | None = None
    """The law that the method found at each row, if it knows one."""
    frame_kind: str = POLARS
    """The kind of the caller's table, in which `to_frame` answers."""
