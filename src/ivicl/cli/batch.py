"""`ivicl batch`: bounds for many studies, written as they are found; an interrupted batch can be resumed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ivicl.cli import flags
from ivicl.cli.flag_groups import with_flag_groups
from ivicl.cli.output import PlotFile, refuse_an_input
from ivicl.errors import InputError


@with_flag_groups
def batch(
    source: flags.Source,
    by: Annotated[
        list[str],
        typer.Option("--by", help="Column that names the study, or several by commas. May be given again."),
    ],
    outcome: Annotated[
        str,
        typer.Option("-y", "--outcome", help="Column of the outcome, or several by commas.", show_default=False),
    ],
    treatment: flags.Treatment,
    instrument: flags.Instrument,
    output: Annotated[
        str,
        typer.Option("-o", "--output", help="A .parquet, .csv or .jsonl file, or - for JSON lines on standard output."),
    ],
    columns: flags.Columns,
    missing_outcome: flags.MissingOutcome = "drop",
    one: flags.Ones = None,
    method: flags.Method = flags.DEFAULT_METHOD,
    alpha: flags.Alpha = flags.DEFAULT_ALPHA,
    estimand: flags.Estimand = None,
    assume: flags.Assume = None,
    seed: flags.Seed = 0,
    option: flags.Options = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a batch that was interrupted.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an output that is there.")] = False,
    plot: PlotFile = None,
    strict: flags.Strict = False,
) -> None:
    """One row of bounds for each study. A study that cannot be fitted is a row with its error."""
    from ivicl._shared.progress import progress_bar
    from ivicl.data.scanning import open_table
    from ivicl.results.pictures import forest_of_rows
    from ivicl.scale.many import fit_studies, stop_sentence
    from ivicl.scale.outcomes import split_outcomes
    from ivicl.scale.store import Store, describe

    estimator = flags.estimator(method, alpha, seed, flags.named_options(option, estimand=estimand, assume=assume))
    outcomes = flags.names([outcome])
    roles = [
        columns.roles(
            name,
            treatment,
            instrument,
            [text for text in one or [] if text.partition("=")[0] not in outcomes or text.startswith(f"{name}=")],
            missing_outcome,
        )
        for name in outcomes
    ]
    if not roles:
        raise InputError("--outcome names no column.")
    refuse_an_input(Path(output), source)
    estimator.request()
    if output == "-" and plot is not None:
        raise InputError("--plot needs an output file; standard output keeps no rows to draw.")
    if output == "-" and resume:
        raise InputError("--resume needs an output file; standard output cannot be taken up again.")
    studies = split_outcomes(open_table(source), flags.names(by), roles if len(roles) > 1 else roles[0])
    store = Store(output, describe(estimator, studies), resume=resume, overwrite=overwrite)
    todo = [i for i in range(len(studies)) if i not in store.done]
    if store.done:
        typer.echo(f"ivicl: {len(store.done)} of {len(studies)} studies were done before.", err=True)
    with store, progress_bar("studies", len(studies), start=len(store.done)) as advance:
        position = 0
        for rows in fit_studies(estimator, studies, todo):
            store.add(todo[position : position + len(rows)], rows)
            position += len(rows)
            advance(len(rows))
    store.finish(studies)
    if plot is not None:
        picture = forest_of_rows(store.written(studies))
        typer.echo(f"ivicl: picture in {picture.save(plot)}.", err=True)
    if store.failed:
        typer.echo(
            f"ivicl: {store.failed} of {len(studies)} studies could not be fitted; see the column error.", err=True
        )
    if output != "-":
        print(f"ivicl: {len(studies)} studies in {output}.", file=sys.stderr)
    if store.stopped:
        typer.echo(f"ivicl: {stop_sentence(store.stopped, len(studies))}", err=True)
    flags.exit_if_strict(strict, store.stopped > 0)


def register(app: typer.Typer) -> None:
    app.command(
        epilog="Example: ivicl batch studies.csv --by campaign -y bought -t saw -z offered -w people -o bounds.csv"
    )(batch)
