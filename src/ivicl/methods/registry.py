"""Methods by name: those that ship, and those of other packages.

A file in `classical`, `baselines` or `pretrained` that holds a `METHOD` (or several `METHODS`) adds it: nothing else
has to be told. Another package adds one by an entry point of the group `ivicl.methods` that names a `Method`.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from ivicl.errors import InputError
from ivicl.methods.base import Method

GROUP = "ivicl.methods"
FOLDERS = ("pretrained", "classical", "baselines")


@cache
def shipped() -> dict[str, Method]:
    """The methods of this package by name. Reading them is cheap: a method's own imports wait until it runs."""
    found: dict[str, Method] = {}
    for folder in FOLDERS:
        package = importlib.import_module(f"ivicl.methods.{folder}")
        for module in pkgutil.iter_modules(package.__path__):
            # Folders and files with a leading underscore are parts of methods, not methods.
            if not module.ispkg and not module.name.startswith("_"):
                content = importlib.import_module(f"{package.__name__}.{module.name}")
                for method in (*getattr(content, "METHODS", ()), *filter(None, [getattr(content, "METHOD", None)])):
                    found[method.name] = method
    return found


@cache
def from_elsewhere() -> dict[str, Method]:
    """Methods that installed packages bring along; a name that ships cannot be taken over."""
    found: dict[str, Method] = {}
    for point in entry_points(group=GROUP):
        method = point.load()
        if not isinstance(method, Method):
            raise InputError(
                f"the entry point '{point.name}' of {GROUP} must name a Method, but names {type(method).__name__}; "
                "the package that brings it must be mended or uninstalled."
            )
        found.setdefault(method.name, method)
    return {name: method for name, method in found.items() if name not in shipped()}


def all_methods() -> dict[str, Method]:
    """Every method that is known here, by name."""
    return shipped() | from_elsewhere()


def resolve(method: str | Method) -> Method:
    """The method behind a name; an object is its own answer."""
    if isinstance(method, Method):
        return method
    if not isinstance(method, str):
        raise InputError(f"method must be a name or a Method, but is {method!r}.")
    found = shipped().get(method) or from_elsewhere().get(method)
    if found is None:
        names = list(all_methods())
        near = difflib.get_close_matches(method, names, n=1, cutoff=0.4)
        hint = f"the nearest name is '{near[0]}'" if near else "the names are " + ", ".join(names)
        raise InputError(f"there is no method '{method}'; {hint}.")
    return found
