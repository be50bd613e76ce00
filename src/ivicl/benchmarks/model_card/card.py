"""All lines in one run, against what the model must reach, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ivicl.benchmarks.model_card import lines
from ivicl.methods.pretrained.runtime import Model


@dataclass(frozen=True)
class Line:
    """One line of the card: where its figure stands in the results, and what it must reach."""

    name: str
    part: str
    figure: str
    target: float
    at_least: bool
    limit: str
    """What nobody can beat, or what the paper reports."""

    def reached(self, value: float) -> bool:
        return value >= self.target if self.at_least else value <= self.target


CARD = (
    Line("no covariates: mean error of the 0.5 and 99.5 % quantiles", "exact", "quantile_error", 0.010, False, "0.003"),
    Line("no covariates: that of the worst table", "exact", "table_error_worst", 0.06, False, ""),
    Line("no covariates: worst single quantile", "exact", "quantile_error_worst", 0.06, False, ""),
    Line("no covariates: KL on 128 bins, nats", "exact", "kl", 0.02, False, "0"),
    Line("calibration on the prior: p of uniform ranks", "calibration", "p_value", 0.01, True, ""),
    Line("synthetic: interval contains both true ends", "synthetic", "validity", 0.97, True, "1.00 over 10 (paper)"),
    Line("synthetic: mean width / mean true width", "synthetic", "width_ratio", 1.30, False, "about 1.15 (paper)"),
    Line("synthetic: the same with covers='effect'", "synthetic", "effect_validity", 0.97, True, ""),
    Line("synthetic: its mean width / mean true width", "synthetic", "effect_width_ratio", 1.30, False, ""),
    Line("synthetic: mean error of the ends' posterior means", "synthetic", "ends_error", 0.05, False, ""),
    Line("eight noise covariates: change of the width", "noise", "change", 0.05, False, "0"),
    Line("one-sided tables: mean error of the quantiles", "one_sided", "quantile_error", 0.010, False, "0.003"),
)

PARTS: dict[str, Callable[[Model], dict[str, Any]]] = {
    "exact": lambda model: lines.against_exact(model, "prior"),
    "one_sided": lambda model: lines.against_exact(model, "one-sided"),
    "noise": lambda model: _with_change(lines.noise_covariates(model)),
    "synthetic": lines.synthetic,
    "validation": lines.validation_loss,
    "calibration": lines.calibration,
}


def _with_change(found: dict[str, float]) -> dict[str, float]:
    return found | {"change": abs(found["ratio"] - 1)}


def evaluate(model: Model, parts: list[str] | None = None, progress: bool = False) -> dict[str, Any]:
    """Results of the named parts (all by default) and the card."""
    from rich.console import Console
    from rich.progress import track

    names = parts or list(PARTS)
    console = Console(stderr=True)
    results: dict[str, Any] = {}
    for name in track(names, "evaluating", console=console, disable=not progress, transient=True):
        results[name] = PARTS[name](model)
    card = []
    for line in CARD:
        if line.part in results:
            value = float(results[line.part][line.figure])
            card.append({"line": line.name, "value": value, "target": line.target, "at_least": line.at_least,
                         "reached": line.reached(value), "limit": line.limit})  # fmt: skip
    about = {"name": model.name, "sha256": model.sha256}
    return {"model": about, "alpha": lines.ALPHA, "card": card, "parts": results}


def as_text(found: dict[str, Any]) -> str:
    """The card as a plain table."""
    rows = [("line", "found", "must reach", "", "limit or paper")]
    for entry in found["card"]:
        sign = ">=" if entry["at_least"] else "<="
        mark = "reached" if entry["reached"] else "NOT reached"
        rows.append((entry["line"], f"{entry['value']:.4f}", f"{sign} {entry['target']:g}", mark, entry["limit"]))
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    text = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
    head = (
        f"model {found['model']['name']}  sha256 {found['model']['sha256'][:16]}  intervals at alpha {found['alpha']:g}"
    )
    return f"{head}\n{text}"
