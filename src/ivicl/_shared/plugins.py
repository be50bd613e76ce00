"""Finding declared objects: those in the files of one of our own packages, and those that other packages install."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from ivicl.errors import InputError

Kind = TypeVar("Kind")


def declared_in(package: str, name: str) -> Iterator[Any]:
    """The objects that a package's files hold as `name` (or several, as `name` + "S"), in alphabetical file order."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        # Folders, and files with a leading underscore, are only parts of other files.
        if not module.ispkg and not module.name.startswith("_"):
            content = importlib.import_module(f"{package}.{module.name}")
            yield from getattr(content, f"{name}S", ())
            if hasattr(content, name):
                yield getattr(content, name)


def from_entry_points(group: str, kind: type[Kind]) -> Iterator[Kind]:
    """The objects that installed packages declare in an entry point group; an InputError if one is not a `kind`."""
    for point in entry_points(group=group):
        try:
            found = point.load()
        except Exception as error:
            raise InputError(_broken(point, f"cannot be loaded ({type(error).__name__}: {error})")) from error
        if not isinstance(found, kind):
            raise InputError(_broken(point, f"must name a {kind.__name__}, but names {type(found).__name__}"))
        yield found


def _broken(point: EntryPoint, trouble: str) -> str:
    return (
        f"the entry point '{point.name}' of {point.group} {trouble}; the package that brings it must be mended or "
        "uninstalled."
    )


def nearest_name(name: str, names: Iterable[str]) -> str:
    """A hint for an unknown name: the nearest known name, or all of them if none is near."""
    known = list(names)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f"the nearest name is '{near[0]}'" if near else f"the names are {', '.join(known)}"
