"""`ivicl prior sample`, `plot` and `summary`: look at the tables that the network learns from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ivicl.cli.needs import need_torch
from ivicl.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

prior = typer.Typer(help="The prior over data sets that the network learns from.", no_args_is_help=True)

Seed = Annotated[int, typer.Option(min=0, help="Same seed, same tables.")]


@prior.command(epilog="Example: ivicl prior sample -o tables.parquet --tables 100 --rows 512 --covariates 8")
def sample(
    out: Annotated[
        Path, typer.Option("-o", "--output", help="Parquet file; labels go beside it: NAME.labels.parquet.")
    ],
    preset: Annotated[str, typer.Option(help="default or paper.")] = "default",
    kind: Annotated[str, typer.Option(help="rows, compressed (weighted rows) or counts (no covariates).")] = "rows",
    tables: Annotated[int, typer.Option(min=1, help="How many tables.")] = 100,
    rows: Annotated[int, typer.Option(min=2, help="Rows of a table, for --kind rows.")] = 512,
    covariates: Annotated[int, typer.Option(min=0, help="Covariates of a table; compressed tables have 1 to 4.")] = 8,
    seed: Seed = 0,
) -> None:
    """Write tables of the prior: columns table, z, t, y, w (people), x1, x2, ...; labels in a second file."""
    need_torch()
    import polars as pl
    from rich.progress import track

    from ivicl.learn.prior.config import PriorConfig
    from ivicl.learn.prior.frames import MICRO_BATCH, sample_frames

    labels_file = out.with_name(f"{out.stem}.labels.parquet")
    if not out.resolve().parent.is_dir():
        raise InputError(f"The folder of {out} does not exist.")
    parts = sample_frames(PriorConfig.preset(preset), kind, tables, rows, covariates, seed)
    total = -(-tables // MICRO_BATCH)
    data, labels = zip(*track(parts, total=total, description="tables", console=_stderr()), strict=True)
    pl.concat(data).write_parquet(out)
    pl.concat(labels).write_parquet(labels_file)
    typer.echo(f"{tables} tables in {out}, their labels in {labels_file}.", err=True)


@prior.command(epilog="Example: ivicl prior plot -o prior.png --tables 1000")
def plot(
    out: Annotated[
        Path, typer.Option("-o", "--output", help="Picture (png, pdf, svg); the draws go beside it, as CSV.")
    ],
    covariates: Annotated[str, typer.Option(help="Numbers of covariates, separated by commas.")] = "0,1,4,16",
    tables: Annotated[int, typer.Option(min=10, help="Tables for each curve.")] = 1000,
    rows: Annotated[int, typer.Option(min=2, help="Rows of a table.")] = 128,
    seed: Seed = 0,
) -> None:
    """Draw the prior of the effect with and without the shift; its standard deviations go to stdout."""
    need_torch()
    import polars as pl
    from rich.progress import track

    from ivicl.learn.prior.figure import batches, draw_figure, effect_draws, spread

    dimensions = _whole_numbers(covariates)
    csv = out.with_suffix(".csv")
    if out.suffix not in (".png", ".pdf", ".svg") or not out.resolve().parent.is_dir():
        raise InputError(f"-o is {out}, but must be a .png, .pdf or .svg file in a folder that exists.")
    parts = effect_draws(dimensions, tables, rows, seed)
    frames = list(track(parts, total=batches(dimensions, tables), description="tables", console=_stderr()))
    draws = pl.concat(frames)
    draws.write_csv(csv)
    draw_figure(draws).savefig(out, dpi=160)
    typer.echo(spread(draws).write_csv(separator="\t"), nl=False)
    typer.echo(f"Picture in {out}, draws in {csv}.", err=True)


@prior.command(epilog="Example: ivicl prior summary --tables 512")
def summary(
    preset: Annotated[str, typer.Option(help="default or paper.")] = "default",
    tables: Annotated[int, typer.Option(min=64, help="Tables of each kind.")] = 2048,
    rows: Annotated[int, typer.Option(min=2, help="Rows of a table, for tables of distinct rows.")] = 512,
    covariates: Annotated[int, typer.Option(min=0, help="Covariates of such a table.")] = 8,
    seed: Seed = 0,
) -> None:
    """How often each design occurs, for the three kinds of tables: tab-separated, on stdout."""
    need_torch()
    import polars as pl
    from rich.progress import track

    from ivicl.learn.prior.config import PriorConfig
    from ivicl.learn.prior.frames import KINDS
    from ivicl.learn.prior.summary import summarise

    config = PriorConfig.preset(preset)
    kinds = track(KINDS, description="kinds", console=_stderr())
    lines = [summarise(config, kind, tables, rows, covariates, seed) for kind in kinds]
    typer.echo(pl.concat(lines).write_csv(separator="\t"), nl=False)


def register(app: typer.Typer) -> None:
    """Add `ivicl prior`."""
    app.add_typer(prior, name="prior")


def _whole_numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdigit() for part in parts):
        raise InputError(f"--covariates is {text!r}, but must be whole numbers separated by commas.")
    return sorted({int(part) for part in parts})


def _stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True)
