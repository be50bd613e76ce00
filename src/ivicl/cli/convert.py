"""`ivicl convert-rct`: a thin function over `rct_to_iv`."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from ivicl.cli import flags
from ivicl.cli.output import refuse_an_input
from ivicl.errors import InputError


def convert_rct(
    source: Annotated[str, typer.Argument(help="The trial: a CSV or Parquet file, or - for standard input.")],
    outcome: Annotated[str, typer.Option("-y", "--outcome", help="Column of the outcome.", show_default=False)],
    treatment: Annotated[str, typer.Option("-t", "--treatment", help="Column of 0 and 1.", show_default=False)],
    observed: Annotated[
        list[str] | None,
        typer.Option("-x", "--observed", help="Covariates that methods may see, by commas. May be given again."),
    ] = None,
    hidden: Annotated[
        list[str] | None,
        typer.Option("-u", "--hidden", help="Covariates that confound, by commas. May be given again."),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--output", help="Where the IV data go: .csv or .parquet.")] = Path(
        "iv.csv"
    ),
    beta: Annotated[float, typer.Option(help="Strength of the instrument.")] = 2.0,
    confounding: Annotated[float, typer.Option(help="Pull of the hidden covariates on the treatment.")] = 1.0,
    clip: Annotated[float, typer.Option(help="Propensities stay in [clip, 1 - clip].")] = 0.05,
    balance: Annotated[bool, typer.Option(help="Subsample the larger arm to the size of the smaller.")] = True,
    balance_within: Annotated[
        list[str] | None,
        typer.Option(help="Columns whose combinations were randomised separately. May be given again."),
    ] = None,
    instrument: Annotated[str, typer.Option("-z", "--instrument", help="Name of the new column.")] = "z",
    keep_hidden: Annotated[bool, typer.Option("--keep-hidden", help="Write the hidden columns too.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
) -> None:
    """Turn a randomised trial into an instrumental-variable data set with the trial's effect as its known answer.

    The data go to the file, the record (label, standard error, n, correlation) to stdout as JSON.
    """
    from ivicl.benchmarks.rct_to_iv import rct_to_iv
    from ivicl.data.files import read_table

    if out.suffix not in (".csv", ".parquet"):
        raise InputError(f"--output must end in .csv or .parquet, but is '{out}'.")
    refuse_an_input(out, [source])
    seen, unseen = flags.names(observed), flags.names(hidden)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they are in the record, and printed below
        made = rct_to_iv(
            read_table(source),
            treatment=treatment,
            outcome=outcome,
            observed=seen,
            hidden=unseen,
            beta=beta,
            confounding=confounding,
            clip=clip,
            balance=balance,
            balance_within=flags.names(balance_within),
            instrument=instrument,
            random_state=seed,
        )
    frame = made.frame if keep_hidden else made.frame.select(*seen, instrument, treatment, outcome)
    if out.suffix == ".csv":
        frame.write_csv(out)
    else:
        frame.write_parquet(out)
    print(made.summary(), file=sys.stderr)
    print(f"written: {out}", file=sys.stderr)
    typer.echo(json.dumps(made.to_dict(), indent=2))


def register(app: typer.Typer) -> None:
    example = "Example: ivicl convert-rct trial.csv -y outcome -t assigned -x age -u sex -o iv.csv"
    app.command("convert-rct", epilog=example)(convert_rct)
