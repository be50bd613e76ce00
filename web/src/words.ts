// The sentences of a result, as the package's report has them (ivicl/results/report/words.py).
import type { Coding } from "./columns";
import { headline } from "./diagnostics";
import { ASSUMPTIONS, COMBINATIONS, ESTIMANDS, fill, FACTS } from "./facts";
import { lostInShort, totalLost } from "./losses";
import { levelOf, partsOf, type Result } from "./result";
import { capitalised, commas, g, percent, repr, rounded, roundedInterval, show } from "./text";

/** As the sentences of the findings call them. */
const LETTERS: Record<string, string> = { instrument: "Z", treatment: "T", outcome: "Y" };

function estimand(result: Result) {
  return ESTIMANDS[result.estimand]!;
}

export function unitOf(result: Result): string {
  return estimand(result).units[result.binary ? 0 : 1]!;
}

function nameOf(result: Result, role: string): string {
  const coding = result.codings[role];
  return coding ? `the ${role} '${coding.column}'` : `the ${role}`;
}

/** An arm of the instrument in the file's words: "offer = yes"; "Z = 1" where there are none. */
export function armOf(result: Result, z: number): string {
  const coding = result.codings["instrument"];
  const value = coding && (z ? coding.one : coding.zero);
  return coding ? `${coding.column} = ${value === null || value === undefined ? "None" : show(value)}` : `Z = ${z}`;
}

export function title(result: Result): string {
  const { treatment, outcome } = result.codings;
  if (!treatment || !outcome) return "Bounds on an average effect";
  return `Bounds on the effect of ${withValue(treatment)} on ${isPlain(outcome) ? outcome.column : `P(${withValue(outcome)})`}`;
}

/** The two values are plainly 0 and 1, or it is an amount. */
function isPlain({ zero, one }: Coding): boolean {
  const bit = (value: Coding["one"]) => typeof value !== "string" && (Number(value) === 0 || Number(value) === 1);
  return one === null || (bit(one) && (zero === null || bit(zero)));
}

/** The column, with the value that counts as 1 where that is not plain: "arm = 'b'". */
function withValue(coding: Coding): string {
  return isPlain(coding) ? coding.column : `${coding.column} = ${repr(coding.one)}`;
}

export function questionSentence(result: Result): string {
  const names = { treatment: nameOf(result, "treatment"), outcome: nameOf(result, "outcome") };
  const question = fill(estimand(result).question, names);
  const instrument = nameOf(result, "instrument");
  if (result.diagnostics.compliance.kind === "perfect") return `${question} Everybody did as ${instrument} says.`;
  return (
    `${question} People did not all do as ${instrument} says, and those who did may differ from those who did not. So the treated ` +
    "and the untreated cannot simply be compared, and the data alone leave a range of answers."
  );
}

export function answerSentence(result: Result): string {
  const before = headline(result.diagnostics);
  const answer = answerAlone(result);
  return before ? `${before} What the method says all the same: ${answer}` : answer;
}

/** The two ends, and where no effect lies. */
export function answerAlone(result: Result): string {
  const width = result.upper - result.lower;
  const { short, among } = estimand(result);
  const lead = `The ${short} lies between ${rounded(result.lower, width)} and ${rounded(result.upper, width)} (${unitOf(result)}; ${levelOf(result)}).`;
  return lead + placeOfZero(result, among);
}

function placeOfZero(result: Result, among: string): string {
  if (result.lower <= 0 && result.upper >= 0) {
    return " An effect of 0 lies inside the interval: these data and assumptions do not settle its sign.";
  }
  const above = result.lower > 0;
  return ` An effect of 0 lies ${above ? "below" : "above"} the interval: the treatment ${above ? "raises" : "lowers"} the outcome ${among}.`;
}

export function widthSentence(result: Result): string {
  const { width, notIdentified, notEnoughData } = partsOf(result);
  const share = Math.round(100 * (width > 0 ? notIdentified / width : 1));
  return (
    `Of the width ${rounded(width, width)} of the interval that covers the identified set, ${rounded(notIdentified, width)} (${share} %) ` +
    `is not identified, however many people take part; ${rounded(notEnoughData, width)} (${100 - share} %) is due to not enough data.`
  );
}

export function peopleOf(result: Result): string {
  return commas(result.n) + (result.n !== result.n_rows ? ` in ${commas(result.n_rows)} rows` : "");
}

/** What 1 and 0 stand for; empty if there is nothing to explain: 0 and 1, or an amount. */
function valuesOf(coding: Coding): string {
  return isPlain(coding) ? "" : `${show(coding.one!)} is 1, ${coding.zero === null ? "None" : show(coding.zero)} is 0`;
}

function told(coding: Coding): string {
  const values = valuesOf(coding);
  return values ? `'${coding.column}' (${values})` : `'${coding.column}'`;
}

export function dataRows(result: Result): [string, string][] {
  const rows: [string, string][] = [];
  for (const role of ["instrument", "treatment", "outcome"]) {
    const coding = result.codings[role];
    if (!coding) continue;
    rows.push([`${capitalised(role)} (${LETTERS[role]})`, [coding.column, valuesOf(coding)].filter(Boolean).join(": ")]);
  }
  if (!result.binary) rows.push(["Outcome's range", `${g(result.outcome_range[0])} to ${g(result.outcome_range[1])}`]);
  const stage = result.diagnostics.first_stage;
  rows.push(["People", peopleOf(result)]);
  rows.push(["Arms", `${commas(stage.n_z0)} with ${armOf(result, 0)}, ${commas(stage.n_z1)} with ${armOf(result, 1)}`]);
  rows.push(["Rows dropped", commas(result.n_dropped)]);
  const { losses } = result.diagnostics;
  if (losses) rows.push(["Outcomes lost", lostInShort(losses)]);
  const columns = result.variables.length === result.covariates.length ? "" : ` (${result.covariates.length} columns)`;
  rows.push(["Covariates", result.variables.length ? result.variables.join(", ") + columns : "none"]);
  return rows;
}

/** (name, what is assumed, how it could fail). */
export function assumptionRows(result: Result): [string, string, string][] {
  const [low, high] = result.outcome_range;
  const given = result.adjusted ? " given the covariates" : "";
  const rows = Object.entries(ASSUMPTIONS)
    .filter(([key]) => result.assumptions.includes(key))
    .map(([key, known]): [string, string, string] => {
      const failure = key === "bounded" && result.binary ? "It holds by definition: the outcome is binary." : known.failure;
      return [known.title, fill(known.meaning, { given, low: g(low), high: g(high) }), failure];
    });
  const denied = denials(result).join("; ");
  return denied ? [...rows, ["Not assumed", `${capitalised(denied)}.`, "Nothing rests on it."]] : rows;
}

function denials(result: Result): string[] {
  const held = new Set(result.assumptions.flatMap((key) => [key, ...(ASSUMPTIONS[key]?.implies ?? [])]));
  return Object.entries(ASSUMPTIONS)
    .filter(([key, known]) => known.denial && !held.has(key))
    .map(([, known]) => known.denial);
}

/** For the methods section of a paper. */
export function methodsParagraph(result: Result): string {
  const stage = result.diagnostics.first_stage;
  const alpha = result.alpha;
  let text = `We bounded ${estimand(result).meaning} with ${nameOf(result, "instrument")} as an instrumental variable`;
  text += ` (N = ${commas(result.n)}; treated ${percent(stage.treated_if_z1)} with ${armOf(result, 1)}, ${percent(stage.treated_if_z0)} with ${armOf(result, 0)}). `;
  const { treatment, outcome } = result.codings;
  if (treatment && outcome) text += `The outcome is ${told(outcome)}, the treatment ${told(treatment)}. `;
  text += `The method is ${result.procedure} (${FACTS.cited}; ivicl ${result.version}, '${result.method}', model ${result.model.name}, sha256 ${result.model.sha256.slice(0, 12)}); `;
  text += result.adjusted ? `covariates were ${result.variables.join(", ")}. ` : "no covariates were used. ";
  text += `The interval ${roundedInterval(result.lower, result.upper)} is a ${g(100 * (1 - alpha))} % credible interval for the identified set: `;
  text += `from the ${g(50 * alpha)} % quantile of its lower end to the ${g(100 - 50 * alpha)} % quantile of its upper end, by their posterior distributions. `;
  const { losses } = result.diagnostics;
  if (losses) {
    text += `Outcomes were missing for ${commas(totalLost(losses))} people (${percent(losses.share_z0)} with ${armOf(result, 0)}, `;
    text += `${percent(losses.share_z1)} with ${armOf(result, 1)}); they were left out. `;
  }
  const cuts = result.thresholds;
  if (cuts) {
    const [low, high] = result.outcome_range;
    text += `The outcome, between ${g(low)} and ${g(high)}, was taken as it is (combination '${cuts.combine}'). ${COMBINATIONS[cuts.combine]} `;
  }
  const titles = Object.entries(ASSUMPTIONS)
    .filter(([key]) => result.assumptions.includes(key))
    .map(([, known]) => known.title.toLowerCase());
  text += `Assumptions: ${titles.join(", ")}. `;
  const denied = denials(result);
  if (denied.length) {
    const [last, ...most] = [denied[denied.length - 1]!, ...denied.slice(0, -1)];
    text += `It was not assumed ${most.join(", ")}${most.length ? " or " : ""}${last}.`;
  }
  return `${text} ${headline(result.diagnostics)}`.trim();
}

export function citation(result: Result): string {
  return (
    `ivicl, version ${FACTS.version}: bounds on average treatment effects from instrumental-variable data. ` +
    `Model ${result.model.name}, sha256 ${result.model.sha256}. ${FACTS.paper}`
  );
}
