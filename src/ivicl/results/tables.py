"""The words and tables of a result: the summary for a reader, and one row for a spreadsheet or a paper."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult

WIDTH = 88

ESTIMANDS = {
    "ATE": "average treatment effect (ATE)",
    "LATE": "average effect among compliers (LATE), not the ATE",
}


def number(value: float) -> str:
    """Four decimals for effects of ordinary size; four significant digits for the very large and the very small."""
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4f}"
    return f"{value:.4g}"


def interval(lower: float, upper: float) -> str:
    return f"[{number(lower)}, {number(upper)}]"


def level(result: BoundsResult) -> str:
    """What kind of interval it is, in a few words."""
    if result.is_credible:
        what = " for the set" if result.covers == "set" else ""
        return f"{100 * (1 - result.alpha):g} % credible{what}"
    if result.details.get("sampling_error", True):
        return f"{100 * (1 - result.alpha):g} % confidence"
    return "estimated bounds"


def row(result: BoundsResult) -> dict[str, Any]:
    """The result as one flat row."""
    stage = result.diagnostics.get("first_stage", {})
    posterior = result.posterior
    return {
        "method": result.method,
        "estimand": result.estimand,
        "lower": result.lower,
        "upper": result.upper,
        "width": result.width,
        "alpha": result.alpha,
        "posterior_median": float(posterior.quantile(0.5)) if posterior else None,
        "prob_positive": posterior.prob_positive if posterior else None,
        "n": result.n,
        "n_dropped": result.n_dropped,
        "first_stage": stage.get("difference"),
        "covariates": ",".join(result.covariates),
        "warnings": " | ".join(result.warnings),
        "version": result.version,
    }


def pairs(result: BoundsResult) -> list[tuple[str, str]]:
    """The lines of the summary: a name and a value."""
    unit = "difference of probabilities" if result.binary else "units of the outcome"
    lines = [
        ("Estimand", ESTIMANDS.get(result.estimand, result.estimand)),
        ("Scale", f"{unit}; outcome between {result.outcome_range[0]:g} and {result.outcome_range[1]:g}"),
        ("Method", result.method + (f" (model {result.model['name']})" if result.model else "")),
        ("People", f"{result.n:,}" + (f" in {result.n_rows:,} rows" if result.n_rows != result.n else "")),
        ("Rows dropped", f"{result.n_dropped:,}"),
        ("Covariates", ", ".join(result.covariates) or "none"),
    ]
    stage = result.diagnostics.get("first_stage")
    if stage:
        strength = "" if stage["f"] is None else f", F = {stage['f']:,.1f}"
        shares = f"{100 * stage['treated_if_z1']:.1f} % - {100 * stage['treated_if_z0']:.1f} %"
        lines.append(("First stage", f"{stage['difference']:.4f} (treated {shares}){strength}"))
    inequalities = result.diagnostics.get("inequalities")
    if inequalities:
        worst = min(inequalities, key=lambda i: i["p_value"])
        verdict = f"violated in the sample, p = {worst['p_value']:.3g}" if worst["violated"] else "hold in the sample"
        lines.append(("IV inequalities", verdict))
    lines.append(
        ("Interval", f"{interval(result.lower, result.upper)}  ({level(result)}, width {number(result.width)})")
    )
    if "estimate" in result.details:
        lines.append(("Estimate", f"{number(result.details['estimate'])} (s.e. {number(result.details['se'])})"))
    if result.posterior is not None:
        lines.append(("Median", f"{number(float(result.posterior.quantile(0.5)))} (depends on the prior)"))
        lines.append(("P(effect > 0)", f"{result.posterior.prob_positive:.3f} (depends on the prior)"))
    if result.identified_set is not None:
        ends = result.identified_set
        lines.append(("Identified set", f"{interval(ends.lower.mean, ends.upper.mean)}  (posterior means of its ends)"))
        lower_end = interval(*ends.lower.interval(result.alpha))
        upper_end = interval(*ends.upper.interval(result.alpha))
        lines.append(("  its ends", f"{lower_end} and {upper_end}  ({100 * (1 - result.alpha):g} % credible)"))
        parts = result.width_parts
        if parts is not None:
            lines.append(
                (
                    "  its width",
                    f"{number(parts.not_identified)} not identified + {number(parts.not_enough_data)} not enough data",
                )
            )
    cuts = result.details.get("thresholds")
    if cuts and not result.binary:
        lines.append(
            (
                "Thresholds",
                f"{len(cuts['points'])}, {result.details['combine']}; rounding slack {number(cuts['slack'])}",
            )
        )
    return lines


def summary(result: BoundsResult) -> str:
    rule = "=" * WIDTH
    text = [rule, "Bounds on an average effect, from an instrument".center(WIDTH).rstrip(), rule]
    lines = pairs(result)
    label_width = max(len(name) for name, _ in lines) + 2
    for name, value in lines:
        text += textwrap.wrap(
            value, WIDTH, initial_indent=f"{name:<{label_width}}", subsequent_indent=" " * label_width
        ) or [name]
    if "ladder" in result.details:
        from ivicl.results.ladder import table

        text += ["-" * WIDTH, "What each assumption buys", *("  " + line for line in table(result.details["ladder"]))]
    findings = [f"[{f['grade']}] {f['sentence']}" for f in result.diagnostics.get("findings", ()) if f["grade"] != "ok"]
    for heading, sentences in (("Design", findings), ("Warnings", result.warnings), ("Data", result.notes)):
        if sentences:
            text += ["-" * WIDTH, heading]
            for sentence in sentences:
                text += textwrap.wrap(sentence, WIDTH, initial_indent="  - ", subsequent_indent="    ")
    return "\n".join([*text, rule, f"ivicl {result.version}"])


def markdown(result: BoundsResult) -> str:
    lines = ["| | |", "|---|---|"]
    lines += [f"| {name.strip()} | {value.replace('|', chr(92) + '|')} |" for name, value in pairs(result)]
    lines += [f"| Warning | {sentence.replace('|', chr(92) + '|')} |" for sentence in result.warnings]
    return "\n".join(lines)


def latex(result: BoundsResult) -> str:
    """A booktabs tabular."""
    body = [rf"{_tex(name.strip())} & {_tex(value)} \\" for name, value in pairs(result)]
    body += [rf"Warning & {_tex(sentence)} \\" for sentence in result.warnings]
    return "\n".join([r"\begin{tabular}{lp{0.7\linewidth}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"])


def _tex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {c: "\\" + c for c in "&%$#_{}"} | {"<": "$<$", ">": "$>$", "|": r"\textbar{}"}
    return "".join(special.get(c, c) for c in text)
