"""Coverage and rates of `levis` and `whitehouse` on laws with known bounds. Prints the tables of the README.

python records/2026-11-15-baselines-coverage/run.py coverage [--datasets 400] [--rows 2000]
    python records/2026-11-15-baselines-coverage/run.py rate [--datasets 50]
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import norm

from ivicl.methods.baselines.parts.nuisance import NuisanceConfig, estimate_nuisances
from ivicl.methods.baselines.parts.one_step import estimate_ends
from ivicl.methods.baselines.parts.scores import N_TERMS, default_sharpness
from ivicl.methods.baselines.parts.simulate import WITH_MARGIN, WITHOUT_MARGIN, Law, NewtonLogistic
from ivicl.identification.balke_pearl import sharp_ends

METHODS = ("plugin", "levis margin", "levis smooth", "whitehouse")


def estimates(law: Law, n: int, seed: int) -> dict[str, np.ndarray]:
    """Method -> (lower, upper, se_lower, se_upper), all from one fit of the nuisances."""
    data = law.draw(n, np.random.default_rng([seed, n]))
    config = NuisanceConfig(learner=NewtonLogistic(), calibrate=False, n_jobs=1, random_state=seed)
    fitted = estimate_nuisances(data.x, data.z, data.t, data.y.astype(int), data.w, 2, config)
    steps, sharpness = np.ones(1), default_sharpness(n)
    lower, upper = sharp_ends(fitted.binary_law(1))
    out = {"plugin": np.array([lower.mean(), upper.mean(), 0.0, 0.0])}
    for name, form in zip(METHODS[1:], ("margin", "logsumexp", "softmax"), strict=True):
        ends = estimate_ends(fitted, steps, form, None if form == "margin" else sharpness)
        out[name] = np.array([ends.lower, ends.upper, ends.se_lower, ends.se_upper])
    correction = np.log(N_TERMS) / sharpness
    out["levis smooth"] += np.array([-correction, correction, 0.0, 0.0])
    return out


def collect(law: Law, n: int, datasets: int) -> dict[str, np.ndarray]:
    rows = [estimates(law, n, seed) for seed in range(datasets)]
    return {name: np.array([row[name] for row in rows]) for name in METHODS}


def coverage(rows: int, datasets: int) -> None:
    z = norm.ppf(0.95)
    print(f"one-sided 95 % coverage of each end, {datasets} data sets of {rows} rows")
    print("law         method         lower  upper   bias(L)  bias(U)   sd(L)  mean se(L)")
    for law in (*WITH_MARGIN, *WITHOUT_MARGIN):
        true_lower, true_upper = law.true_ends()
        for name, e in collect(law, rows, datasets).items():
            if name == "plugin":
                continue
            cover = [np.mean(e[:, 0] - z * e[:, 2] <= true_lower), np.mean(e[:, 1] + z * e[:, 3] >= true_upper)]
            bias = [np.mean(e[:, 0]) - true_lower, np.mean(e[:, 1]) - true_upper]
            print(
                f"{law.name:<11} {name:<13} {cover[0]:6.3f} {cover[1]:6.3f}  {bias[0]:+8.4f} {bias[1]:+8.4f} "
                f"{e[:, 0].std():7.4f} {e[:, 2].mean():8.4f}",
                flush=True,
            )


def rate(datasets: int) -> None:
    print(f"root mean squared error of the lower bound times sqrt(n), {datasets} data sets each")
    sizes = (500, 2000, 8000)
    print("law         method        " + "".join(f"{n:>9}" for n in sizes))
    for law in (*WITH_MARGIN, *WITHOUT_MARGIN):
        truth = law.true_ends()[0]
        runs = [collect(law, n, datasets) for n in sizes]
        for name in METHODS:
            scaled = [
                float(np.sqrt(np.mean((run[name][:, 0] - truth) ** 2)) * np.sqrt(n))
                for run, n in zip(runs, sizes, strict=True)
            ]
            print(f"{law.name:<11} {name:<14}" + "".join(f"{v:9.3f}" for v in scaled), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=["coverage", "rate"])
    parser.add_argument("--datasets", type=int, help="400 for coverage, 50 for the rate")
    parser.add_argument("--rows", type=int, default=2000)
    args = parser.parse_args()
    if args.part == "coverage":
        coverage(args.rows, args.datasets or 400)
    else:
        rate(args.datasets or 50)


if __name__ == "__main__":
    main()
