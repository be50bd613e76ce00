"""What a command needs beyond the core, asked for before it starts."""

from __future__ import annotations

import importlib.util

from ivicl.errors import MissingDependencyError


def need_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise MissingDependencyError("This command needs PyTorch: install it with pip install 'ivicl[train]'.")
