"""The package's closed forms against linear programs: python records/2026-11-19-referee/identification.py"""

from __future__ import annotations

from itertools import product

import numpy as np
from programs import ends, mean_ends, observed, possible, random_types, ratio_ends, solve, types

from ivicl.identification import amounts, balke_pearl, inequalities, losses, relaxations
from ivicl.identification.end_scores import Averages
from ivicl.identification.estimands import Seen, by_name
from ivicl.identification.laws import soft_law
from ivicl.identification.mean_terms import mean_terms
from ivicl.identification.weaker_ends import without_defiers

BINARY = np.array([0.0, 1.0])


def worst(found: list[float], name: str) -> None:
    print(f"{name:<72}{len(found):>6}  {np.nanmax(np.abs(found)):.1e}  {np.isnan(found).sum()}", flush=True)


def law_of(shares: np.ndarray, k: int) -> np.ndarray:
    return (observed(types(k), k) @ shares).reshape(2, 2, k)


def gap(a, b) -> float:
    both = np.isinf(a) & np.isinf(b)
    a, b = np.where(both, 0.0, a), np.where(both, 0.0, b)
    if np.isinf(a).any() != np.isinf(b).any():
        return 9.0
    return float(np.max(np.abs(np.asarray(a) - np.asarray(b)) / np.maximum(1.0, np.abs(b))))


def sharp(rng: np.random.Generator) -> None:
    binary, amount, means = [], {name: [] for name in ("EY1", "EY0", "ATE", "RR")}, []
    for _ in range(400):
        law = law_of(random_types(rng, 2), 2)
        found, true = balke_pearl.sharp_ends(law), mean_ends(law, BINARY)
        binary.append(gap(found, true["ATE"]))
        terms = mean_terms(law).max(-1)
        binary.append(gap((terms[0], 1 - terms[1]), true["EY1"]))
        binary.append(gap((terms[2], 1 - terms[3]), true["EY0"]))
    worst(binary, "binary: Balke-Pearl and ends of the means against 16 types")
    for _ in range(250):
        k = int(rng.integers(2, 6))
        values = np.sort(np.r_[0.0, 1.0, rng.random(k - 2)])
        law = law_of(random_types(rng, k, 0.05), k)
        m = amounts.mean_ends(law, values)
        every = by_name(m, Seen(np.array(0.5), np.array(0.2), np.array(0.2)))
        true = mean_ends(law, values)
        for name in amount:
            amount[name].append(gap([float(end) for end in every[name]], true[name]))
        # the means alone: the outcome may have any law on a grid with the ends of the range
        cells = np.einsum("ztk,k->zt", law, values), law.sum(-1)
        grid = np.unique(np.r_[values, 0.0, 1.0])
        here = types(len(grid))
        rows, right = [], []
        for z, t in product((0, 1), (0, 1)):
            taken = here[:, z] == t
            rows += [taken * 1.0, taken * grid[here[:, 2 + t]]]
            right += [cells[1][z, t], cells[0][z, t]]
        effect = grid[here[:, 3]] - grid[here[:, 2]]
        soft = balke_pearl.sharp_ends(soft_law(*cells))
        means.append(gap(soft, ends(effect, np.array(rows), np.array(right))))
    for name, found in amount.items():
        worst(found, f"amounts on 2 to 5 levels: {name} against 4 K^2 types")
    worst(means, "amounts: Balke-Pearl at the soft law against 'the means alone'")


def with_covariates(rng: np.random.Generator) -> None:
    """Three cells of covariates with their own e(x): one program over all cells."""
    found = {name: [] for name in ("ATE", "EY1", "EY0", "ATT", "ATU", "RR", "LIFT", "LATE")}
    every = types(2)
    for _ in range(250):
        share, e = rng.dirichlet(np.ones(3)), rng.beta(1, 1, 3)
        shares = [random_types(rng, 2) for _ in range(3)]
        laws = np.stack([law_of(each, 2) for each in shares])
        equal, right = np.zeros((24, 48)), laws.ravel()
        for c in range(3):
            equal[8 * c : 8 * c + 8, 16 * c : 16 * c + 16] = observed(every, 2)
        p = np.repeat(share, 16)
        taken = np.concatenate([(1 - each) * every[:, 0] + each * every[:, 1] for each in e])
        y0, y1 = np.tile(every[:, 2], 3), np.tile(every[:, 3], 3)
        true = {
            "ATE": ends(p * (y1 - y0), equal, right),
            "EY1": ends(p * y1, equal, right),
            "EY0": ends(p * y0, equal, right),
            "RR": ratio_ends(p * y1, p * y0, equal, right),
            "LIFT": ratio_ends(p * (y1 - y0) * taken, p * y0 * taken, equal, right),
        }
        treated = float(p @ (taken * np.concatenate(shares)))
        true["ATT"] = tuple(v / treated for v in ends(p * (y1 - y0) * taken, equal, right))
        true["ATU"] = tuple(v / (1 - treated) for v in ends(p * (y1 - y0) * (1 - taken), equal, right))
        about = Averages.of(laws.reshape(3, 8), np.stack([1 - e, e], -1), share, 1e-9)
        values = about.values()
        for k, name in enumerate(("ATE", "EY1", "EY0", "ATT", "ATU")):
            if 1e-3 < treated < 1 - 1e-3:
                found[name].append(gap(values[2 * k : 2 * k + 2], true[name]))
        l1, u1, l0, u0 = about.ends
        seen_1 = float(share @ (e * laws[:, 1, 1, 1] + (1 - e) * laws[:, 0, 1, 1]))
        m = amounts.MeanEnds(*(np.array(v) for v in (l1, u1, l0, u0)))
        named = by_name(m, Seen(np.array(treated), np.array(seen_1), np.array(about.mean - seen_1)))
        for name in ("RR", "LIFT"):
            bottom = l0 if name == "RR" else l0 - (about.mean - seen_1)
            if bottom > 1e-6 and treated > 1e-3:
                found[name].append(gap([float(v) for v in named[name]], true[name]))
        # LATE: with defiers taken out, the effect of those moved
        kept = np.concatenate(shares) * (np.tile(every[:, 0], 3) <= np.tile(every[:, 1], 3))
        kept /= np.repeat(kept.reshape(3, 16).sum(1), 16)
        moved = p * kept * (np.tile(every[:, 1], 3) > np.tile(every[:, 0], 3))
        if moved.sum() > 1e-3:
            flat = np.stack([law_of(each, 2).ravel() for each in kept.reshape(3, 16)])
            late = Averages.of(flat, np.stack([1 - e, e], -1), share, 1e-9).values()[10]
            found["LATE"].append(float(abs(late - (y1 - y0) @ moved / moved.sum())))
    for name, each in found.items():
        worst(each, f"three cells with e(x): {name}")


def no_defiers(rng: np.random.Generator) -> None:
    found, every = [], types(2)
    for _ in range(300):
        shares = random_types(rng, 2) * (every[:, 0] <= every[:, 1])
        if shares.sum() == 0:
            continue
        law = law_of(shares / shares.sum(), 2)
        kept = every[:, 0] <= every[:, 1]
        equal = observed(every, 2)[:, kept]
        m, _ = without_defiers(law if rng.random() < 0.5 else law[::-1], np.array(0.4))
        y0, y1 = every[kept, 2], every[kept, 3]
        found.append(gap((m.treated_lower, m.treated_upper), ends(y1, equal, law.ravel())))
        found.append(gap((m.untreated_lower, m.untreated_upper), ends(y0, equal, law.ravel())))
        found.append(
            gap(
                (m.treated_lower - m.untreated_upper, m.treated_upper - m.untreated_lower),
                ends(y1 - y0, equal, law.ravel()),
            )
        )
    worst(found, "no defiers: E Y(1), E Y(0), ATE against 12 types (both codings)")


def relaxed(rng: np.random.Generator) -> None:
    exclusion, independence, defiers, least = [], [], [], []
    wide = np.array(list(product((0, 1), repeat=6)))  # T(0) T(1) Y(00) Y(01) Y(10) Y(11), Y(z, t)
    rows = np.zeros((2, 2, 2, 64))
    for s, (t0, t1, *y) in enumerate(wide):
        for z, t in ((0, t0), (1, t1)):
            rows[z, t, y[2 * z + t], s] = 1
    direct = ((wide[:, 2] != wide[:, 4]) | (wide[:, 3] != wide[:, 5])).astype(float)
    every = types(2)
    cells = observed(every, 2)
    for _ in range(200):
        law, eps, e = (
            law_of(random_types(rng, 2), 2),
            float(rng.choice([0.0, 0.02, 0.1, 0.3, 0.7])),
            float(rng.random()),
        )
        law = law if rng.random() < 0.7 else np.stack([rng.dirichlet(np.full(4, 0.4)).reshape(2, 2) for _ in (0, 1)])
        effect = e * (wide[:, 5] - wide[:, 4]) + (1 - e) * (wide[:, 3] - wide[:, 2])
        mine = ends(effect, rows.reshape(8, 64), law.ravel(), direct[None], [eps])
        if not np.isnan(mine[0]):
            own = relaxations.relaxed_effect(law, np.array([eps]), e)
            exclusion.append(gap([float(v[0]) for v in own], mine))
            # two laws of types and their common part
            both = np.zeros((8, 48))
            both[:4, :16], both[4:, 16:32] = cells[:4], cells[4:]
            common = np.vstack(
                [
                    np.hstack([-np.eye(16), np.zeros((16, 16)), np.eye(16)]),
                    np.hstack([np.zeros((16, 16)), -np.eye(16), np.eye(16)]),
                ]
            )
            total = np.r_[np.zeros(32), -np.ones(16)]
            gain = every[:, 3] - every[:, 2]
            other = ends(
                np.r_[(1 - e) * gain, e * gain, np.zeros(16)],
                both,
                law.ravel(),
                np.vstack([common, total]),
                np.r_[np.zeros(32), eps - 1],
            )
            independence.append(gap([float(v[0]) for v in own], other))
        # LATE with defiers, at a possible law
        law = law_of(random_types(rng, 2), 2)
        taken = law[:, 1].sum(-1)
        law = law if taken[1] >= taken[0] else law[::-1]
        defier = ((every[:, 0] == 1) & (every[:, 1] == 0)).astype(float)
        complier = ((every[:, 0] == 0) & (every[:, 1] == 1)).astype(float)
        need = solve(defier, cells, law.ravel())
        least.append(float(relaxations.least_defiers(law)) - need)
        least.append(float(relaxations.most_defiers(law)) + solve(-defier, cells, law.ravel()))
        allowed = max(eps, need + 1e-9)
        low, high = ratio_ends(
            complier * (every[:, 3] - every[:, 2]), complier, cells, law.ravel(), defier[None], [allowed]
        )
        compliers = -solve(-complier, cells, law.ravel(), defier[None], [allowed])
        if compliers > 1e-2 and solve(complier, cells, law.ravel(), defier[None], [allowed]) > 1e-3:
            own = relaxations.relaxed_complier_effect(law, np.array([allowed]))
            defiers.append(gap([float(v[0]) for v in own], (low, high)))
    worst(exclusion, "exclusion fails for eps, any law it allows: against 64 types")
    worst(independence, "independence fails by eps: against two laws of 16 types")
    worst(least, "least and most defiers")
    worst(defiers, "LATE with at most eps defiers: fractional program")


def relaxed_amounts(rng: np.random.Generator) -> None:
    """Three levels, known by their means: eps bounds the mean over people of the largest |Y(1, t) - Y(0, t)|."""
    found, values = [], np.array([0.0, 0.4, 1.0])
    wide = np.array([(t0, t1, *y) for t0, t1 in product((0, 1), repeat=2) for y in product(range(3), repeat=4)])
    y = values[wide[:, 2:]]  # Y(00) Y(01) Y(10) Y(11)
    size = np.maximum(np.abs(y[:, 2] - y[:, 0]), np.abs(y[:, 3] - y[:, 1]))
    for _ in range(150):
        law, eps, e = (
            law_of(random_types(rng, 3, 0.05), 3),
            float(rng.choice([0.0, 0.03, 0.1, 0.3])),
            float(rng.random()),
        )
        rows, right = [], []
        for z, t in product((0, 1), (0, 1)):
            taken = wide[:, z] == t
            rows += [taken * 1.0, taken * y[:, 2 * z + t]]
            right += [law[z, t].sum(), law[z, t] @ values]
        effect = e * (y[:, 3] - y[:, 2]) + (1 - e) * (y[:, 1] - y[:, 0])
        soft = soft_law(law @ values, law.sum(-1))
        own = relaxations.relaxed_effect(soft, np.array([eps]), e)
        found.append(gap([float(v[0]) for v in own], ends(effect, np.array(rows), np.array(right), size[None], [eps])))
    worst(found, "exclusion for amounts on three levels, given the means")


def lost(rng: np.random.Generator) -> None:
    free, narrow, fills, repaired = [], [], [], []
    every, cells = types(2), observed(types(2), 2)
    for trial in range(300):
        law = law_of(random_types(rng, 2), 2)
        gone = rng.beta(0.4, 1.2, (2, 2, 2)) * (rng.random((2, 2, 2)) < 0.7)
        table = np.concatenate([law * (1 - gone), (law * gone).sum(-1, keepdims=True)], -1)
        if trial % 3 == 0:
            table = rng.dirichlet(np.full(6, 0.3), 2).reshape(2, 2, 3)
        # seen outcomes are at least so many, treatments are known: p(t, y | z) >= seen, sum over y known
        equal = cells.reshape(2, 2, 2, -1).sum(2).reshape(4, -1)
        right = table.sum(-1).ravel()
        least = table[..., :2].ravel()
        gain = (every[:, 3] - every[:, 2]).astype(float)
        true = ends(gain, equal, right, -cells, -least)
        if np.isnan(true[0]):
            moved = losses.nearest_cells(1000 * table)
            still = ends(gain, equal, moved.sum(-1).ravel(), -cells, -moved[..., :2].ravel() + 1e-9)
            repaired.append(gap(losses.free_ends(moved), still))
            table = moved
        else:
            free.append(gap(losses.free_ends(table), true))
            kept = every[:, 0] <= every[:, 1]
            without = ends(gain[kept], equal[:, kept], right, -cells[:, kept], -least)
            if not np.isnan(without[0]):
                narrow.append(gap(losses.free_ends(table, without_defiers=True), without))
        down, up = losses.worst_ones(table)
        filled = [losses.completed(table, ones) for ones in (down, up)]
        low, high = losses.free_ends(table)
        both = balke_pearl.sharp_ends(filled[0])[0] - low, balke_pearl.sharp_ends(filled[1])[1] - high
        fills += [float(v) for v in both]
    worst(free, "lost outcomes free: 13 terms against the program")
    worst(narrow, "lost outcomes free, no defiers: 9 terms")
    worst(repaired, "impossible cells, repaired: against the program at the repaired cells")
    worst(fills, "worst_ones: Balke-Pearl at the fill against the free end")


def impossible(rng: np.random.Generator) -> None:
    agree, feasible, moved, better = 0, 0, [], []
    for _ in range(200):
        k = int(rng.integers(2, 5))
        counts = np.stack(
            [
                rng.multinomial(int(rng.integers(10, 400)), rng.dirichlet(np.full(2 * k, 0.25))).reshape(2, k)
                for _ in (0, 1)
            ]
        )
        law = counts / counts.sum((1, 2))[:, None, None]
        agree += possible(law) == (inequalities.level_excess(law).max() <= 1e-9)
        near = inequalities.nearest_law(counts)
        feasible += bool(inequalities.level_excess(near).max() <= 1e-9) and bool((near >= -1e-12).all())
        moved.append(float(np.abs(near - law).sum() / 2 - max(inequalities.level_excess(law).max(), 0)))
        if k == 2 and inequalities.level_excess(law).max() > 0:
            score = (counts * np.log(np.maximum(near, 1e-300))).sum()
            for _ in range(300):  # no possible law nearby is more likely
                other = near + rng.normal(size=near.shape) * rng.choice([1e-4, 1e-3, 1e-2]) * (near > 0)
                other = np.maximum(other, 0)
                other /= other.sum((1, 2))[:, None, None]
                if inequalities.level_excess(other).max() <= 0:
                    better.append(float((counts * np.log(np.maximum(other, 1e-300))).sum() - score))
    print(f"possible <=> no excess: agrees in {agree} of 200 laws; repaired laws possible: {feasible} of 200")
    print(f"repair moves more total variation than necessary by at most {max(moved):.1e}")
    print(f"more likely possible laws nearby: {sum(v > 1e-9 for v in better)} of {len(better)} tried")


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    print(f"{'closed form':<72}{'laws':>6}  largest error  undecided by the solver")
    for part in (sharp, with_covariates, no_defiers, relaxed, relaxed_amounts, lost, impossible):
        part(rng)
