"""`IVBounds`: one call from data to bounds, for every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.methods.base import MethodBounds, MethodOptions
from ivicl.methods.registry import resolve
from ivicl.results.diagnostics.findings import diagnose
from ivicl.results.ladder import ladder
from ivicl.results.result import BoundsResult, json_safe

COMBINATIONS = ("comonotone", "independent", "randomised")


class IVBounds:
    """Bounds on the average effect of a binary treatment, from data with a binary instrument.

    Parameters are stored as given and checked in `fit`. For an outcome that is not binary, `n_thresholds` binary
    problems are made of it, and `combine` says how their posteriors become one: "comonotone" adds their quantiles and
    never claims more than they do; "independent" lets their errors cancel, which gives an interval two to four times
    narrower that misses the effect more often than it says; "randomised" replaces Y by 1{U <= Y}, which rounds
    nothing and adds a little noise. Further keywords are options of the chosen method, as in
    `IVBounds(method="balke-pearl", within="covariates")`. The interval of "ivicl" and "exact" is to hold the whole
    identified set; `covers="effect"` gives the paper's, the quantiles of the effect's posterior.

    Examples:
        >>> res = IVBounds(method="manski").fit_counts([[[158, 14], [0, 0]], [[52, 12], [23, 78]]])
        >>> round(res.width, 6)
        1.0
    """

    def __init__(
        self,
        method: str = "ivicl",
        alpha: float = 0.01,
        combine: str = "comonotone",
        n_thresholds: int = 16,
        random_state: int = 0,
        progress: bool = False,
        **method_options: Any,
    ) -> None:
        self.method = method
        self.alpha = alpha
        self.combine = combine
        self.n_thresholds = n_thresholds
        self.random_state = random_state
        self.progress = progress
        self.method_options = method_options

    def fit(
        self,
        df: Any,
        *,
        outcome: str,
        treatment: str,
        instrument: str,
        covariates: Sequence[str] = (),
        weights: str | None = None,
        outcome_range: tuple[float, float] | None = None,
        missing: str = "drop",
        ones: Mapping[str, Any] | None = None,
    ) -> BoundsResult:
        """Bounds from a table; see `IVData.from_frame` for what it may be and how columns are read."""
        options = self.checked_options()
        data = IVData.from_frame(
            df,
            outcome=outcome,
            treatment=treatment,
            instrument=instrument,
            covariates=covariates,
            weights=weights,
            outcome_range=outcome_range,
            missing=missing,
            ones=ones,
        )
        return self._run(data, options)

    def fit_counts(self, table: Any) -> BoundsResult:
        """Bounds from people by `[z][t][y]`: a (2, 2, 2) table, or eight numbers in that order."""
        options = self.checked_options()
        return self._run(IVData.from_counts(table), options)

    def fit_data(self, data: IVData) -> BoundsResult:
        """Bounds from an `IVData`."""
        return self._run(data, self.checked_options())

    def fit_many(
        self,
        df: Any,
        *,
        by: str | Sequence[str],
        outcome: str,
        treatment: str,
        instrument: str,
        covariates: Sequence[str] = (),
        weights: str | None = None,
        outcome_range: tuple[float, float] | None = None,
        missing: str = "drop",
        ones: Mapping[str, Any] | None = None,
    ) -> Any:
        """Bounds for many studies in one table: a polars frame with one row a study, in order of first appearance.

        `by` names the column, or columns, that tell the studies apart. A study that cannot be fitted has its reason in
        the column `error`. Without `outcome_range`, the range of the whole table holds for every study.
        """
        from ivicl.scale.many import fit_many

        return fit_many(
            self,
            df,
            by=by,
            outcome=outcome,
            treatment=treatment,
            instrument=instrument,
            covariates=covariates,
            weights=weights,
            outcome_range=outcome_range,
            missing=missing,
            ones=ones,
        )

    def checked_options(self) -> MethodOptions:
        """The parameters as the methods take them; an InputError for what cannot be."""
        if not isinstance(self.alpha, (int, float)) or not 0 < self.alpha < 1:
            raise InputError(f"alpha must lie between 0 and 1, but is {self.alpha!r}.")
        if self.combine not in COMBINATIONS:
            raise InputError(f"combine must be one of {', '.join(COMBINATIONS)}, but is {self.combine!r}.")
        for name, least in (("n_thresholds", 1), ("random_state", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
                raise InputError(f"{name} must be a whole number of at least {least}, but is {value!r}.")
        return MethodOptions(
            alpha=float(self.alpha),
            combine=self.combine,
            n_thresholds=int(self.n_thresholds),
            random_state=int(self.random_state),
            progress=self.progress,
            extra=dict(self.method_options),
        )

    def _run(self, data: IVData, options: MethodOptions) -> BoundsResult:
        return make_result(self.method, resolve(self.method)(data, options), data, options)


def make_result(method: str, found: MethodBounds, data: IVData, options: MethodOptions) -> BoundsResult:
    """A method's answer with the data's report, its diagnostics and the ladder of assumptions around it."""
    span = data.outcome_range[1] - data.outcome_range[0]
    # No method may leave the possible range or cross its ends; rounding can do both by 1e-16.
    lower, upper = max(float(found.lower), -span), min(float(found.upper), span)
    if lower > upper:
        if lower - upper > 1e-9 * span:
            raise RuntimeError(f"method '{method}' returned crossed bounds: {found.lower} > {found.upper}")
        lower = upper = (lower + upper) / 2
    details = json_safe(found.details | {"ladder": ladder(data, method, found, options)})
    return BoundsResult(
        lower=lower,
        upper=upper,
        alpha=options.alpha,
        method=method,
        n=data.n,
        n_rows=len(data.w),
        n_dropped=data.report.n_dropped,
        covariates=data.covariates,
        estimand=found.estimand,
        outcome_range=data.outcome_range,
        binary=data.binary,
        posterior=found.posterior,
        identified_set=found.identified_set,
        covers=found.covers,
        diagnostics=json_safe(diagnose(data)),
        warnings=found.warnings,
        notes=tuple(data.report.notes),
        codings=json_safe(data.report.codings),
        model=details.pop("model", None),
        details=details,
    )
