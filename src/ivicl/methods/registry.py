"""Methods by name: those that ship with ivicl, and those of other packages.

To add one, put a file with a `METHOD` (or several `METHODS`) into `classical`, `baselines` or `pretrained`: nothing
else has to be changed. Another package adds one through an entry point in the group `ivicl.methods` that names a
`Method`.
"""

from __future__ import annotations

from functools import cache

from ivicl._shared.plugins import declared_in, from_entry_points, nearest_name
from ivicl.errors import InputError
from ivicl.methods.base import Method

GROUP = "ivicl.methods"
FOLDERS = ("pretrained", "classical", "baselines")


@cache
def shipped() -> dict[str, Method]:
    """The methods of this package by name. Listing them is cheap: a method's own imports wait until it runs."""
    return {method.name: method for folder in FOLDERS for method in declared_in(f"ivicl.methods.{folder}", "METHOD")}


@cache
def from_elsewhere() -> dict[str, Method]:
    """The methods of other installed packages, which cannot take over a name that ships."""
    found: dict[str, Method] = {}
    for method in from_entry_points(GROUP, Method):
        found.setdefault(method.name, method)
    return {name: method for name, method in found.items() if name not in shipped()}


def all_methods() -> dict[str, Method]:
    """Every method that is known here, by name."""
    return shipped() | from_elsewhere()


def resolve(method: str | Method) -> Method:
    """The method of that name; a `Method` object is returned as it is."""
    if isinstance(method, Method):
        return method
    if not isinstance(method, str):
        raise InputError(f"method must be a name or a Method, but is {method!r}.")
    found = shipped().get(method) or from_elsewhere().get(method)
    if found is None:
        raise InputError(f"there is no method '{method}'; {nearest_name(method, all_methods())}.")
    return found
