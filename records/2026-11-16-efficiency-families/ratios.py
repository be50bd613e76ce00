"""How much the covariates matter: the best variance of the ends given X over that of the ends from counts alone."""

from __future__ import annotations

import numpy as np

from ivicl.benchmarks.efficiency.adversarial import ADVERSARIAL
from ivicl.benchmarks.efficiency.best import efficient_se
from ivicl.benchmarks.efficiency.families import FAMILIES

LAWS, ROWS = 40, 4000

print("| family | version | lower end | upper end | true ends, mean | best se at n = 1,000 |\n|---|---|---|---|---|---|")
for family in (*FAMILIES, *ADVERSARIAL):
    for amounts in (False, True):
        ratios, ends, errors = [], [], []
        for seed in range(LAWS):
            law = family.dataset(np.random.default_rng([3, seed]), ROWS, amounts).law
            best = np.array(efficient_se(law.seen, 1000)["ATE"])
            ratios.append((best / efficient_se(law.seen.without_covariates(), 1000)["ATE"]) ** 2)
            ends.append(law.truth["ATE"])
            errors.append(best)
        ratio, end, error = (np.mean(values, axis=0) for values in (ratios, ends, errors))
        print(
            f"| {family.name} | {'amounts' if amounts else 'binary'} | {ratio[0]:.2f} | {ratio[1]:.2f} "
            f"| {end[0]:.2f}, {end[1]:.2f} | {error[0]:.4f}, {error[1]:.4f} |"
        )
