"""Benchmarks by name: which settings they have, and how to get one data set of them."""

from __future__ import annotations

import importlib
from functools import lru_cache
from types import ModuleType

from ivicl.benchmarks.base import BenchmarkDataset
from ivicl.errors import InputError

BENCHMARKS = ("synthetic", "jobs", "star", "airplane", "links")
NEEDS_DATA = ("jobs", "star")
"""Benchmarks made from a trial; the file can be given as a path."""


def module_of(benchmark: str) -> ModuleType:
    if benchmark not in BENCHMARKS:
        raise InputError(f"'{benchmark}' is not a benchmark; they are {', '.join(BENCHMARKS)}.")
    return importlib.import_module(f"ivicl.benchmarks.{benchmark}")


def settings(benchmark: str) -> tuple[str, ...]:
    names: tuple[str, ...] = module_of(benchmark).SETTINGS
    return names


@lru_cache(maxsize=64)
def dataset(benchmark: str, setting: str, seed: int, path: str | None = None) -> BenchmarkDataset:
    """One data set; `path` is the trial's file for jobs and star, where the packaged data are not wanted."""
    given = {"path": path} if path and benchmark in NEEDS_DATA else {}
    made: BenchmarkDataset = module_of(benchmark).dataset(setting, seed, **given)
    return made
