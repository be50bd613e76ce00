"""All lines of the card in one run, compared with what the model must reach, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ivicl._shared.cores import in_order, threads
from ivicl.benchmarks.efficiency.judge import FULL, QUICK, judge
from ivicl.benchmarks.efficiency.predictors import of_method, of_model
from ivicl.benchmarks.efficiency.summary import as_text as efficiency_text
from ivicl.benchmarks.model_card import lines
from ivicl.benchmarks.model_card.alarm import alarm
from ivicl.benchmarks.model_card.counts import against_levels, huge_tables, levels_text, one_sided_trials
from ivicl.benchmarks.model_card.heads import calibration_of_heads
from ivicl.benchmarks.model_card.widths import trial_widths
from ivicl.methods.pretrained.runtime import Model


@dataclass(frozen=True)
class Line:
    """One line of the card: where its figure is in the results, and what it must reach."""

    name: str
    part: str
    figure: str
    target: float
    at_least: bool
    limit: str
    """The best that any method could reach, or what the paper reports."""

    def reached(self, value: float) -> bool:
        return value >= self.target if self.at_least else value <= self.target


CARD = (
    Line(
        "no covariates: mean error of the 0.5 and 99.5 % quantiles",
        "exact",
        "quantile_error",
        0.006,
        False,
        "0.003",
    ),
    Line("no covariates: that of the worst table", "exact", "table_error_worst", 0.05, False, ""),
    Line("no covariates: worst single quantile", "exact", "quantile_error_worst", 0.06, False, ""),
    Line("no covariates: KL on 128 bins, nats", "exact", "kl", 0.012, False, "0"),
    Line("calibration on the prior: p of uniform ranks", "calibration", "p_value", 0.01, True, ""),
    Line("synthetic: interval contains both true ends", "synthetic", "validity", 0.97, True, "1.00 over 10 (paper)"),
    Line("synthetic: mean width / mean true width", "synthetic", "width_ratio", 1.18, False, "about 1.15 (paper)"),
    Line("synthetic: the same with covers='effect'", "synthetic", "effect_validity", 0.97, True, ""),
    Line("synthetic: its mean width / mean true width", "synthetic", "effect_width_ratio", 1.30, False, ""),
    Line("synthetic: mean error of the ends' posterior means", "synthetic", "ends_error", 0.05, False, ""),
    Line("eight noise covariates: change of the width", "noise", "change", 0.05, False, "0"),
    Line("one-sided tables: mean error of the quantiles", "one_sided", "quantile_error", 0.004, False, "0.003"),
    Line("efficiency, binary: mean over families and n", "efficiency", "binary_efficiency", 1.35, False, "1"),
    Line("efficiency, binary: worst up to 16,000", "efficiency", "binary_efficiency_worst", 1.9, False, "1"),
    Line("efficiency, binary: worst at 64,000", "efficiency", "binary_efficiency_large", 2.2, False, "1"),
    Line("efficiency, amounts: mean over families and n", "efficiency", "amounts_efficiency", 1.35, False, "1"),
    Line("efficiency, amounts: worst up to 16,000", "efficiency", "amounts_efficiency_worst", 1.9, False, "1"),
    Line("efficiency, amounts: worst at 64,000", "efficiency", "amounts_efficiency_large", 2.2, False, "1"),
    Line("families: set held below nominal by at most", "efficiency", "coverage_shortfall", 0.03, False, "0"),
    Line("families: set held at 95 %, worst family", "efficiency", "family_coverage_95", 0.90, True, "0.95"),
    Line("families: set held at 99 %, worst family", "efficiency", "family_coverage_99", 0.97, True, "0.99"),
    Line("families: other estimands held at 90 %, the worst", "efficiency", "estimands_90", 0.87, True, "0.90"),
    Line("families: other estimands held at 99 %, the worst", "efficiency", "estimands_99", 0.98, True, "0.99"),
    Line("STAR, small classes, reading, weak: width", "widths", "star_weak", 0.745, False, ""),
    Line("STAR, small classes, reading, strong: width", "widths", "star_strong", 0.165, False, ""),
    Line("airplane: width", "widths", "airplane", 0.88, False, ""),
    Line("Jobs, weak and strong pooled: width", "widths", "jobs", 0.71, False, ""),
    Line("these four: the interval holds the trial's effect", "widths", "validity", 1.0, True, "1.00 (paper)"),
    Line("every head on the prior: smallest p by Holm", "heads", "p_holm", 0.01, True, ""),
    Line("one-sided trials: ATT and LATE differ by", "trials", "difference", 0.005, False, "0"),
    Line("1e6 to 1e8 people: efficiency at worst", "huge", "efficiency_worst", 1.1, False, "1"),
    Line("alarm: fires on the prior", "alarm", "fires_prior", 0.05, False, "0"),
    Line("alarm: fires on adversarial families that are missed", "alarm", "fires_missed", 0.80, True, "1"),
    Line("alarm: on missed families written after it", "alarm", "fires_witnesses", 0.80, True, "1"),
)

PARTS: dict[str, Callable[[Model], dict[str, Any]]] = {
    "exact": lambda model: lines.against_exact(model, "prior"),
    "one_sided": lambda model: lines.against_exact(model, "one-sided"),
    "noise": lambda model: _with_change(lines.noise_covariates(model)),
    "synthetic": lines.synthetic,
    "validation": lines.validation_loss,
    "calibration": lines.calibration,
    "levels": against_levels,
    "trials": one_sided_trials,
    "huge": huge_tables,
    "heads": calibration_of_heads,
    "alarm": alarm,
}

LONG_PARTS: dict[str, Callable[[Model, bool, int], dict[str, Any]]] = {
    "widths": lambda model, progress, workers: trial_widths(model),
    "efficiency": lambda model, progress, workers: judge(of_model(model), FULL, progress=progress, workers=workers),
    "efficiency_quick": lambda model, progress, workers: judge(
        of_model(model), QUICK, progress=progress, workers=workers
    ),
    "efficiency_levis": lambda model, progress, workers: judge(
        of_method("levis"), QUICK, progress=progress, workers=workers
    ),
}
"""Parts that run only if they are named. `widths` needs the data of the paper's trials (`ivicl[data]`). `efficiency`
takes half an hour; `efficiency_quick` takes minutes, on other data sets, and `efficiency_levis` does the same for the
method of Levis et al., for comparison. Each is told whether to show its own progress bar, and how many cores to use."""


def _with_change(found: dict[str, float]) -> dict[str, float]:
    return found | {"change": abs(found["ratio"] - 1)}


def evaluate(
    model: Model, parts: list[str] | None = None, progress: bool = False, workers: int | None = None
) -> dict[str, Any]:
    """Results of the named parts (by default all but the long ones) and the card.

    `workers` parts run at a time, on one core each; by default as many as there are cores.
    """
    from rich.console import Console
    from rich.progress import track

    names = parts or list(PARTS)
    console = Console(stderr=True)
    workers = workers or threads()
    one_core = model.on_one_thread()
    short = [name for name in names if name not in LONG_PARTS]
    answers = in_order(lambda name: PARTS[name](one_core), short, workers)
    shown = track(answers, "evaluating", len(short), console=console, disable=not progress or not short, transient=True)
    results: dict[str, Any] = dict(zip(short, shown, strict=True))
    for name in names:
        if name in LONG_PARTS:
            results[name] = LONG_PARTS[name](model, progress, workers)
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
    judged = [(name, part) for name, part in found["parts"].items() if name.startswith("efficiency")]
    long = [f"\n{name}\n{efficiency_text(part)}" for name, part in judged]
    if found["parts"].get("levels"):
        long.insert(0, f"\n{levels_text(found['parts']['levels'])}")
    return "\n".join([head, text, *long])
