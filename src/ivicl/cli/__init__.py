"""The command line: `app` collects the sub-commands, `main` turns errors into exit codes.

Exit codes: 0 done; 2 the input or the call is wrong (one sentence on stderr); 3 done, but the data contradict the
design (with --strict); 1 a bug in ivicl; 130 interrupted.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NoReturn, cast

import typer

from ivicl.cli.old_flags import Commands
from ivicl.errors import IVICLError

# Each module has register(app). Heavy imports stay inside its command functions: `ivicl counts` must start at once.
MODULES = (
    "fit",
    "compare",
    "sensitivity",
    "page",
    "plan",
    "batch",
    "methods",
    "bench",
    "convert",
    "prior",
    "train",
    "model",
    "speed",
)

# What typer raises for a wrong call; older versions use click's class, newer ones a copy of their own.
WrongCall = cast("type[Exception]", typer.BadParameter.__base__)

app = typer.Typer(
    name="ivicl",
    cls=Commands,
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
    importlib.import_module(f"ivicl.cli.{_module}").register(app)


class _StderrHandler(logging.Handler):
    """Writes to whatever sys.stderr is at the moment: a progress bar replaces it, to keep lines above the bar."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr)


@contextmanager
def _log_on_stderr() -> Iterator[None]:
    """Show on stderr what the package logs while a command runs; other libraries' logs are left alone."""
    logger, handler = logging.getLogger("ivicl"), _StderrHandler()
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
            code = app(prog_name="ivicl", standalone_mode=False)
    except IVICLError as error:
        _stop(2, str(error))
    except WrongCall as error:
        _stop(2, _sentence(error))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except BrokenPipeError:
        _reader_left()
    except SystemExit as stopped:
        # typer exits with 1 after a broken pipe, but here 1 means a bug in ivicl.
        if not isinstance(stopped.__context__, BrokenPipeError):
            raise
        _reader_left()
    else:
        if isinstance(code, int) and code:  # the code of a typer.Exit
            sys.exit(code)


def _stop(code: int, sentence: str) -> NoReturn:
    if sentence:
        print(f"ivicl: {sentence}", file=sys.stderr)
    sys.exit(code)


def _sentence(error: Any) -> str:
    """What is wrong with the call, in one line; empty if the help was already printed."""
    text = " ".join(error.format_message().replace("Value error, ", "").split())
    if not text:
        return ""
    command = error.ctx.command_path if error.ctx else "ivicl"
    text = _not_a_number(error, text) or text
    return f"{text} See {command} --help." if text.endswith("?") else f"{text.rstrip('.')}; see {command} --help."


def _not_a_number(error: Any, text: str) -> str:
    """If a number was expected: the flag and what was given, which the flag parser's message leaves out."""
    below_zero = re.search(r"No such option: (-\d\S*)", text)
    if below_zero:
        return f"{below_zero[1]} is taken for a flag; counts of people are whole numbers of at least 0"
    expected = re.search(r"should be a valid (number|integer)", text)
    flags = [*getattr(getattr(error, "param", None), "opts", [])]
    if not expected or not flags:
        return ""
    given = next((value for flag, value in pairwise(sys.argv) if flag in flags), None)
    kind = "a number" if expected[1] == "number" else "a whole number"
    return f"{flags[-1]} must be {kind}" + ("" if given is None else f", but is {given!r}")


def _reader_left() -> NoReturn:
    """The reader closed the pipe, as in `ivicl ... | head`: no error, but keep Python from complaining at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(0)
