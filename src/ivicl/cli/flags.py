"""The flags that several commands share, and what their texts mean."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ivicl.errors import InputError

if TYPE_CHECKING:
    from ivicl.data import Roles
    from ivicl.estimator import IVBounds

Source = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES",
        help="CSV, TSV (gzipped or not), Parquet, JSON lines, Feather, Excel or Stata; several files of one table, or "
        "a pattern such as 'data/*.parquet'; - for standard input.",
        show_default=False,
    ),
]
Outcome = Annotated[str, typer.Option("-y", "--outcome", help="Column of the outcome.", show_default=False)]
Treatment = Annotated[str, typer.Option("-t", "--treatment", help="Column of the treatment taken.", show_default=False)]
Instrument = Annotated[str, typer.Option("-z", "--instrument", help="Column of the instrument.", show_default=False)]
Range = Annotated[str | None, typer.Option("--range", help="Smallest and largest possible outcome, as LOW,HIGH.")]
MissingOutcome = Annotated[
    str,
    typer.Option(
        "--missing-outcome",
        help="People whose outcome is missing: drop them, or bounds: it may have been anything in the range.",
    ),
]
Ones = Annotated[
    list[str] | None, typer.Option("--one", help="COLUMN=VALUE: the value that means 1. May be given again.")
]
Method = Annotated[
    str, typer.Option("-m", "--method", help="The network or any other method; ivicl methods lists them.")
]
Alpha = Annotated[float, typer.Option("--alpha", help="The interval has credibility or confidence 1 - alpha.")]
Estimand = Annotated[
    str | None,
    typer.Option(
        "--estimand",
        help="What to bound: ATE, ATT (the treated), ATU (the untreated), EY1, EY0, RR (risk ratio), ITT, LATE (the "
        "compliers) or LIFT (ATT relative to no treatment); by default the method's own.",
        show_default=False,
    ),
]
Assume = Annotated[
    str | None,
    typer.Option(
        "--assume",
        help="What you grant beyond the method's own assumptions: no-defiers, for methods ivicl and exact.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of methods that use chance.")]
Options = Annotated[
    list[str] | None, typer.Option("--set", help="NAME=VALUE: an option of the method. May be given again.")
]

Combine = Annotated[
    str | None,
    typer.Option(
        "--combine",
        help="For an outcome that is not binary: means (the default) bounds what its means allow; the others make "
        "thresholds of it: comonotone adds quantiles and claims no more than they do; independent lets their errors "
        "cancel: narrow, and misses the effect more often than it says; randomised rounds nothing and adds a little "
        "noise.",
        show_default=False,
    ),
]
NThresholds = Annotated[
    int | None, typer.Option("--thresholds", help="Binary problems made of an outcome that is not binary (16).")
]
ModelFile = Annotated[str | None, typer.Option("--model", help="A model file instead of the shipped one.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with code 3 if the data contradict the design (grade stop).")
]

DEFAULT_METHOD = "ivicl"
DEFAULT_ALPHA = 0.05


@dataclass(frozen=True)
class Columns:
    """What every command that reads a table of people may be told about its columns."""

    covariates: Annotated[
        list[str] | None,
        typer.Option("-x", "--covariates", help="Columns of covariates, separated by commas. May be given again."),
    ] = None
    weights: Annotated[
        str | None, typer.Option("-w", "--weights", help="Column of frequency weights (whole numbers).")
    ] = None
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="Column of the groups that were sampled or assigned together.")
    ] = None
    strata: Annotated[
        str | None,
        typer.Option("--strata", help="Column of the blocks within which people or clusters were assigned."),
    ] = None
    sampling_weights: Annotated[
        str | None,
        typer.Option("--sampling-weights", help="Column of sampling weights: how many people each stands for."),
    ] = None
    outcome_range: Range = None
    cap: Annotated[
        str | None,
        typer.Option("--cap", help="Cut amounts off at a value, or at a quantile such as 99%.", show_default=False),
    ] = None
    bins: Annotated[
        int | None,
        typer.Option(
            "--bins",
            help="Cut covariates with more different numbers than this into so many groups of about equal size, so "
            "that huge tables merge instead of being sampled.",
            show_default=False,
        ),
    ] = None
    missing: Annotated[str, typer.Option("--missing", help="Missing covariates: drop, indicator or raise.")] = "drop"

    def roles(
        self, outcome: str, treatment: str, instrument: str, one: list[str] | None, missing_outcome: str = "drop"
    ) -> Roles:
        """The columns by role, with those that every command asks for."""
        from ivicl.data import Roles

        return Roles(
            outcome=outcome,
            treatment=treatment,
            instrument=instrument,
            covariates=names(self.covariates),
            weights=self.weights,
            outcome_range=value_range(self.outcome_range),
            missing=self.missing,
            missing_outcome=missing_outcome,
            cap=self.cap,
            ones=dict(name_and_value(text, "--one") for text in one or []),
            cluster=self.cluster,
            strata=self.strata,
            sampling_weights=self.sampling_weights,
            bins=self.bins,
        )


def named_options(option: list[str] | None, **given: object) -> list[str]:
    """The options of --set, followed by those options with flags of their own that were given."""
    return [*(option or []), *(f"{name}={value}" for name, value in given.items() if value is not None)]


def names(texts: list[str] | None) -> list[str]:
    """The names in a flag that takes names separated by commas and may be given several times."""
    return [name.strip() for text in texts or [] for name in text.split(",") if name.strip()]


def estimator(method: str, alpha: float, seed: int, option: list[str] | None, flag: str = "--set") -> IVBounds:
    """An `IVBounds` as the flags describe it."""
    from ivicl.estimator import IVBounds

    options = {name: _literal(value) for name, value in (name_and_value(text, flag) for text in option or [])}
    for name in ("method", "alpha", "random_state", "progress"):
        if name in options:
            raise InputError(f"{name} has its own flag; it is not an option of the method.")
    return IVBounds(method=method, alpha=alpha, random_state=seed, progress=sys.stderr.isatty(), **options)


def exit_if_strict(strict: bool, stopped: bool) -> None:
    """The last thing a command does, when everything has been written.

    Raises:
        typer.Exit: with code 3, for --strict and a finding of grade stop.
    """
    if strict and stopped:
        typer.echo("ivicl: exit code 3, by --strict: a finding is of grade stop.", err=True)
        raise typer.Exit(3)


def value_range(text: str | None) -> tuple[float, float] | None:
    """LOW,HIGH as two numbers."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2:
        raise InputError(f"--range must be LOW,HIGH, but is {text!r}.")
    return number(parts[0], "--range"), number(parts[1], "--range")


def number(text: str, what: str) -> float:
    try:
        return float(text.replace("_", ""))
    except ValueError:
        raise InputError(f"{what} must be a number, but is {text!r}.") from None


def numbers(text: str, what: str) -> list[float]:
    """Numbers separated by commas."""
    return [number(part, what) for part in text.split(",")]


def name_and_value(text: str, flag: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"{flag} must be NAME=VALUE, but is {text!r}.")
    return name, value


def _literal(text: str) -> Any:
    """A number, true or false as such, and anything else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
