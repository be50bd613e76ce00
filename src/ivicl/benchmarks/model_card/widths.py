"""The paper's trials: how wide the interval is at the paper's level, and whether it holds the effect."""

from __future__ import annotations

from typing import Any

import numpy as np

from ivicl.benchmarks import catalog
from ivicl.benchmarks.efficiency.predictors import of_model
from ivicl.benchmarks.model_card.lines import ALPHA
from ivicl.methods.pretrained.runtime import Model

TRIALS = {
    "star_weak": ("star", ("small-regular/reading/weak",)),
    "star_strong": ("star", ("small-regular/reading/strong",)),
    "airplane": ("airplane", ("default",)),
    "jobs": ("jobs", ("weak", "strong")),
}
"""Figure -> benchmark and settings, whose data sets are pooled."""
DATASETS = 10


def trial_widths(model: Model, datasets: int = DATASETS) -> dict[str, Any]:
    """Mean width divided by the outcome's span, as in `ivicl bench`; the identified set's mean width (`_set`); and
    the smallest share of valid intervals."""
    predict = of_model(model)
    found: dict[str, Any] = {"datasets": datasets}
    validity = []
    for name, (benchmark, settings) in TRIALS.items():
        maker = catalog.benchmark(benchmark)
        cases = [maker.dataset(setting, seed) for setting in settings for seed in range(datasets)]
        answers = [predict(case.data, [ALPHA])["ATE"] for case in cases]
        ends = [(float(answer.lower[0]), float(answer.upper[0])) for answer in answers]
        widths = [(high - low) / case.scale for case, (low, high) in zip(cases, ends, strict=True)]
        valid = np.mean([case.valid(*pair) for case, pair in zip(cases, ends, strict=True)])
        sharp = float(np.mean([case.sharp_width for case in cases]))
        found |= {name: float(np.mean(widths)), f"{name}_validity": float(valid), f"{name}_set": sharp}
        validity.append(float(valid))
    return found | {"validity": min(validity)}
