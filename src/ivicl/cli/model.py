"""`ivicl train`, `evaluate`, `export` and `model`: thin functions over the trainer, the evaluation and the runtime."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ivicl.methods.pretrained.runtime import Model

ModelFile = Annotated[Path | None, typer.Option("--model", help="A model file; by default the shipped one.")]


def register(app: typer.Typer) -> None:
    app.command()(train)
    app.command()(evaluate)
    app.command()(export)
    app.command()(model)


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

    from ivicl.errors import InputError
    from ivicl.learn.network.checkpoint import load_weights
    from ivicl.learn.training.config import TrainConfig
    from ivicl.learn.training.loop import Run
    from ivicl.learn.training.loop import train as run_training

    if threads:
        torch.set_num_threads(threads)
    if resume is not None:
        run = Run.resume(resume, settings)
    else:
        if (out / "state.safetensors").exists():
            raise InputError(
                f"The folder {str(out)!r} holds a run already; go on with --resume {out}, or name another with -o."
            )
        config = TrainConfig.preset(preset)
        if start is None:
            run = Run(config.with_settings(settings or []), out)
        else:
            if start.is_dir():
                earlier = Run.resume(start)
                network, record = earlier.averaged(), earlier.record()
            else:
                network, about = load_weights(start)
                record = about.get("training", {})
            # The shape comes with the weights, not with the preset.
            run = Run(replace(config, network=network.config).with_settings(settings or []), out)
            run.start_from(network.state_dict(), record)
    parameters = sum(p.numel() for p in run.network.parameters())
    typer.echo(f"{parameters:,} parameters; step {run.step} of {run.config.steps}; run in {run.folder}", err=True)
    run_training(run, progress=not quiet)
    typer.echo(f"step {run.step} of {run.config.steps}, {run.seconds / 3600:.2f} hours", err=True)


def evaluate(
    model: ModelFile = None,
    parts: Annotated[str, typer.Option(help="Comma-separated parts; by default all.")] = "",
    output: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
) -> None:
    """Judge a model: exact posterior, calibration, the synthetic benchmark. A few minutes on two cores."""
    _need_torch()
    from ivicl.benchmarks.model_card.card import PARTS, as_text
    from ivicl.benchmarks.model_card.card import evaluate as run_evaluation
    from ivicl.errors import InputError

    names = [name.strip() for name in parts.split(",") if name.strip()]
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise InputError(f"There is no part {unknown[0]!r} of the evaluation; the parts are {', '.join(PARTS)}.")
    found = run_evaluation(_load(model), names or None, progress=True)
    typer.echo(json.dumps(found, indent=1) if output == "json" else as_text(found))


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
    from ivicl.learn.training.loop import Run
    from ivicl.methods.pretrained.runtime import Model

    state = Run.resume(run)
    network = state.averaged()
    record: dict[str, Any] = {"prior": state.config.to_dict()["prior"], "training": state.record()}
    if card is not None:
        record["evaluation"] = json.loads(card.read_text())["card"]
    digest = write(network, out, record)
    if evaluation:
        record["evaluation"] = run_evaluation(Model.load(out), progress=True)["card"]
        digest = write(network, out, record)
    if weights is not None:
        save_weights(network, weights, record)
    typer.echo(f"{out}  {out.stat().st_size / 1e6:.1f} MB  sha256 {digest}")


def model(
    model: ModelFile = None,
    output: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
) -> None:
    """What is shipped: checksum, network, prior, training, range, evaluation."""
    loaded = _load(model)
    record = {"name": loaded.name, "sha256": loaded.sha256, **loaded.metadata}
    if output == "json":
        typer.echo(json.dumps(record, indent=1))
        return
    training, network = record.get("training", {}), record["network"]
    runs = [*training.get("before", []), training]
    rows = [
        ("name", record["name"]),
        ("sha256", record["sha256"]),
        ("attention", f"{network['attention']}, width {network['width']}, depth {network['depth']}"),
        ("prior", record.get("prior", {}).get("name", "unknown")),
        ("runs", ", then ".join(f"{r['step']:,} steps in {r['hours']} h" for r in runs if "step" in r)),
        ("hours of training", f"{sum(r.get('hours', 0) for r in runs):.2f}"),
        ("tables seen", ", ".join(f"{sum(r['tables'][k] for r in runs):,} {k}" for k in training.get("tables", {}))),
        ("people", f"20 to {network['max_count']:,.0f} (trained range)"),
        ("covariates", f"0 to {network['max_features']}, strongest kept beyond"),
    ]
    for name, value in rows:
        typer.echo(f"{name:18} {value}")
    for entry in record.get("evaluation", []):
        sign = ">=" if entry["at_least"] else "<="
        mark = "reached" if entry["reached"] else "NOT reached"
        typer.echo(f"  {entry['line']:62} {entry['value']:.4f}  ({sign} {entry['target']:g}: {mark})")


def _load(path: Path | None) -> Model:
    from ivicl.methods.pretrained.runtime import Model

    return Model.shipped() if path is None else Model.load(path)


def _need_torch() -> None:
    import importlib.util

    from ivicl.errors import MissingDependencyError

    if importlib.util.find_spec("torch") is None:
        raise MissingDependencyError("This command needs PyTorch; install it with: pip install 'ivicl[train]'.")
