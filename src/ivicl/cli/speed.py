"""`ivicl speed`: how long things take here, on this machine, now."""

from __future__ import annotations

from typing import Annotated

import typer


def speed(
    quick: Annotated[bool, typer.Option("--quick", help="Smaller versions of the two long ones.")] = False,
    output_format: Annotated[str, typer.Option("-f", "--format", help="table or json.")] = "table",
) -> None:
    """Five timings: a cold fit, a forward pass, a thousand studies, a million rows, a table of counts."""
    import json

    from ivicl.benchmarks.speed import measure
    from ivicl.errors import InputError

    if output_format not in ("table", "json"):
        raise InputError(f"speed prints a table or json, not {output_format}.")
    found = []
    for timing in measure(quick):
        found.append(timing)
        if output_format == "table":
            typer.echo(f"{timing.name:<62} {timing.seconds:9.3f} s   wanted below {timing.wanted:g} s   {timing.note}")
    if output_format == "json":
        typer.echo(json.dumps([timing.to_dict() for timing in found]))


def register(app: typer.Typer) -> None:
    app.command()(speed)
