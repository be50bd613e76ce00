// A result on the page: the answer first, then what it is made of, then what it rests on, then what to take home.
import { pythonCall, shellCall, type Asked } from "./calls";
import { headline, textOf, type Grade } from "./diagnostics";
import { $, download, h, svgText } from "./dom";
import { rungLevel } from "./ladder";
import { compliancePicture, ladderPicture, NARROW, posteriorPicture, WIDE, type Picture } from "./pictures";
import { reportHtml } from "./report";
import { levelOf, partsOf, posteriorOf, setOf, toJson, type Result } from "./result";
import { capitalised, rounded, roundedInterval, tied } from "./text";
import { answerAlone, assumptionRows, dataRows, questionSentence, widthSentence } from "./words";

/** Nothing of a result stays on the page; in its place a sentence says why. */
export function showNothing(sentence: string, kind: "wait" | "error"): void {
  shown = null;
  const region = $("result");
  region.replaceChildren(h("p", { class: kind === "error" ? "refusal" : "waiting", role: kind === "error" ? "alert" : "status" }, sentence));
}

const PHONE = matchMedia("(max-width: 560px)");
let shown: [Result, Asked, number] | null = null;
PHONE.addEventListener("change", () => shown && showResult(...shown));

export function showResult(result: Result, asked: Asked, seconds: number): void {
  shown = [result, asked, seconds];
  const wide = PHONE.matches ? NARROW : WIDE;
  const stop = headline(result.diagnostics);
  $("result").replaceChildren(
    stop ? h("p", { class: "headline stop", role: "alert" }, stop) : "",
    h("h2", {}, "The answer"),
    h("p", { class: "answer", id: "answer" }, tied((stop ? "What the method says all the same: " : "") + answerAlone(result))),
    keyFigures(result),
    widthBlock(result),
    figure(posteriorPicture(result, wide)),
    explained("How to read this", [
      "The blue bar is the answer: it is meant to hold every effect that the data allow, with the credibility you chose.",
      "The identified set is what would remain of it with endless data of this kind. The brown peaks say where its two ends probably are; " +
        "they become sharper with more people.",
      "Where between the ends the effect lies, the data cannot say. There the blue curve shows the prior, an assumption made before the data.",
    ]),
    h("h2", {}, "What each assumption buys"),
    figure(ladderPicture(result, wide)),
    ladderTable(result),
    explained("Words on this ladder", [
      "Manski: what the possible range of the outcome implies, with and without the instrument. Balke-Pearl: the same if the instrument is as good as randomised.",
      "LATE: the effect among compliers, the people whom the instrument moves. It answers another question than the others, and needs that there are no defiers, " +
        "people who do the opposite of what they are assigned to.",
    ]),
    h("h2", {}, "What the data say about the design"),
    findings(result),
    figure(compliancePicture(result, wide)),
    sentences("Warnings", result.warnings),
    h("h2", {}, "The data, and what it rests on"),
    h("p", {}, questionSentence(result)),
    pairs(dataRows(result)),
    sentences("What was done to the data", result.notes),
    assumptions(result),
    h("h2", {}, "Take it with you"),
    takeHome(result, asked),
    h("p", { class: "stamp" }, `Computed in this browser in ${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s by ivicl ${result.version}, model ${result.model.sha256.slice(0, 12)}.`),
  );
}

function keyFigures(result: Result): HTMLElement {
  const width = result.upper - result.lower;
  const set = setOf(result);
  const figures: [string, string][] = [
    [`Interval, ${levelOf(result)}`, roundedInterval(result.lower, result.upper)],
    ["Identified set, estimated", `[${rounded(set.lower.mean, width)}, ${rounded(set.upper.mean, width)}]`],
    ["P(effect > 0), rests on the prior", posteriorOf(result).probPositive.toFixed(3)],
    ["Design", result.grade === "ok" ? "no objection" : result.grade],
  ];
  return h("dl", { class: "key" }, ...figures.map(([name, value]) => h("div", {}, h("dt", {}, tied(name)), h("dd", {}, value))));
}

/** The width as one bar of two parts. */
function widthBlock(result: Result): HTMLElement {
  const { width, notIdentified, notEnoughData } = partsOf(result);
  const share = width > 0 ? notIdentified / width : 1;
  const part = (kind: string, size: number) => {
    const bar = h("span", { class: `part ${kind}` });
    bar.style.flexGrow = String(Math.max(size, 0.001));
    return bar;
  };
  return h(
    "div",
    { class: "width" },
    h("div", { class: "parts", "aria-hidden": "true" }, part("unknowable", share), part("unlearnt", 1 - share)),
    h(
      "ul",
      { class: "legend" },
      h("li", {}, h("span", { class: "swatch unknowable" }), h("b", {}, `${rounded(notIdentified, width)} not identified`), " – no number of people would take it away"),
      h("li", {}, h("span", { class: "swatch unlearnt" }), h("b", {}, `${rounded(notEnoughData, width)} not enough data`), " – more people would"),
    ),
    h("p", { class: "visually-hidden" }, widthSentence(result)),
  );
}

function figure(picture: Picture): HTMLElement {
  return h(
    "figure",
    {},
    picture.element,
    h(
      "figcaption",
      {},
      picture.caption,
      " ",
      h("button", { type: "button", class: "link", click: () => download(`ivicl-${picture.name}.svg`, svgText(picture.element), "image/svg+xml") }, `Save as SVG`, h("span", { class: "visually-hidden" }, `: ${picture.name}`)),
    ),
  );
}

function explained(heading: string, paragraphs: string[]): HTMLElement {
  return h("details", { class: "explained" }, h("summary", {}, heading), ...paragraphs.map((text) => h("p", {}, text)));
}

function ladderTable(result: Result): HTMLElement {
  const head = ["", "What it assumes", "Kind", "Interval"].map((name) => (name ? h("th", { scope: "col" }, name) : h("td")));
  const rows = result.ladder.map((rung) =>
    h(
      "tr",
      { class: rung.method === result.method && rung.adjusted === result.adjusted ? "own" : null },
      h("th", { scope: "row" }, rung.label),
      h("td", {}, rung.assumption),
      h("td", {}, rungLevel(rung)),
      h("td", { class: "number" }, roundedInterval(rung.lower, rung.upper)),
    ),
  );
  const table = h("table", { class: "wide" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
  return h("details", { class: "explained" }, h("summary", {}, "The same as a table, with what each assumes"), scrolling(table, "Ladder of assumptions"));
}

function scrolling(content: HTMLElement, label: string): HTMLElement {
  return h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": label }, content);
}

const GRADE_WORDS: Record<Grade, string> = { ok: "ok", look: "look", stop: "stop" };

function findings(result: Result): HTMLElement {
  const items = result.diagnostics.findings.map((f) =>
    h("li", {}, h("span", { class: `grade ${f.grade}` }, GRADE_WORDS[f.grade]), h("div", {}, h("b", {}, capitalised(f.name)), h("p", {}, tied(textOf(f))))),
  );
  return h(
    "div",
    {},
    h("p", { class: "small" }, "ok: nothing to do. look: read the sentence before you believe the bounds. stop: the data contradict an assumption."),
    h("ul", { class: "findings" }, ...items),
  );
}

function sentences(heading: string, given: string[]): HTMLElement | string {
  return given.length ? h("div", {}, h("h3", {}, heading), h("ul", {}, ...given.map((text) => h("li", {}, `${capitalised(text).replace(/\.$/, "")}.`)))) : "";
}

function pairs(rows: [string, string][]): HTMLElement {
  return h("dl", { class: "pairs" }, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function assumptions(result: Result): HTMLElement {
  const items = assumptionRows(result).map(([name, meaning, failure]) => h("li", {}, h("b", {}, `${name}. `), meaning, " ", h("span", { class: "failure" }, failure)));
  return h("details", { class: "explained" }, h("summary", {}, "Assumptions, and how each could fail"), h("ul", { class: "assumptions" }, ...items));
}

function takeHome(result: Result, asked: Asked): HTMLElement {
  const python = h("pre", { tabindex: 0, "aria-label": "Python call" }, h("code", { id: "python-call" }, pythonCall(asked)));
  const shell = h("pre", { tabindex: 0, "aria-label": "Command" }, h("code", { id: "shell-call" }, shellCall(asked)));
  return h(
    "div",
    {},
    h(
      "p",
      { class: "buttons" },
      h("button", { type: "button", id: "save-report", click: () => download("ivicl-report.html", reportHtml(result), "text/html") }, "Report (HTML)"),
      h("button", { type: "button", id: "save-json", click: () => download("ivicl-bounds.json", toJson(result), "application/json") }, "Result (JSON)"),
    ),
    h("p", { class: "small" }, "The report is one file for readers who were not there. The JSON is the package's own: ", h("code", {}, 'BoundsResult.load("ivicl-bounds.json")'), "."),
    h("h3", {}, "The same in Python"),
    python,
    h("h3", {}, "The same on the command line"),
    shell,
  );
}
