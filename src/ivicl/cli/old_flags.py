"""Flags under their old names: accepted for one more release, with a note, and not shown in the help."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

NEW_NAMES = {"--out": "--output", "--option": "--set"}


class Commands(TyperGroup):
    """The commands of `ivicl`; scripts that were written for the last release still run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _renamed(args))


def _renamed(args: list[str]) -> list[str]:
    end = args.index("--") if "--" in args else len(args)
    renamed = []
    for word in args[:end]:
        name, equals, value = word.partition("=")
        new = NEW_NAMES.get(name)
        if new is not None:
            typer.echo(f"ivicl: {name} is called {new} now; the old name goes with the next release.", err=True)
        renamed.append(f"{new or name}{equals}{value}")
    return renamed + args[end:]
