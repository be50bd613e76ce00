"""How often the network's 95 % intervals hold the true set: python records/2026-11-19-referee/intervals.py [law ...]"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor

import laws
import numpy as np

from ivicl import IVBounds

ALPHA = 0.05
NAMES = ("ATE", "ATT", "ATU", "EY1", "EY0", "RR", "LIFT", "ITT", "LATE")
COUNTS_ONLY = ("plain", "rare_outcome", "rare_treatment", "unbalanced", "nearly_one_sided", "ties", "defiant")
CELLS = [  # law, outcome, people, data sets
    *(("plain", None, n, 100) for n in (100, 500, 5000)),
    *(("rare_outcome", None, n, 100) for n in (1000, 5000)),
    *(("rare_treatment", None, n, 100) for n in (400, 2000)),
    *(("unbalanced", None, n, 100) for n in (200, 1000)),
    *(("nearly_one_sided", None, n, 100) for n in (200, 2000)),
    *(("ties", None, n, 100) for n in (200, 2000)),
    *(("defiant", None, n, 100) for n in (200, 2000)),
    *(("confounded", None, n, 100) for n in (200, 1000)),
    ("confounded", None, 5000, 50),
    ("noise_30", None, 200, 100),
    *(("many_levels", None, n, 80) for n in (600, 3000)),
    *(("poor_overlap", None, n, 100) for n in (300, 1000)),
    *(("heavy_tails", None, n, 100) for n in (300, 1000)),
    ("defiers_by_region", None, 1000, 100),
    ("checkerboard", None, 1000, 80),
    ("lottery", None, 1000, 100),
    *(("plain", "earnings", n, 100) for n in (200, 2000)),
    ("confounded", "earnings", 1000, 80),
    *(("plain", "scale_5", n, 100) for n in (100, 1000)),
    ("confounded", "scale_5", 500, 80),
    ("plain", "tally", 500, 100),
    ("lottery", "tally", 500, 80),
    ("plain", "narrow", 300, 100),
    ("heavy_tails", "narrow", 500, 80),
]


def one(cell: tuple) -> dict[str, list]:
    name, outcome, n, studies = cell
    law = getattr(laws, name)
    if outcome == "earnings":
        law = laws.low_means(law, laws.W_MEAN / 25)
    rng = np.random.default_rng([7, CELLS.index(cell) if cell in CELLS else 999])
    drawn = None if outcome is None else getattr(laws, outcome)
    defies = name in ("ties", "defiant", "defiers_by_region")
    held: dict[str, list] = {
        key: [] for key in (*NAMES, "LATE*", "below", "above", "stop", "look", "width", "true", "skipped")
    }
    for _ in range(studies):
        people = law(rng, n)
        z, t, y = people.draw(rng, drawn)
        if len(np.unique(z)) < 2 or len(np.unique(y)) < 2:
            held["skipped"].append(1)
            continue
        truth = people.truth()
        table = {"z": z, "t": t, "y": y, **people.x}
        roles = {
            "outcome": "y",
            "treatment": "t",
            "instrument": "z",
            "covariates": list(people.x),
            "outcome_range": (0, 1),
        }
        res = IVBounds(alpha=ALPHA).fit(table, **roles)
        for key in NAMES:
            entry = res.estimands.get(key)
            if entry is None or (key == "LATE" and defies):
                continue
            low, high = truth[key]
            upper = np.inf if entry.upper is None else entry.upper
            held[key].append(entry.lower <= low + 1e-9 and upper >= high - 1e-9)
        held["below"].append(res.lower > truth["ATE"][0] + 1e-9)
        held["above"].append(res.upper < truth["ATE"][1] - 1e-9)
        held["width"].append(res.upper - res.lower)
        held["true"].append(truth["ATE"][1] - truth["ATE"][0])
        held["stop"].append(res.grade == "stop")
        held["look"].append(any(f.name == "fit to the covariates" and f.grade == "look" for f in res.findings))
        if not defies:
            late = IVBounds(alpha=ALPHA, assume=("no-defiers",)).fit(table, **roles).estimands["LATE"]
            held["LATE*"].append(late.lower <= truth["LATE"][0] <= late.upper)
    return held


def line(cell: tuple, held: dict[str, list]) -> str:
    def share(key: str) -> str:
        return f"{np.mean(held[key]):.2f}" if held[key] else "-"

    name, outcome, n, _ = cell
    parts = [f"{name}, {outcome or 'yes/no'}", f"{n:,}", str(len(held["width"]))]
    parts += [share(key) for key in (*NAMES, "LATE*", "below", "above", "width", "true", "stop", "look")]
    return "| " + " | ".join(parts) + " |"


if __name__ == "__main__":
    asked = sys.argv[1:]
    cells = [cell for cell in CELLS if not asked or cell[0] in asked]
    titles = [
        "law",
        "n",
        "data sets",
        *NAMES,
        "LATE with no-defiers",
        "ATE missed below",
        "above",
        "width",
        "true width",
        "stop",
        "alarm",
    ]
    print("| " + " | ".join(titles) + " |")
    print("|" + "---|" * len(titles), flush=True)
    with ProcessPoolExecutor(2) as pool:
        for cell, held in zip(cells, pool.map(one, cells), strict=True):
            print(line(cell, held), flush=True)
