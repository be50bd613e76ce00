"""Optional packages of the baselines, imported on first use with a message that names what to install."""

from __future__ import annotations

import importlib
from types import ModuleType

from ivicl.errors import MissingDependencyError


def require(module: str, method: str) -> ModuleType:
    """Import `module`, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = {"sklearn": "scikit-learn"}.get(module.split(".")[0], module.split(".")[0])
        raise MissingDependencyError(
            f'method "{method}" needs {package}, which is not installed: pip install "ivicl[baselines]".'
        ) from error
