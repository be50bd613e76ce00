"""Benchmarks and studies by name: those that ship, and those of other packages.

A file in `sets` with a `BENCHMARK`, or in `studies` with a `STUDY`, is found by itself. Another package adds one by an
entry point of the group `ivicl.benchmarks` or `ivicl.studies` that names the object.
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
    """Those that ship in their order, then the others; a name that ships cannot be taken over."""
    found: dict[str, Listed] = {}
    for group in (shipped, others):
        for each in sorted(group, key=lambda each: (each.order, each.name)):
            found.setdefault(each.name, each)
    return found


def benchmark(name: str) -> Benchmark:
    return _known(name, benchmarks())


def find(name: str) -> Benchmark | Study:
    """What `ivicl bench NAME` means."""
    # Benchmarks first in the list, and first where both have the name.
    known: dict[str, Benchmark | Study] = {**benchmarks(), **studies(), **benchmarks()}
    return _known(name, known)


def _known(name: str, known: dict[str, Listed]) -> Listed:
    if name not in known:
        raise InputError(f"there is no benchmark '{name}'; {nearest_name(name, known)}.")
    return known[name]
