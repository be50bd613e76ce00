"""`ivicl train` and `ivicl export`: how a model is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ivicl.errors import InputError


def register(app: typer.Typer) -> None:
    app.command()(train)
    app.command()(export)


def train(
    preset: Annotated[str, typer.Option(help="cpu or paper.")] = "cpu",
    resume: Annotated[Path | None, typer.Option(help="Folder of a run to go on with.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of a new run.")] = Path("runs/cpu"),
    start: Annotated[
        Path | None, typer.Option("--from", help="Weights (safetensors) or a run to start a new run from.")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="name=value, for any field; repeatable.")] = None,
    threads: Annotated[int, typer.Option(help="Threads; 0 leaves it to torch.")] = 0,
    quiet: Annotated[bool, typer.Option(help="No progress bar.")] = False,
) -> None:
    """Train a network, or go on with a run; safe to kill at any moment. Runs under torchrun as well."""
    _need_torch()
    import torch

    from ivicl.learn.training.config import TrainConfig, parse_settings
    from ivicl.learn.training.loop import train as run_training
    from ivicl.learn.training.run import Run

    if threads:
        torch.set_num_threads(threads)
    if resume is not None:
        run = Run.resume(resume, settings)
    else:
        if Run.exists(out):
            raise InputError(
                f"The folder {str(out)!r} holds a run already; go on with --resume {out}, or name another with -o."
            )
        run = Run.begin(TrainConfig.preset(preset), parse_settings(settings or []), out, start)
    run_training(run, progress=not quiet)


def export(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the graph goes.")] = Path("model.onnx"),
    weights: Annotated[Path | None, typer.Option(help="Also write the weights to go on from (safetensors).")] = None,
    evaluation: Annotated[bool, typer.Option(help="Evaluate, and keep the card in the file.")] = False,
    card: Annotated[
        Path | None, typer.Option(help="Keep the card of this `ivicl evaluate --format json` instead.")
    ] = None,
) -> None:
    """Write the averaged weights of a run as one ONNX file that runs anywhere."""
    _need_torch()
    from ivicl.benchmarks.model_card.card import evaluate as run_evaluation
    from ivicl.learn.network.checkpoint import save_weights
    from ivicl.learn.network.export import export as write
    from ivicl.learn.training.run import result_of
    from ivicl.methods.pretrained.runtime import Model

    network, record = result_of(run)
    if card is not None:
        record["evaluation"] = json.loads(card.read_text())["card"]
    digest = write(network, out, record)
    if evaluation:
        record["evaluation"] = run_evaluation(Model.load(out), progress=True)["card"]
        digest = write(network, out, record)
    if weights is not None:
        save_weights(network, weights, record)
    typer.echo(f"{out}  {out.stat().st_size / 1e6:.1f} MB  sha256 {digest}")


def _need_torch() -> None:
    import importlib.util

    from ivicl.errors import MissingDependencyError

    if importlib.util.find_spec("torch") is None:
        raise MissingDependencyError("This command needs PyTorch; install it with: pip install 'ivicl[train]'.")
