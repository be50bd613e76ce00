"""Files that are either complete or absent: written beside the old one, then renamed, so that a kill does no harm."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from ivicl.errors import ModelFileError


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path to write to; the file replaces `path` if nothing went wrong."""
    fresh = path.with_name(path.name + ".new")
    try:
        yield fresh
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


def save_tensors(path: Path, tensors: Mapping[str, Tensor], record: dict[str, Any]) -> None:
    """Write one safetensors file, with the record as JSON in its header."""
    with whole(path) as fresh:
        plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        save_file(plain, fresh, {"ivicl": json.dumps(record, sort_keys=True)})


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of such a file, on the CPU, and its record."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, json.loads(file.metadata()["ivicl"])  # noqa: SIM118
    except FileNotFoundError as error:
        raise ModelFileError(f"There is no file {str(path)!r}.") from error
    except Exception as error:
        raise ModelFileError(f"The file {str(path)!r} cannot be read: {error}.") from error
