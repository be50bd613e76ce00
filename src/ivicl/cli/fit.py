"""`ivicl fit`, `ivicl counts`, `ivicl check`: thin functions over the library."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from ivicl.errors import InputError


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    md = "md"
    latex = "latex"


Source = Annotated[str, typer.Argument(help="A CSV or Parquet file, or - for standard input.", show_default=False)]
Outcome = Annotated[str, typer.Option("-y", "--outcome", help="Column of the outcome.", show_default=False)]
Treatment = Annotated[str, typer.Option("-t", "--treatment", help="Column of the treatment taken.", show_default=False)]
Instrument = Annotated[str, typer.Option("-z", "--instrument", help="Column of the instrument.", show_default=False)]
Covariates = Annotated[str, typer.Option("-x", "--covariates", help="Columns of covariates, separated by commas.")]
Weights = Annotated[str | None, typer.Option("-w", "--weights", help="Column of frequency weights (whole numbers).")]
Range = Annotated[str | None, typer.Option("--range", help="Smallest and largest possible outcome, as LOW,HIGH.")]
Missing = Annotated[str, typer.Option("--missing", help="Missing covariates: drop, indicator or raise.")]
Ones = Annotated[
    list[str] | None, typer.Option("--one", help="COLUMN=VALUE: the value that means 1. May be given again.")
]
Method = Annotated[str, typer.Option("-m", "--method", help="The network or any other method; see the README.")]
Alpha = Annotated[float, typer.Option("--alpha", help="The interval has credibility or confidence 1 - alpha.")]
OutputFormat = Annotated[Format, typer.Option("-f", "--format", help="What to print on standard output.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of methods that use chance.")]
Options = Annotated[
    list[str] | None, typer.Option("-o", "--option", help="NAME=VALUE: an option of the method. May be given again.")
]

Combine = Annotated[
    str | None,
    typer.Option(
        "--combine",
        help="For an outcome that is not binary, how its thresholds become one: comonotone (the default) adds "
        "quantiles and claims no more than they do; independent lets their errors cancel: narrow, for the effect only, "
        "not for the identified set; randomised rounds nothing and adds a little noise.",
        show_default=False,
    ),
]
NThresholds = Annotated[
    int | None, typer.Option("--thresholds", help="Binary problems made of an outcome that is not binary (16).")
]
ModelFile = Annotated[str | None, typer.Option("--model", help="A model file instead of the shipped one.")]
Report = Annotated[str | None, typer.Option("--report", help="Also write a report for readers, one HTML file.")]

DEFAULT_METHOD = "ivicl"


def fit(
    source: Source,
    outcome: Outcome,
    treatment: Treatment,
    instrument: Instrument,
    covariates: Covariates = "",
    weights: Weights = None,
    outcome_range: Range = None,
    missing: Missing = "drop",
    one: Ones = None,
    method: Method = DEFAULT_METHOD,
    alpha: Alpha = 0.01,
    output_format: OutputFormat = Format.table,
    seed: Seed = 0,
    option: Options = None,
    combine: Combine = None,
    thresholds: NThresholds = None,
    model: ModelFile = None,
    report: Report = None,
) -> None:
    """Bounds on the average effect, from a table with one row a person (or a row of weight k for k people)."""
    data = _read(source, outcome, treatment, instrument, covariates, weights, outcome_range, missing, one)
    result = _estimator(method, alpha, seed, _with_flags(option, combine, thresholds, model)).fit_data(data)
    if report is not None:
        typer.echo(f"ivicl: report in {result.report(report)}.", err=True)
    _print(result, output_format)


def counts(
    numbers: Annotated[
        list[str],
        typer.Argument(metavar="N000 N001 ... N111", help="People by z, t, y: 000 001 010 011 100 101 110 111."),
    ],
    method: Method = DEFAULT_METHOD,
    alpha: Alpha = 0.01,
    output_format: OutputFormat = Format.table,
    seed: Seed = 0,
    option: Options = None,
    model: ModelFile = None,
    report: Report = None,
) -> None:
    """Bounds from eight counts of people, by instrument, treatment and binary outcome."""
    if len(numbers) != 8:
        raise InputError(f"eight counts are needed, by z, t and y from 000 to 111, but {len(numbers)} were given.")
    table = [_number(text, "a count") for text in numbers]
    result = _estimator(method, alpha, seed, _with_flags(option, None, None, model)).fit_counts(table)
    if report is not None:
        typer.echo(f"ivicl: report in {result.report(report)}.", err=True)
    _print(result, output_format)


def check(
    source: Source,
    outcome: Outcome,
    treatment: Treatment,
    instrument: Instrument,
    covariates: Covariates = "",
    weights: Weights = None,
    outcome_range: Range = None,
    missing: Missing = "drop",
    one: Ones = None,
    output_format: OutputFormat = Format.table,
) -> None:
    """What the data say about the design, before any bounds; each finding is graded ok, look or stop."""
    from ivicl.diagnostics import diagnose
    from ivicl.result import json_safe

    data = _read(source, outcome, treatment, instrument, covariates, weights, outcome_range, missing, one)
    found = diagnose(data)
    report = {"n": data.n, "n_rows": len(data.w), "n_dropped": data.report.n_dropped, "notes": data.report.notes}
    if output_format is Format.json:
        typer.echo(json.dumps(json_safe(report | {"diagnostics": found}), allow_nan=False))
        return
    if output_format is not Format.table:
        raise InputError(f"check prints a table or json, not {output_format.value}.")
    stage = found["first_stage"]
    typer.echo(f"People            {data.n:,} ({stage['n_z0']:,} with Z=0, {stage['n_z1']:,} with Z=1)")
    typer.echo(f"Rows dropped      {data.report.n_dropped:,}")
    typer.echo(f"Treated if Z=0    {stage['treated_if_z0']:.4f}")
    typer.echo(f"Treated if Z=1    {stage['treated_if_z1']:.4f}")
    strength = "" if stage["f"] is None else f", F = {stage['f']:,.1f}"
    typer.echo(f"First stage       {stage['difference']:.4f} (s.e. {stage['se']:.4f}{strength})")
    typer.echo("Instrumental inequalities (excess above zero is a violation in the sample):")
    for inequality in found["inequalities"]:
        verdict = "VIOLATED" if inequality["violated"] else "holds"
        test = f"excess {inequality['excess']:+.4f}, one-sided p = {inequality['p_value']:.3g}"
        typer.echo(f"  {inequality['name']}: {verdict}, {test}")
    typer.echo(f"Findings (worst: {found['grade']}):")
    for finding in found["findings"]:
        typer.echo(f"  {finding['grade']:<5} {finding['name']}: {finding['sentence']}")
    for note in data.report.notes:
        typer.echo(f"Note: {note}.", err=True)


def register(app: typer.Typer) -> None:
    app.command()(fit)
    app.command()(counts)
    app.command()(check)


def _read(
    source: str,
    outcome: str,
    treatment: str,
    instrument: str,
    covariates: str,
    weights: str | None,
    outcome_range: str | None,
    missing: str,
    one: list[str] | None,
) -> Any:
    from ivicl.cli.tables import read_table
    from ivicl.data import IVData

    return IVData.from_frame(
        read_table(source),
        outcome=outcome,
        treatment=treatment,
        instrument=instrument,
        covariates=[name.strip() for name in covariates.split(",") if name.strip()],
        weights=weights,
        outcome_range=_parse_range(outcome_range),
        missing=missing,
        ones=dict(_name_and_value(text, "--one") for text in one or []),
    )


def _with_flags(option: list[str] | None, combine: str | None, thresholds: int | None, model: str | None) -> list[str]:
    """The flags that have names of their own, as options of the estimator."""
    given = {"combine": combine, "n_thresholds": thresholds, "model": model}
    return [*(option or []), *(f"{name}={value}" for name, value in given.items() if value is not None)]


def _estimator(method: str, alpha: float, seed: int, option: list[str] | None) -> Any:
    from ivicl.estimator import IVBounds

    options = {name: _literal(value) for name, value in (_name_and_value(text, "--option") for text in option or [])}
    for name in ("method", "alpha", "random_state", "progress"):
        if name in options:
            raise InputError(f"{name} has its own flag; it is not an option of the method.")
    return IVBounds(method=method, alpha=alpha, random_state=seed, progress=sys.stderr.isatty(), **options)


def _print(result: Any, output_format: Format) -> None:
    """The result on stdout; in the machine-readable formats the warnings go to stderr as well."""
    if output_format is Format.table:
        typer.echo(result.summary())
        return
    for warning in result.warnings:
        typer.echo(f"ivicl: {warning}", err=True)
    if output_format is Format.json:
        typer.echo(result.to_json())
    elif output_format is Format.csv:
        typer.echo(result.to_frame().write_csv(), nl=False)
    else:
        typer.echo(result.to_markdown() if output_format is Format.md else result.to_latex())


def _parse_range(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2:
        raise InputError(f"--range must be LOW,HIGH, but is {text!r}.")
    return _number(parts[0], "--range"), _number(parts[1], "--range")


def _number(text: str, what: str) -> float:
    try:
        return float(text.replace("_", ""))
    except ValueError:
        raise InputError(f"{what} must be a number, but is {text!r}.") from None


def _name_and_value(text: str, flag: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"{flag} must be NAME=VALUE, but is {text!r}.")
    return name, value


def _literal(text: str) -> Any:
    """Numbers and true/false as such, anything else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
