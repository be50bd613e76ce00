"""`ivicl train` and `ivicl export`: how a model is made."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Annotated

import typer

from ivicl.cli.needs import need_torch
from ivicl.cli.output import ends_in
from ivicl.errors import InputError

logger = logging.getLogger(__name__)


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: ivicl train --preset cpu -o runs/mine --set steps=2000")(train)
    app.command(epilog="Example: ivicl export runs/mine -o mine.onnx")(export)


def train(
    recipe: Annotated[
        str | None,
        typer.Option(help="A recipe that ships (shipped, smoke) or a .toml file: all its stages, then the export."),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="cpu.  [default: cpu]", show_default=False)] = None,
    resume: Annotated[Path | None, typer.Option(help="Folder of a run to go on with.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Folder of a run or of a recipe's runs.  [default: runs/NAME]", show_default=False
        ),
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--from", help="A model file or a run whose weights a new run starts from.")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="name=value, for any field; repeatable.")] = None,
    evaluation: Annotated[
        bool, typer.Option(help="With a recipe: evaluate what it made, and keep the card in it.")
    ] = False,
    threads: Annotated[int, typer.Option(help="Threads; 0 leaves it to torch.")] = 0,
    quiet: Annotated[bool, typer.Option(help="No progress bar.")] = False,
) -> None:
    """Train a network, go on with a run, or follow a recipe; safe to kill at any moment. Runs under torchrun too."""
    need_torch()
    from ivicl.learn.training.config import TrainConfig, parse_settings
    from ivicl.learn.training.devices import use_threads
    from ivicl.learn.training.loop import train as run_training
    from ivicl.learn.training.run import Run

    if threads:
        use_threads(threads)
    changes = parse_settings(settings or [])
    if recipe is not None:
        for name, given in (("--preset", preset), ("--resume", resume), ("--from", start)):
            if given is not None:
                raise InputError(
                    f"--recipe and {name} exclude each other: a recipe says how each of its stages begins."
                )
        _follow(recipe, output, changes, evaluation, not quiet)
        return
    if evaluation:
        raise InputError("--evaluation goes with --recipe; after a single run, use ivicl export --evaluation.")
    if resume is not None:
        run = Run.resume(resume, changes)
    else:
        folder = output or Path("runs") / (preset or "cpu")
        if Run.exists(folder):
            raise InputError(
                f"The folder {str(folder)!r} holds a run already; go on with --resume {folder}, or name another by -o."
            )
        run = Run.begin(TrainConfig.preset(preset or "cpu"), changes, folder, start)
    run_training(run, progress=not quiet)


def _follow(name: str, output: Path | None, settings: dict[str, object], evaluation: bool, progress: bool) -> None:
    """Run all stages of a recipe that are not done yet, then the export if that is not done."""
    from ivicl.learn.recipes.recipe import load_recipe
    from ivicl.learn.recipes.stages import run_recipe
    from ivicl.learn.training.processes import is_first
    from ivicl.methods.pretrained.runtime import Model

    recipe = load_recipe(name)
    folder = output or Path("runs") / recipe.name
    last = run_recipe(recipe, folder, settings, progress)
    if last is None or not is_first():
        return
    graph = folder / recipe.graph
    # The graph is written last: if it exists, everything is done, unless an evaluation is only now asked for.
    if not graph.exists() or (evaluation and "evaluation" not in Model.load(graph).metadata):
        _write(last, graph, evaluation, None)
    logger.info("the recipe %s is done: %s", recipe.name, graph)


def export(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help="Where the graph goes.",
            callback=ends_in("--output", (".onnx",), "it is an ONNX graph"),
        ),
    ] = Path("model.onnx"),
    evaluation: Annotated[bool, typer.Option(help="Evaluate, and keep the card in the file.")] = False,
    card: Annotated[Path | None, typer.Option(help="Keep the card that `ivicl evaluate --card` wrote instead.")] = None,
) -> None:
    """Write the averaged weights of a run as one ONNX file that runs anywhere."""
    need_torch()
    digest = _write(run, output, evaluation, card)
    typer.echo(f"{output}  {output.stat().st_size / 1e6:.1f} MB  sha256 {digest}")


def _write(run: Path, graph: Path, evaluation: bool, card: Path | None) -> str:
    import tempfile

    from ivicl.benchmarks.model_card.card import evaluate
    from ivicl.learn.export import export as write
    from ivicl.learn.training.run import result_of
    from ivicl.methods.pretrained.runtime import Model

    network, record = result_of(run)
    if card is not None:
        record["evaluation"] = json.loads(card.read_text())["card"]
    if evaluation:
        with tempfile.TemporaryDirectory() as scratch:
            write(network, Path(scratch) / graph.name, record)
            record["evaluation"] = evaluate(Model.load(Path(scratch) / graph.name), progress=True)["card"]
    return write(network, graph, record)
