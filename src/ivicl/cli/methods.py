"""`ivicl methods`: which methods there are, what their intervals mean, and what they assume."""

from __future__ import annotations

import json
import textwrap
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ivicl.cli.output import PLAIN_FORMAT_FLAG, TableJsonOrMarkdown

if TYPE_CHECKING:
    from ivicl.methods.base import Method

WIDTH = 100


def methods(
    output_format: Annotated[TableJsonOrMarkdown, PLAIN_FORMAT_FLAG] = TableJsonOrMarkdown.table,
) -> None:
    """The methods that --method takes: those that ship, and those of other packages that are installed."""
    from ivicl.methods.registry import all_methods

    known = list(all_methods().values())
    if output_format is TableJsonOrMarkdown.json:
        typer.echo(json.dumps([about(method) for method in known], indent=1))
    elif output_format is TableJsonOrMarkdown.md:
        typer.echo(markdown(known))
    else:
        typer.echo("\n".join(line for method in known for line in _lines(method)))


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: ivicl methods --format json")(methods)


def about(method: Method) -> dict[str, Any]:
    """What a program may want to know about a method before it asks for bounds."""
    from ivicl.cli.needs import is_installed

    return {
        "name": method.name,
        "label": method.label,
        "summary": method.summary,
        "interval": method.interval,
        "estimands": list(method.estimands),
        "assumptions": list(method.assumptions),
        "may_assume": list(method.may_assume),
        "covers": list(method.covers),
        "uses_covariates": method.uses_covariates,
        "options": [field.name for field in fields(method.options)],
        "extra": method.extra,
        "installed": True if method.extra is None else is_installed(method.extra),
    }


def markdown(known: list[Method]) -> str:
    """The table of the README. It does not say what is installed here, which means nothing to readers elsewhere."""
    lines = ["| `method=` | what it is | interval | of | assumes |", "|---|---|---|---|---|"]
    for method in known:
        needs = f"; `pip install 'ivicl[{method.extra}]'`" if method.extra else ""
        what, of, assumes = method.summary + needs, ", ".join(method.estimands), ", ".join(method.assumptions)
        cells = (f"`{method.name}`", what, method.interval, of, assumes)
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines)


def _lines(method: Method) -> list[str]:
    found = about(method)
    kind = "estimate, no allowance for sampling error" if method.interval == "estimate" else method.interval
    rows = {
        "what": f"{method.label}: {method.summary}",
        "interval": kind,
        "of": ", ".join(method.estimands),
        "assumes": ", ".join(method.assumptions),
        "options": ", ".join(found["options"]),
    }
    if method.extra:
        state = {True: "installed", False: "not installed", None: "not known whether it is installed"}
        rows["needs"] = f"pip install 'ivicl[{method.extra}]' ({state[found['installed']]})"
    lines = [method.name]
    for name, value in rows.items():
        lines += textwrap.wrap(value, WIDTH, initial_indent=f"  {name:<10}", subsequent_indent=" " * 12)
    return lines
