"""Size and power of the tests: how often each fires where it must not, and where it should (the alarm: intervals.py).

python records/2026-11-19-referee/diagnostics.py
"""

from __future__ import annotations

import warnings

import laws
import numpy as np

from ivicl import IVBounds

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}
ALPHA = 0.05
warnings.simplefilter("ignore")


def cells_law(rng, n, law, e=0.5):
    """Independent people of a law [z][t][y]."""
    z = (rng.random(n) < e).astype(int)
    k = (law.reshape(2, 4)[z].cumsum(1) < rng.random(n)[:, None]).sum(1).clip(0, 3)
    return {"z": z, "t": k // 2, "y": (k % 2).astype(float)}


BOUNDARY = np.array([[[0.2, 0.1], [0.4, 0.3]], [[0.1, 0.1], [0.1, 0.7]]])  # P(1,1|1) + P(1,0|0) = 1.1: violated
BOUNDARY[1] = [[0.2, 0.1], [0.1, 0.6]]  # now exactly 1
VIOLATED = np.array([[[0.2, 0.1], [0.4, 0.3]], [[0.1, 0.1], [0.05, 0.75]]])  # 1.15
ONE_SIDED_EDGE = np.array([[[0.5, 0.5], [0.0, 0.0]], [[0.5, 0.2], [0.1, 0.2]]])  # P(0,0|1) + P(0,1|0) = 1


def inequality(law, n, amounts=False, studies=300):
    rng = np.random.default_rng(21)
    look, stop = [], []
    for _ in range(studies):
        table = cells_law(rng, n, law)
        if amounts:  # a scale of 0, .25, .5, .75, 1 whose thresholds all have this law
            table["y"] = np.where(table["y"] == 1, rng.integers(2, 5, n), rng.integers(0, 3, n)) / 4.0
        res = IVBounds("manski", alpha=ALPHA).fit(table, **ROLES)
        grade = next(f.grade for f in res.findings if f.name == "instrumental inequalities")
        look.append(grade == "look")
        stop.append(grade == "stop")
    return np.mean(look), np.mean(stop)


def lost(n, share_0, share_1, studies=200):
    rng = np.random.default_rng(22)
    p, look = [], []
    for _ in range(studies):
        people = laws.plain(rng, n)
        z, t, y = people.draw(rng, None)
        y = np.where(rng.random(n) < np.where(z == 1, share_1, share_0), np.nan, y)
        res = IVBounds("manski", alpha=ALPHA).fit({"z": z, "t": t, "y": y}, **ROLES)
        found = res.diagnostics.losses
        if found is not None:
            p.append([found.p_arms, found.p_treatment])
            look.append(any(f.name == "lost outcomes" and f.grade == "look" for f in res.findings))
    p = np.array(p)
    return (*(p < 0.01).mean(0), *(p < 0.05).mean(0), np.mean(look))


def balance(name, n, shift=0.0, studies=100):
    rng = np.random.default_rng(23)
    p, look = [], []
    for _ in range(studies):
        people = getattr(laws, name)(rng, n)
        z = rng.integers(0, 2, n)
        x = dict(people.x)
        first = next(iter(x))
        if shift:
            x[first] = x[first] + shift * z
        t = (rng.random(n) < 0.2 + 0.5 * z).astype(int)
        y = (rng.random(n) < 0.4).astype(float)
        res = IVBounds("manski", alpha=ALPHA).fit({"z": z, "t": t, "y": y, **x}, **ROLES, covariates=list(x))
        p.append(res.diagnostics.balance.p_value)
        look.append(any(f.name == "balance" and f.grade == "look" for f in res.findings))
    return np.mean(np.array(p) < 0.05), np.mean(look)


if __name__ == "__main__":
    print("| test | share of data sets |\n|---|---|")
    for name, law, n, amounts in (
        ("inequality, exactly at its boundary", BOUNDARY, 500, False), ("inequality, exactly at its boundary", BOUNDARY, 60, False),
        ("the same, one-sided", ONE_SIDED_EDGE, 300, False), ("the same on five levels", BOUNDARY, 500, True),
        ("inequality violated by .15", VIOLATED, 500, False), ("violated by .15", VIOLATED, 2000, False),
    ):  # fmt: skip
        look, stop = inequality(law, n, amounts)
        print(f"| {name}, n = {n} | look {look:.3f}, stop {stop:.3f} (nominal: at most .01) |", flush=True)
    for n, a, b in ((400, 0.1, 0.1), (100, 0.05, 0.05), (400, 0.05, 0.15), (2000, 0.05, 0.1)):
        found = lost(n, a, b)
        print(
            f"| loss {a:.2f} and {b:.2f}, n = {n} | arms p < .01 {found[0]:.3f}, p < .05 {found[2]:.3f}; treatment {found[1]:.3f}, {found[3]:.3f}; look {found[4]:.3f} |",
            flush=True,
        )
    for name, n, shift in (
        ("noise_30", 200, 0),
        ("noise_30", 60, 0),
        ("many_levels", 300, 0),
        ("heavy_tails", 300, 0),
        ("lottery", 100, 0),
        ("noise_30", 200, 0.6),
        ("lottery", 400, 0.3),
    ):
        p, look = balance(name, n, shift)
        print(f"| balance: {name}, n = {n}, shift {shift} | p < .05 {p:.3f}; look {look:.3f} |", flush=True)
