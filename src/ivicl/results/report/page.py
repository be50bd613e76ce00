"""The report: one HTML file without external links, for a reader who was not there."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from ivicl._shared.numbers import rounded, rounded_interval
from ivicl._shared.writing import cannot_be_written
from ivicl.data.rules import note
from ivicl.errors import InputError
from ivicl.methods.estimands import estimand
from ivicl.results import other_questions
from ivicl.results.report.markup import escape, svg_with_own_ids
from ivicl.results.report.words import answer_sentence, assumptions, data_rows, methods_paragraph, question_sentence
from ivicl.results.sections import sections_of
from ivicl.results.wording import PAPER, outcome_in_words, treatment_in_words

if TYPE_CHECKING:
    from ivicl.results.ladder import Rung
    from ivicl.results.pictures import Picture
    from ivicl.results.result import BoundsResult


def write_report(
    result: BoundsResult,
    path: str | Path,
    title: str | None = None,
    question: str | None = None,
    also: Sequence[Any] = (),
) -> Path:
    """Write the report and return its path."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(
            f"a report is an HTML file, but '{path}' does not end in .html; a browser prints it as PDF, too."
        )
    try:
        path.write_text(report_html(result, title, question, also), encoding="utf-8")
    except OSError as error:
        raise cannot_be_written(path, error) from error
    return path


def report_html(
    result: BoundsResult, title: str | None = None, question: str | None = None, also: Sequence[Any] = ()
) -> str:
    """The report as text. The same result gives the same text; `also` are the answers to further questions."""
    template = Template((resources.files("ivicl.results.report") / "template.html").read_text(encoding="utf-8"))
    treatment, outcome = treatment_in_words(result.codings), outcome_in_words(result.codings)
    heading = title or (
        f"Bounds on the effect of {treatment} on {outcome}" if result.codings else "Bounds on an average effect"
    )
    figures = _Figures(result)
    return template.substitute(
        title=escape(heading),
        question=escape(question or question_sentence(result)),
        headline=_headline(result),
        answer=escape(answer_sentence(result)),
        key_figures=_key_figures(result),
        width=_width(result),
        data=_table(data_rows(result)),
        notes=_list("What was done to the data", _other_notes(result)),
        compliance=figures.draw("compliance"),
        assumptions=_assumptions(result),
        diagnostics=_diagnostics(result),
        posterior=figures.draw("posterior") if result.posterior is not None else "",
        ladder=figures.draw("ladder") if result.ladder is not None else "",
        ladder_table=_ladder_table(result),
        estimands=_other_estimands(result),
        levels=figures.draw("levels") if result.is_credible else "",
        further=_further(also, figures),
        warnings=_list("Warnings", result.warnings),
        methods=escape(methods_paragraph(result)),
        citation=escape(citation(result)),
        stamp=_stamp(result),
    )


def citation(result: BoundsResult) -> str:
    """How to cite the package and, if the network was used, its file and the paper behind it."""
    model = f" Model {result.model.name}, sha256 {result.model.sha256}. {PAPER}" if result.model else ""
    return (
        f"ivicl, version {result.version}: bounds on average treatment effects from instrumental-variable data.{model}"
    )


def _other_notes(result: BoundsResult) -> list[str]:
    """What was done to the data, except for the codings, which are in the table above."""
    coded = {
        note("coded", role=role, column=coding.column, one=repr(coding.one), zero=repr(coding.zero))
        for role, coding in result.codings.items()
    }
    return [each for each in result.notes if each not in coded]


def _headline(result: BoundsResult) -> str:
    """The first line of the page, if the design is graded stop."""
    headline = result.diagnostics.headline
    return f'<p class="headline stop" role="alert">{escape(headline)}</p>' if headline else ""


def _key_figures(result: BoundsResult) -> str:
    name = "Estimated bounds" if result.interval_kind == "estimate" else f"Interval, {result.level}"
    figures = [(name, rounded_interval(result.lower, result.upper)), ("People", f"{result.n:,}")]
    figures.append(("First stage", f"{100 * result.diagnostics.first_stage.difference:.1f} points"))
    figures.append(("Design", "no objection" if result.grade == "ok" else result.grade))
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in figures)
    return f'<dl class="key">{cells}</dl>'


def _width(result: BoundsResult) -> str:
    parts = result.width_parts
    return f'<p class="width">{escape(parts.sentence())}</p>' if parts else ""


def _table(rows: list[tuple[str, str]]) -> str:
    body = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table>{body}</table>"


def _list(heading: str, sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<h3>{escape(heading)}</h3><ul>{items}</ul>"


class _Figures:
    """The pictures of one page, numbered in order."""

    def __init__(self, result: BoundsResult) -> None:
        self.result, self.number = result, 0

    def draw(self, kind: str) -> str:
        return self.show(self.result.plot(kind))

    def show(self, picture: Picture) -> str:
        self.number += 1
        svg = svg_with_own_ids(picture.svg(), f"f{self.number}-")
        alt = escape(picture.caption)
        caption = f"<figcaption><b>Figure {self.number}.</b> {alt}</figcaption>"
        return f'<figure role="img" aria-label="{alt}">{svg}{caption}</figure>'


def _further(also: Sequence[Any], figures: _Figures) -> str:
    """One section for each; drawn last, so that the other pictures keep their numbers."""
    return "".join(
        f"<h2>{escape(section.title)}</h2>{section.parts(figures.show(section.picture))}"
        for section in sections_of(also)
    )


def _assumptions(result: BoundsResult) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(meaning)}</td><td>{escape(failure)}</td></tr>"
        for name, meaning, failure in assumptions(result)
    )
    head = "<tr><th></th><th>What is assumed</th><th>How it could fail</th></tr>"
    return f'<table class="wide"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _diagnostics(result: BoundsResult) -> str:
    rows = "".join(
        f'<tr><td><span class="grade {f.grade}">{f.grade}</span></td><th>{escape(f.name.capitalize())}</th>'
        f"<td>{escape(f.text)}</td></tr>"
        for f in result.findings
    )
    return f'<table class="findings">{rows}</table>'


def _ladder_table(result: BoundsResult) -> str:
    if result.ladder is None:
        return ""
    rows = "".join(
        f"<tr{' class=own' if rung.method == result.method else ''}><th>{escape(rung.label)}</th>"
        f"<td>{escape(_assumed(rung))}</td><td>{escape(rung.level)}</td>"
        f'<td class=number data-label="Estimate">{escape(_estimate(rung))}</td>'
        f'<td class=number data-label="Interval">{escape(rounded_interval(rung.lower, rung.upper))}</td></tr>'
        for rung in result.ladder
    )
    head = "<tr><th></th><th>What it assumes</th><th>Kind</th><th>Estimate</th><th>Interval</th></tr>"
    return f'<table class="wide"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _other_estimands(result: BoundsResult) -> str:
    rows = "".join(
        f'<tr><th>{escape(label)}</th><td class=number data-label="Estimate">{escape(point)}</td>'
        f'<td class=number data-label="Interval">{escape(ends)}</td><td>{escape(kind)}</td></tr>'
        for label, point, ends, kind in other_questions.lines(result)
    )
    if not rows:
        return ""
    head = "<tr><th></th><th>Estimate</th><th>Interval</th><th>Kind</th></tr>"
    table = f'<table class="wide"><thead>{head}</thead><tbody>{rows}</tbody></table>'
    return f"<h3>{escape(other_questions.heading(result))}</h3>{table}"


def _estimate(rung: Rung) -> str:
    """The estimate, with as many digits as the interval has."""
    low, high, width = rung.estimate_lower, rung.estimate_upper, rung.upper - rung.lower
    if low is None:
        return ""
    if low == high:
        return rounded(low, width)
    return f"[{rounded(low, width)}, {'no limit' if high is None else rounded(high, width)}]"


def _assumed(rung: Rung) -> str:
    if not rung.another_estimand:
        return rung.assumption
    return f"{rung.assumption} Another estimand: the {estimand(rung.estimand).short}."


def _stamp(result: BoundsResult) -> str:
    model = f" · model {result.model.name} · sha256 <code>{result.model.sha256}</code>" if result.model else ""
    return f"ivicl {escape(result.version)}{model}"
