"""`ivicl fit`, `ivicl counts`, `ivicl check`: thin functions over the library."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ivicl.cli import flags
from ivicl.errors import InputError

if TYPE_CHECKING:
    from ivicl.data import IVData, Roles
    from ivicl.estimator import IVBounds


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    md = "md"
    latex = "latex"


OutputFormat = Annotated[Format, typer.Option("-f", "--format", help="What to print on standard output.")]


def fit(
    source: flags.Source,
    outcome: flags.Outcome,
    treatment: flags.Treatment,
    instrument: flags.Instrument,
    covariates: flags.Covariates = None,
    weights: flags.Weights = None,
    outcome_range: flags.Range = None,
    missing: flags.Missing = "drop",
    one: flags.Ones = None,
    method: flags.Method = flags.DEFAULT_METHOD,
    alpha: flags.Alpha = flags.DEFAULT_ALPHA,
    output_format: OutputFormat = Format.table,
    seed: flags.Seed = 0,
    option: flags.Options = None,
    combine: flags.Combine = None,
    thresholds: flags.NThresholds = None,
    model: flags.ModelFile = None,
    report: flags.Report = None,
) -> None:
    """Bounds on the average effect, from a table with one row a person (or a row of weight k for k people)."""
    estimator = flags.estimator(method, alpha, seed, _with_flags(option, combine, thresholds, model))
    roles = flags.roles(outcome, treatment, instrument, covariates, weights, outcome_range, missing, one)
    _get_ready_beside(estimator)
    result = estimator.fit_data(_read(source, roles))
    if report is not None:
        typer.echo(f"ivicl: report in {result.report(report)}.", err=True)
    _print(result, output_format)


def counts(
    numbers: Annotated[
        list[str],
        typer.Argument(metavar="N000 N001 ... N111", help="People by z, t, y: 000 001 010 011 100 101 110 111."),
    ],
    method: flags.Method = flags.DEFAULT_METHOD,
    alpha: flags.Alpha = flags.DEFAULT_ALPHA,
    output_format: OutputFormat = Format.table,
    seed: flags.Seed = 0,
    option: flags.Options = None,
    model: flags.ModelFile = None,
    report: flags.Report = None,
) -> None:
    """Bounds from eight counts of people, by instrument, treatment and binary outcome."""
    if len(numbers) != 8:
        raise InputError(f"eight counts are needed, by z, t and y from 000 to 111, but {len(numbers)} were given.")
    table = [flags.number(text, "a count") for text in numbers]
    result = flags.estimator(method, alpha, seed, _with_flags(option, None, None, model)).fit_counts(table)
    if report is not None:
        typer.echo(f"ivicl: report in {result.report(report)}.", err=True)
    _print(result, output_format)


def check(
    source: flags.Source,
    outcome: flags.Outcome,
    treatment: flags.Treatment,
    instrument: flags.Instrument,
    covariates: flags.Covariates = None,
    weights: flags.Weights = None,
    outcome_range: flags.Range = None,
    missing: flags.Missing = "drop",
    one: flags.Ones = None,
    output_format: OutputFormat = Format.table,
) -> None:
    """What the data say about the design, before any bounds; each finding is graded ok, look or stop."""
    from ivicl._shared.records import json_safe
    from ivicl.results.diagnostics.findings import diagnose

    roles = flags.roles(outcome, treatment, instrument, covariates, weights, outcome_range, missing, one)
    data = _read(source, roles)
    found = diagnose(data)
    report = {"n": data.n, "n_rows": len(data.w), "n_dropped": data.report.n_dropped, "notes": data.report.notes}
    if output_format is Format.json:
        typer.echo(json.dumps(json_safe(report | {"diagnostics": found}), allow_nan=False))
        return
    if output_format is not Format.table:
        raise InputError(f"check prints a table or json, not {output_format.value}.")
    stage = found.first_stage
    typer.echo(f"People            {data.n:,} ({stage.n_z0:,} with Z=0, {stage.n_z1:,} with Z=1)")
    typer.echo(f"Rows dropped      {data.report.n_dropped:,}")
    typer.echo(f"Treated if Z=0    {stage.treated_if_z0:.4f}")
    typer.echo(f"Treated if Z=1    {stage.treated_if_z1:.4f}")
    strength = "" if stage.f is None else f", F = {stage.f:,.1f}"
    typer.echo(f"First stage       {stage.difference:.4f} (s.e. {stage.se:.4f}{strength})")
    typer.echo("Instrumental inequalities (excess above zero is a violation in the sample):")
    for inequality in found.inequalities:
        verdict = "VIOLATED" if inequality.violated else "holds"
        test = f"excess {inequality.excess:+.4f}, one-sided p = {inequality.p_value:.3g}"
        typer.echo(f"  {inequality.name()}: {verdict}, {test}")
    typer.echo(f"Findings (worst: {found.grade}):")
    for finding in found.findings:
        typer.echo(f"  {finding.grade:<5} {finding.name}: {finding.text}")
    for note in data.report.notes:
        typer.echo(f"Note: {note}.", err=True)


def register(app: typer.Typer) -> None:
    app.command()(fit)
    app.command()(counts)
    app.command()(check)


def _get_ready_beside(estimator: IVBounds) -> None:
    """Load what the method needs while the table is read: a sixth of a cold command's time.

    Called when the call itself is known to be right. Not a daemon: a thread that is cut off inside the runtime when
    Python exits could crash a command that only had bad input to report.
    """
    from threading import Thread

    from ivicl.methods.registry import resolve

    Thread(target=resolve(estimator.method).get_ready, args=(estimator.request(),)).start()


def _read(source: str, roles: Roles) -> IVData:
    from ivicl.data import IVData
    from ivicl.data.files import read_table

    return IVData.from_roles(read_table(source), roles)


def _with_flags(option: list[str] | None, combine: str | None, thresholds: int | None, model: str | None) -> list[str]:
    """The flags that have names of their own, as options of the estimator."""
    given = {"combine": combine, "n_thresholds": thresholds, "model": model}
    return [*(option or []), *(f"{name}={value}" for name, value in given.items() if value is not None)]


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
