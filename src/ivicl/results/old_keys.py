"""`details` with the keys of version 0.1 that are attributes now: they work for one more release, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult

OLD: dict[str, tuple[str, Callable[[BoundsResult], Any]]] = {
    "ladder": ("res.ladder", lambda r: r.ladder and r.ladder.to_dict()),
    "thresholds": ("res.thresholds", lambda r: r.thresholds and r.thresholds.to_dict()),
    "combine": ("res.thresholds.combine", lambda r: r.thresholds and r.thresholds.combine),
    "n_binary_problems": ("res.thresholds.problems", lambda r: r.thresholds and r.thresholds.problems),
    "sampling_error": ("res.interval_kind", lambda r: False if r.interval_kind == "estimate" else None),
    "estimate": ("res.estimates", lambda r: r.estimates.lower if r.estimates and r.estimand == "LATE" else None),
    "se": ("res.estimates.se_lower", lambda r: r.estimates.se_lower if r.estimates and r.estimand == "LATE" else None),
    "estimated_bounds": ("res.estimates", lambda r: [r.estimates.lower, r.estimates.upper] if r.estimates else None),
    "standard_errors": (
        "res.estimates.se_lower",
        lambda r: [r.estimates.se_lower, r.estimates.se_upper] if r.estimates else None,
    ),
    "width": (
        "res.width_parts",
        lambda r: (
            r.width_parts
            and {
                "set_lower": r.width_parts.lower,
                "set_upper": r.width_parts.upper,
                "not_identified": r.width_parts.not_identified,
                "not_enough_data": r.width_parts.not_enough_data,
            }
        ),
    ),
}
"""Old key -> what to write now, and its value; None means that such a result never had the key."""


class Details(dict[str, Any]):
    """The method's details, which also answer to the old keys."""

    def __init__(self, own: dict[str, Any], result: BoundsResult) -> None:
        super().__init__(own)
        self._result = result

    def __missing__(self, key: str) -> Any:
        value = self._old(key)
        if value is None:
            raise KeyError(key)
        return value

    def get(self, key: str, default: Any = None) -> Any:
        if super().__contains__(key):
            return super().__getitem__(key)
        value = self._old(key)
        return default if value is None else value

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or self._old(key) is not None

    def _old(self, key: object) -> Any:
        now, value = OLD.get(str(key), ("", lambda result: None))
        found = value(self._result)
        if found is not None:
            warnings.warn(
                f"details['{key}'] is the spelling of version 0.1; write {now} instead.",
                DeprecationWarning,
                stacklevel=3,
            )
        return found
