"""`ivicl speed`: how long things take on this machine at this moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ivicl.cli.output import PLAIN_FORMAT_FLAG, PlotFile, TableOrJson
from ivicl.errors import InputError


def speed(
    quick: Annotated[bool, typer.Option("--quick", help="Smaller versions of the long ones.")] = False,
    scale: Annotated[
        bool, typer.Option("--scale", help="Time and memory against rows and studies, up to 100 million rows.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            help="With --scale: some of its measurements, by commas: discrete rows, discrete amounts, different rows, "
            "different amounts, studies, studies at a tie.",
            show_default=False,
        ),
    ] = None,
    most: Annotated[
        int | None, typer.Option("--most", help="With --scale: no sizes above this.", show_default=False)
    ] = None,
    plot: PlotFile = None,
    output_format: Annotated[TableOrJson, PLAIN_FORMAT_FLAG] = TableOrJson.table,
) -> None:
    """Six timings: a cold fit, a forward pass, an amount, a thousand studies, a million rows, a table of counts."""
    for flag, given in (("--plot", plot), ("--only", only), ("--most", most)):
        if given is not None and not scale:
            raise InputError(f"{flag} needs --scale: the six timings have no picture, and are not many.")
    if scale:
        _scale(quick, [name.strip() for name in (only or "").split(",") if name.strip()], most, plot, output_format)
        return
    from ivicl.benchmarks.speed import measure

    found = []
    for timing in measure(quick):
        found.append(timing)
        if output_format is TableOrJson.table:
            wanted = f"wanted below {timing.wanted:g} {timing.unit}"
            typer.echo(f"{timing.name:<58} {timing.seconds:8.3f} {timing.unit:<5}  {wanted}")
            if timing.note:
                typer.echo(f"    {timing.note}")
    if output_format is TableOrJson.json:
        typer.echo(json.dumps([timing.to_dict() for timing in found]))


def _scale(quick: bool, only: list[str], most: int | None, plot: Path | None, output_format: TableOrJson) -> None:
    from ivicl.benchmarks.scale_speed import draw, lines_of, measure_scale

    points = []
    for point in measure_scale(quick, only, most):
        points.append(point)
        if output_format is TableOrJson.table:
            each = f"   {1000 * point.seconds / point.size:.2f} ms each" if point.used is None else ""
            if point.used is not None:
                each = "   every row used" if point.used == point.size else f"   {point.used:,} people of a sample used"
            typer.echo(
                f"{point.kind:<18} {point.size:>12,} {point.seconds:9.2f} s {point.cpu_seconds:9.2f} CPU s "
                f"{point.peak_gb:7.2f} GB{each}"
            )
    if output_format is TableOrJson.table:
        for line in lines_of(points):
            typer.echo(line)
    else:
        typer.echo(json.dumps([point.to_dict() for point in points]))
    if plot is not None:
        draw(points).savefig(plot)
        typer.echo(f"ivicl: picture in {plot}.", err=True)


def register(app: typer.Typer) -> None:
    app.command(epilog='Example: ivicl speed --scale --only "different rows" --most 1000000 --plot scale.svg')(speed)
