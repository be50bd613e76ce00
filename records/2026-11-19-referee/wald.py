"""ITT, LATE and their intervals against textbook formulas, and their coverage with covariates and under designs.

python records/2026-11-19-referee/wald.py [law ...]
"""

from __future__ import annotations

import sys
import warnings

import laws
import numpy as np
from scipy import stats

from ivicl import IVBounds

ALPHA = 0.05
warnings.simplefilter("ignore")
CELLS = (
    ("plain", None, 200),
    ("nearly_one_sided", None, 200),
    ("rare_treatment", None, 1000),
    ("confounded", None, 500),
    ("confounded", None, 3000),
    ("poor_overlap", None, 1000),
    ("noise_30", None, 200),
    ("many_levels", None, 800),
    ("heavy_tails", None, 300),
    ("heavy_tails", None, 1000),
    ("heavy_tails", "narrow", 500),
    ("lottery", None, 1000),
    ("checkerboard", None, 1000),
    ("lottery", "tally", 500),
    ("confounded", "earnings", 1000),
)
ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}


def late(table: dict, covariates=(), **more):
    res = IVBounds("late", alpha=ALPHA).fit(table, **ROLES, covariates=list(covariates), **more)
    return res, res.estimands["LATE"], res.estimands["ITT"]


def formulas(rng: np.random.Generator) -> None:
    """Without covariates: Wald's ratio, Anderson-Rubin by inverting the test on a grid, robust 2SLS standard errors."""
    off_ratio, off_se, off_ends, off_itt = [], [], [], []
    for _ in range(60):
        n = int(rng.integers(60, 800))
        z = (rng.random(n) < rng.uniform(0.2, 0.8)).astype(int)
        t = (rng.random(n) < 0.2 + rng.uniform(0.1, 0.6) * z).astype(int)
        y = rng.random(n) ** 2 if rng.random() < 0.5 else (rng.random(n) < 0.3 + 0.3 * t).astype(float)
        res, found, itt = late({"z": z, "t": t, "y": y}, outcome_range=(0, 1))
        dy, dt = (v[z == 1].mean() - v[z == 0].mean() for v in (y, t))
        beta = dy / dt
        off_ratio.append(found.estimate_lower - beta)
        # 2SLS by matrices, with the sandwich that takes no degrees of freedom away
        zz, xx = np.column_stack([np.ones(n), z]), np.column_stack([np.ones(n), t])
        inverse = np.linalg.inv(zz.T @ xx)
        b = inverse @ zz.T @ y
        u = y - xx @ b
        se = np.sqrt((inverse @ (zz.T * u**2) @ zz @ inverse.T)[1, 1])
        off_se.append(res.estimates.se_lower / se - 1)
        # Anderson-Rubin: all b at which the difference of y - b t between the arms is not significant
        critical = stats.norm.ppf(1 - ALPHA / 2)

        def statistic(b: float, z=z, t=t, y=y, critical=critical) -> float:
            v = y - b * t
            var = sum(v[z == k].var() / (z == k).sum() for k in (0, 1))
            return abs(v[z == 1].mean() - v[z == 0].mean()) / np.sqrt(var) - critical

        grid = np.linspace(-1, 1, 4001)
        inside = grid[np.array([statistic(b) for b in grid]) <= 0]
        off_ends += [found.lower - inside.min(), found.upper - inside.max()]
        margin = critical * np.sqrt(sum(y[z == k].var() / (z == k).sum() for k in (0, 1)))
        off_itt += [itt.lower - (dy - margin), itt.upper - (dy + margin)]
    print("against formulas (60 data sets): largest difference")
    print(f"  Wald's ratio {np.abs(off_ratio).max():.1e}; robust 2SLS s.e., relative {np.abs(off_se).max():.1e}")
    print(f"  Anderson-Rubin ends {np.abs(off_ends).max():.1e} (grid step 5e-4); ITT ends {np.abs(off_itt).max():.1e}")


def cells(rng: np.random.Generator) -> None:
    """Covariates that are cells: standardised differences by hand, and interacted 2SLS."""
    off = []
    for _ in range(20):
        n = 4000
        g = rng.integers(0, 4, n)
        z = (rng.random(n) < np.array([0.3, 0.4, 0.6, 0.7])[g]).astype(int)
        t = (rng.random(n) < np.array([0.1, 0.2, 0.1, 0.3])[g] + 0.4 * z).astype(int)
        y = (rng.random(n) < np.array([0.2, 0.3, 0.5, 0.4])[g] + 0.2 * t).astype(float)
        res, found, _ = late({"z": z, "t": t, "y": y, "g": np.array(list("abcd"))[g]}, ["g"])
        w = np.bincount(g) / n
        d = [[v[(z == 1) & (g == k)].mean() - v[(z == 0) & (g == k)].mean() for k in range(4)] for v in (y, t)]
        off.append((found.estimate_lower - (w @ d[0]) / (w @ d[1])) / res.estimates.se_lower)
    print(f"cells: LATE minus the standardised ratio by hand, in s.e.: largest {np.abs(off).max():.2f}")


def coverage() -> None:
    print("| law | n | ITT held | LATE held | s.e. over spread | bounded |\n|---|---|---|---|---|---|")
    for place, (name, outcome, n) in enumerate(CELLS):
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        rng = np.random.default_rng([11, place])
        law = getattr(laws, name) if outcome != "earnings" else laws.low_means(getattr(laws, name), laws.W_MEAN / 25)
        held, errors, ses, bounded = [], [], [], []
        for _ in range(150):
            people = law(rng, n)
            z, t, y = people.draw(rng, None if outcome is None else getattr(laws, outcome))
            if len(np.unique(y)) < 2 or len(np.unique(t)) < 2:
                continue
            truth = people.truth()
            res, found, itt = late({"z": z, "t": t, "y": y, **people.x}, list(people.x), outcome_range=(0, 1))
            held.append([each.lower <= truth[key][0] <= each.upper for each, key in ((itt, "ITT"), (found, "LATE"))])
            errors.append(itt.estimate_lower - truth["ITT"][0])
            ses.append((itt.upper - itt.lower) / 2 / stats.norm.ppf(1 - ALPHA / 2))
            bounded.append(res.details["bounded"])
        a, b = np.mean(held, 0)
        shown = f"{a:.3f} | {b:.3f} | {np.mean(ses) / np.std(errors):.2f} | {np.mean(bounded):.2f}"
        print(f"| {name}, {outcome or 'yes/no'} | {n:,} | {shown} |", flush=True)


if __name__ == "__main__":
    rng = np.random.default_rng(11)
    formulas(rng)
    cells(rng)
    coverage()
