"""`ivicl sensitivity`: how far an assumption may fail before the sign of the effect is no longer certain."""

from __future__ import annotations

from typing import Annotated

import typer

from ivicl.cli import flags
from ivicl.cli.flag_groups import with_flag_groups
from ivicl.cli.output import (
    FORMAT_FLAG,
    Format,
    OutputFile,
    PlotFile,
    choose_format,
    save_picture,
    say_headline,
    text_of,
    write,
)
from ivicl.errors import design_warnings_off

Kind = Annotated[
    str,
    typer.Option(
        "--kind",
        help="What may fail: exclusion (the instrument acts by itself) or independence (the arms were not alike), for "
        "the average effect; defiers, for the effect among compliers.",
    ),
]
Eps = Annotated[
    str | None,
    typer.Option("--eps", help="Shares of people for whom it may fail, by commas; else a grid.", show_default=False),
]


@with_flag_groups
def sensitivity(
    source: flags.Source,
    outcome: flags.Outcome,
    treatment: flags.Treatment,
    instrument: flags.Instrument,
    columns: flags.Columns,
    one: flags.Ones = None,
    kind: Kind = "exclusion",
    eps: Eps = None,
    method: flags.Method = flags.DEFAULT_METHOD,
    alpha: flags.Alpha = flags.DEFAULT_ALPHA,
    assume: flags.Assume = None,
    output_format: Annotated[Format | None, FORMAT_FLAG] = None,
    output: OutputFile = None,
    seed: flags.Seed = 0,
    option: flags.Options = None,
    combine: flags.Combine = None,
    thresholds: flags.NThresholds = None,
    model: flags.ModelFile = None,
    plot: PlotFile = None,
    strict: flags.Strict = False,
) -> None:
    """Bounds against how far an assumption may fail, and the breakdown point at which the sign is lost."""
    from ivicl.data import IVData
    from ivicl.data.scanning import open_table
    from ivicl.results.sensitivity import check_kind, checked_eps

    chosen = choose_format(output_format, output, Format, source)
    check_kind(kind)
    shares = None if eps is None else checked_eps(flags.numbers(eps, "--eps")).tolist()
    options = flags.named_options(option, combine=combine, n_thresholds=thresholds, model=model, assume=assume)
    estimator = flags.estimator(method, alpha, seed, options)
    estimator.request()
    roles = columns.roles(outcome, treatment, instrument, one)
    data = IVData.from_roles(open_table(source), roles)
    with design_warnings_off():
        result = estimator.fit_data(data)
    found = result.sensitivity(kind, shares)
    say_headline(result.diagnostics, chosen not in (Format.json, Format.csv), output)
    save_picture(found, plot)
    if chosen in (Format.csv, Format.latex):
        typer.echo(f"ivicl: {found.sentence}", err=True)
    write(text_of(found, chosen), output)
    flags.exit_if_strict(strict, result.grade == "stop")


def register(app: typer.Typer) -> None:
    app.command(
        epilog="Example: ivicl sensitivity trial.csv -y outcome -t taken -z assigned --kind exclusion --plot fails.svg"
    )(sensitivity)
