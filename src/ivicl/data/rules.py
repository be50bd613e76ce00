"""The rules of encoding in `encoding_rules.json`, which the page in the browser uses too; read once."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import Any

from ivicl.errors import InputError


@lru_cache(maxsize=1)
def rules() -> dict[str, Any]:
    """The whole table."""
    text = (resources.files("ivicl.data") / "encoding_rules.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def note(name: str, /, **values: object) -> str:
    """A sentence on what was done to the data."""
    return str(rules()["notes"][name]).format(**values)


def refusal(name: str, /, **values: object) -> InputError:
    """A sentence on what cannot be read, as the error to raise."""
    return InputError(str(rules()["errors"][name]).format(**values))
