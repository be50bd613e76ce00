"""The version, read from the installed package so that it is written down once."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("ivicl")
except PackageNotFoundError:  # a source tree on the path, not installed
    __version__ = "0+unknown"
