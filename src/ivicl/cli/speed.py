"""`ivicl speed`: how long things take here, on this machine, now."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ivicl.cli.output import PLAIN_FORMAT_FLAG, TableOrJson


def speed(
    quick: Annotated[bool, typer.Option("--quick", help="Smaller versions of the two long ones.")] = False,
    output_format: Annotated[TableOrJson, PLAIN_FORMAT_FLAG] = TableOrJson.table,
) -> None:
    """Five timings: a cold fit, a forward pass, a thousand studies, a million rows, a table of counts."""
    from ivicl.benchmarks.speed import measure

    found = []
    for timing in measure(quick):
        found.append(timing)
        if output_format is TableOrJson.table:
            typer.echo(f"{timing.name:<62} {timing.seconds:9.3f} s   wanted below {timing.wanted:g} s   {timing.note}")
    if output_format is TableOrJson.json:
        typer.echo(json.dumps([timing.to_dict() for timing in found]))


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: ivicl speed --quick")(speed)
