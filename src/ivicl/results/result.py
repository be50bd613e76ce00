"""`BoundsResult`: the one result type of every method, with its summary and its exports."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ivicl._shared.checks import check_alpha
from ivicl._shared.frames import POLARS, as_kind
from ivicl._shared.numbers import rounded_interval
from ivicl._shared.records import NOT_SAVED, Record, json_safe
from ivicl._shared.writing import cannot_be_written
from ivicl.data.encoding import Coding
from ivicl.errors import InputError
from ivicl.methods.base import Covers, Estimates, IntervalKind, ModelInfo
from ivicl.methods.estimand_bounds import EstimandBounds
from ivicl.methods.outcomes import Thresholds
from ivicl.posterior import BinnedPosterior, IdentifiedSet, WidthParts, width_parts
from ivicl.results import rows, saved, tables
from ivicl.results.diagnostics.records import Diagnostics, Finding, Grade
from ivicl.results.ladder import Ladder
from ivicl.results.old_keys import Details
from ivicl.results.source import Source
from ivicl.results.wording import level
from ivicl.version import __version__

if TYPE_CHECKING:
    from ivicl.results.pictures import Picture
    from ivicl.results.sections import HasSection
    from ivicl.results.sensitivity import Sensitivity
    from ivicl.results.subgroups import Subgroups


@dataclass(frozen=True, repr=False)
class BoundsResult(Record):
    """Bounds on an average effect, with everything needed to judge them.

    Examples:
        >>> from ivicl import IVBounds
        >>> res = IVBounds("exact").fit_counts([158, 14, 0, 0, 52, 12, 23, 78])
        >>> res.n, res.level, res.grade
        (337, '95 % credible for the set', 'ok')
        >>> res.interval(0.5)[0] > res.lower, res.estimands["ATT"].upper < 1
        (True, True)
        >>> [rung.method for rung in res.ladder]
        ['manski', 'manski-iv', 'balke-pearl', 'exact', 'late']
        >>> res.sensitivity("exclusion", eps=[0, 0.1]).eps
        (0.0, 0.1)

        For readers and for machines:

        >>> res.summary().count("What each assumption buys"), len(res.to_markdown().splitlines()) > 10
        (1, True)
        >>> res.to_latex().count("{tabular}"), res.to_json()[:7]
        (6, '{"kind"')
        >>> res.to_frame().columns == list(res.row()), res.to_dict()["n"]
        (True, 337)

        Files:

        >>> from tempfile import mkdtemp
        >>> folder = Path(mkdtemp())
        >>> res.plot("ladder").save(folder / "ladder.svg").name, res.report(folder / "bounds.html").name
        ('ladder.svg', 'bounds.html')
        >>> res.save(folder / "bounds.json")
        >>> BoundsResult.load(folder / "bounds.json") == res
        True

        Groups of people, by a covariate of the fit:

        >>> people = {"z": [0, 0, 1, 1] * 20, "t": [0, 0, 0, 1] * 20, "y": [0, 1, 0, 1] * 20, "sex": ["f", "m"] * 40}
        >>> fit = IVBounds("manski").fit(people, outcome="y", treatment="t", instrument="z", covariates=["sex"])
        >>> fit.by("sex")
        Subgroups(sex, 2 groups, n = 80)
    """

    lower: float
    """In outcome units."""
    upper: float
    alpha: float
    """1 - alpha is the credibility or confidence asked for."""
    method: str
    label: str
    """The method's name for readers."""
    procedure: str
    """How the method computes bounds, for a methods section: "The method is ..."."""
    interval_kind: IntervalKind
    """"credible", "confidence", or "estimate": no allowance for sampling error."""
    assumptions: tuple[str, ...]
    """Keys of `ivicl.methods.assumptions.ASSUMPTIONS`, or the method's own sentences."""
    n: int
    """People: the sum of the frequency weights."""
    n_rows: int
    n_dropped: int
    """Rows left out."""
    covariates: tuple[str, ...]
    """Names of the encoded covariates."""
    adjusted: bool
    """The method used the covariates."""
    estimand: str
    """What is bounded: "ATE", "LATE" for the effect among compliers, or a method's own."""
    outcome_range: tuple[float, float]
    binary: bool
    """The outcome takes two values: effects are differences of probabilities."""
    diagnostics: Diagnostics
    posterior: BinnedPosterior | None = None
    """The posterior of the effect, in outcome units. However large n is, it depends on the prior."""
    identified_set: IdentifiedSet | None = None
    """Posteriors of the two ends of the identified set; these converge to the truth as n grows."""
    covers: Covers = "set"
    """What lower and upper are meant to hold: the whole identified "set", or the "effect"."""
    estimates: Estimates | None = None
    """Point estimates of the ends, without allowance for sampling error."""
    thresholds: Thresholds | None = None
    """How an outcome that is not binary was cut."""
    estimands: dict[str, EstimandBounds] = field(default_factory=dict)
    """By name, all that the method says about these data; each allows for sampling error, even if `lower` and `upper`
    are an estimate. None of them is computed from another's interval."""
    ladder: Ladder | None = None
    """The same data under fewer and more assumptions; not in the results of `fit_many`."""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What was done to the data when they were read."""
    variables: tuple[str, ...] = ()
    """Covariates by the caller's names."""
    codings: dict[str, Coding] = field(default_factory=dict)
    """Role -> column, and which of its values became 0 and 1."""
    cap: float | None = None
    """Where an amount was cut off, if the caller asked for it: the effect is that on the smaller of outcome and cap."""
    model: ModelInfo | None = None
    """The network behind the answer, if there is one."""
    details: dict[str, Any] = field(default_factory=dict)
    """Further facts from the method."""
    version: str = __version__
    source: Source | None = field(default=None, repr=False, compare=False, metadata=NOT_SAVED)
    """The data that it was fitted to, for `sensitivity` and `by`; None in a result that was loaded."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "details", Details(json_safe(self.details), self))
        if self.upper is None:  # this is how a ratio without an upper limit is saved
            object.__setattr__(self, "upper", math.inf)
        if self.estimand not in self.estimands:
            point = self.estimates
            low, high = (point.lower, point.upper) if point else (None, None)
            meant = self.interval_kind, self.covers, self.adjusted
            own = EstimandBounds(self.lower, self.upper, low, high, self.assumptions, *meant)
            object.__setattr__(self, "estimands", {self.estimand: own, **self.estimands})

    @property
    def frame_kind(self) -> str:
        """The kind of table in which `to_frame` answers: the caller's."""
        return POLARS if self.source is None else self.source.frame_kind

    @property
    def width(self) -> float:
        return self.upper - self.lower

    @property
    def level(self) -> str:
        """What kind of interval it is, in a few words: "95 % credible for the set"."""
        return level(self.interval_kind, self.alpha, self.covers)

    @property
    def grade(self) -> Grade:
        """ "ok", "look" or "stop": the worst that the data say about the design."""
        return self.diagnostics.grade

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the data say about the design, each graded."""
        return self.diagnostics.findings

    @property
    def prob_positive(self) -> float:
        """Posterior probability of a positive effect. It is driven by the prior if the bounds contain zero."""
        return self._needed_posterior("a probability").prob_positive

    def interval(self, alpha: float) -> tuple[float, float]:
        """The interval of credibility 1 - alpha, for what `lower` and `upper` cover; see also `posterior.interval`.

        An interval that comes from no posterior is known at its own level only.
        """
        check_alpha(alpha)
        source = self.identified_set if self.covers == "set" else self.posterior
        estimated = self.interval_kind == "estimate"
        if source is None and alpha == self.alpha and not estimated:
            return self.lower, self.upper
        what = "an interval at another level" + ("" if estimated else f"; fit it again with alpha={alpha:g}")
        return (source or self._needed_posterior(what)).interval(alpha)

    @property
    def is_credible(self) -> bool:
        """Whether there is a posterior, so that `interval` has an answer at any level."""
        return self.posterior is not None or self.identified_set is not None

    def _needed_posterior(self, what: str) -> BinnedPosterior:
        if self.posterior is None:
            raise InputError(
                f"method '{self.method}' has no posterior of the {self.estimand}, so it cannot give {what}."
            )
        return self.posterior

    @property
    def width_parts(self) -> WidthParts | None:
        """How much of the width is not identified and how much is not enough data; None if the method cannot tell."""
        return width_parts(self.identified_set, self.alpha) if self.identified_set else None

    def plot(self, kind: str = "posterior") -> Picture:
        """A picture: "posterior", "levels" (interval against credibility), "ladder" or "compliance".

        It has `.figure` (matplotlib), `.to_frame()` (the data behind it) and `.save(path)`.
        """
        from ivicl.results.pictures import draw

        return draw(self, kind)

    def sensitivity(self, kind: str = "exclusion", eps: Sequence[float] | None = None) -> Sensitivity:
        """How far an assumption may fail before the sign of the effect is no longer certain.

        Args:
            kind: "exclusion" (the instrument changes some people's outcome by itself) or "independence" (the arms were
                not alike) for the average effect; "defiers" (some do the opposite) for the effect among compliers.
            eps: the shares of people for whom it may fail; by default a grid that reaches beyond the breakdown point.

        The answer has `.breakdown`, `.to_frame()`, `.plot()` and a sentence for readers.
        """
        from ivicl.results.sensitivity import sensitivity

        return sensitivity(self, kind, eps)

    def by(self, column: str, *, quantiles: int | None = None, simultaneous: bool = False) -> Subgroups:
        """The same fit for each group of people that a covariate makes: one row per group, with a forest plot.

        Args:
            column: a covariate of this fit, by the name it had in the table.
            quantiles: for numbers, how many groups of about equal size; by default one for each value, or four if
                there are more than ten values.
            simultaneous: widen the intervals so that all of them hold at once, at the result's level.
        """
        from ivicl.results.subgroups import subgroups

        return subgroups(self, column, quantiles, simultaneous)

    def report(
        self,
        path: str | Path,
        title: str | None = None,
        question: str | None = None,
        also: Sequence[HasSection] = (),
    ) -> Path:
        """Write one HTML file for a reader who was not there: data, assumptions, diagnostics, answer, pictures.

        `also` are answers to further questions, one section each: what `sensitivity`, `by`, `compare` and `plan`
        return, as in `also=[res.sensitivity("exclusion"), res.by("sex")]`.
        """
        from ivicl.results.report.page import write_report

        return write_report(self, path, title=title, question=question, also=also)

    def summary(self) -> str:
        """A table for a reader: what was asked, about whom, the answer, and what to beware of."""
        return tables.summary(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"BoundsResult({self.estimand} in {rounded_interval(self.lower, self.upper)}, {self.level}, "
            f"{self.method}, n = {self.n:,}, grade {self.grade})"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the summary with the ladder as a picture."""
        from ivicl.results.notebook import notebook_html

        return notebook_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the schema of the command line's JSON."""
        return super().to_dict() | {"grade": self.grade}

    def row(self) -> dict[str, Any]:
        """One flat row, with the columns of `ivicl.results.rows.COLUMNS`."""
        return rows.row(self)

    def to_json(self, indent: int | None = None) -> str:
        """Everything, in the schema `ivicl/results/schema.json`."""
        return json.dumps(saved.stamped(self.to_dict()), indent=indent, allow_nan=False)

    def to_frame(self) -> Any:
        """One row with the columns of `fit_many`, in the kind of frame that was fitted (pandas, pyarrow) or polars."""
        return as_kind(rows.frame_of([self.row()]), self.frame_kind)

    def to_latex(self) -> str:
        """The summary, the ladder and the other estimands as tables for a paper, ruled by LaTeX's `booktabs`."""
        return tables.latex(self)

    def to_markdown(self) -> str:
        """The summary as Markdown."""
        return tables.markdown(self)

    def save(self, path: str | Path) -> None:
        """Write the result as JSON, stamped with its kind, schema and version; `BoundsResult.load` reads it back."""
        try:
            Path(path).write_text(self.to_json() + "\n", encoding="utf-8")
        except OSError as error:
            raise cannot_be_written(path, error) from error

    @classmethod
    def load(cls, path: str | Path) -> BoundsResult:
        """A saved result, in this version's schema or an older one."""
        content = saved.read(path)
        try:
            return cls.from_dict(content)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"'{path}' is damaged: {error}.") from error
