"""Data sets with the package's answers, which the page in the browser must give too: `python tests/page_vectors.py`.

Writes tests/data/page_vectors.json. Each data set is eight counts, or the text of a file with its roles.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ivicl import BoundsResult, IVBounds, datasets
from ivicl.data.files import read_table

PATH = Path(__file__).parent / "data" / "page_vectors.json"
FORMULAS = ("manski", "manski-iv", "balke-pearl")
SHARED = ("lower", "upper", "n", "n_rows", "n_dropped", "covariates", "adjusted", "binary", "outcome_range", "codings")
SHARED += ("estimates", "notes", "warnings", "grade")
"""What the page's result must have as the package's: numbers to 1e-6 of the outcome's range, the rest exactly."""

PACKAGE_ALONE = ("fit to the covariates",)
"""Findings that the page does not look for: the alarm asks the network for the law at each row."""


def people(rng: np.random.Generator, n: int) -> dict[str, list[Any]]:
    """A study with a latent will to take part, which also moves the outcome."""
    will, age = rng.normal(size=n), rng.integers(20, 80, n)
    z = (rng.random(n) < 0.5).astype(int)
    t = (will + 1.2 * z + 0.01 * (age - 50) > 0.6).astype(int)
    score = 0.5 * will + 0.8 * t + 0.02 * (age - 50) + rng.normal(size=n)
    return {
        "z": z.tolist(),
        "t": t.tolist(),
        "y": (score > 0.4).astype(int).tolist(),
        "age": age.tolist(),
        "score": score.tolist(),
    }


def written(columns: dict[str, list[Any]], separator: str = ",") -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def blanked(rng: np.random.Generator, values: list[Any], mark: str, share: float = 0.06) -> list[Any]:
    return [mark if gone else value for value, gone in zip(values, rng.random(len(values)) < share, strict=True)]


def files(rng: np.random.Generator) -> dict[str, dict[str, Any]]:
    """Name -> text and roles."""
    basic = {"outcome": "y", "treatment": "t", "instrument": "z"}
    found: dict[str, dict[str, Any]] = {}

    plain = people(rng, 300)
    found["text and missing values, dropped"] = {
        "text": written({
            "z": [("usual care", "letter")[v] for v in plain["z"]],
            "t": blanked(rng, [("no", "yes")[v] for v in plain["t"]], "NA"),
            "y": blanked(rng, plain["y"], "."),
            "age": blanked(rng, plain["age"], ""),
            "place, of birth": rng.choice(["Zürich", "Åland", "北京", "a \"town\"", " padded "], 300).tolist(),
        }),
        "roles": basic | {"covariates": ["age", "place, of birth"], "ones": {"z": "letter"}},
    }  # fmt: skip

    plain = people(rng, 400)
    found["text and missing values, flagged"] = {
        "text": written({
            "z": [("false", "true")[v] for v in plain["z"]], "t": plain["t"], "y": plain["y"],
            "age": blanked(rng, plain["age"], "NaN", 0.2),
            "sex": blanked(rng, rng.choice(["f", "m"], 400).tolist(), "null", 0.1),
            "dose": rng.choice([0.5, 1e-3, 2.25], 400).tolist(),
        }, "\t"),
        "roles": basic | {"covariates": ["age", "sex", "dose"], "missing": "indicator"},
    }  # fmt: skip

    plain = people(rng, 500)
    towns = [f"town {chr(97 + int(k))}" for k in np.minimum(rng.geometric(0.12, 500), 26) - 1]
    found["many levels, weights, semicolons"] = {
        "text": written({
            "z": plain["z"], "t": plain["t"], "y": plain["y"], "town": towns,
            "people": rng.integers(0, 4, 500).tolist(),
        }, ";"),
        "roles": basic | {"covariates": ["town"], "weights": "people", "ones": {"y": 0}},
    }  # fmt: skip

    plain = people(rng, 250)
    extra = {f"x{k}": np.round(rng.normal(size=250), 3).tolist() for k in range(8)}
    found["many covariates"] = {
        "text": written({"z": plain["z"], "t": plain["t"], "y": plain["y"]} | extra),
        "roles": basic | {"covariates": list(extra)},
        "alpha": 0.01,
    }

    plain = people(rng, 320)
    unfair = [int(rng.random() < (0.9 if a > 55 else 0.1)) for a in plain["age"]]
    found["an instrument that follows age"] = {
        "text": written({"z": unfair, "t": plain["t"], "y": plain["y"], "age": plain["age"]}),
        "roles": basic | {"covariates": ["age"]},
    }

    plain = people(rng, 120)
    score = np.round(plain["score"], 1)
    columns = {
        "arm": [("b", "a")[v] for v in plain["z"]], "took": [("left", "right")[v] for v in plain["t"]],
        "answer": [-9 if v < 0.05 else s for v, s in zip(rng.random(120), np.abs(score), strict=True)],
        "person": list(range(120)), "born": ["2001-02-03"] * 60 + ["1999-12-31"] * 60,
        "dose": rng.choice(["1,5", "2,25", "3,0"], 120).tolist(), "level": np.round(rng.random(120), 5).tolist(),
    }  # fmt: skip
    again = {name: values + values[:20] for name, values in columns.items()}
    found["columns that look odd"] = {
        "text": written(again, ";"),
        "roles": {
            "outcome": "answer",
            "treatment": "took",
            "instrument": "arm",
            "covariates": ["born", "dose", "level"],
        },
    }

    plain = people(rng, 350)
    found["an amount of few levels"] = {
        "text": written(
            {"z": plain["z"], "t": plain["t"], "y": (np.clip(np.round(plain["score"]), -1, 3) + 0.0).tolist()}
        ),
        "roles": basic,
    }
    plain = people(rng, 400)
    skewed = np.round(np.exp(2 * np.array(plain["score"])), 2).tolist()
    found["an amount with a heavy tail"] = {
        "text": written({"z": plain["z"], "t": plain["t"], "y": skewed, "age": plain["age"]}),
        "roles": basic | {"covariates": ["age"]},
    }
    plain = people(rng, 260)
    found["an amount in a range that is given"] = {
        "text": written({"z": plain["z"], "t": plain["t"], "y": np.round(plain["score"], 2), "age": plain["age"]}),
        "roles": basic | {"covariates": ["age"], "outcome_range": [-5, 5]},
    }
    plain = people(rng, 240)
    found["covariates that were not meant so"] = {
        "text": written({
            "z": plain["z"], "t": plain["t"], "y": plain["y"], "age": blanked(rng, plain["age"], "refused"),
            "took it": [("yes", "no")[v] for v in plain["t"]],
        }),
        "roles": basic | {"covariates": ["age", "took it"]},
    }  # fmt: skip
    return found


COUNTS: dict[str, list[int]] = {
    "cholestyramine": np.ravel(datasets.COUNTS["cholestyramine"]).tolist(),
    "vitamin A": np.ravel(datasets.COUNTS["vitamin_a"]).tolist(),
    "the data contradict the instrument": [20, 70, 5, 5, 70, 20, 5, 5],
    "few people": [3, 2, 0, 1, 1, 2, 4, 2],
    "instrument and treatment perhaps swapped": [80, 60, 30, 40, 0, 0, 50, 70],
    "two-sided, the instrument lowers the treatment": [120, 60, 80, 200, 210, 90, 40, 60],
}


def answer(vector: dict[str, Any]) -> BoundsResult:
    """The package's own result for a vector."""
    estimator = IVBounds(alpha=vector["alpha"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "counts" in vector:
            return estimator.fit_counts(vector["counts"])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "file.csv"
            path.write_text(vector["text"], encoding="utf-8")
            frame = read_table(str(path))
        return estimator.fit(frame, **vector["roles"])


def vectors() -> list[dict[str, Any]]:
    asked: list[dict[str, Any]] = [{"name": name, "alpha": 0.05, "counts": table} for name, table in COUNTS.items()]
    rng = np.random.default_rng(18)
    asked += [{"name": name, "alpha": 0.05} | given for name, given in files(rng).items()]
    for vector in asked:
        result = answer(vector).to_dict()
        vector["expected"] = {key: result[key] for key in SHARED}
        # The package gives the closed formulas an interval from draws, the page their estimates alone.
        vector["expected"]["ladder"] = {
            f"{rung['method']}, {'adjusted' if rung['adjusted'] else 'no covariates'}": [
                *(rung[f"{'estimate_' if rung['method'] in FORMULAS else ''}{end}"] for end in ("lower", "upper"))
            ]
            for rung in result["ladder"]
        }
        vector["expected"]["findings"] = [
            found for found in result["diagnostics"]["findings"] if found["name"] not in PACKAGE_ALONE
        ]
    return asked


def _rounded(value: Any) -> Any:
    """Twelve digits, so that the file does not change with the order of a sum."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def read() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def as_text() -> str:
    return json.dumps(_rounded(vectors()), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(as_text(), encoding="utf-8")
