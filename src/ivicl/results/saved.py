"""Results on disk: JSON stamped with kind and schema. `schema.json` beside this file describes the content."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

from ivicl.errors import InputError
from ivicl.results import version_1

KIND = "ivicl-bounds"
SCHEMA = 2


def stamped(content: dict[str, Any], kind: str = KIND, schema: int = SCHEMA) -> dict[str, Any]:
    """The content with its kind and schema in front, so that a program that reads it later knows whether it can."""
    return {"kind": kind, "schema": schema} | content


def schema() -> dict[str, Any]:
    """The JSON Schema of a saved result."""
    text = (resources.files("ivicl.results") / "schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def read(path: str | Path) -> dict[str, Any]:
    """The content of a saved result, converted to the present schema."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"'{path}' cannot be read ({error.strerror}); name a file that res.save(path) wrote."
        ) from error
    except ValueError as error:
        raise InputError(f"'{path}' is not a saved result: it is not JSON; res.save(path) writes one.") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise InputError(f"'{path}' is not a saved result of ivicl; res.save(path) writes one.")
    if content.get("schema") not in (1, SCHEMA):
        raise InputError(
            f"'{path}' has schema {content.get('schema')}, but this version of ivicl reads 1 and {SCHEMA}; update "
            "ivicl, or fit again."
        )
    try:
        return version_1.as_version_2(content) if content["schema"] == 1 else content
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"'{path}' is damaged: {error}.") from error
