"""Pictures of a result. Each is an object with its figure and the data behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ivicl.errors import InputError
from ivicl.results.pictures.bars import comparison, ladder
from ivicl.results.pictures.compliance import compliance
from ivicl.results.pictures.effect import levels, posterior
from ivicl.results.pictures.forest import forest, forest_of_rows
from ivicl.results.pictures.picture import STYLE, Picture, styled

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult

__all__ = ["PICTURES", "STYLE", "Picture", "comparison", "draw", "forest", "forest_of_rows"]

PICTURES: dict[str, Callable[[BoundsResult], Picture]] = {
    "posterior": posterior,
    "levels": levels,
    "ladder": ladder,
    "compliance": compliance,
}


def draw(result: BoundsResult, kind: str) -> Picture:
    """One of the pictures by name."""
    if kind not in PICTURES:
        raise InputError(f"there is no picture '{kind}'; there are {', '.join(PICTURES)}.")
    with styled():
        return PICTURES[kind](result).below(result.diagnostics.headline)
