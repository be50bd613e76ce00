"""The options of the published estimators, separate from their code so that reading them imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ivicl.errors import InputError

INTERVALS = ("imbens-manski", "z")


@dataclass(frozen=True)
class NuisanceOptions:
    """How p(y, t | z, x) and P(Z=1 | x) are estimated."""

    learner: Any = "auto"
    """"auto", a name, a list of names, or a scikit-learn classifier."""
    folds: int = 5
    """Folds of the cross-fitting."""
    clip: float = 0.01
    """P(Z=1 | x) is kept in [clip, 1 - clip]."""
    calibrate: bool = True
    """Scale predicted probabilities by a temperature and class intercepts."""
    propensity: float | None = None
    """P(Z=1) if it is known by design and does not depend on x; estimated when None."""
    n_jobs: int | None = None
    """Processes for the fits; None means at most two, and one when the work is small."""

    def __post_init__(self) -> None:
        if not 2 <= self.folds <= 50:
            raise InputError(f"folds is {self.folds}; it must be between 2 and 50.")
        if not 0.0 <= self.clip < 0.5:
            raise InputError(f"clip is {self.clip}; it must be at least 0 and below 0.5.")
        if self.propensity is not None and not 0.0 < self.propensity < 1.0:
            raise InputError(f"propensity is {self.propensity}; it must lie strictly between 0 and 1.")


@dataclass(frozen=True)
class OneStepOptions(NuisanceOptions):
    """What the two efficient estimators share."""

    interval: str | None = None
    """"imbens-manski" covers the effect, "z" the whole identified set; None follows `covers`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.interval is not None and self.interval not in INTERVALS:
            raise InputError(f'interval is "{self.interval}"; it must be one of {", ".join(INTERVALS)}.')


@dataclass(frozen=True)
class GPOptions:
    """Prior, variational family and optimiser of the Gaussian processes."""

    inducing: int = 64
    """Inducing points: rows of the data, spread out by farthest-point choice."""
    family: str = "full"
    """q over the inducing values of one latent: "full" covariance or "mean-field"."""
    prior_scale: float = 3.0
    """Prior sd of a latent at the start; a softmax over logits of sd 3 is close to a sparse Dirichlet."""
    learn_prior: bool = True
    """Fit scales and length-scales by maximising the evidence bound (the usual practice)."""
    max_steps: int = 2000
    """The most Adam steps."""
    batch: int = 256
    """Rows per step."""
    learning_rate: float = 0.03
    mc_draws: int = 8
    """Draws of the latents per step."""
    window: int = 100
    """For early stopping, the mean evidence bounds of windows of this many steps are compared."""
    patience: int = 4
    """Stop after this many windows without a gain of a standard error."""
    draws: int = 1000
    """Posterior draws from which the interval is computed."""

    def __post_init__(self) -> None:
        if self.family not in ("full", "mean-field"):
            raise InputError(f'family is "{self.family}"; it must be "full" or "mean-field".')
        for name in ("inducing", "max_steps", "batch", "mc_draws", "window", "patience"):
            if int(getattr(self, name)) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        if self.draws < 100:
            raise InputError(f"draws is {self.draws}; quantiles need at least 100.")
        if not self.prior_scale > 0 or not self.learning_rate > 0:
            raise InputError("prior_scale and learning_rate must be positive.")
