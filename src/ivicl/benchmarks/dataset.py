"""What every benchmark yields: data that a method may see, and the truth that its answer is judged by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ivicl.benchmarks.rct_to_iv import RCTConversion
from ivicl.data import IVData


@dataclass(frozen=True)
class BenchmarkDataset:
    """One data set of a benchmark. An interval is valid if it contains `bounds`, or `effect` if these are unknown."""

    data: IVData
    effect: float
    """The true effect, or the trial's estimate of it."""
    effect_se: float = 0.0
    """Standard error of `effect`; 0 if it is known exactly."""
    bounds: tuple[float, float] | None = None
    """The identified set as the paper defines it, if the whole law is known."""
    bounds_x: tuple[float, float] | None = None
    """The identified set given the covariates alone."""
    sharp_width: float | None = None
    """Width of the identified set as a share of the outcome's range."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Further facts that JSON can hold, such as the instrument's strength and what was drawn."""

    @classmethod
    def from_trial(cls, made: RCTConversion, beta: float) -> BenchmarkDataset:
        """A converted trial, judged by the trial's own estimate."""
        return cls(
            data=made.data,
            effect=made.label,
            effect_se=made.label_se,
            sharp_width=made.sharp_width,
            facts={
                "beta": beta,
                "naive": made.naive,
                "randomisation_p": made.randomisation_p,
                "n_trial": made.n_trial,
                "notes": list(made.warnings),
            },
        )

    @property
    def rho(self) -> float:
        """Correlation of instrument and treatment."""
        return float(np.corrcoef(self.data.z, self.data.t)[0, 1])

    @property
    def scale(self) -> float:
        """max Y - min Y in the data: the width of Manski's natural bounds, by which widths are divided."""
        return float(self.data.y.max() - self.data.y.min())

    def valid(self, lower: float, upper: float) -> bool:
        target = self.bounds or (self.effect, self.effect)
        return lower <= target[0] and target[1] <= upper

    def covers_effect(self, lower: float, upper: float) -> bool:
        return lower <= self.effect <= upper

    def covers_bounds_x(self, lower: float, upper: float) -> bool | None:
        return None if self.bounds_x is None else bool(lower <= self.bounds_x[0] and self.bounds_x[1] <= upper)
