"""Results on disk: JSON with a stamp of kind and schema. `schema.json` beside this file says what it holds."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

from ivicl.errors import InputError

KIND = "ivicl-bounds"
SCHEMA = 2


def stamped(content: dict[str, Any]) -> dict[str, Any]:
    return {"kind": KIND, "schema": SCHEMA} | content


def schema() -> dict[str, Any]:
    """The JSON Schema of a saved result."""
    text = (resources.files("ivicl.results") / "schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def read(path: str | Path) -> dict[str, Any]:
    """The content of a saved result, brought to the present schema."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InputError(f"'{path}' is not a saved result: it is not JSON.") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise InputError(f"'{path}' is not a saved result of ivicl.")
    if content.get("schema") not in (1, SCHEMA):
        raise InputError(f"'{path}' has schema {content.get('schema')}, but this version reads 1 and {SCHEMA}.")
    try:
        return _from_version_1(content) if content["schema"] == 1 else content
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"'{path}' is damaged: {error}.") from error


def _from_version_1(old: dict[str, Any]) -> dict[str, Any]:
    """Version 0.1 kept what is typed now in a bag of details, and did not say what a method is."""
    from ivicl.methods.registry import shipped

    details = dict(old["details"])
    method = shipped().get(old["method"])
    credible = old["posterior"] is not None or old["identified_set"] is not None
    allows = details.pop("sampling_error", True)
    kind = method.interval if method else "credible" if credible else "confidence" if allows else "estimate"
    new = {key: value for key, value in old.items() if key != "details"}
    new |= {
        "label": method.label if method else old["method"],
        "interval_kind": kind,
        "assumptions": list(method.assumptions) if method else [],
        "adjusted": bool(old["covariates"]) and bool(method and method.uses_covariates),
        "estimates": _estimates_of_version_1(details, old),
        "thresholds": _thresholds_of_version_1(details),
        "ladder": [_rung_of_version_1(rung) for rung in details.pop("ladder", [])] or None,
        "details": details,
    }
    return new


def _estimates_of_version_1(details: dict[str, Any], old: dict[str, Any]) -> dict[str, Any] | None:
    if "estimate" in details:
        point, se = details.pop("estimate"), details.pop("se", None)
        return {"lower": point, "upper": point, "se_lower": se, "se_upper": se}
    if "estimated_bounds" in details:
        (lower, upper), errors = details.pop("estimated_bounds"), details.pop("standard_errors", (None, None))
        return {"lower": lower, "upper": upper, "se_lower": errors[0], "se_upper": errors[1]}
    if old["posterior"] is None and old["identified_set"] is None:
        return {"lower": old["lower"], "upper": old["upper"]}
    return None


def _thresholds_of_version_1(details: dict[str, Any]) -> dict[str, Any] | None:
    details.pop("width", None)
    if "combine" not in details:
        return None
    cuts = details.pop("thresholds", None) or {"points": [], "lengths": []}
    return cuts | {"combine": details.pop("combine"), "problems": details.pop("n_binary_problems")}


def _rung_of_version_1(rung: dict[str, Any]) -> dict[str, Any]:
    kind = "confidence" if rung["sampling_error"] else "estimate"
    point = rung.get("estimate")
    ends = (point, point) if rung["sampling_error"] else (rung["lower"], rung["upper"])
    return rung | {"interval": kind, "estimate_lower": ends[0], "estimate_upper": ends[1]}
