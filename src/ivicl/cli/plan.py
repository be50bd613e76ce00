"""`ivicl plan`: what a study could say, before it is run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ivicl.cli import flags
from ivicl.cli.output import FORMAT_FLAG, Format, OutputFile, PlotFile, choose_format, save_picture, text_of, write
from ivicl.errors import InputError


def _list(name: str, words: str, default: bool = False) -> Any:
    return typer.Option(name, help=f"{words} Several by commas make a grid.", show_default=default)


def plan(
    n: Annotated[str, _list("--n", "People in both arms together.")],
    takeup: Annotated[str, _list("--takeup", "Share who take the treatment if encouraged.")],
    takeup_control: Annotated[str, _list("--takeup-control", "Share who take it if not.", default=True)] = "0",
    rates: Annotated[
        list[str] | None,
        typer.Option(
            "--rates", help="WITHOUT,WITH: rates of a yes/no outcome. May be given again.", show_default=False
        ),
    ] = None,
    means: Annotated[
        list[str] | None,
        typer.Option("--means", help="WITHOUT,WITH: means of an amount. May be given again.", show_default=False),
    ] = None,
    sd: Annotated[
        str | None, typer.Option("--sd", help="Standard deviation of the amount, or WITHOUT,WITH.", show_default=False)
    ] = None,
    outcome_range: flags.Range = None,
    clusters: Annotated[str | None, _list("--clusters", "Groups of people who are encouraged together.")] = None,
    icc: Annotated[str | None, _list("--icc", "Intraclass correlation within them.")] = None,
    share: Annotated[str, _list("--share", "Share of people who are encouraged.", default=True)] = "0.5",
    alpha: flags.Alpha = flags.DEFAULT_ALPHA,
    output_format: Annotated[Format | None, FORMAT_FLAG] = None,
    output: OutputFile = None,
    seed: flags.Seed = 0,
    plot: PlotFile = None,
) -> None:
    """Expected bounds, their width and the chance to exclude zero, for one design or a grid of them."""
    from ivicl.results.plan import plan as planned

    chosen = choose_format(output_format, output, Format)

    def several(text: str | None, flag: str) -> list[float] | None:
        return None if text is None else flags.numbers(text, flag)

    spread = several(sd, "--sd")
    if spread is not None and len(spread) > 2:
        raise InputError(f"--sd must be a number, or WITHOUT,WITH, but is {sd!r}.")
    found = planned(
        n=flags.numbers(n, "--n"),
        takeup=flags.numbers(takeup, "--takeup"),
        takeup_control=flags.numbers(takeup_control, "--takeup-control"),
        rates=_pairs(rates, "--rates"),
        means=_pairs(means, "--means"),
        sd=None if spread is None else (spread[0], spread[-1]),
        outcome_range=flags.value_range(outcome_range),
        clusters=several(clusters, "--clusters"),
        icc=several(icc, "--icc"),
        share=flags.numbers(share, "--share"),
        alpha=alpha,
        random_state=seed,
    )
    save_picture(found, plot)
    if chosen in (Format.csv, Format.latex):
        for sentence in found.sentences:
            typer.echo(f"ivicl: {sentence}", err=True)
    write(text_of(found, chosen), output)


def _pairs(texts: list[str] | None, flag: str) -> list[tuple[float, float]] | None:
    if texts is None:
        return None
    pairs = [flags.numbers(text, flag) for text in texts]
    for text, pair in zip(texts, pairs, strict=True):
        if len(pair) != 2:
            raise InputError(f"{flag} must be WITHOUT,WITH, but is {text!r}.")
    return [(pair[0], pair[1]) for pair in pairs]


def register(app: typer.Typer) -> None:
    app.command(
        epilog="Example: ivicl plan --n 500,2000,8000 --takeup 0.6,0.8 --rates 0.3,0.5 --plot plan.svg -o plan.csv"
    )(plan)
