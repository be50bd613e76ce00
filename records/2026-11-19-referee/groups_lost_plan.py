"""`by()`'s one-step ends, lost outcomes that may have been anything, and `plan()` against fits.

python records/2026-11-19-referee/groups_lost_plan.py [by] [lost] [planned]
"""

from __future__ import annotations

import sys
import warnings
from concurrent.futures import ProcessPoolExecutor

import laws
import numpy as np
from programs import ends, observed, types

from ivicl import IVBounds, plan

ALPHA = 0.05
ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}
warnings.simplefilter("ignore")


def grouped(rng, n):
    """Three groups of 50, 35 and 15 %, with their own P(Z=1), compliance and outcome; one covariate more."""
    g, v = rng.choice(3, n, p=[0.5, 0.35, 0.15]), rng.normal(size=n)
    e = laws.expit(np.array([0.4, -0.5, 0.0])[g] + 0.5 * v)
    types_ = laws.shares(np.array([-0.5, 0.2, -0.2])[g], 0.5, -1.2 + 0.5 * v, -40.0)
    x = {"g": np.array(list("abc"))[g], "v": v}
    return g, laws.People(
        x, e, types_, laws._means(np.array([-0.5, 0.4, 0.0])[g] + 0.8 * v, np.array([0.8, 0.0, 1.5])[g])
    )


def part(people, rows):
    return laws.People({}, people.e[rows], people.types[rows], people.means[rows])


def by(case) -> str:
    method, outcome, n, studies = case
    rng = np.random.default_rng(31)
    held, own, z_scores = ([[], [], []] for _ in range(3))
    for _ in range(studies):
        g, people = grouped(rng, n)
        z, t, y = people.draw(rng, None if outcome is None else getattr(laws, outcome))
        res = IVBounds(method, alpha=ALPHA).fit(
            {"z": z, "t": t, "y": y, **people.x}, **ROLES, covariates=["g", "v"], outcome_range=(0, 1)
        )
        for k, row in enumerate(res.by("g").rows()):
            low, high = part(people, g == k).truth()["ATE"]
            away = np.array([row["given_all_lower"] - low, row["given_all_upper"] - high])
            se = np.array([row["given_all_se_lower"], row["given_all_se_upper"]])
            held[k].append(np.abs(away) <= 1.96 * se)
            z_scores[k].append(away / se)
            own[k].append(row["lower"] <= low and row["upper"] >= high)
    rows = []
    for k, name in enumerate("abc"):
        a, b = np.mean(held[k], 0), np.mean(z_scores[k], 0)
        rows.append(
            f"| {method}, {outcome or 'yes/no'}, group {name} of {int(n * (0.5, 0.35, 0.15)[k])} | {a[0]:.2f}, {a[1]:.2f} | "
            f"{b[0]:+.2f}, {b[1]:+.2f} | {np.mean(own[k]):.2f} |"
        )
    return "\n".join(rows)


def lost(case) -> str:
    """A tenth to a quarter lose their outcome, by arm and by the outcome itself; two cells of a covariate or none."""
    name, outcome, n, studies = case
    rng = np.random.default_rng(32)
    every = types(2)
    cells, gain = observed(every, 2), (every[:, 3] - every[:, 2]).astype(float)
    held, free, drop = [], [], []
    shift = np.array([-1.0, 1.0]) if name == "two cells" else np.zeros(2)
    for _ in range(studies):
        c = rng.integers(0, 2, n)
        base = np.array([[0.5, 0.7], [0.3, 0.55], [0.4, 0.6], [0.5, 0.5]])
        mean = laws.expit(np.log(base / (1 - base))[None] + shift[c][:, None, None])
        people = laws.People(
            {"c": c},
            np.array([0.4, 0.6])[c] if name == "two cells" else np.full(n, 0.5),
            np.tile([0.3, 0.5, 0.2, 0.0], (n, 1)),
            mean,
        )
        z, t, y = people.draw(rng, None if outcome is None else getattr(laws, outcome))
        chance = np.where(z == 1, 0.05 + 0.3 * y, 0.1 - 0.05 * y)
        gone = rng.random(n) < chance
        table = {"z": z, "t": t, "y": np.where(gone, np.nan, y), "c": c.astype(float)}
        more = {"covariates": ["c"]} if name == "two cells" else {}
        res = IVBounds(alpha=ALPHA).fit(table, **ROLES, **more, missing_outcome="bounds", outcome_range=(0, 1))
        dropped = IVBounds(alpha=ALPHA).fit(table, **ROLES, **more, outcome_range=(0, 1))
        low, high = people.truth()["ATE"]
        held.append(res.lower <= low and res.upper >= high)
        drop.append(dropped.lower <= low and dropped.upper >= high)
        # the set with the lost free: expected cells, one program for each cell of the covariate
        total = np.zeros(2)
        for k in (0, 1):
            seen, known = np.zeros((2, 2, 2)), np.zeros((2, 2))
            m = laws.expit(np.log(base / (1 - base)) + shift[k])
            for zz in (0, 1):
                for kind, share in enumerate((0.3, 0.5, 0.2)):
                    tt = laws.TAKES[zz, kind]
                    mu = m[kind, tt]
                    if outcome is None:
                        one, none = mu * (1 - (0.35 if zz else 0.05)), (1 - mu) * (1 - (0.05 if zz else 0.1))
                    else:  # five points, binomial: the soft masses of those who are seen
                        points = np.arange(5) / 4
                        mass = np.array([1, 4, 6, 4, 1]) * mu ** np.arange(5) * (1 - mu) ** (4 - np.arange(5))
                        kept = mass * (1 - (0.05 + 0.3 * points if zz else 0.1 - 0.05 * points))
                        one, none = kept @ points, kept @ (1 - points)
                    seen[zz, tt] += share * np.array([none, one])
                    known[zz, tt] += share
            equal = cells.reshape(2, 2, 2, -1).sum(2).reshape(4, -1)
            total += (c == k).mean() * np.array(ends(gain, equal, known.ravel(), -cells, -seen.ravel() + 1e-12))
        free.append(res.lower <= total[0] + 1e-9 and res.upper >= total[1] - 1e-9)
    return (
        f"| {name}, {outcome or 'yes/no'}, n = {n} | {np.mean(held):.2f} | {np.mean(free):.2f} | {np.mean(drop):.2f} |"
    )


def planned(case) -> str:
    more, studies = case
    rng = np.random.default_rng(33)
    row = plan(alpha=ALPHA, **more).rows()[0]
    low, high, zero = [], [], []
    n, share, clusters, icc = more["n"], more.get("share", 0.5), more.get("clusters"), more.get("icc", 0.0)
    rates = np.array(more["rates"])
    for _ in range(studies):
        if clusters:
            code = np.repeat(np.arange(clusters), n // clusters)
            z = rng.permutation((np.arange(clusters) < round(share * clusters)).astype(int))[code]
            # beta-binomial outcomes and take-up with this intraclass correlation
            a = 1 / icc - 1
            y_rate = np.stack([rng.beta(r * a, (1 - r) * a, clusters) for r in rates], 1)[code]
            take = [
                rng.beta(max(p * a, 1e-9), max((1 - p) * a, 1e-9), clusters)[code]
                for p in (more.get("takeup_control", 0.0), more["takeup"])
            ]
        else:
            code, z = np.arange(n), rng.permutation((np.arange(n) < round(share * n)).astype(int))
            y_rate = np.tile(rates, (n, 1))
            take = [np.full(n, more.get("takeup_control", 0.0)), np.full(n, more["takeup"])]
        t = (rng.random(len(z)) < np.where(z == 1, take[1], take[0])).astype(int)
        y = (rng.random(len(z)) < y_rate[np.arange(len(z)), t]).astype(int)
        res = IVBounds(alpha=ALPHA).fit(
            {"z": z, "t": t, "y": y, "c": code}, **ROLES, **({"cluster": "c"} if clusters else {})
        )
        low.append(res.lower)
        high.append(res.upper)
        zero.append(res.lower > 0 or res.upper < 0)
    return (
        f"| {more} | [{row['lower']:.3f}, {row['upper']:.3f}], {row['excludes_zero']:.2f} | "
        f"[{np.mean(low):.3f}, {np.mean(high):.3f}], {np.mean(zero):.2f} |"
    )


PARTS = (
    ("| one-step ends of groups | held at 1.96 s.e. | mean error in s.e. | own fit holds |\n|---|---|---|---|", by,
     [("balke-pearl", None, 1500, 150), ("balke-pearl", "narrow", 1500, 100), ("ivicl", None, 1500, 15)]),
    ("| lost outcomes | bounds holds the set | ... with the lost free | drop holds the set |\n|---|---|---|---|", lost,
     [("no covariates", None, 600, 60), ("no covariates", "scale_5", 600, 60), ("two cells", "scale_5", 600, 40)]),
    ("| plan | says: mean ends, chance to tell the sign | by fits |\n|---|---|---|", planned,
     [({"n": 300, "takeup": 0.9, "takeup_control": 0.05, "rates": (0.3, 0.6)}, 60), ({"n": 1000, "takeup": 0.7, "rates": (0.02, 0.01)}, 50),
      ({"n": 800, "takeup": 0.85, "rates": (0.3, 0.6), "clusters": 20, "icc": 0.05}, 30)]),
)  # fmt: skip

if __name__ == "__main__":
    asked = sys.argv[1:] or ["by", "lost", "planned"]
    with ProcessPoolExecutor(2) as pool:
        for title, function, cases in PARTS:
            if function.__name__ not in asked:
                continue
            print(title, flush=True)
            for row in pool.map(function, cases):
                print(row, flush=True)
            print()
