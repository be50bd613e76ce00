"""`ivicl speed`: how long things take here, on this machine, now."""

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
    plot: PlotFile = None,
    output_format: Annotated[TableOrJson, PLAIN_FORMAT_FLAG] = TableOrJson.table,
) -> None:
    """Five timings: a cold fit, a forward pass, a thousand studies, a million rows, a table of counts."""
    if plot is not None and not scale:
        raise InputError("--plot needs --scale: the five timings have no picture.")
    if scale:
        _scale(quick, plot, output_format)
        return
    from ivicl.benchmarks.speed import measure

    found = []
    for timing in measure(quick):
        found.append(timing)
        if output_format is TableOrJson.table:
            typer.echo(f"{timing.name:<62} {timing.seconds:9.3f} s   wanted below {timing.wanted:g} s   {timing.note}")
    if output_format is TableOrJson.json:
        typer.echo(json.dumps([timing.to_dict() for timing in found]))


def _scale(quick: bool, plot: Path | None, output_format: TableOrJson) -> None:
    from ivicl.benchmarks.scale_speed import draw, lines_of, measure_scale

    points = []
    for point in measure_scale(quick):
        points.append(point)
        if output_format is TableOrJson.table:
            each = f"   {1000 * point.seconds / point.size:.2f} ms each" if "studies" in point.kind else ""
            typer.echo(
                f"{point.kind:<18} {point.size:>13,} {point.seconds:9.2f} s {point.cpu_seconds:9.2f} CPU s "
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
    app.command(epilog="Example: ivicl speed --quick")(speed)
