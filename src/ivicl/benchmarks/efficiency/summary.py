"""A summary of the verdicts: figures by family and size, pooled figures for the card, and a table to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ivicl.benchmarks.efficiency.verdicts import LEVELS, MARGIN, VERSIONS, Verdict

SMALL = 16_000
"""Up to this many people one target applies to the worst family; above it, another."""
JUDGED = ("ATT", "EY1", "EY0", "LATE")
"""Estimands beside the ATE whose coverage has a target, each over all families and sizes."""


def summarise(verdicts: Sequence[Verdict], adversarial: Sequence[Verdict]) -> dict[str, Any]:
    """The card's figures; then `cells` by family, version and size, `families` over sizes, `estimands` over all."""
    cells = [_figures(group) for group in _groups(verdicts, "version", "n", "family")]
    families = [_figures(group) for group in _groups(verdicts, "version", "family")]
    pooled = _figures(list(verdicts))
    estimands = _estimands(verdicts)
    others = [estimands[name]["coverage"] for name in JUDGED if name in estimands]
    found: dict[str, Any] = {"datasets": len(verdicts)}
    for version in VERSIONS:
        mine = [cell for cell in cells if cell["version"] == version]
        found |= {
            f"{version}_efficiency": _mean([cell["efficiency"] for cell in mine]),
            f"{version}_efficiency_se": _mean_error([cell["efficiency_se"] for cell in mine]),
            f"{version}_efficiency_worst": max((c["efficiency"] for c in mine if c["n"] <= SMALL), default=None),
            f"{version}_efficiency_large": max((c["efficiency"] for c in mine if c["n"] > SMALL), default=None),
        }
    return found | {
        "coverage": pooled["coverage"],
        "coverage_se": pooled["coverage_se"],
        "coverage_shortfall": float(max(np.array(LEVELS) - pooled["coverage"])),
        "family_coverage_95": min(family["coverage"][3] for family in families),
        "family_coverage_99": min(family["coverage"][4] for family in families),
        "levels": list(LEVELS),
        "estimands_90": min((held[2] for held in others), default=None),
        "estimands_99": min((held[4] for held in others), default=None),
        "estimands": estimands,
        "families": families,
        "cells": cells,
        "adversarial": [_figures(group) for group in _groups(adversarial, "version", "n", "family")],
    }


def _groups(verdicts: Sequence[Verdict], *keys: str) -> list[list[Verdict]]:
    groups: dict[tuple[Any, ...], list[Verdict]] = {}
    for each in verdicts:
        groups.setdefault(tuple(getattr(each, key) for key in keys), []).append(each)
    return list(groups.values())


def _figures(group: Sequence[Verdict]) -> dict[str, Any]:
    """Efficiency is the mean margin over the mean best margin, both over data sets and ends."""
    margins = np.array([each.margins for each in group]).mean(axis=1)
    best = MARGIN * float(np.mean([each.errors for each in group]))
    held = np.array([each.held["ATE"] for each in group], dtype=np.float64)
    bias = np.array([each.bias for each in group])
    first = group[0]
    return {
        "family": first.family,
        "version": first.version,
        "n": first.n,
        "datasets": len(group),
        "efficiency": float(margins.mean()) / best,
        "efficiency_se": _error(margins, best),
        "coverage": held.mean(axis=0).tolist(),
        "coverage_se": [_share_error(share, len(group)) for share in held.mean(axis=0)],
        "bias": bias.mean(axis=0).tolist(),
        "bias_se": [_error(end) for end in bias.T],
        "seconds": float(np.mean([each.seconds for each in group])),
    }


def _estimands(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """For each estimand that was answered: how often its ends were held, over all data sets that have it."""
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for each in verdicts for name in each.held):
        held = np.array([each.held[name] for each in verdicts if name in each.held], dtype=np.float64)
        shares = held.mean(axis=0)
        errors = [_share_error(share, len(held)) for share in shares]
        found[name] = {"datasets": len(held), "coverage": shares.tolist(), "coverage_se": errors}
    return found


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _mean_error(errors: Sequence[float | None]) -> float | None:
    """The standard error of a mean of independent figures; None if one of them has no error (see `_error`)."""
    known = [error for error in errors if error is not None]
    if not errors or len(known) < len(errors):
        return None
    return float(np.sqrt(np.sum(np.square(known))) / len(known))


def _error(values: np.ndarray, unit: float = 1.0) -> float | None:
    return float(values.std(ddof=1) / np.sqrt(len(values))) / unit if len(values) > 1 else None


def _share_error(share: float, n: int) -> float:
    return float(np.sqrt(share * (1 - share) / n))


def _shown(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.2f}"


def as_text(found: dict[str, Any]) -> str:
    """The cells as a table, with the pooled figures below and standard errors in brackets."""
    levels = "".join(f"{100 * level:>6.0f}%" for level in found["levels"])
    lines = [f"{'family':20}{'n':>7}{'sets':>6}{'efficiency':>14}   held at{levels}   bias of the ends, in se"]
    for cell in found["cells"] + found["adversarial"]:
        efficiency = f"{cell['efficiency']:.2f} ({_shown(cell['efficiency_se'])})"
        held = "".join(f"{share:>7.2f}" for share in cell["coverage"])
        bias = "   ".join(
            f"{_shown(b, '+')} ({_shown(se)})" for b, se in zip(cell["bias"], cell["bias_se"], strict=True)
        )
        name = f"{cell['family']}, {cell['version']}"
        lines.append(f"{name:20}{cell['n']:>7,}{cell['datasets']:>6}{efficiency:>14}{'':10}{held}   {bias}")
    for version in VERSIONS:
        mean, error, worst, large = (found[f"{version}_efficiency{name}"] for name in ("", "_se", "_worst", "_large"))
        lines.append(
            f"{version}: efficiency {_shown(mean)} ({_shown(error)}) on average, {_shown(worst)} in the worst family "
            f"up to {SMALL:,} people, {_shown(large)} in the worst above"
        )
    for name, estimand in found["estimands"].items():
        shares = zip(estimand["coverage"], estimand["coverage_se"], strict=True)
        held = "  ".join(f"{share:.3f} ({se:.3f})" for share, se in shares)
        lines.append(f"{name}: held in {held} of {estimand['datasets']:,} data sets")
    worst = [
        f"{share:.3f} ({error:.3f}) at {100 * LEVELS[k]:.0f} %"
        for k in (3, 4)
        for share, error in [min((family["coverage"][k], family["coverage_se"][k]) for family in found["families"])]
    ]
    lines.append(
        f"worst family: held in {', '.join(worst)}; "
        f"the full run takes about {found['full_run_minutes']:.0f} minutes here"
    )
    return "\n".join(lines)
