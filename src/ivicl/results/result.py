"""`BoundsResult`: the one result type of every method, with its summary and its exports."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ivicl.errors import InputError
from ivicl.posterior import BinnedPosterior, IdentifiedSet
from ivicl.results import tables as result_tables
from ivicl.version import __version__

if TYPE_CHECKING:
    from ivicl.posterior import WidthParts
    from ivicl.results.pictures import Picture

SAVED_KIND = "ivicl-bounds"
SAVED_SCHEMA = 1


@dataclass(frozen=True)
class BoundsResult:
    """Bounds on an average effect, with everything needed to judge them.

    Examples:
        >>> from ivicl import IVBounds
        >>> res = IVBounds(method="balke-pearl").fit_counts([[[158, 14], [0, 0]], [[52, 12], [23, 78]]])
        >>> round(res.lower, 4), round(res.upper, 4)
        (0.3913, 0.7792)
    """

    lower: float
    """In outcome units."""
    upper: float
    alpha: float
    """1 - alpha is the credibility or confidence asked for."""
    method: str
    n: int
    """People: the sum of the frequency weights."""
    n_rows: int
    n_dropped: int
    """Rows left out."""
    covariates: tuple[str, ...]
    """Names of the encoded covariates."""
    estimand: str
    """"ATE", or "LATE" for the effect among compliers."""
    outcome_range: tuple[float, float]
    binary: bool
    """The outcome takes two values: effects are differences of probabilities."""
    posterior: BinnedPosterior | None = None
    """Of the effect, in outcome units. However large n is, it depends on the prior."""
    identified_set: IdentifiedSet | None = None
    """Posteriors of the two ends of the identified set; these settle on the truth as n grows."""
    covers: str = "set"
    """What lower and upper are meant to hold: the whole identified "set", or the "effect"."""
    diagnostics: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What was done to the data on its way in."""
    codings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Role -> column, and which of its values became 0 and 1."""
    model: dict[str, Any] | None = None
    """Name and sha256 of the network, for method "ivicl"."""
    details: dict[str, Any] = field(default_factory=dict)
    """Extras of the method."""
    version: str = __version__

    @property
    def width(self) -> float:
        return self.upper - self.lower

    @property
    def prob_positive(self) -> float:
        """Posterior probability of a positive effect. It is driven by the prior wherever the bounds contain zero."""
        return self._needed_posterior("a probability").prob_positive

    def interval(self, alpha: float) -> tuple[float, float]:
        """The interval of credibility 1 - alpha, for what `lower` and `upper` cover; see also `posterior.interval`."""
        if not 0 < alpha < 1:
            raise InputError(f"alpha must lie between 0 and 1, but is {alpha}.")
        source = self.identified_set if self.covers == "set" else self.posterior
        return (source or self._needed_posterior("an interval at another level")).interval(alpha)

    @property
    def is_credible(self) -> bool:
        """The interval holds a posterior probability, at any level; else it is of confidence, or a formula's."""
        return self.posterior is not None or self.identified_set is not None

    def _needed_posterior(self, what: str) -> BinnedPosterior:
        if self.posterior is None:
            raise InputError(f"method '{self.method}' has no posterior, so it gives no {what.removeprefix('a ')}.")
        return self.posterior

    @property
    def width_parts(self) -> WidthParts | None:
        """How much of the width is not identified and how much is not enough data; None if the method cannot tell."""
        from ivicl.posterior import width_parts

        return width_parts(self.identified_set, self.alpha) if self.identified_set else None

    def plot(self, kind: str = "posterior") -> Picture:
        """A picture: "posterior", "levels" (interval against credibility), "ladder" or "compliance".

        It has `.figure` (matplotlib), `.to_frame()` (the data behind it) and `.save(path)`.
        """
        from ivicl.results.pictures import draw

        return draw(self, kind)

    def report(self, path: str | Path, title: str | None = None, question: str | None = None) -> Path:
        """Write one HTML file for a reader who was not there: data, assumptions, diagnostics, answer, pictures."""
        from ivicl.results.report.page import write_report

        return write_report(self, path, title=title, question=question)

    def summary(self) -> str:
        """A table for a reader: what was asked, of whom, the answer, and what to beware of."""
        return result_tables.summary(self)

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the schema of the command line's JSON."""
        return {
            "lower": self.lower,
            "upper": self.upper,
            "alpha": self.alpha,
            "method": self.method,
            "n": self.n,
            "n_rows": self.n_rows,
            "n_dropped": self.n_dropped,
            "covariates": list(self.covariates),
            "estimand": self.estimand,
            "outcome_range": list(self.outcome_range),
            "binary": self.binary,
            "posterior": self.posterior.to_dict() if self.posterior else None,
            "identified_set": self.identified_set.to_dict() if self.identified_set else None,
            "covers": self.covers,
            "diagnostics": self.diagnostics,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "codings": self.codings,
            "model": self.model,
            "details": self.details,
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> BoundsResult:
        fields = {name: saved[name] for name in cls.__dataclass_fields__}
        posterior, ends = fields["posterior"], fields["identified_set"]
        fields |= {
            "covariates": tuple(fields["covariates"]),
            "outcome_range": tuple(fields["outcome_range"]),
            "warnings": tuple(fields["warnings"]),
            "notes": tuple(fields["notes"]),
            "posterior": BinnedPosterior.from_dict(posterior) if posterior else None,
            "identified_set": IdentifiedSet.from_dict(ends) if ends else None,
        }
        return cls(**fields)

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(json_safe(self.to_dict()), indent=indent, allow_nan=False)

    def to_frame(self) -> Any:
        """One row as a polars frame."""
        import polars as pl

        return pl.DataFrame([result_tables.row(self)])

    def to_latex(self) -> str:
        return result_tables.latex(self)

    def to_markdown(self) -> str:
        return result_tables.markdown(self)

    def save(self, path: str | Path) -> None:
        """Write the result as JSON, stamped with its kind, schema and version; `BoundsResult.load` reads it back."""
        stamped = {"kind": SAVED_KIND, "schema": SAVED_SCHEMA} | json_safe(self.to_dict())
        Path(path).write_text(json.dumps(stamped, allow_nan=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> BoundsResult:
        try:
            saved = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"'{path}' cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise InputError(f"'{path}' is not a saved result: it is not JSON.") from error
        if not isinstance(saved, dict) or saved.get("kind") != SAVED_KIND:
            raise InputError(f"'{path}' is not a saved result of ivicl.")
        if saved.get("schema") != SAVED_SCHEMA:
            raise InputError(f"'{path}' has schema {saved.get('schema')}, but this version reads {SAVED_SCHEMA}.")
        try:
            return cls.from_dict(saved)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"'{path}' is damaged: {error}.") from error


def json_safe(value: Any) -> Any:
    """The same structure with numpy scalars and arrays as plain values, and what is not finite as null."""
    if isinstance(value, dict):
        return {str(k): json_safe(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_safe(v) for v in value]
    if hasattr(value, "tolist"):
        return json_safe(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
