"""What goes into a method and what comes out: the request and the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ivicl._shared.records import KeyedRecord, Record
from ivicl.methods.estimand_bounds import Covers, EstimandBounds
from ivicl.methods.estimands import AVERAGE
from ivicl.posterior import BinnedPosterior, IdentifiedSet

if TYPE_CHECKING:
    from ivicl.methods.joint_draws import MeanDraws
    from ivicl.methods.outcomes import Thresholds
    from ivicl.methods.row_laws import RowLaws

NO_SAMPLING_ERROR = "these are estimated bounds: they make no allowance for sampling error."
"""The warning of every method whose interval is an estimate."""

COVERS: tuple[Covers, ...] = ("set", "effect")
"""What an interval is meant to hold: the whole identified set, or the effect.

An interval between quantiles of the effect is shorter, and lies inside the identified set if the prior finds its ends
unlikely.
"""


@dataclass(frozen=True)
class NoOptions:
    """For methods without options of their own."""


@dataclass(frozen=True)
class Request:
    """What the user asks of a method, checked.

    Examples:
        >>> from ivicl import IVBounds
        >>> IVBounds("late", estimand="ITT", alpha=0.1).request().estimand
        'ITT'
    """

    alpha: float = 0.05
    """1 - alpha is the credibility or confidence of the interval."""
    estimand: str | None = None
    """What is asked for, one of the method's `estimands`; None leaves it to the method."""
    assume: tuple[str, ...] = ()
    """What the user grants beyond the method's own assumptions: keys of its `may_assume`."""
    combine: str = "means"
    """What is made of an outcome that is not binary, a key of `ivicl.methods.outcomes.COMBINATIONS`."""
    covers: Covers | None = None
    """What the interval is to hold; None leaves it to the method."""
    n_thresholds: int = 16
    """How many binary problems a bounded outcome becomes."""
    random_state: int = 0
    progress: bool = False
    """Show a progress bar on stderr."""
    own: Any = NoOptions()
    """The method's own options: an instance of its `Method.options`."""


@dataclass(frozen=True)
class Estimates(Record):
    """Point estimates of the ends of the identified set, in outcome units; the two are equal if it is a point."""

    lower: float
    upper: float
    se_lower: float | None = None
    se_upper: float | None = None


@dataclass(frozen=True)
class ModelInfo(KeyedRecord):
    """The network behind an answer."""

    name: str
    sha256: str


@dataclass(frozen=True)
class MethodBounds:
    """The answer of one method.

    Examples:
        >>> MethodBounds(-0.2, 0.4, estimates=Estimates(-0.1, 0.3)).covers
        'set'
    """

    lower: float
    """In outcome units; at the level alpha if the method allows for sampling error."""
    upper: float
    posterior: BinnedPosterior | None = None
    """The posterior of the effect, for Bayesian methods."""
    identified_set: IdentifiedSet | None = None
    covers: Covers = "set"
    """What lower and upper are meant to hold: the whole identified "set", or the "effect"."""
    estimand: str = AVERAGE
    """What is bounded: a name of `ivicl.methods.estimands.ESTIMANDS`, or one of the method's own."""
    estimates: Estimates | None = None
    """Without allowance for sampling error; None if the method has nothing but its interval."""
    thresholds: Thresholds | None = None
    """How an outcome that is not binary was cut."""
    model: ModelInfo | None = None
    adjusted: bool | None = None
    """Whether the covariates were used; None means as usual for the method if there are some."""
    draws: MeanDraws | None = None
    """Joint posterior draws of what every estimand is made of, for methods that have them."""
    row_laws: RowLaws | None = None
    """The law that the method found at each row, if it knows one."""
    heads: Mapping[str, IdentifiedSet] = field(default_factory=dict)
    """Posteriors of the ends of estimands, by name, in outcome units: parts of ratios that the method does not answer
    itself."""
    estimands: Mapping[str, EstimandBounds] = field(default_factory=dict)
    """What the method itself says about other estimands, by name; what it declares but leaves out here is filled in by
    `ivicl.methods.answers`."""
    warnings: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    """Further facts that JSON can hold, for the curious; only benchmarks read them."""

    @classmethod
    def estimated(cls, lower: float, upper: float, warnings: Iterable[str] = (), **facts: Any) -> MethodBounds:
        """The answer of a method that makes no allowance for sampling error: its interval is the estimate.

        Examples:
            >>> MethodBounds.estimated(-0.1, 0.3).warnings == (NO_SAMPLING_ERROR,)
            True
        """
        return cls(lower, upper, estimates=Estimates(lower, upper), warnings=(NO_SAMPLING_ERROR, *warnings), **facts)
