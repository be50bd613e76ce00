"""Every shipped method with options that make it quick, and one small table that all of them can read."""

from __future__ import annotations

import numpy as np

_LINEAR = {"learner": "linear", "n_jobs": 1}
QUICK = {
    "exact": {"n_chains": 32, "n_draws": 800},
    "plugin": _LINEAR,
    "levis": _LINEAR,
    "whitehouse": _LINEAR,
    "bayes": {"max_steps": 5},
    "bayes-bp": {"max_steps": 5},
}
ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}


def small_table(n: int = 240, amounts: bool = False) -> dict[str, np.ndarray]:
    """A sound design with one covariate, `old`, that goes with who is treated."""
    rng = np.random.default_rng(5)
    old, z = rng.integers(0, 2, n), rng.integers(0, 2, n)
    t = (rng.random(n) < 0.1 + 0.6 * z + 0.1 * old).astype(int)
    y = rng.integers(0, 4, n) + 4 * t if amounts else (rng.random(n) < 0.15 + 0.6 * t).astype(int)
    return {"z": z, "t": t, "y": y, "old": old}
