"""A run on disk: one safetensors file with weights, average and optimizer state, the rest in its header.

Written beside the old one and renamed, so that a kill at any moment leaves a whole checkpoint.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from ivicl.errors import InputError

NAME = "state.safetensors"


def save(folder: Path, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / (NAME + ".new")
    save_file({name: t.detach().contiguous() for name, t in tensors.items()}, fresh, {"ivicl": json.dumps(meta)})
    os.replace(fresh, folder / NAME)


def load(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    path = folder / NAME
    if not path.exists():
        raise InputError(f"There is no run in {str(folder)!r}: {NAME} is missing.")
    with safe_open(path, framework="pt") as file:
        meta = json.loads(file.metadata()["ivicl"])
        return {name: file.get_tensor(name) for name in file.keys()}, meta  # noqa: SIM118
