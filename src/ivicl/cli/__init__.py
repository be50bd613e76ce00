"""The command line: `app` collects the sub-commands, `main` turns errors into exit codes.

0 done; 2 the input or the call is wrong (one sentence on stderr); 1 a fault of ours.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ivicl.errors import IVICLError

# Each module has register(app). Heavy imports stay inside its command functions: `ivicl counts` must start at once.
MODULES = ("fit", "batch", "bench", "prior", "train", "model", "speed")

app = typer.Typer(
    name="ivicl",
    help="Honest bounds on average treatment effects from instrumental-variable data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        from ivicl import __version__

        typer.echo(__version__)
        raise typer.Exit


for _module in MODULES:
    if importlib.util.find_spec(f"ivicl.cli.{_module}"):
        importlib.import_module(f"ivicl.cli.{_module}").register(app)


@contextmanager
def _log_on_stderr() -> Iterator[None]:
    """What the package logs while a command runs; other libraries' logs stay as they are."""
    logger, handler = logging.getLogger("ivicl"), logging.StreamHandler()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def main() -> None:
    """The entry point of the `ivicl` command."""
    try:
        with _log_on_stderr():
            app()
    except IVICLError as error:
        print(f"ivicl: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader went away (`ivicl ... | head`): not a fault; stop Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
