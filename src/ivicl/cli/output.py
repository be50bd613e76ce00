"""Where the answer of a command goes, and in which format: standard output, or the file of --output."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import typer

from ivicl._shared.writing import cannot_be_written
from ivicl.errors import InputError

if TYPE_CHECKING:
    from ivicl.results.diagnostics.records import Diagnostics
    from ivicl.results.result import BoundsResult


class Format(StrEnum):
    """The formats in which bounds can be printed."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"
    latex = "latex"


class TableOrJson(StrEnum):
    """For readers, or for programs."""

    table = "table"
    json = "json"


class TableJsonOrMarkdown(StrEnum):
    table = "table"
    json = "json"
    md = "md"


class Drawn(Protocol):
    """Anything that has a picture."""

    def plot(self) -> Any: ...


class Shown(Protocol):
    """Anything that can be printed in every format: a result, a comparison, a sensitivity analysis, a plan."""

    def summary(self) -> str: ...
    def to_json(self) -> str: ...
    def to_frame(self) -> Any: ...
    def to_markdown(self) -> str: ...
    def to_latex(self) -> str: ...


AnyFormat = TypeVar("AnyFormat", Format, TableOrJson, TableJsonOrMarkdown)

FORMAT_FLAG = typer.Option(
    "-f",
    "--format",
    help="What to print; by default what the ending of --output says, else a table.",
    show_default=False,
)
PLAIN_FORMAT_FLAG = typer.Option("-f", "--format", help="What to print on standard output.")

OutputFile = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", help="File for the answer instead of standard output: .txt, .json, .csv, .md or .tex."
    ),
]


def ends_in(flag: str, endings: tuple[str, ...], remark: str) -> Callable[[Path | None], Path | None]:
    """A check of the file's name while the call is parsed, not after minutes of fitting."""

    def checked(path: Path | None) -> Path | None:
        if path is not None and path.suffix.lower() not in endings:
            raise InputError(f"{flag} must end in {' or '.join(endings)} ({remark}), but it is {path}.")
        if path is not None and not path.absolute().parent.is_dir():
            raise InputError(f"the folder of {flag} {path} does not exist; make it first, or name another.")
        return path

    return checked


PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Also draw it: an .svg, .png or .pdf file.",
        callback=ends_in("--plot", (".svg", ".png", ".pdf"), "SVG and PDF stay sharp in print"),
    ),
]

FORMAT_OF_ENDING = {".txt": "table", ".json": "json", ".csv": "csv", ".md": "md", ".tex": "latex"}
STANDARD_OUTPUT = Path("-")


def refuse_an_input(output: Path, sources: Sequence[str]) -> None:
    """Raise an InputError if the output would replace a table that is read."""
    if not output.is_file():
        return
    for name in (each for source in sources for each in (source, *glob.glob(source, recursive=True))):
        if Path(name).is_file() and output.samefile(name):
            raise InputError(f"--output {output} is the table that is read, and would be replaced; name another file.")


def choose_format(
    asked: AnyFormat | None, output: Path | None, known: type[AnyFormat], sources: Sequence[str] = ()
) -> AnyFormat:
    """The format that is asked for, by name or by the ending of the output; called before anything is computed.

    Raises:
        InputError: the ending is of no known format, the output's folder does not exist, or it is one of the sources.
    """
    if output is not None:
        refuse_an_input(output, sources)
    if output is not None and output != STANDARD_OUTPUT and not output.absolute().parent.is_dir():
        raise InputError(f"the folder of --output {output} does not exist; make it first, or name another.")
    if output is not None and output.is_dir():
        raise InputError(f"--output {output} is a folder; name a file in it.")
    if asked is not None:
        return asked
    if output is None or output == STANDARD_OUTPUT:
        return known("table")
    formats = {ending: name for ending, name in FORMAT_OF_ENDING.items() if name in set(known)}
    if output.suffix.lower() not in formats:
        hint = "; options of the method are given by --set" if "=" in output.name else ""
        raise InputError(f"--output must end in {', '.join(formats)}, or --format be given, but it is {output}{hint}.")
    return known(formats[output.suffix.lower()])


@dataclass(frozen=True)
class Pages:
    """The flags that say what is written for readers beside the answer."""

    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            help="Also write a report for readers, one HTML file.",
            callback=ends_in("--report", (".html", ".htm"), "a browser prints it as PDF"),
        ),
    ] = None
    title: Annotated[str | None, typer.Option("--title", help="Heading of the report.", show_default=False)] = None
    question: Annotated[
        str | None, typer.Option("--question", help="The report's question in your words.", show_default=False)
    ] = None
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            help="A further section of the report: exclusion, independence or defiers (how far it may fail), or "
            "by=COLUMN (bounds of each group). May be given again.",
            show_default=False,
        ),
    ] = None
    plot: PlotFile = None

    def __post_init__(self) -> None:
        if self.report is None and (self.title or self.question or self.also):
            raise InputError("--title, --question and --also are the report's: name its file with --report page.html.")
        for text in self.also or ():
            if not text.startswith("by="):
                from ivicl.results.relaxed import RELAXATIONS

                if text not in RELAXATIONS:
                    raise InputError(f"--also must be {', '.join(RELAXATIONS)} or by=COLUMN, but is {text!r}.")

    def write(self, result: BoundsResult) -> None:
        if self.report is not None:
            further = [
                result.by(text.removeprefix("by=")) if text.startswith("by=") else result.sensitivity(text)
                for text in self.also or ()
            ]
            written = result.report(self.report, title=self.title, question=self.question, also=further)
            typer.echo(f"ivicl: report in {written}.", err=True)
        if self.plot is not None:
            # Every method has a ladder, but only some have a posterior.
            typer.echo(f"ivicl: picture in {result.plot('ladder').save(self.plot)}.", err=True)


def save_picture(found: Drawn, plot: Path | None) -> None:
    if plot is not None:
        typer.echo(f"ivicl: picture in {found.plot().save(plot)}.", err=True)


def say_headline(found: Diagnostics, for_readers: bool, output: Path | None) -> None:
    """Print on stderr what is graded stop, unless it will be the first line of what is printed for readers anyway."""
    if found.headline and not (for_readers and output in (None, STANDARD_OUTPUT)):
        typer.echo(f"ivicl: {found.headline}", err=True)


def text_of(found: Shown, chosen: Format) -> str:
    """The answer in the format asked for."""
    return {
        Format.table: found.summary,
        Format.json: found.to_json,
        Format.csv: lambda: str(found.to_frame().write_csv()).rstrip("\n"),
        Format.md: found.to_markdown,
        Format.latex: found.to_latex,
    }[chosen]()


def write(text: str, output: Path | None) -> None:
    """Write the answer to the file or to standard output."""
    if output is None or output == STANDARD_OUTPUT:
        _print(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise cannot_be_written(output, error) from error
    typer.echo(f"ivicl: written to {output}.", err=True)


def _print(text: str) -> None:
    try:
        typer.echo(text)
    except BrokenPipeError:
        raise  # the reader closed the pipe, as `head` does: `main` takes care of it
    except OSError as error:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python would try to write the rest at exit
        raise cannot_be_written("standard output", error) from error
