"""Clusters, strata and sampling weights: design effects against a bootstrap of our own, and coverage.

python records/2026-11-19-referee/designs.py
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import laws
import numpy as np

from ivicl import IVBounds

ALPHA, STUDIES = 0.05, 80
ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}
TYPES, MEANS = np.array([0.3, 0.5, 0.2]), np.array([[0.5, 0.7], [0.3, 0.55], [0.4, 0.6]])
TAKES = np.array([[0, 0, 1], [0, 1, 1]])


def plug_in(z, t, y, w):
    """The ends of the effect at the weighted law; Balke and Pearl's terms where no defiers are needed."""
    e = {(a, b, c): w[(z == a) & (t == b)] @ (c * y + (1 - c) * (1 - y))[(z == a) & (t == b)] / w[z == a].sum()
         for a in (0, 1) for b in (0, 1) for c in (0, 1)}  # fmt: skip
    return np.array([e[1, 1, 1] + e[0, 0, 0] - 1, 1 - e[1, 1, 0] - e[0, 0, 1]])


def clustered(rng, sizes, spread, by_cluster=True, share=0.5):
    """Clusters of these sizes; each has its own logit for outcome and compliance."""
    g = len(sizes)
    code, own, comply = np.repeat(np.arange(g), sizes), rng.normal(0, spread, g), rng.normal(0, spread, g)
    arm = rng.permutation((np.arange(g) < round(share * g)).astype(int))
    z = arm[code] if by_cluster else (rng.random(len(code)) < share).astype(int)
    logits = np.log(TYPES) + np.stack([-comply, 0 * comply, comply], 1)[code]
    types = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    kind = (types.cumsum(1) < rng.random(len(code))[:, None]).sum(1).clip(0, 2)
    t = TAKES[z, kind]
    means = laws.expit(np.log(MEANS / (1 - MEANS))[kind, t] + own[code])
    y = (rng.random(len(code)) < means).astype(float)
    return {"z": z, "t": t, "y": y, "c": code}


def truth_clustered(spread, weigh=None):
    """The set of the population that the clusters are drawn from, by a very large draw of the same law."""
    rng = np.random.default_rng(0)
    v, c = rng.normal(0, spread, 200_000), rng.normal(0, spread, 200_000)
    logits = np.log(TYPES) + np.stack([-c, 0 * c, c], 1)
    types = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    m = laws.expit(np.log(MEANS / (1 - MEANS))[None] + v[:, None, None])
    p11 = (types[:, 1] * m[:, 1, 1] + types[:, 2] * m[:, 2, 1]).mean()
    p01 = (types[:, 1] + types[:, 2]).mean() - p11
    q10 = (types[:, 0] * m[:, 0, 0] + types[:, 1] * m[:, 1, 0]).mean()
    q00 = (types[:, 0] + types[:, 1]).mean() - q10
    return p11 + q00 - 1, 1 - p01 - q10


def blocks(rng, n):
    """Three blocks with P(Z=1) of .2, .5, .8 and very different outcomes: without the blocks Z is confounded."""
    b = rng.integers(0, 3, n)
    z = np.zeros(n, int)
    for k, share in enumerate((0.2, 0.5, 0.8)):
        here = np.flatnonzero(b == k)
        z[rng.permutation(here)[: round(share * len(here))]] = 1
    kind = (TYPES.cumsum() < rng.random(n)[:, None]).sum(1).clip(0, 2)
    t = TAKES[z, kind]
    y = (rng.random(n) < laws.expit(np.log(MEANS / (1 - MEANS))[kind, t] + np.array([-1.5, 0, 1.5])[b])).astype(float)
    people = laws.People(
        {}, np.array([0.2, 0.5, 0.8])[b], np.tile([0.3, 0.5, 0.2, 0.0], (n, 1)),
        np.concatenate([laws.expit(np.log(MEANS / (1 - MEANS))[None] + np.array([-1.5, 0, 1.5])[b][:, None, None]), np.full((n, 1, 2), 0.5)], 1),
    )  # fmt: skip
    return {"z": z, "t": t, "y": y, "b": np.array(["low", "middle", "high"])[b]}, people.truth()["ATE"]


def survey(rng, n, spread):
    """Weights exp(spread * normal), which go with the outcome: people of large weight have a higher one.

    They are drawn in inverse proportion to their weight, so that the population has the tilted law.
    """
    v = rng.normal(size=n) - 0.0
    z, kind = rng.integers(0, 2, n), (TYPES.cumsum() < rng.random(n)[:, None]).sum(1).clip(0, 2)
    t = TAKES[z, kind]
    y = (rng.random(n) < laws.expit(np.log(MEANS / (1 - MEANS))[kind, t] + 0.7 * v)).astype(float)
    return {"z": z, "t": t, "y": y, "s": np.exp(spread * v)}


def truth_survey(spread):
    """In the population, v is normal with mean `spread`."""
    v = np.random.default_rng(0).normal(spread, 1, 400_000)
    m = laws.expit(np.log(MEANS / (1 - MEANS))[None] + 0.7 * v[:, None, None]).mean(0)
    p11, p01 = TYPES[1] * m[1, 1] + TYPES[2] * m[2, 1], TYPES[1] * (1 - m[1, 1]) + TYPES[2] * (1 - m[2, 1])
    q10, q00 = TYPES[0] * m[0, 0] + TYPES[1] * m[1, 0], TYPES[0] * (1 - m[0, 0]) + TYPES[1] * (1 - m[1, 0])
    return p11 + q00 - 1, 1 - p01 - q10


def bootstrap(rng, table, draws=400):
    """Variance of the plug-in ends when whole clusters of each arm (or people) are drawn again."""
    z, t, y = table["z"], table["t"], table["y"]
    w = table.get("s", np.ones(len(z)))
    code = table.get("c")
    unit = np.arange(len(z)) if code is None else code
    members = [np.flatnonzero(unit == k) for k in range(unit.max() + 1)] if code is not None else None
    arm = z if code is None else np.array([z[m[0]] for m in members])
    found = []
    for _ in range(draws):
        chosen = np.concatenate([rng.choice(np.flatnonzero(arm == a), (arm == a).sum()) for a in (0, 1)])
        rows = chosen if members is None else np.concatenate([members[k] for k in chosen])
        found.append(plug_in(z[rows], t[rows], y[rows], w[rows]))
    g = (arm == 0).sum(), (arm == 1).sum()
    return np.var(found, axis=0) * min(g) / (min(g) - 1)


def effect_sizes() -> None:
    """The reported design effect of each end against bootstrap variance over that of independent people."""
    print("| design | design effect reported | by bootstrap |\n|---|---|---|")
    rng = np.random.default_rng(3)
    cases = {
        "40 equal clusters of 25": lambda: clustered(rng, np.full(40, 25), 0.6),
        "16 unequal clusters (5 to 200)": lambda: clustered(rng, np.geomspace(5, 200, 16).astype(int), 0.6),
        "weights exp(normal), n = 1,000": lambda: survey(rng, 1000, 1.0),
        "weights exp(1.5 normal), n = 1,000": lambda: survey(rng, 1000, 1.5),
    }
    for name, draw in cases.items():
        reported, own = [], []
        for _ in range(12):
            table = draw()
            more = {"cluster": "c"} if "c" in table else {"sampling_weights": "s"}
            res = IVBounds("balke-pearl", alpha=ALPHA).fit(table, **ROLES, **more)
            d = res.diagnostics.design
            reported.append([d.design_effect_lower, d.design_effect_upper])
            w = table.get("s", np.ones(len(table["z"])))
            # variance of the same plug-in with as many independent people of the (weighted) law
            z, t, y = table["z"], table["t"], table["y"]
            iid = np.zeros(2)
            for a in (0, 1):
                here = z == a
                for k, value in enumerate(((t * y if a else (1 - t) * (1 - y)), (t * (1 - y) if a else (1 - t) * y))):
                    p = w[here] @ value[here] / w[here].sum()
                    iid[k] += (
                        p * (1 - p) / (here.mean() * len(z))
                        if more.get("cluster")
                        else p * (1 - p) / (w[here].sum() / w.sum() * len(z))
                    )
            own.append(bootstrap(rng, table) / iid)
        a, b = np.median(reported, 0), np.median(own, 0)
        print(f"| {name} | {a[0]:.2f}, {a[1]:.2f} | {b[0]:.2f}, {b[1]:.2f} |", flush=True)


CASES = {
    "30 equal clusters of 30": lambda rng: (
        clustered(rng, np.full(30, 30), 0.5),
        truth_clustered(0.5),
        {"cluster": "c"},
    ),
    "10 clusters of 60": lambda rng: (clustered(rng, np.full(10, 60), 0.5), truth_clustered(0.5), {"cluster": "c"}),
    "6 clusters of 100": lambda rng: (clustered(rng, np.full(6, 100), 0.5), truth_clustered(0.5), {"cluster": "c"}),
    "20 clusters of 8 to 220, 6 with Z = 1": lambda rng: (
        clustered(rng, rng.permutation(np.geomspace(8, 220, 20).astype(int)), 0.5, share=0.3),
        truth_clustered(0.5),
        {"cluster": "c"},
    ),
    "20 clusters, people assigned within": lambda rng: (
        clustered(rng, np.full(20, 40), 0.5, by_cluster=False),
        truth_clustered(0.5),
        {"cluster": "c"},
    ),
    "blocks of P(Z=1) .2, .5, .8 as strata": lambda rng: (*blocks(rng, 900), {"strata": "b"}),
    "sampling weights exp(normal)": lambda rng: (survey(rng, 1000, 1.0), truth_survey(1.0), {"sampling_weights": "s"}),
    "sampling weights exp(1.5 normal)": lambda rng: (
        survey(rng, 1000, 1.5),
        truth_survey(1.5),
        {"sampling_weights": "s"},
    ),
}


def coverage(name: str) -> str:
    rng = np.random.default_rng([5, list(CASES).index(name)])
    held, widths, grades, misses = [], [], [], []
    for _ in range(STUDIES):
        table, truth, more = CASES[name](rng)
        res = IVBounds(alpha=ALPHA).fit(table, **ROLES, **more)
        held.append(res.lower <= truth[0] + 1e-9 and res.upper >= truth[1] - 1e-9)
        misses.append([res.lower > truth[0], res.upper < truth[1]])
        widths.append(res.upper - res.lower)
        grades.append(any(f.name == "design" and f.grade == "look" for f in res.findings))
    a, b = np.mean(misses, 0)
    return f"| {name} | {np.mean(held):.2f} | {a:.2f}, {b:.2f} | {np.mean(widths):.2f} | {truth[1] - truth[0]:.2f} | {np.mean(grades):.2f} |"


if __name__ == "__main__":
    effect_sizes()
    print(
        f"\n| design ({STUDIES} data sets) | holds the set | misses below, above | width | true | design look |\n|---|---|---|---|---|---|"
    )
    with ProcessPoolExecutor(2) as pool:
        for row in pool.map(coverage, CASES):
            print(row, flush=True)
