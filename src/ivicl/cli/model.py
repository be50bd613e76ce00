"""`ivicl evaluate` and `ivicl model`: thin functions over the evaluation and the runtime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ivicl.cli.needs import need_torch
from ivicl.cli.output import PLAIN_FORMAT_FLAG, TableOrJson, ends_in

if TYPE_CHECKING:
    from ivicl.methods.pretrained.runtime import Model

Judged = Annotated[
    Path | None,
    typer.Option("--model", help="A model file, or a training run's folder; by default the shipped model."),
]
ModelFile = Annotated[Path | None, typer.Option("--model", help="A model file; by default the shipped one.")]


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: ivicl evaluate --model mine.onnx --parts efficiency_quick --card card.json")(evaluate)
    app.command(epilog="Example: ivicl model --format json")(model)


def evaluate(
    model: Judged = None,
    parts: Annotated[
        str, typer.Option(help="Comma-separated parts, or card, for every line; by default all that take minutes.")
    ] = "",
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Parts, or data sets, judged at once.  [default: one a core]", show_default=False),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(
            help="Also keep every figure in this .json file, which `ivicl export --card` takes.",
            callback=ends_in("--card", (".json",), "it is JSON"),
        ),
    ] = None,
    output_format: Annotated[TableOrJson, PLAIN_FORMAT_FLAG] = TableOrJson.table,
) -> None:
    """Judge a model, some minutes on two cores: exact posterior, calibration, the synthetic benchmark, amounts and
    tables without defiers ("levels"), one-sided trials, millions of people ("huge"), every head, its alarm.

    Parts that run only if they are named: "widths", on the paper's trials, needs the extra `data`; "efficiency" takes
    half an hour; "efficiency_quick" tries it on fewer, other data sets, and "efficiency_levis" judges Levis et al. on
    those.
    """
    need_torch()
    from ivicl.benchmarks.model_card.card import CARD, LONG_PARTS, PARTS, as_text
    from ivicl.benchmarks.model_card.card import evaluate as run_evaluation
    from ivicl.benchmarks.model_card.checkpoint import load
    from ivicl.errors import InputError

    names = [name.strip() for name in parts.split(",") if name.strip()]
    if names == ["card"]:
        names = list(dict.fromkeys([*PARTS, *(line.part for line in CARD)]))
    known = [*PARTS, *LONG_PARTS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"There is no part {unknown[0]!r} of the evaluation; the parts are {', '.join(known)}.")
    found = run_evaluation(load(model), names or None, progress=True, workers=workers)
    whole = json.dumps(found, indent=1)
    if card is not None:
        card.write_text(whole + "\n")
    typer.echo(whole if output_format is TableOrJson.json else as_text(found))


def model(
    model: ModelFile = None,
    output_format: Annotated[TableOrJson, PLAIN_FORMAT_FLAG] = TableOrJson.table,
) -> None:
    """What is shipped: checksum, network, prior, training, range, evaluation."""
    loaded = _load(model)
    record = {"name": loaded.name, "sha256": loaded.sha256, **loaded.metadata, "evaluation": loaded.card}
    if output_format is TableOrJson.json:
        typer.echo(json.dumps(record, indent=1))
        return
    training, network = record.get("training", {}), record["network"]
    runs = [*training.get("before", []), training]
    rows = [
        ("name", record["name"]),
        ("sha256", record["sha256"]),
        ("graph schema", f"{record['schema']}: bounds on the {', '.join(loaded.graph.estimands)}"),
        ("network", f"width {network['width']}, depth {network['depth']}, summary width {network['summary_width']}"),
        ("prior", record.get("prior", {}).get("name", "unknown")),
        ("runs", ", then ".join(f"{r['step']:,} steps in {r['hours']} h" for r in runs if "step" in r)),
        ("hours of training", f"{sum(r.get('hours', 0) for r in runs):.2f}"),
        ("tables seen", ", ".join(f"{sum(r['tables'][k] for r in runs):,} {k}" for k in training.get("tables", {}))),
        ("people", f"20 to {network['max_count']:,.0f} (beyond them, scaled down)"),
        ("covariates", f"0 to {network['max_features']}, strongest kept beyond"),
    ]
    for name, value in rows:
        typer.echo(f"{name:18} {value}")
    for entry in record["evaluation"]:
        sign = ">=" if entry["at_least"] else "<="
        mark = "reached" if entry["reached"] else "NOT reached"
        typer.echo(f"  {entry['line']:62} {entry['value']:.4f}  ({sign} {entry['target']:g}: {mark})")


def _load(path: Path | None) -> Model:
    from ivicl.methods.pretrained.runtime import Model

    return Model.shipped() if path is None else Model.load(path)
