"""What commands and methods need beyond the core: checked before a command starts, and shown by `ivicl methods`."""

from __future__ import annotations

import importlib.util
import re

from ivicl.errors import MissingDependencyError


def need_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise MissingDependencyError("This command needs PyTorch: install it with pip install 'ivicl[train]'.")


def is_installed(extra: str) -> bool | None:
    """Whether everything that `pip install 'ivicl[extra]'` brings is installed; None if that cannot be told.

    Read from the packages' metadata: nothing is imported, so that asking about torch is quick.
    """
    from importlib import metadata

    try:
        listed = metadata.requires("ivicl") or []
    except metadata.PackageNotFoundError:  # a source folder on the path
        return None
    names = [
        re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in listed if re.search(rf"extra == ['\"]{extra}['\"]", line)
    ]
    return all(_is_there(name) for name in names) if names else None


def _is_there(package: str) -> bool:
    from importlib import metadata

    try:
        metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True
