"""What the page takes from the package instead of writing it again: words, formulas, limits, counts. Prints JSON.

Run by the page's build (`npm run build`), with the Python that has ivicl installed.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

from ivicl import datasets
from ivicl.data import oddities, suspects
from ivicl.data.rules import rules
from ivicl.identification import balke_pearl
from ivicl.identification import losses as lost_terms
from ivicl.methods.assumptions import ASSUMPTIONS
from ivicl.methods.base import NO_SAMPLING_ERROR, Request
from ivicl.methods.estimands import ESTIMANDS
from ivicl.methods.outcomes import COMBINATIONS
from ivicl.methods.pretrained import large, method
from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.registry import shipped
from ivicl.results import saved
from ivicl.results.diagnostics import findings, losses
from ivicl.results.wording import CITED, PAPER
from ivicl.version import __version__

ESTIMAND_WORDS = ("title", "short", "meaning", "question", "among", "units")


def empty(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Nothing, as the schema of a saved result spells it, for each field of it that may be empty, object by object.

    What the package computes and the page does not is then said to be empty, and the file stays one that loads.
    """
    found: dict[str, Any] = {}
    for name in node.get("required", []):
        field = node["properties"][name]
        field = schema["$defs"][field["$ref"].rsplit("/", 1)[-1]] if "$ref" in field else field
        kinds = field["type"] if isinstance(field.get("type"), list) else [field.get("type")]
        kinds = [*kinds, *(each.get("type") for each in field.get("oneOf", []))]
        if "null" in kinds:
            found[name] = None
        elif "array" in kinds and not field.get("minItems"):
            found[name] = []
        elif "object" in kinds:
            found[name] = empty(field, schema)
    return found


def facts() -> dict[str, Any]:
    model, request, schema = Model.shipped(), Request(), saved.schema()
    return {
        "version": __version__,
        "paper": PAPER,
        "cited": CITED,
        "stamp": saved.stamped({}),
        "empty": {"result": empty(schema, schema), "rung": empty(schema["$defs"]["rung"], schema)},
        "fields": {
            "rung": list(schema["$defs"]["rung"]["properties"]),
            "estimand": list(schema["properties"]["estimands"]["additionalProperties"]["properties"]),
        },
        "model": {"name": model.name, "sha256": model.sha256, "schema": model.metadata["schema"]},
        "limits": {
            "max_features": model.metadata["network"]["max_features"],
            "max_count": model.metadata["network"]["max_count"],
            "least_people": method.LEAST_PEOPLE,
            "max_rows": large.MAX_ROWS,
            "max_rows_per_threshold": large.MAX_ROWS_PER_THRESHOLD,
            "people_range": findings.PEOPLE_RANGE,
            "most_covariates": findings.MOST_COVARIATES,
            "weak_f": findings.WEAK_F,
            "large_difference": findings.LARGE_DIFFERENCE,
            "chance_p": findings.CHANCE_P,
            "violated_p": findings.VIOLATED_P,
            "heavy_top": findings.HEAVY_TOP,
            "top_worth_saying": findings.TOP_WORTH_SAYING,
            "uneven_p": losses.UNEVEN_P,
            "large_move": losses.LARGE_MOVE,
            "small_move": losses.SMALL_MOVE,
        },
        "defaults": {"alpha": request.alpha, "combine": request.combine, "n_thresholds": request.n_thresholds},
        "no_sampling_error": NO_SAMPLING_ERROR,
        "assumptions": {key: dataclasses.asdict(value) for key, value in ASSUMPTIONS.items()},
        "estimands": {
            name: {
                field: getattr(value, field) for field in ("title", "short", "meaning", "question", "among", "units")
            }
            for name, value in ESTIMANDS.items()
        },
        "methods": {
            name: {
                "name": name,
                "label": value.label,
                "procedure": value.procedure,
                "interval": value.interval,
                "assumptions": value.assumptions,
                "estimand": value.estimands[0],
                "covers": value.covers[0],
                "rung": value.rung,
                "rung_without_covariates": getattr(value, "rung_without_covariates", False),
            }
            for name, value in shipped().items()
            if value.extra is None
        },
        "combinations": COMBINATIONS,
        "balke_pearl": {
            "lower_constants": balke_pearl.LOWER_CONSTANTS.tolist(),
            "lower_table": balke_pearl.LOWER_TABLE.reshape(8, 8).tolist(),
            "upper_constants": balke_pearl.UPPER_CONSTANTS.tolist(),
            "upper_table": balke_pearl.UPPER_TABLE.reshape(8, 8).tolist(),
        },
        "suspects": {
            "codes": suspects.CODES,
            "no_answer": suspects.NO_ANSWER.pattern,
            "number": suspects.NUMBER.pattern,
            "decimal_comma": suspects.DECIMAL_COMMA.pattern,
            "date": suspects.DATE.pattern,
            "id_name": oddities.ID_NAME.pattern,
            "clear_ones": sorted(oddities.CLEAR_ONES),
            "clear_zeros": sorted(oddities.CLEAR_ZEROS),
            "least_rows": oddities.LEAST_ROWS,
            "least_numbers": oddities.LEAST_NUMBERS,
            "most_words": oddities.MOST_WORDS,
            "same": oddities.SAME,
        },
        "lost_terms": lost_terms.TERMS.reshape(-1, 12).tolist(),
        "counts": datasets.COUNTS,
        "rules": rules(),
    }


if __name__ == "__main__":
    json.dump(facts(), sys.stdout)
