"""`ivicl fit`, `ivicl counts`, `ivicl check`: thin functions over the library."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ivicl.cli import flags
from ivicl.cli.flag_groups import with_flag_groups
from ivicl.cli.output import (
    FORMAT_FLAG,
    Format,
    OutputFile,
    Pages,
    TableOrJson,
    choose_format,
    say_headline,
    text_of,
    write,
)
from ivicl.errors import InputError, design_warnings_off

if TYPE_CHECKING:
    from ivicl.data import IVData, Roles
    from ivicl.estimator import IVBounds
    from ivicl.results.diagnostics.records import Diagnostics
    from ivicl.results.result import BoundsResult

OutputFormat = Annotated[Format | None, FORMAT_FLAG]


@with_flag_groups
def fit(
    source: flags.Source,
    *,
    outcome: flags.Outcome,
    treatment: flags.Treatment,
    instrument: flags.Instrument,
    columns: flags.Columns,
    missing_outcome: flags.MissingOutcome = "drop",
    one: flags.Ones = None,
    method: flags.Method = flags.DEFAULT_METHOD,
    alpha: flags.Alpha = flags.DEFAULT_ALPHA,
    estimand: flags.Estimand = None,
    assume: flags.Assume = None,
    output_format: OutputFormat = None,
    output: OutputFile = None,
    seed: flags.Seed = 0,
    option: flags.Options = None,
    combine: flags.Combine = None,
    thresholds: flags.NThresholds = None,
    model: flags.ModelFile = None,
    pages: Pages,
    strict: flags.Strict = False,
) -> None:
    """Bounds on the average effect, from a table with one row per person (or a row of weight k for k people)."""
    chosen = choose_format(output_format, output, Format, source)
    estimator = flags.estimator(method, alpha, seed, _with_flags(option, combine, thresholds, model, estimand, assume))
    roles = columns.roles(outcome, treatment, instrument, one, missing_outcome)
    _get_ready_beside(estimator)
    data = _read(source, roles)
    with design_warnings_off():
        result = estimator.fit_data(data)
    _hand_over(result, chosen, output, pages, strict)


@with_flag_groups
def counts(
    numbers: Annotated[
        list[str],
        typer.Argument(
            metavar="N000 N001 ... N111",
            help="People by z, t, y: 000 001 010 011 100 101 110 111; or twelve, where y is 0, 1 or lost.",
        ),
    ],
    *,
    method: flags.Method = flags.DEFAULT_METHOD,
    alpha: flags.Alpha = flags.DEFAULT_ALPHA,
    estimand: flags.Estimand = None,
    assume: flags.Assume = None,
    output_format: OutputFormat = None,
    output: OutputFile = None,
    seed: flags.Seed = 0,
    option: flags.Options = None,
    model: flags.ModelFile = None,
    pages: Pages,
    missing_outcome: flags.MissingOutcome = "drop",
    strict: flags.Strict = False,
) -> None:
    """Bounds from eight counts of people, by instrument, treatment and binary outcome."""
    if len(numbers) not in (8, 12):
        raise InputError(
            f"eight counts are needed, by z, t and y from 000 to 111 (twelve where y is 0, 1 or lost), but "
            f"{len(numbers)} were given."
        )
    table = [flags.number(text, "a count") for text in numbers]
    chosen = choose_format(output_format, output, Format)
    estimator = flags.estimator(method, alpha, seed, _with_flags(option, None, None, model, estimand, assume))
    with design_warnings_off():
        result = estimator.fit_counts(table, missing_outcome)
    _hand_over(result, chosen, output, pages, strict)


@with_flag_groups
def check(
    source: flags.Source,
    outcome: flags.Outcome,
    treatment: flags.Treatment,
    instrument: flags.Instrument,
    columns: flags.Columns,
    missing_outcome: flags.MissingOutcome = "drop",
    one: flags.Ones = None,
    output_format: Annotated[TableOrJson | None, FORMAT_FLAG] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File for the answer instead of standard output: .txt or .json."),
    ] = None,
    strict: flags.Strict = False,
) -> None:
    """What the data say about the design, before any bounds; each finding is graded ok, look or stop."""
    from ivicl._shared.records import json_safe
    from ivicl.results.diagnostics.findings import diagnose

    chosen = choose_format(output_format, output, TableOrJson, source)
    roles = columns.roles(outcome, treatment, instrument, one, missing_outcome)
    data = _read(source, roles)
    found = diagnose(data)
    say_headline(found, chosen is TableOrJson.table, output)
    if chosen is TableOrJson.json:
        about = {
            "n": found.sample.n,
            "n_rows": found.sample.n_rows,
            "n_dropped": data.report.n_dropped,
            "notes": data.report.notes,
        }
        write(json.dumps(json_safe(about | {"diagnostics": found}), allow_nan=False), output)
    else:
        write("\n".join(_lines_of(found, data)), output)
        for note in data.report.notes:
            typer.echo(f"Note: {note}.", err=True)
    flags.exit_if_strict(strict, found.grade == "stop")


def _lines_of(found: Diagnostics, data: IVData) -> list[str]:
    """What `check` prints for readers."""
    from ivicl._shared.numbers import shown_p

    stage = found.first_stage
    strength = "" if stage.f is None else f", F = {stage.f:,.1f}"
    lines = [found.headline] if found.headline else []
    lines += [
        f"People            {found.sample.n:,} ({stage.n_z0:,} with Z=0, {stage.n_z1:,} with Z=1)",
        f"Rows dropped      {data.report.n_dropped:,}",
        *([f"Outcomes lost     {found.losses.in_short()}"] if found.losses else []),
        f"Treated if Z=0    {stage.treated_if_z0:.4f}",
        f"Treated if Z=1    {stage.treated_if_z1:.4f}",
        f"First stage       {stage.difference:.4f} (s.e. {stage.se:.4f}{strength})",
        "Instrumental inequalities (excess above zero is a violation in the sample):",
    ]
    for inequality in found.inequalities:
        verdict = "VIOLATED" if inequality.violated else "holds"
        test = f"excess {inequality.excess:+.4f}, one-sided {shown_p(inequality.p_value)}"
        lines.append(f"  {inequality.name()}: {verdict}, {test}")
    lines.append(f"Findings (worst: {found.grade}):")
    return lines + [f"  {finding.grade:<5} {finding.name}: {finding.text}" for finding in found.findings]


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: ivicl fit trial.csv -y outcome -t taken -z assigned -x age,sex -o bounds.json")(fit)
    app.command(epilog="Example: ivicl counts 158 14 0 0 52 12 23 78 --method balke-pearl")(counts)
    app.command(epilog="Example: ivicl check trial.csv -y outcome -t taken -z assigned")(check)


def _get_ready_beside(estimator: IVBounds) -> None:
    """Load what the method needs while the table is read: this saves a sixth of a cold command's time.

    Called once the call itself is known to be right. The thread is not a daemon: if it were cut off inside the runtime
    when Python exits, it could crash a command that only had bad input to report. And it is silent: what fails here
    fails again in the fit, which reports it properly, and if the command exits meanwhile, the errors of interrupted
    imports mean nothing.
    """
    from threading import Thread

    from ivicl.methods.registry import resolve

    method, request = resolve(estimator.method), estimator.request()

    def load() -> None:
        with suppress(Exception):
            method.get_ready(request)

    Thread(target=load).start()


def _read(source: list[str], roles: Roles) -> IVData:
    from ivicl.data import IVData
    from ivicl.data.scanning import open_table

    return IVData.from_roles(open_table(source), roles)


def _with_flags(
    option: list[str] | None,
    combine: str | None,
    thresholds: int | None,
    model: str | None,
    estimand: str | None,
    assume: str | None,
) -> list[str]:
    """The options of --set together with those that have flags of their own."""
    return flags.named_options(
        option, combine=combine, n_thresholds=thresholds, model=model, estimand=estimand, assume=assume
    )


def _hand_over(result: BoundsResult, chosen: Format, output: Path | None, pages: Pages, strict: bool) -> None:
    """Write the result in its format; if that is not the table for readers, the warnings go to stderr as well."""
    say_headline(result.diagnostics, chosen not in (Format.json, Format.csv), output)
    pages.write(result)
    if chosen is not Format.table:
        for warning in result.warnings:
            typer.echo(f"ivicl: {warning}", err=True)
    write(text_of(result, chosen), output)
    flags.exit_if_strict(strict, result.grade == "stop")
