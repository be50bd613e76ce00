"""Benchmarks and studies by name: those that ship with ivicl, and those of other packages.

A file in `sets` with a `BENCHMARK`, or in `studies` with a `STUDY`, is found automatically. Another package adds one
through an entry point in the group `ivicl.benchmarks` or `ivicl.studies` that names the object.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TypeVar

from ivicl._shared.plugins import declared_in, from_entry_points, nearest_name
from ivicl.benchmarks.base import Benchmark, Study
from ivicl.errors import InputError

Listed = TypeVar("Listed", bound=Benchmark | Study)


@cache
def benchmarks() -> dict[str, Benchmark]:
    return _by_name(declared_in(f"{__package__}.sets", "BENCHMARK"), from_entry_points("ivicl.benchmarks", Benchmark))


@cache
def studies() -> dict[str, Study]:
    return _by_name(declared_in(f"{__package__}.studies", "STUDY"), from_entry_points("ivicl.studies", Study))


def _by_name(shipped: Iterable[Listed], others: Iterable[Listed]) -> dict[str, Listed]:
    """Those that ship, in order, then the others; another package cannot take over a name that ships."""
    found: dict[str, Listed] = {}
    for group in (shipped, others):
        for each in sorted(group, key=lambda each: (each.order, each.name)):
            found.setdefault(each.name, each)
    return found


def benchmark(name: str) -> Benchmark:
    return _known(name, benchmarks())


def find(name: str) -> Benchmark | Study:
    """The benchmark or study that `ivicl bench NAME` means."""
    # Benchmarks come first in the list, and a benchmark wins if a study has the same name.
    known: dict[str, Benchmark | Study] = {**benchmarks(), **studies(), **benchmarks()}
    return _known(name, known)


def _known(name: str, known: dict[str, Listed]) -> Listed:
    if name not in known:
        raise InputError(f"there is no benchmark '{name}'; {nearest_name(name, known)}.")
    return known[name]
