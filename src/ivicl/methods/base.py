"""What a method takes and returns. Nothing here knows of the estimator, so every method can import it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ivicl.errors import InputError
from ivicl.posterior import BinnedPosterior, IdentifiedSet

NO_SAMPLING_ERROR = "these are estimated bounds: they make no allowance for sampling error."
"""The warning of every method that plugs the sample's law into a formula."""


COVERS = ("set", "effect")
"""What an interval is meant to hold: the whole identified set, or the effect.

Quantiles of the effect are shorter, and lie inside the identified set where the prior finds its ends unlikely.
"""


def checked_covers(value: Any) -> str:
    if value not in COVERS:
        raise InputError(f"covers must be 'set' or 'effect', but is {value!r}.")
    return value


@dataclass(frozen=True)
class MethodBounds:
    """The answer of one method."""

    lower: float
    """In outcome units; at the level alpha when the method allows for sampling error."""
    upper: float
    posterior: BinnedPosterior | None = None
    """Of the effect, for Bayesian methods."""
    identified_set: IdentifiedSet | None = None
    covers: str = "set"
    """What lower and upper are meant to hold: the whole identified "set", or the "effect"."""
    estimand: str = "ATE"
    """"ATE", or "LATE" for the effect among compliers."""
    warnings: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    """Extras that JSON can hold: standard errors, choices made, seconds, `model` {name, sha256}."""

    @property
    def is_credible(self) -> bool:
        """The interval speaks of posterior probability: the method has a prior."""
        return self.posterior is not None or self.identified_set is not None


@dataclass(frozen=True)
class MethodOptions:
    """What the user asked of a method."""

    alpha: float = 0.01
    """1 - alpha is the credibility or confidence of the interval."""
    combine: str = "comonotone"
    """How the binary problems of a bounded outcome are combined."""
    n_thresholds: int = 16
    """How many binary problems a bounded outcome becomes."""
    random_state: int = 0
    progress: bool = False
    """Show a progress bar on stderr."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Keywords of one method, e.g. IVBounds(method="levis", form="smooth")."""

    def take_extra(self, method: str, **defaults: Any) -> dict[str, Any]:
        """The method's own keywords over their defaults; an unknown keyword is an InputError."""
        unknown = sorted(set(self.extra) - set(defaults))
        if unknown:
            known = ", ".join(sorted(defaults)) or "none"
            raise InputError(f"method '{method}' has no option '{unknown[0]}'; its options are: {known}.")
        return defaults | self.extra
