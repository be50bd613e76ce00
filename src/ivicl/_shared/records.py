"""Typed records that can be saved as JSON, and that still answer to the string keys of version 0.1."""

from __future__ import annotations

import dataclasses
import datetime
import math
import types
import typing
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any, Self


def json_safe(value: Any) -> Any:
    """The same structure, with numpy scalars and arrays as plain values and numbers that are not finite as null."""
    if isinstance(value, dict):
        return {str(k): json_safe(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_safe(v) for v in value]
    if hasattr(value, "to_dict"):
        return json_safe(value.to_dict())
    if hasattr(value, "tolist"):
        return json_safe(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, datetime.date):  # the name of a study
        return value.isoformat()
    return value


NOT_SAVED = {"saved": False}
"""Metadata of a field that is used in this process only and not saved."""


class Record:
    """Base class of the frozen dataclasses that are saved: converts them to plain values and back."""

    def to_dict(self) -> dict[str, Any]:
        """The record as nested plain values."""
        assert dataclasses.is_dataclass(self)
        return {
            f.name: json_safe(getattr(self, f.name)) for f in dataclasses.fields(self) if f.metadata.get("saved", True)
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Self:
        """The inverse of `to_dict`. A field that was not saved gets its default; keys without a field are ignored."""
        hints = _hints(cls)  # type: ignore[arg-type]
        fields = {f.name for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: _revive(hints[name], value) for name, value in saved.items() if name in fields})


@cache
def _hints(record: type) -> dict[str, Any]:
    """The type hints, looked up once per class: it takes a millisecond, and many studies make many records."""
    return typing.get_type_hints(record)


class KeyedRecord(Record):
    """A record that was a dictionary in version 0.1: its string keys work for one more release, with a warning."""

    def __getitem__(self, key: str) -> Any:
        self._warn(f"['{key}']", f".{key}")
        return self.to_dict()[key]

    def get(self, key: str, default: Any = None) -> Any:
        self._warn(f".get('{key}')", f".{key}")
        return self.to_dict().get(key, default)

    def __contains__(self, key: object) -> bool:
        self._warn(", asked for a key,", f".{key}")
        return key in self.to_dict()

    def __iter__(self) -> Iterator[str]:
        self._warn(", read as a dictionary,", "to_dict()")
        return iter(self.to_dict())

    def keys(self) -> list[str]:
        self._warn(".keys()", "to_dict()")
        return list(self.to_dict())

    def _warn(self, old: str, new: str) -> None:
        sentence = f"{type(self).__name__}{old} is the spelling of version 0.1; write {new} instead."
        warnings.warn(sentence, DeprecationWarning, stacklevel=3)


PLAIN: dict[Any, tuple[type, ...]] = {float: (int, float), int: (int,), str: (str,), bool: (bool,)}
"""The types that JSON may hold for a field with each annotation."""


def _revive(hint: Any, value: Any) -> Any:
    """Turn plain values into the annotated type: dictionaries into records, lists into tuples.

    A value of another type is a TypeError, so that a damaged file is noticed when it is read. None is always accepted,
    because numbers that are not finite are saved as null.
    """
    if value is None:
        return None
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _revive(next(a for a in arguments if a is not type(None)), value)
    if origin is tuple and isinstance(value, list | tuple):
        items = arguments if arguments[-1] is not Ellipsis else (arguments[0],) * len(value)
        return tuple(_revive(a, v) for a, v in zip(items, value, strict=True))
    if origin is dict:
        return {k: _revive(arguments[1], v) for k, v in value.items()}
    if isinstance(hint, type) and hasattr(hint, "from_dict"):
        return hint.from_dict(value)
    if not _fits(hint, origin, arguments, value):
        raise TypeError(f"{value!r} stands where {hint.__name__ if isinstance(hint, type) else hint} is expected")
    return value


def _fits(hint: Any, origin: Any, arguments: tuple[Any, ...], value: Any) -> bool:
    if origin is tuple:
        return False
    if origin is typing.Literal:
        return value in arguments
    number_as_bool = isinstance(value, bool) and hint in (int, float)
    return not number_as_bool and isinstance(value, PLAIN.get(hint, (object,)))
