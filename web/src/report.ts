// The report: the package's own template (ivicl/results/report/template.html), filled in here. One HTML file, no links outside.
import template from "../../src/ivicl/results/report/template.html";
import { headline, textOf } from "./diagnostics";
import { svgText } from "./dom";
import { ESTIMANDS, FACTS } from "./facts";
import { rungLevel, type Rung } from "./ladder";
import { compliancePicture, ladderPicture, posteriorPicture, type Picture } from "./pictures";
import { levelOf, type Result } from "./result";
import { capitalised, commas, roundedInterval, tied } from "./text";
import { answerSentence, assumptionRows, citation, dataRows, methodsParagraph, questionSentence, title, widthSentence } from "./words";

/** Text as HTML; a number stays on the line of its unit. The one place where text becomes markup, and only in a file. */
function escape(text: string): string {
  return tied(text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`));
}

export function reportHtml(result: Result): string {
  let figures = 0;
  const figure = ({ element, caption }: Picture) => {
    const said = escape(caption);
    return `<figure>${svgText(element)}<figcaption><b>Figure ${++figures}.</b> ${said}</figcaption></figure>`;
  };
  const stop = headline(result.diagnostics);
  const parts: Record<string, string> = {
    title: escape(title(result)),
    question: escape(questionSentence(result)),
    headline: stop ? `<p class="headline stop" role="alert">${escape(stop)}</p>` : "",
    answer: escape(answerSentence(result)),
    key_figures: keyFigures(result),
    width: `<p class="width">${escape(widthSentence(result))}</p>`,
    data: `<table>${dataRows(result).map(([name, value]) => `<tr><th>${escape(name)}</th><td>${escape(value)}</td></tr>`).join("")}</table>`,
    compliance: figure(compliancePicture(result)),
    notes: list("What was done to the data", result.notes),
    posterior: figure(posteriorPicture(result)),
    ladder: figure(ladderPicture(result)),
    ladder_table: ladderTable(result),
    assumptions: table(["", "What is assumed", "How it could fail"], assumptionRows(result)),
    diagnostics: diagnosticsTable(result),
    warnings: list("Warnings", result.warnings),
    methods: escape(methodsParagraph(result)),
    citation: escape(citation(result)),
    stamp: `ivicl ${escape(FACTS.version)}, the page in the browser · model ${escape(result.model.name)} · sha256 <code>${escape(result.model.sha256)}</code>`,
  };
  return template.replace(/\$\$|\$(\w+)/g, (found, name: string | undefined) => (found === "$$" ? "$" : (parts[name as string] ?? "")));
}

function keyFigures(result: Result): string {
  const figures = [
    [`Interval, ${levelOf(result)}`, roundedInterval(result.lower, result.upper)],
    ["People", commas(result.n)],
    ["First stage", `${(100 * result.diagnostics.first_stage.difference).toFixed(1)} points`],
    ["Design", result.grade === "ok" ? "no objection" : result.grade],
  ];
  return `<dl class="key">${figures.map(([name, value]) => `<div><dt>${escape(name!)}</dt><dd>${escape(value!)}</dd></div>`).join("")}</dl>`;
}

function list(heading: string, sentences: string[]): string {
  return sentences.length ? `<h3>${escape(heading)}</h3><ul>${sentences.map((text) => `<li>${escape(text)}</li>`).join("")}</ul>` : "";
}

function ladderTable(result: Result): string {
  const rows = result.ladder.map((rung: Rung) => {
    const another = rung.estimand === "ATE" ? "" : ` Another estimand: the ${ESTIMANDS[rung.estimand]!.short}.`;
    const cells = `<td>${escape(rung.assumption + another)}</td><td>${escape(rungLevel(rung))}</td>`;
    const interval = `<td class=number>${escape(roundedInterval(rung.lower, rung.upper))}</td>`;
    return `<tr${rung.method === result.method && rung.adjusted === result.adjusted ? " class=own" : ""}><th>${escape(rung.label)}</th>${cells}${interval}</tr>`;
  });
  const head = "<tr><th></th><th>What it assumes</th><th>Kind</th><th class=number>Interval</th></tr>";
  return `<table class="wide"><thead>${head}</thead><tbody>${rows.join("")}</tbody></table>`;
}

function table(head: string[], rows: string[][]): string {
  const body = rows.map(([name, ...cells]) => `<tr><th>${escape(name!)}</th>${cells.map((cell) => `<td>${escape(cell)}</td>`).join("")}</tr>`);
  return `<table class="wide"><thead><tr>${head.map((cell) => `<th>${escape(cell)}</th>`).join("")}</tr></thead><tbody>${body.join("")}</tbody></table>`;
}

function diagnosticsTable(result: Result): string {
  const rows = result.diagnostics.findings.map(
    (f) => `<tr><td><span class="grade ${f.grade}">${f.grade}</span></td><th>${escape(capitalised(f.name))}</th><td>${escape(textOf(f))}</td></tr>`,
  );
  return `<table class="findings">${rows.join("")}</table>`;
}
