"""Results that version 0.1 saved (schema 1), converted to the present schema."""

from __future__ import annotations

from typing import Any

from ivicl.methods.assumptions import in_short
from ivicl.methods.base import Estimates
from ivicl.methods.estimands import AVERAGE
from ivicl.methods.registry import shipped
from ivicl.posterior import IdentifiedSet


def as_version_2(old: dict[str, Any]) -> dict[str, Any]:
    """The content in schema 2. Version 0.1 kept in `details` what is typed now, and did not describe the method."""
    details = dict(old["details"])
    method = shipped().get(old["method"])
    credible = old["posterior"] is not None or old["identified_set"] is not None
    allows = details.pop("sampling_error", True)
    kind = method.interval if method else "credible" if credible else "confidence" if allows else "estimate"
    # In version 0.1 `late` did not use covariates yet.
    adjusts = method is not None and method.uses_covariates and old["estimand"] == AVERAGE
    uses = adjusts or "n_strata" in details  # balke-pearl, within="covariates"
    new = {key: value for key, value in old.items() if key != "details"}
    new |= {
        "label": method.label if method else old["method"],
        "procedure": method.procedure if method else "",
        "interval_kind": kind,
        "assumptions": list(method.assumptions) if method else [],
        "adjusted": bool(old["covariates"]) and uses,
        "estimates": _estimates(details, old, kind),
        "thresholds": _thresholds(details),
    }
    return new | {"ladder": _ladder(details, new), "details": details}


def _estimates(details: dict[str, Any], old: dict[str, Any], kind: str) -> dict[str, Any] | None:
    if old["identified_set"] is not None:
        ends = IdentifiedSet.from_dict(old["identified_set"])
        return Estimates(ends.lower.mean, ends.upper.mean, ends.lower.sd, ends.upper.sd).to_dict()
    if "estimate" in details:
        point, se = details.pop("estimate"), details.pop("se", None)
        return {"lower": point, "upper": point, "se_lower": se, "se_upper": se}
    if "estimated_bounds" in details:
        (lower, upper), errors = details.pop("estimated_bounds"), details.pop("standard_errors", (None, None))
        return {"lower": lower, "upper": upper, "se_lower": errors[0], "se_upper": errors[1]}
    return {"lower": old["lower"], "upper": old["upper"]} if kind == "estimate" else None


def _thresholds(details: dict[str, Any]) -> dict[str, Any] | None:
    details.pop("width", None)
    if "combine" not in details:
        return None
    cuts = details.pop("thresholds", None) or {"points": [], "lengths": []}
    return cuts | {"combine": details.pop("combine"), "problems": details.pop("n_binary_problems")}


def _ladder(details: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]] | None:
    return [_rung(rung, new) for rung in details.pop("ladder", [])] or None


def _rung(rung: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """A rung in today's words: some of those of version 0.1 were not true of the method."""
    own = rung["method"] == new["method"]
    method = shipped().get(rung["method"])
    kind = method.interval if method else new["interval_kind"] if own else "estimate"
    point = rung.get("estimate")
    ends = (rung["lower"], rung["upper"]) if kind == "estimate" else (point, point)
    if own and new["estimates"]:
        ends = (new["estimates"]["lower"], new["estimates"]["upper"])
    return rung | {
        "label": method.label if method else rung["label"],
        "assumption": in_short(method.assumptions, own and new["adjusted"]) if method else rung["assumption"],
        "interval": kind,
        "alpha": new["alpha"],
        "covers": new["covers"] if own else method.covers[0] if method else "set",
        "adjusted": own and new["adjusted"],
        "estimate_lower": ends[0],
        "estimate_upper": ends[1],
    }
