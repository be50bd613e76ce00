"""`IVBounds`: one call from data to bounds, for every method."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Unpack

from ivicl._shared.frames import POLARS, kind_of
from ivicl.data import IVData
from ivicl.data.roles import ManyRoleArguments, Roles
from ivicl.errors import DesignWarning, InputError
from ivicl.methods.base import Covers, Method, Request
from ivicl.methods.registry import resolve
from ivicl.methods.requests import checked_request
from ivicl.results.making import make_result
from ivicl.results.result import BoundsResult


class IVBounds:
    """Bounds on the average effect of a binary treatment, from data with a binary instrument.

    Parameters are stored as given and checked in `fit`.

    Args:
        method: the name of a method (`ivicl methods` lists them), or a `Method` of your own.
        alpha: the interval has credibility or confidence 1 - alpha.
        estimand: what to bound: "ATE", "ATT", "ATU", "EY1", "EY0", "RR", "ITT", "LATE" or "LIFT"; None is the
            method's own (LATE for `late`, ATE for the others). All that a method knows is in `res.estimands`.
        assume: what you grant beyond the method's own assumptions, such as ("no-defiers",): the instrument moves
            nobody against its direction. `ivicl methods --format json` says which methods can use which assumptions.
        combine: what the network makes of an outcome that is not binary: "means" bounds the effects that the means
            of the outcome allow, in one pass; the others make `n_thresholds` binary problems of it: "comonotone" adds
            their quantiles and never claims more than they do; "independent" lets their errors cancel, which gives an
            interval two to four times narrower that misses the effect more often than it says; "randomised" replaces
            Y by 1{U <= Y}, which rounds nothing and adds a little noise.
        covers: what the interval is to hold, "set" (the whole identified set) or "effect" (the quantiles of the
            effect's posterior, as in the paper); None is the method's own.
        n_thresholds: how many binary problems an outcome that is not binary becomes.
        random_state: seed of methods that use chance.
        progress: show a progress bar on stderr.
        **options: options of the chosen method, as in `IVBounds(method="balke-pearl", within="covariates")`.

    Examples:
        >>> from ivicl import IVData, datasets
        >>> df = datasets.load("cholestyramine")
        >>> roles = {"outcome": "y", "treatment": "t", "instrument": "z", "weights": "people"}
        >>> estimator = IVBounds("balke-pearl", alpha=0.1)
        >>> estimator.get_params()["alpha"], estimator.set_params(alpha=0.05)
        (0.1, IVBounds(method='balke-pearl'))
        >>> estimator.fit(df, **roles)
        BoundsResult(ATE in [0.391, 0.779], estimated, balke-pearl, n = 337, grade ok)
        >>> estimator.fit_counts([158, 14, 0, 0, 52, 12, 23, 78]).n
        337
        >>> estimator.fit_data(IVData.from_arrays(z=[0, 0, 1, 1], t=[0, 0, 0, 1], y=[0, 1, 0, 1])).n
        4
        >>> estimator.fit_many(df.with_columns(site=df["z"] * 0), by="site", **roles)["n"].to_list()
        [337]
        >>> estimator.request().alpha
        0.05
    """

    def __init__(
        self,
        method: str | Method = "ivicl",
        *,
        alpha: float = 0.05,
        estimand: str | None = None,
        assume: str | Sequence[str] = (),
        combine: str = "means",
        covers: Covers | None = None,
        n_thresholds: int = 16,
        random_state: int = 0,
        progress: bool = False,
        **options: Any,
    ) -> None:
        self.method = method
        self.alpha = alpha
        self.estimand = estimand
        self.assume = assume
        self.combine = combine
        self.covers = covers
        self.n_thresholds = n_thresholds
        self.random_state = random_state
        self.progress = progress
        self.options = options

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters and the method's options by name, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in _named_parameters()} | dict(self.options)

    def set_params(self, **params: Any) -> IVBounds:
        """Change parameters or options of the method; they are checked in `fit`, as the constructor's are."""
        named = _named_parameters()
        for name, value in params.items():
            if name in named:
                setattr(self, name, value)
            else:
                self.options = self.options | {name: value}
        return self

    def __repr__(self) -> str:
        """The call that makes this estimator, with the parameters that differ from their defaults."""
        named = _named_parameters()
        told = [f"{k}={v!r}" for k, v in self.get_params().items() if k not in named or v != named[k]]
        return f"IVBounds({', '.join(told)})"

    def fit(
        self,
        df: Any,
        *,
        outcome: str,
        treatment: str,
        instrument: str,
        covariates: Sequence[str] | None = (),
        weights: str | None = None,
        cluster: str | None = None,
        strata: str | None = None,
        sampling_weights: str | None = None,
        outcome_range: tuple[float, float] | None = None,
        missing: str = "drop",
        missing_outcome: str = "drop",
        ones: Mapping[str, Any] | None = None,
        cap: float | str | None = None,
        bins: int | None = None,
    ) -> BoundsResult:
        """Bounds from a table: any frame that narwhals reads (pandas, polars, pyarrow, a duckdb relation), or a dict.

        Args:
            df: the table, with one row per person, or a row of weight k for k people.
            outcome: column of the outcome: two values, or numbers in a bounded range.
            treatment: column of the treatment taken, two values.
            instrument: column of the instrument, two values.
            covariates: columns of covariates; text becomes one column for each level.
            weights: column of frequency weights: how many people a row stands for.
            cluster: column of the groups (schools, villages) that were sampled or assigned together: people in the same
                group are not independent, and the interval allows for it.
            strata: column of the blocks within which people, or clusters, were sampled or assigned.
            sampling_weights: column of sampling weights: how many people of the population each person stands for. The
                bounds are then about the population; only ratios of the weights matter.
            outcome_range: smallest and largest possible outcome; with None, the smallest and largest observed.
            missing: rows with missing covariates: "drop" them, fill them and add an "indicator" column, or "raise".
            missing_outcome: people whose outcome is missing: "drop" them, as if they were like the others, or "bounds":
                their outcomes may have been anything in the range.
            ones: which value of a two-valued column means 1, as in `ones={"arm": "encouraged"}`; otherwise the larger,
                or the later in sort order, does.
            cap: where amounts are cut off, a number or a quantile such as "99%": the effect is then that on the smaller
                of outcome and cap.
            bins: cut covariates with more different numbers than this into this many groups of about equal size, so
                that huge tables merge instead of being sampled.
        """
        request = self.request()
        roles = Roles(
            outcome,
            treatment,
            instrument,
            covariates,
            weights,
            outcome_range,
            missing,
            ones,
            missing_outcome,
            cap,
            cluster=cluster,
            strata=strata,
            sampling_weights=sampling_weights,
            bins=bins,
        )
        return self._run(IVData.from_roles(df, roles, request.random_state), request, kind_of(df))

    def fit_counts(self, table: Any, missing_outcome: str = "drop") -> BoundsResult:
        """Bounds from people by `[z][t][y]`: a (2, 2, 2) table, or eight numbers in that order.

        With lost outcomes as a third value of y, `[z][t][0, 1, lost]`, it is a (2, 2, 3) table, or twelve numbers.
        """
        request = self.request()
        return self._run(IVData.from_counts(table, missing_outcome), request)

    def fit_data(self, data: IVData) -> BoundsResult:
        """Bounds from an `IVData`."""
        if not isinstance(data, IVData):
            raise InputError(f"fit_data takes an IVData, but was given a {type(data).__name__}; a table goes to fit.")
        return self._run(data, self.request())

    def fit_many(self, df: Any, *, by: str | Sequence[str], **roles: Unpack[ManyRoleArguments]) -> Any:
        """Bounds for many studies in one table: one row per study, in order of first appearance.

        `by` names the column, or columns, that tell the studies apart; the other keywords are those of `fit`. A study
        that cannot be fitted has the reason in the column `error`. Without `outcome_range`, the range of the whole
        table holds for every study. `outcome` may be a list: then there is one row for each study and outcome, named in
        a column `outcome`, and `outcome_range` may be a dictionary by outcome. The answer is a frame of the caller's
        kind (pandas, pyarrow), otherwise polars. All studies that contradict an assumption (grade stop) share one
        warning.
        """
        from ivicl.scale.many import fit_many

        return fit_many(self, df, by, roles)

    def request(self) -> Request:
        """The parameters as the methods take them; an InputError if they are not valid."""
        return checked_request(self.method, self.get_params(), self.options)

    def _run(self, data: IVData, request: Request, frame_kind: str = POLARS) -> BoundsResult:
        method = resolve(self.method).granted(request.assume)
        result = make_result(method, method.bounds(data, request), data, request, frame_kind=frame_kind)
        headline = result.diagnostics.headline
        if headline:
            # The warning points at the line that called fit, fit_counts or fit_data.
            warnings.warn(headline, DesignWarning, stacklevel=3)
        return result


@cache
def _named_parameters() -> dict[str, Any]:
    """The constructor's parameters with their defaults."""
    signature = inspect.signature(IVBounds.__init__)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: p.default for name, p in signature.parameters.items() if p.kind in kinds and name != "self"}
