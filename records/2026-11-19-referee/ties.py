"""How often a 95 % credible interval holds the whole set where terms tie: the textbook posterior, without ivicl.

Each arm's four cells have a Dirichlet(0.4) prior; Balke and Pearl's formula is applied to 1,000 draws.
python records/2026-11-19-referee/ties.py
"""

from __future__ import annotations

import numpy as np

ALPHA, STUDIES, DRAWS = 0.05, 400, 1000


def ends(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(..., 2, 2, 2) [z][t][y]: E Y(1) and E Y(0) from what always-takers and never-takers can at most be."""
    shared = p.min(-3)
    balance = p[..., 0, 0, :].sum(-1) - p[..., 1, 1, :].sum(-1)
    always = np.maximum(np.minimum(shared[..., 1, :].sum(-1), shared[..., 0, :].sum(-1) - balance), 0)
    never = np.maximum(always + balance, 0)
    seen = p.sum(-3)[..., 1]
    low1 = seen[..., 1] - np.minimum(always, shared[..., 1, 1])
    high1 = seen[..., 1] - np.maximum(always - shared[..., 1, 0], 0) + never
    low0 = seen[..., 0] - np.minimum(never, shared[..., 0, 1])
    high0 = seen[..., 0] - np.maximum(never - shared[..., 0, 0], 0) + always
    return low1 - high0, high1 - low0


if __name__ == "__main__":
    rng = np.random.default_rng(41)
    print("| first stage | n | median F | set held | each end | missed by, where missed | width | true |")
    print("|---|---|---|---|---|---|---|---|")
    for n in (300, 3000):
        for first in (0.0, 0.02, 0.05, 0.1, 0.25):
            always, never = 0.5 - first / 2, 0.5 - first / 2
            y1, y0 = {"a": 0.5, "c": 0.6}, {"n": 0.4, "c": 0.5}
            p = np.zeros((2, 2, 2))
            p[0, 1] = always * np.array([1 - y1["a"], y1["a"]])
            p[0, 0] = never * np.array([1 - y0["n"], y0["n"]]) + first * np.array([1 - y0["c"], y0["c"]])
            p[1, 1] = always * np.array([1 - y1["a"], y1["a"]]) + first * np.array([1 - y1["c"], y1["c"]])
            p[1, 0] = never * np.array([1 - y0["n"], y0["n"]])
            low, high = ends(p)
            held, misses, widths, f = [], [], [], []
            for _ in range(STUDIES):
                counts = np.stack([rng.multinomial(n // 2, p[z].ravel()) for z in (0, 1)])
                draws = np.stack([rng.dirichlet(counts[z] + 0.4, DRAWS) for z in (0, 1)], 1).reshape(DRAWS, 2, 2, 2)
                a, b = ends(draws)
                ok = np.nanmax(draws[:, 1] + draws[:, 0, :, ::-1] - 1, axis=(1, 2)) <= 0
                lower, upper = np.quantile(a[ok], ALPHA / 2), np.quantile(b[ok], 1 - ALPHA / 2)
                held.append([lower <= low, upper >= high])
                if not all(held[-1]):
                    misses.append(max(lower - low, high - upper))
                widths.append(upper - lower)
                share = counts[:, 2:].sum(1) / (n // 2)
                f.append((share[1] - share[0]) ** 2 / (share * (1 - share) / (n // 2)).sum())
            each = np.mean(held, 0)
            shown = f"{np.all(held, 1).mean():.2f} | {each[0]:.2f}, {each[1]:.2f} | {np.mean(misses):.3f}"
            print(
                f"| {first} | {n:,} | {np.median(f):.1f} | {shown} | {np.mean(widths):.2f} | {high - low:.2f} |",
                flush=True,
            )
