"""The words and tables of a result: the summary for a reader, and tables in Markdown and LaTeX."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ivicl._shared.numbers import shown_p
from ivicl.methods.estimands import estimand
from ivicl.results import other_questions
from ivicl.results.diagnostics.findings import TOP_WORTH_SAYING
from ivicl.results.ladder import HEADINGS
from ivicl.results.wording import interval, number, outcome_in_words, treatment_in_words

if TYPE_CHECKING:
    from ivicl.methods.outcomes import Thresholds
    from ivicl.results.result import BoundsResult

WIDTH = 88
"""Characters in a line of the summary."""
LATEX_GAP = "\\par\\medskip\\noindent"
LETTERS = 69
"""Characters that fit into a line of LaTeX's `article`: digits of ten points in 12 cm; wider pages leave room."""


def pairs(result: BoundsResult) -> list[tuple[str, str]]:
    """The lines of the summary: a name and a value."""
    asked = estimand(result.estimand)
    unit = asked.unit(result.binary)
    lines = [
        ("Estimand", asked.title),
        ("Scale", _scale(result, unit)),
        ("Method", result.method + (f" (model {result.model.name})" if result.model else "")),
        ("People", f"{result.n:,}" + (f" in {result.n_rows:,} rows" if result.n_rows != result.n else "")),
        ("Rows dropped", f"{result.n_dropped:,}"),
        *lost_outcomes(result),
        ("Covariates", covariates(result)),
        *([("Design", result.diagnostics.design.in_short())] if result.diagnostics.design else []),
    ]
    stage, worst = result.diagnostics.first_stage, result.diagnostics.worst_inequality
    strength = "" if stage.f is None else f", F = {stage.f:,.1f}"
    strength += "" if stage.partial_f is None else f", partial F = {stage.partial_f:,.1f}"
    shares = f"{100 * stage.treated_if_z1:.1f} % - {100 * stage.treated_if_z0:.1f} %"
    lines.append(("First stage", f"{stage.difference:.4f} (treated {shares}){strength}"))
    verdict = f"violated in the sample, {shown_p(worst.p_value)}" if worst.violated else "hold in the sample"
    lines.append(("IV inequalities", verdict))
    lines.append(
        ("Interval", f"{interval(result.lower, result.upper)}  ({result.level}, width {number(result.width)})")
    )
    lines += _top_line(result)
    lines += _estimate_lines(result)
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
    cuts = result.thresholds
    if cuts is not None:
        lines.append(_outcome_line(cuts, result.outcome_range))
    return lines


def _scale(result: BoundsResult, unit: str) -> str:
    """The unit, and what 1 means if the columns do not say it themselves."""
    treatment, outcome = treatment_in_words(result.codings), outcome_in_words(result.codings)
    low, high = result.outcome_range
    parts = [unit] if unit else []
    if " = " in outcome or " = " in treatment:
        parts.append(f"effect of {treatment} on {outcome}")
    if " = " not in outcome:
        parts.append(f"outcome between {low:g} and {high:g}" + (", cut off there" if result.cap == high else ""))
    return "; ".join(parts)


def title(result: BoundsResult) -> str:
    """The title of the summary, which says what 1 means if that was guessed."""
    if not any(result.codings[role].guessed for role in ("treatment", "outcome") if role in result.codings):
        return "Bounds on an average effect, from an instrument"
    return f"Bounds on the effect of {treatment_in_words(result.codings)} on {outcome_in_words(result.codings)}"


def _top_line(result: BoundsResult) -> list[tuple[str, str]]:
    """How much of the width of an amount's bounds is due to the largest outcomes, if that is worth a line."""
    measured = result.diagnostics.outcome
    share = measured.top_percent_of_width
    if share is None or share < TOP_WORTH_SAYING or measured.central_98_percent is None:
        return []
    above = number(measured.central_98_percent[1])
    return [("  top per cent", f"outcomes above {above} make about {100 * share:.0f} % of the bounds' width")]


def lost_outcomes(result: BoundsResult) -> list[tuple[str, str]]:
    """The line about lost outcomes, if there are any."""
    losses = result.diagnostics.losses
    return [("Outcomes lost", losses.in_short())] if losses else []


def _outcome_line(cuts: Thresholds, outcome_range: tuple[float, float]) -> tuple[str, str]:
    """Which set is bounded, and in which unit."""
    if cuts.combine == "means":
        low, high = outcome_range
        return "Set bounded", (
            f"what the outcome's means allow (combine 'means'), in the outcome's own unit, within {low:g} to {high:g}"
        )
    return "Thresholds", f"{cuts.problems}, {cuts.combine}; rounding slack {number(cuts.slack)}"


def covariate_names(result: BoundsResult) -> tuple[str, ...]:
    """The caller's names of the covariates; if these are not known, the names of the encoded columns."""
    return result.variables or result.covariates


def covariates(result: BoundsResult) -> str:
    names = covariate_names(result)
    if not names:
        return "none"
    columns = "" if len(names) == len(result.covariates) else f" ({len(result.covariates)} columns)"
    return ", ".join(names) + columns + ("" if result.adjusted else " (not used)")


def _estimate_lines(result: BoundsResult) -> list[tuple[str, str]]:
    """Point estimates, unless they are the interval itself or are shown as an identified set."""
    point = result.estimates
    if point is None or result.identified_set is not None or result.interval_kind == "estimate":
        return []
    if point.lower == point.upper:
        return [
            ("Estimate", number(point.lower) + ("" if point.se_lower is None else f" (s.e. {number(point.se_lower)})"))
        ]
    errors = (
        ""
        if point.se_lower is None or point.se_upper is None
        else (f"  (s.e. of its ends {number(point.se_lower)} and {number(point.se_upper)})")
    )
    return [("Estimate", interval(point.lower, point.upper) + errors)]


def summary(result: BoundsResult) -> str:
    text: list[str] = []
    lines = pairs(result)
    label_width = max(len(name) for name, _ in lines) + 2
    for name, value in lines:
        text += textwrap.wrap(
            value, WIDTH, initial_indent=f"{name:<{label_width}}", subsequent_indent=" " * label_width
        ) or [name]
    if result.ladder is not None:
        text += ["-" * WIDTH, f"What each assumption buys, at {100 * (1 - result.alpha):g} %"]
        text += ["  " + line for line in aligned([HEADINGS, *(rung.cells for rung in result.ladder)])]
    others = other_questions.lines(result)
    if others:
        text += ["-" * WIDTH, other_questions.heading(result)]
        text += ["  " + line for line in aligned([line[:3] for line in (other_questions.HEADINGS, *others)])]
    findings = [f"[{finding.grade}] {finding.text}" for finding in result.diagnostics.worth_reading]
    for heading, sentences in (("Design", findings), ("Warnings", result.warnings), ("Data", result.notes)):
        if sentences:
            text += ["-" * WIDTH, heading, *bullets(sentences)]
    return framed(title(result), text, result.diagnostics.headline, result.version)


def markdown(result: BoundsResult) -> str:
    lines = [*_markdown_lead(result.diagnostics.headline), "| | |", "|---|---|"]
    lines += [f"| {name.strip()} | {value.replace('|', chr(92) + '|')} |" for name, value in pairs(result)]
    lines += [f"| Warning | {sentence.replace('|', chr(92) + '|')} |" for sentence in result.warnings]
    if result.ladder is not None:
        lines += ["", markdown_table(HEADINGS, [rung.cells for rung in result.ladder])]
    if others := other_questions.lines(result):
        lines += ["", markdown_table(other_questions.HEADINGS, others)]
    return "\n".join(lines)


def latex(result: BoundsResult) -> str:
    """A booktabs tabular, below the headline if there is one."""
    body = [rf"{_tex(name.strip())} & {_tex(value)} \\" for name, value in pairs(result)]
    body += [rf"Warning & {_tex(sentence)} \\" for sentence in result.warnings]
    table = [r"\begin{tabular}{lp{0.7\linewidth}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"]
    if result.ladder is not None:
        table += [LATEX_GAP, latex_table(HEADINGS, [rung.cells for rung in result.ladder])]
    if others := other_questions.lines(result):
        table += [LATEX_GAP, latex_table(other_questions.HEADINGS, others)]
    return "\n".join([*_latex_lead(result.diagnostics.headline), *table])


def framed(heading: str, text: Sequence[str], headline: str, version: str) -> str:
    """A summary: the headline if there is one, the heading between rules, the lines, and what made them."""
    rule = "=" * WIDTH
    top = [*textwrap.wrap(headline, WIDTH), rule, heading.center(WIDTH).rstrip(), rule]
    return "\n".join([*top, *text, rule, f"ivicl {version}"])


def bullets(sentences: Iterable[str], break_on_hyphens: bool = True) -> list[str]:
    """The lines of sentences, each with a dash before it."""
    wrapper = textwrap.TextWrapper(
        WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=break_on_hyphens
    )
    return [line for sentence in sentences for line in wrapper.wrap(sentence)]


def aligned(lines: Sequence[Sequence[str]], side: str = "<") -> list[str]:
    """Columns of text, two spaces apart, with the cells at the left or, with ">", at the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(f"{c:{side}{w}}" for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]


def markdown_table(headings: Sequence[str], lines: Sequence[Sequence[str]], headline: str = "") -> str:
    """A pipe table with headings, below the headline if there is one."""
    shown = [[cell.replace("|", chr(92) + "|") for cell in line] for line in (headings, *lines)]
    ruled = [shown[0], ["---"] * len(headings), *shown[1:]]
    return "\n".join([*_markdown_lead(headline), *("| " + " | ".join(line) + " |" for line in ruled)])


def latex_table(headings: Sequence[str], lines: Sequence[Sequence[str]], headline: str = "") -> str:
    """A booktabs tabular with headings; if it would be wider than a page, its cells are broken into lines."""
    shares = _shares(headings, lines)
    columns = "".join(rf"p{{{share:.3f}\linewidth}}" for share in shares) or "l" * len(headings)
    ragged = r"\raggedright " if shares else ""
    # Not two backslashes, because a ragged cell would take them for the end of its own line.
    end = r" \tabularnewline"
    head, *body = [" & ".join(ragged + _tex(cell) for cell in line) + end for line in (headings, *lines)]
    ruled = [r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    return "\n".join([*_latex_lead(headline), rf"\begin{{tabular}}{{{columns}}}", *ruled, r"\end{tabular}"])


def _shares(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> list[float]:
    """The columns' shares of the page's width; empty if every cell fits on one line."""
    whole = [max(map(_letters, column)) for column in zip(headings, *lines, strict=True)]
    if sum(whole) + 2.4 * len(whole) <= LETTERS:  # the space between two columns is 2.4 letters wide
        return []
    least = [
        max(_letters(part) for text in column for part in _unbroken(text))
        for column in zip(headings, *lines, strict=True)
    ]
    more = [most - few for most, few in zip(whole, least, strict=True)]
    spare = max(LETTERS - 2.4 * len(whole) - sum(least), 0) / max(sum(more), 1)
    widths = [few + spare * extra for few, extra in zip(least, more, strict=True)]
    return [width / sum(widths) * (1 - 2.4 * len(whole) / LETTERS) for width in widths]


def _letters(text: str) -> float:
    """The width of the text in letters; a minus sign is wider than one."""
    return len(text) + 0.6 * text.count("-")


def _unbroken(text: str) -> list[str]:
    """What must stay on one line: an interval, or a word."""
    return re.findall(r"\[[^]]*\]|\S+", text) or [""]


def _markdown_lead(headline: str) -> list[str]:
    return [f"**{headline}**", ""] if headline else []


def _latex_lead(headline: str) -> list[str]:
    return [rf"\noindent\textbf{{{_tex(headline)}}}\par\medskip"] if headline else []


def _tex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {c: "\\" + c for c in "&%$#_{}"} | {"<": "$<$", ">": "$>$", "|": r"\textbar{}"}
    marked = "".join(special.get(c, c) for c in text)
    marked = re.sub(r"(?<![\w-])-(?=\d)", "$-$", marked)  # a minus sign, not a hyphen
    marked = re.sub(
        r"\[[^]\s]+, [^]\s]+\]", lambda found: found[0].replace(" ", "~"), marked
    )  # an interval stays whole
    # Otherwise "[" or "*" would be read as an argument of the line end before it.
    return "{}" + marked if marked.startswith(("[", "*")) else marked
