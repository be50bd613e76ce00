"""Why `bayes` is too narrow: the variational family or the prior? Prints the README's tables and draws its figure.

    python records/2026-11-15-baselines-bayes/run.py counts
    python records/2026-11-15-baselines-bayes/run.py synthetic [--seeds 5] [--variant-seeds 2]
    python records/2026-11-15-baselines-bayes/run.py figure

Part 1, a table of counts without covariates. Its posterior is known: exactly under the Dirichlet(0.1) prior, and by a
long run of elliptical slice sampling under the prior that `bayes` uses, softmax of independent normal logits of sd s.
Against them stand Gaussian q's for the 16 logits: independent (what `bayes` uses) and with a full 16 x 16 covariance.
The posterior under the same prior minus the variational one is the family's share; between priors, the prior's. Part
2, the synthetic benchmark: how often `bayes` contains the identified set and the effect.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from scipy.special import softmax

from ivicl import IVBounds
from ivicl.benchmarks.sets.synthetic import generate
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.strata import EFFECT as STRATUM_EFFECT
from ivicl.identification.strata import LAW, PAIRS
from ivicl.methods.classical.exact_sampler import exact_posterior

HERE = Path(__file__).parent
TABLES = {
    "cholestyramine": [158, 14, 0, 0, 52, 12, 23, 78],
    "weak instrument": [160, 90, 60, 190, 140, 85, 75, 200],
}
SCALES = (1.0, 3.0, 6.0)
LEVELS = np.array([0.005, 0.995])
SHOWS = LAW.T  # (8, 16)


def log_likelihood(logits: np.ndarray, counts: np.ndarray) -> np.ndarray:
    cells = softmax(logits, axis=-1) @ SHOWS.T
    return (counts * np.log(np.maximum(cells, 1e-300))).sum(-1)


def exact_normal(counts: np.ndarray, scale: float, rng: np.random.Generator, chains=256, sweeps=3000, burn=1000):
    """Effects drawn under logits ~ N(0, scale^2): elliptical slice sampling and swaps of pairs of strata.

    Slice sampling moves all chains at once; the swaps (the posterior is unchanged by each) carry them between modes.
    Returns the draws and the largest difference of the two quantiles between halves of the chains.
    """
    f = scale * rng.normal(size=(chains, 16))
    kept = []
    now = log_likelihood(f, counts)
    for sweep in range(sweeps):
        nu = scale * rng.normal(size=f.shape)
        floor = now + np.log(rng.random(chains))
        theta = rng.uniform(0, 2 * np.pi, chains)
        low, high = theta - 2 * np.pi, theta.copy()
        todo = np.ones(chains, dtype=bool)
        new = f.copy()
        while todo.any():
            trial = f[todo] * np.cos(theta[todo])[:, None] + nu[todo] * np.sin(theta[todo])[:, None]
            value = log_likelihood(trial, counts)
            ok = value > floor[todo]
            index = np.flatnonzero(todo)
            new[index[ok]], now[index[ok]] = trial[ok], value[ok]
            bad = index[~ok]
            below = theta[bad] < 0
            low[bad[below]], high[bad[~below]] = theta[bad[below]], theta[bad[~below]]
            theta[bad] = rng.uniform(low[bad], high[bad])
            todo[index[ok]] = False
        f = new
        for a, b in PAIRS:
            swap = rng.random(chains) < 0.5
            f[np.ix_(swap, [a, b])] = f[np.ix_(swap, [b, a])]
        if sweep >= burn:
            kept.append(softmax(f, axis=1) @ STRATUM_EFFECT)
    draws = np.array(kept)  # (sweeps, chains)
    halves = [np.quantile(draws[:, part], LEVELS) for part in (slice(0, chains // 2), slice(chains // 2, None))]
    return draws.ravel(), float(np.abs(halves[0] - halves[1]).max())


def variational(counts: np.ndarray, scale: float, family: str, seed: int, steps=3000, draws=20_000) -> np.ndarray:
    """Effects under the best Gaussian q of the 16 logits; family "independent" or "joint" (full covariance)."""
    generator = torch.Generator().manual_seed(seed)
    mean = (0.1 * torch.randn(16, generator=generator, dtype=torch.float64)).requires_grad_()
    root = torch.eye(16, dtype=torch.float64).mul(scale / 2).requires_grad_()
    people, shows = torch.as_tensor(counts, dtype=torch.float64), torch.as_tensor(SHOWS)
    optimiser = torch.optim.Adam([mean, root], lr=0.03)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, 0.0003)

    def triangle() -> torch.Tensor:
        return root.tril() if family == "joint" else torch.diag_embed(root.diagonal())

    for _ in range(steps):
        q = triangle()
        f = mean + torch.randn((32, 16), generator=generator, dtype=torch.float64) @ q.mT
        fit = (people * (f.softmax(-1) @ shows.T).clamp_min(1e-30).log()).sum(-1).mean()
        kl = 0.5 * ((q**2).sum() + (mean**2).sum()) / scale**2 - q.diagonal().abs().log().sum()
        optimiser.zero_grad()
        (kl - fit).backward()
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        f = mean + torch.randn((draws, 16), generator=generator, dtype=torch.float64) @ triangle().mT
        return (f.softmax(-1).numpy()) @ STRATUM_EFFECT


def part_one() -> list[dict]:
    rows = []
    print("99 % intervals of the effect without covariates")
    print("table             prior              inference            lower   upper   width")
    for name, table in TABLES.items():
        counts = np.array(table, dtype=float)
        law = counts.reshape(2, 2, 2) / counts.reshape(2, 4).sum(1)[:, None, None]
        lower, upper = (float(v) for v in sharp_ends(law))

        def note(prior: str, inference: str, low: float, high: float, name: str = name, **more) -> None:
            rows.append({"table": name, "prior": prior, "inference": inference, "interval": [low, high], **more})
            print(f"{name:<17} {prior:<18} {inference:<18} {low:7.3f} {high:7.3f} {high - low:7.3f}", flush=True)

        note("-", "identified set", lower, upper)
        low, high = exact_posterior(counts, rng=np.random.default_rng(0)).interval(0.01)
        note("Dirichlet(0.1)", "exact", low, high)
        for scale in SCALES:
            prior = f"normal logits, {scale:g}"
            draws, error = exact_normal(counts, scale, np.random.default_rng(1))
            note(prior, "exact", *map(float, np.quantile(draws, LEVELS)), between_chains=error)
            for family in ("joint", "independent"):
                runs = [np.quantile(variational(counts, scale, family, seed), LEVELS) for seed in range(3)]
                low, high = np.mean(runs, axis=0)
                note(prior, f"q {family}", float(low), float(high), runs=[list(map(float, r)) for r in runs])
        found = IVBounds(method="bayes", alpha=0.01).fit_counts(table)
        note("learned scale", "method bayes", found.lower, found.upper, prior_sd=found.details["prior_sd"])
    return rows


def part_two(seeds: int, variant_seeds: int) -> list[dict]:
    rows = []
    print("\nsynthetic benchmark, 2,048 rows: 99 % interval of bayes, 90 % of bayes-bp")
    print("seed  method            lower   upper   true L   true U    sate  has set  has sate")
    variants = {
        "bayes": ("bayes", {"alpha": 0.01}),
        "bayes mean-field": ("bayes", {"alpha": 0.01, "family": "mean-field"}),
        "bayes prior 8": ("bayes", {"alpha": 0.01, "prior_scale": 8.0, "learn_prior": False}),
        "bayes-bp": ("bayes-bp", {"alpha": 0.1}),
    }
    for seed in range(seeds):
        made = generate(seed)
        for name, (method, options) in variants.items():
            if name not in ("bayes", "bayes-bp") and seed >= variant_seeds:
                continue
            found = IVBounds(method=method, random_state=seed, **options).fit_data(made.data)
            has_set = found.lower <= made.lower and made.upper <= found.upper
            has_sate = found.lower <= made.sate <= found.upper
            rows.append({
                "seed": seed, "method": name, "interval": [found.lower, found.upper], "true": [made.lower, made.upper],
                "sate": made.sate, "has_set": has_set, "has_sate": has_sate, "seconds": found.details["seconds"],
                "prior_sd": found.details["prior_sd"], "steps": found.details["steps"],
            })  # fmt: skip
            print(
                f"{seed:4d}  {name:<16} {found.lower:7.3f} {found.upper:7.3f} {made.lower:8.3f} {made.upper:8.3f} "
                f"{made.sate:7.3f} {has_set!s:>8} {has_sate!s:>9}",
                flush=True,
            )
        (HERE / "synthetic.json").write_text(json.dumps(rows, indent=1) + "\n")
    print("\nmethod            data sets  validity (set)  (sate)   mean width   true width")
    for name in variants:
        own = [row for row in rows if row["method"] == name]
        width, true_width = (np.mean([row[key][1] - row[key][0] for row in own]) for key in ("interval", "true"))
        share = [np.mean([row[key] for row in own]) for key in ("has_set", "has_sate")]
        print(f"{name:<17} {len(own):9d} {share[0]:15.2f} {share[1]:8.2f} {width:11.3f} {true_width:12.3f}")
    return rows


def figure(one: list[dict], two: list[dict]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(TABLES)
    fig, axes = plt.subplots(1, len(names) + 1, figsize=(14, 5.2), gridspec_kw={"width_ratios": [1, 1, 0.9]})
    colours = {"identified set": "0.55", "exact": "tab:blue", "q joint": "tab:orange", "q independent": "tab:red",
               "method bayes": "black"}  # fmt: skip
    for axis, name in zip(axes, names, strict=False):
        rows = [row for row in one if row["table"] == name]
        for k, row in enumerate(rows):
            starts = row.get("runs", [row["interval"]])  # a variational fit is drawn once for each start
            for place, interval in zip(np.linspace(-0.2, 0.2, len(starts)) * (len(starts) > 1), starts, strict=True):
                width = 6 if len(starts) == 1 else 2.5
                axis.plot(interval, [k + place] * 2, color=colours[row["inference"]], lw=width, solid_capstyle="butt")
        labels = [row["inference"] if row["prior"] == "-" else f"{row['prior']}: {row['inference']}" for row in rows]
        axis.set_yticks(range(len(rows)), labels, fontsize=8)
        for end in rows[0]["interval"]:
            axis.axvline(end, color="0.7", lw=0.8, ls=":")
        axis.invert_yaxis()
        axis.set_title(f"{name}: 99 % intervals, no covariates", fontsize=10)
        axis.set_xlabel("average effect")
    axis = axes[-1]
    for row in two:
        if row["method"] not in ("bayes", "bayes-bp"):
            continue
        offset, colour = (0.15, "black") if row["method"] == "bayes" else (0.35, "tab:green")
        axis.plot(row["interval"], [row["seed"] + offset] * 2, color=colour, lw=3, solid_capstyle="butt",
                  label=row["method"] if row["seed"] == 0 else None)  # fmt: skip
        if row["method"] == "bayes":
            axis.plot(row["true"], [row["seed"] - 0.1] * 2, color="0.55", lw=3, solid_capstyle="butt",
                      label="identified set" if row["seed"] == 0 else None)  # fmt: skip
            axis.plot(row["sate"], row["seed"] - 0.1, "|", color="tab:red", ms=9, mew=2,
                      label="effect" if row["seed"] == 0 else None)  # fmt: skip
    axis.invert_yaxis()
    axis.set_title("synthetic benchmark, 2,048 rows", fontsize=10)
    axis.set_xlabel("average effect")
    axis.set_ylabel("data set")
    axis.set_yticks(sorted({row["seed"] for row in two}))
    axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
    fig.tight_layout()
    fig.savefig(HERE / "bayes-too-narrow.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=["counts", "synthetic", "figure"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--variant-seeds", type=int, default=2, help="seeds of the variants of bayes")
    args = parser.parse_args()
    if args.part == "counts":
        (HERE / "counts.json").write_text(json.dumps(part_one(), indent=1) + "\n")
    elif args.part == "synthetic":
        part_two(args.seeds, args.variant_seeds)
    else:
        figure(*(json.loads((HERE / f"{part}.json").read_text()) for part in ("counts", "synthetic")))


if __name__ == "__main__":
    main()
