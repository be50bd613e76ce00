"""Where terms tie (an instrument that moves few), and small samples: the network.

python records/2026-11-19-referee/edges.py
"""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor

import laws
import numpy as np

from ivicl import IVBounds

ALPHA = 0.05
ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}


def no_first_stage(rng, n):
    """Nobody is moved: four terms of each end tie."""
    return laws.same(n, 0.5, [0.5, 0.0, 0.5, 0.0], [[0.4, 0.4], [0, 0], [0.6, 0.6], [0, 0]])


def weak(rng, n):
    return laws.same(n, 0.5, [0.5, 0.05, 0.45, 0.0], [[0.4, 0.5], [0.5, 0.6], [0.5, 0.6], [0, 0]])


def one_sided(rng, n):
    return laws.same(n, 0.5, [0.4, 0.6, 0.0, 0.0], [[0.5, 0.7], [0.3, 0.6], [0, 0], [0, 0]])


LAWS = {"no first stage": no_first_stage, "first stage .05": weak, "one-sided": one_sided}
CELLS = [
    *(("ivicl", name, 300, 60) for name in ("no first stage", "first stage .05")),
    *(("ivicl", "one-sided", n, 30) for n in (8, 20, 40)),
    ("ivicl", "no first stage", 3000, 40),
]


def one(cell: tuple) -> str:
    warnings.simplefilter("ignore")
    method, name, n, studies = cell
    rng = np.random.default_rng([13, CELLS.index(cell)])
    kept: dict[str, list] = {key: [] for key in ("ATE", "ATT", "miss", "size", "width", "finite")}
    for _ in range(studies):
        people = LAWS[name](rng, n)
        z, t, y = people.draw(rng, None)
        if len(np.unique(z)) < 2 or len(np.unique(y)) < 2 or len(np.unique(t)) < 2:
            continue
        truth = people.truth()
        res = IVBounds(method, alpha=ALPHA).fit({"z": z, "t": t, "y": y}, **ROLES)
        for key in ("ATE", "ATT"):
            entry = res.estimands[key]
            kept[key].append(entry.lower <= truth[key][0] + 1e-9 and entry.upper >= truth[key][1] - 1e-9)
        entry = res.estimands["ATE"]
        short = max(entry.lower - truth["ATE"][0], truth["ATE"][1] - entry.upper, 0.0)
        if short > 0:
            kept["miss"].append(short)
        kept["size"].append(truth["ATE"][1] - truth["ATE"][0])
        kept["width"].append(entry.upper - entry.lower)
        kept["finite"].append(-1 <= entry.lower <= entry.upper <= 1)
    miss = f"{np.mean(kept['miss']):.3f}" if kept["miss"] else "-"
    shares = " | ".join(f"{np.mean(kept[key]):.2f}" for key in ("ATE", "ATT"))
    sane = "yes" if all(kept["finite"]) else "NO"
    width, size = np.mean(kept["width"]), np.mean(kept["size"])
    return f"| {method} | {name} | {n:,} | {len(kept['ATE'])} | {shares} | {miss} | {width:.2f} | {size:.2f} | {sane} |"


if __name__ == "__main__":
    print(
        "| method | law | n | data sets | ATE | ATT | by how much missed | width | true width | sane |\n"
        + "|---" * 10
        + "|"
    )
    with ProcessPoolExecutor(2) as pool:
        for row in pool.map(one, CELLS):
            print(row, flush=True)
