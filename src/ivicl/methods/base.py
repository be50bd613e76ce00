"""What a method is: one object that says what it answers, what it assumes, and where its code is.

Everything that shows or runs methods (estimator, ladder, report, batch, benchmarks) reads these fields and never checks
for a particular name. Nothing here imports the estimator, so every method can import this module.
"""

from __future__ import annotations

import dataclasses
import importlib
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ivicl.errors import InputError, IVICLError, MissingDependencyError, ModelFileError
from ivicl.methods import lost
from ivicl.methods.estimand_bounds import Covers as Covers
from ivicl.methods.estimand_bounds import IntervalKind as IntervalKind
from ivicl.methods.estimands import AVERAGE, estimand
from ivicl.methods.request import COVERS as COVERS
from ivicl.methods.request import NO_SAMPLING_ERROR as NO_SAMPLING_ERROR
from ivicl.methods.request import Estimates as Estimates
from ivicl.methods.request import MethodBounds as MethodBounds
from ivicl.methods.request import ModelInfo as ModelInfo
from ivicl.methods.request import NoOptions as NoOptions
from ivicl.methods.request import Request as Request

if TYPE_CHECKING:
    import numpy as np

    from ivicl.data import IVData
    from ivicl.identification.weaker_ends import EndsAtLaw

_log = logging.getLogger(__name__)

NO_STUDY_CAN_HELP = (ImportError, ModelFileError)
"""Errors of the installation: they end a run of many studies, while other errors concern one study only."""

LostOutcomes = Literal["free", "filled", "no"]

Lazy = str | Callable[..., Any]
"""A function, or its place as "module:function", which is imported when it is first called."""


@dataclass(frozen=True)
class Method:
    """A way to compute bounds. `IVBounds(method=...)` takes the name of a known method, or an object like this.

    Examples:
        >>> from ivicl import IVBounds, IVData
        >>> from ivicl.methods import Method, MethodBounds, Request
        >>> def before_any_data(data, request):
        ...     return MethodBounds(-1.0, 1.0)
        >>> nothing = Method("nothing", "No data", before_any_data, interval="estimate", summary="what is known before")
        >>> IVBounds(method=nothing).fit_counts([158, 14, 0, 0, 52, 12, 23, 78]).width
        2.0
        >>> nothing.bounds(IVData.from_counts([158, 14, 0, 0, 52, 12, 23, 78]), Request()).upper
        1.0
    """

    name: str
    """What users type."""
    label: str
    """What readers see, in tables and pictures."""
    load: Lazy
    """`function(data, request) -> MethodBounds`."""
    interval: IntervalKind
    """"credible" (posterior probability), "confidence" (repeated samples), or "estimate": no allowance for sampling
    error."""
    summary: str
    """One line: what it is."""
    procedure: str = ""
    """For a methods section, to follow "The method is ..."; if it is empty, the label is used."""
    estimands: tuple[str, ...] = (AVERAGE,)
    """What it can answer, as in `ivicl.methods.estimands`; the first is its default."""
    means: Lazy | None = None
    """`function(laws, share_z1) -> (MeanEnds, laws)`: ends of E Y(1) and E Y(0) at laws of the observed data, like
    those in `ivicl.identification.weaker_ends`. With it, the estimands that the method declares but does not answer
    itself are computed from draws of the law."""
    assumptions: tuple[str, ...] = ("exchangeable", "exclusion", "no-interference", "bounded")
    """Keys of `ivicl.methods.assumptions.ASSUMPTIONS`, or sentences for what is not among them."""
    may_assume: tuple[str, ...] = ()
    """Keys of further assumptions that a user may grant it by `IVBounds(assume=...)`."""
    covers: tuple[Covers, ...] = ("set",)
    """What its interval can be asked to hold; the first is the default."""
    uses_covariates: bool = False
    lost_outcomes: LostOutcomes = "no"
    """What it does if lost outcomes may have been anything (`data.lost`). "free": its function handles them; "filled":
    the function is called twice with the lost outcomes filled in, and its ends are moved (`ivicl.methods.lost`); "no":
    such data are refused."""
    reads_design: bool = False
    """Its function allows for clusters, strata and sampling weights (`data.design`). Otherwise a method that gives an
    estimate gets the population that the people stand for as data, and one that gives an interval refuses."""
    moments: bool = False
    """Its function uses only means and variances of an amount, so that rows may stand for people whose outcomes differ
    (`data.v`); otherwise such data are refused."""
    options: type = NoOptions
    """A frozen dataclass of its own keywords; its `__post_init__` refuses wrong values with an InputError."""
    extra: str | None = None
    """The package extra that installs what it imports, as in `pip install 'ivicl[extra]'`."""
    batched: Lazy | None = None
    """`function(list of data, request) -> list of MethodBounds`, if many studies at once are cheaper."""
    prepare: Lazy | None = None
    """`function(request)`: loads what is slow to load; a command calls it while the table is read."""
    stamp: Lazy | None = None
    """`function(request) -> dict`: what else decides the answer (a model's checksum), so that runs can be compared."""
    rung: int | None = None
    """Its place on the ladder that every result shows; None leaves it out, unless it is the result's own method."""
    rung_without_covariates: bool = False
    """It is quick without covariates, so the ladder also shows its answer without them."""
    colour: str = "#4d4d4d"
    """In the benchmarks' figures."""
    paper_name: str | None = None
    """Its name in the paper's tables."""
    paper_alpha: float = 0.01
    """The alpha at which the benchmarks run it: the paper's, or the usual one if the paper names none."""
    variants: tuple[tuple[str, str], ...] = ()
    """Further rows of it that the benchmarks show, with their colours: ("effect", "#aaa") stands for name@effect."""
    takes_minutes: bool = False
    """It takes minutes per data set, whatever its size, and not seconds: benchmarks may give it fewer data sets."""

    def own_options(self, given: Mapping[str, Any]) -> Any:
        """Its options from keywords; a keyword or a value that it does not know is an InputError."""
        known = [f.name for f in dataclasses.fields(self.options)]
        unknown = sorted(set(given) - set(known))
        if unknown:
            listed = ", ".join(sorted(known)) or "none"
            raise InputError(f"method '{self.name}' has no option '{unknown[0]}'; its options are: {listed}.")
        return self.options(**given)

    def granted(self, assume: Sequence[str]) -> Method:
        """The method with these further assumptions; an InputError for one that it cannot use."""
        for key in assume:
            if key not in (*self.may_assume, *self.assumptions):
                known = ", ".join(self.may_assume) or "nothing"
                raise InputError(f"method '{self.name}' cannot assume {key!r} in addition; it can assume: {known}.")
        return dataclasses.replace(self, assumptions=tuple(dict.fromkeys((*self.assumptions, *assume))))

    def bounds(self, data: IVData, request: Request) -> MethodBounds:
        """Its answer for one data set."""
        asked = self._as_asked(data)
        return self._answer(data, [self._call(self.load, each, request) for each in asked])

    def bounds_of_many(self, data: Sequence[IVData], request: Request) -> list[MethodBounds | IVICLError]:
        """Its answers for many data sets, with an error in place of an answer that cannot be given."""
        if self.batched is not None:
            try:
                asked = [self._as_asked(each) for each in data]
                found = iter(self._call(self.batched, [each for group in asked for each in group], request))
                grouped = [[next(found) for _ in group] for group in asked]
            except NO_STUDY_CAN_HELP:
                raise
            except Exception:  # try one by one below, so that one that fails does not take the others with it
                _log.debug("method %s failed on %d data sets together", self.name, len(data), exc_info=True)
            else:
                return [self._or_error(self._answer, each, own) for each, own in zip(data, grouped, strict=True)]
        return [self._or_error(self.bounds, each, request) for each in data]

    def _or_error(self, function: Callable[..., MethodBounds], *arguments: Any) -> MethodBounds | IVICLError:
        try:
            return function(*arguments)
        except NO_STUDY_CAN_HELP:
            raise
        except IVICLError as error:
            return error
        except Exception as error:
            return IVICLError(f"method '{self.name}' failed: {type(error).__name__}: {error}")

    def _as_asked(self, data: IVData) -> list[IVData]:
        """The data sets that its function is given: one, or one for each way to fill in the lost outcomes."""
        if not self.moments:
            data.of_each_person(f"method '{self.name}'")
        if data.design is not None and not self.reads_design:
            data = self._without_design(data)
        if data.lost is None or self.lost_outcomes == "free":
            return [data]
        if self.lost_outcomes == "filled":
            return [data.filled(ones=ones) for ones in lost.fills(data.population())]
        raise InputError(
            f"method '{self.name}' cannot leave lost outcomes free (missing_outcome='bounds'); drop them, or use "
            "another method, such as 'ivicl' or 'balke-pearl'."
        )

    def _answer(self, data: IVData, found: Sequence[MethodBounds]) -> MethodBounds:
        return self._checked(found[0] if len(found) == 1 else lost.joined(data.population(), *found), data)

    def _without_design(self, data: IVData) -> IVData:
        """An estimate needs only the weights; an interval that would ignore the design is refused."""
        if self.interval == "estimate":
            return data.population()
        raise InputError(
            f"method '{self.name}' takes people as independent and equally likely, so it cannot allow for cluster, "
            "strata or sampling_weights; use 'ivicl', 'levis', 'whitehouse' or 'late'."
        )

    def _checked(self, found: MethodBounds, data: IVData) -> MethodBounds:
        """Bounds within the possible range and not crossed: rounding can violate both by 1e-16, more is a bug."""
        least, most = estimand(found.estimand).possible(*data.outcome_range)
        lower, upper = max(float(found.lower), least), min(float(found.upper), most)
        if not (math.isfinite(lower) and math.isfinite(upper)):
            raise RuntimeError(f"method '{self.name}' returned bounds that are not numbers: {lower}, {upper}")
        if lower > upper:
            if lower - upper > 1e-9 * (data.outcome_range[1] - data.outcome_range[0]):
                raise RuntimeError(f"method '{self.name}' returned crossed bounds: {found.lower} > {found.upper}")
            lower = upper = (lower + upper) / 2
        return dataclasses.replace(found, lower=lower, upper=upper)

    def adjusted(self, found: MethodBounds, data: IVData) -> bool:
        """Whether the answer made use of covariates."""
        return bool(data.covariates) and (self.uses_covariates if found.adjusted is None else found.adjusted)

    def mean_ends(self, laws: np.ndarray, share_z1: np.ndarray) -> EndsAtLaw | None:
        """Its ends of E Y(1) and E Y(0) at laws; None if it has no such formula."""
        return None if self.means is None else self._call(self.means, laws, share_z1)

    def get_ready(self, request: Request) -> None:
        """Load what is slow to load."""
        if self.prepare is not None:
            self._call(self.prepare, request)

    def stamps(self, request: Request) -> dict[str, Any]:
        """What decides the answer besides the request."""
        found: dict[str, Any] = {} if self.stamp is None else self._call(self.stamp, request)
        return found

    def _call(self, code: Lazy, *arguments: Any) -> Any:
        """Call the function; if an import fails, there or inside, raise an error that names the extra to install."""
        try:
            return _loaded(code)(*arguments)
        except ModuleNotFoundError as error:
            missing = (error.name or "").split(".")[0]
            if self.extra is None or missing == __name__.split(".")[0]:  # this package itself
                raise
            raise MissingDependencyError(
                f"method '{self.name}' needs {missing}: install it with pip install 'ivicl[{self.extra}]'."
            ) from error


def _loaded(code: Lazy) -> Callable[..., Any]:
    if callable(code):
        return code
    module, _, function = code.partition(":")
    loaded: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return loaded
