"""`ivicl compare`: several methods on the same data, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from ivicl.estimator import IVBounds

Methods = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--method",
        help="NAME, or NAME@OPTION=VALUE with options of its own. May be given again; ivicl methods lists them.",
    ),
]


@with_flag_groups
def compare(
    source: flags.Source,
    outcome: flags.Outcome,
    treatment: flags.Treatment,
    instrument: flags.Instrument,
    columns: flags.Columns,
    missing_outcome: flags.MissingOutcome = "drop",
    one: flags.Ones = None,
    method: Methods = None,
    alpha: flags.Alpha = flags.DEFAULT_ALPHA,
    output_format: Annotated[Format | None, FORMAT_FLAG] = None,
    output: OutputFile = None,
    seed: flags.Seed = 0,
    plot: PlotFile = None,
    strict: flags.Strict = False,
) -> None:
    """Several methods side by side. One that cannot run on these data is a row with its reason."""
    from ivicl.data import IVData
    from ivicl.data.scanning import open_table
    from ivicl.scale.compare import USUAL, check, compare_on

    chosen = choose_format(output_format, output, Format, source)
    estimators = [_estimator(text, alpha, seed) for text in method or USUAL]
    check(estimators)
    roles = columns.roles(outcome, treatment, instrument, one, missing_outcome)
    found = compare_on(IVData.from_roles(open_table(source), roles), estimators)
    diagnostics = found.results[0].diagnostics
    say_headline(diagnostics, chosen not in (Format.json, Format.csv), output)
    save_picture(found, plot)
    if chosen is not Format.table:
        for entry in found.failed:
            typer.echo(f"ivicl: {entry.error}", err=True)
    write(text_of(found, chosen), output)
    flags.exit_if_strict(strict, diagnostics.grade == "stop")


def _estimator(text: str, alpha: float, seed: int) -> IVBounds:
    name, *options = text.split("@")
    return flags.estimator(name, alpha, seed, options, flag=f"an option of --method {text}")


def register(app: typer.Typer) -> None:
    app.command(
        epilog="Example: ivicl compare trial.csv -y outcome -t taken -z assigned -m balke-pearl -m late -o methods.csv"
    )(compare)
