// What looks wrong in a column although it can be read: each becomes a finding, so that no guess stays silent. As in ivicl/data/oddities.py.
import { levels, numbersFromText, type Coding, type Column, type Encoded } from "./columns";
import { FACTS, InputError } from "./facts";
import { commas, g, repr, show, showValues, type Value } from "./text";

export interface Oddity {
  name: string;
  sentence: string;
  remedy: string;
}

const KNOWN = FACTS.suspects;
const whole = (pattern: string, flags = "") => new RegExp(`^(?:${pattern})$`, flags);
const NO_ANSWER = whole(KNOWN.no_answer, "i");
const [NUMBER, DECIMAL_COMMA, DATE] = [whole(KNOWN.number), whole(KNOWN.decimal_comma), whole(KNOWN.date)];
const ID_NAME = new RegExp(KNOWN.id_name, "i");

function allLike(values: Value[], ...patterns: RegExp[]): boolean {
  const texts = values.map((value) => show(value).trim());
  return texts.length > 0 && texts.every((text) => patterns.some((pattern) => pattern.test(text)));
}

/** Nobody would have coded these two values the other way round. */
export function isClear({ zero, one }: Coding): boolean {
  if (one === null) return true;
  if (typeof one === "string" || typeof zero === "string") {
    const said = (value: Value | null) => (value === null ? "none" : show(value).trim().toLowerCase());
    return KNOWN.clear_ones.includes(said(one)) || KNOWN.clear_zeros.includes(said(zero));
  }
  return typeof one === "boolean" || one === 1 || zero === 0;
}

/** The same refusal, with what may be wrong where the values tell. */
export function withHint(refused: InputError, found: Value[]): InputError {
  const texts = found.filter((level): level is string => typeof level === "string");
  const unanswered = texts.filter((text) => NO_ANSWER.test(text.trim()));
  if (unanswered.length) {
    const words = unanswered.slice(0, 3).map(repr).join(" and ") + (unanswered.length > 1 ? " look" : " looks");
    return new InputError(`${refused.message} ${words} like a missing answer: leave those cells empty.`);
  }
  if (texts.length && allLike(texts, NUMBER, DECIMAL_COMMA)) {
    return new InputError(`${refused.message} They look like numbers with a decimal comma: write a decimal point.`);
  }
  const codes = found.filter((level): level is number => typeof level === "number" && KNOWN.codes.includes(level));
  if (found.length === 3 && codes.length) {
    const code = codes.sort((a, b) => Number(a >= 0) - Number(b >= 0) || Math.abs(b) - Math.abs(a))[0]!;
    return new InputError(`${refused.message} ${show(code)} looks like a code for a missing answer: leave those cells empty.`);
  }
  return refused;
}

export function oddities(outcome: Column, covariates: Column[], codings: Record<string, Coding>, binary: boolean): Oddity[] {
  const found = [
    guessed("treatment", codings["treatment"]!),
    guessed("outcome", codings["outcome"]!),
    missingCode(numbersFromText(outcome), codings["outcome"]!, binary),
    ...covariates.flatMap((column) => [dates(column), numbersAsText(column), numbersButForWords(column), identifiers(column)]),
  ];
  return found.filter((each): each is Oddity => each !== null);
}

function guessed(role: string, coding: Coding): Oddity | null {
  if (!coding.guessed) return null;
  const { column, zero, one } = coding;
  const how = typeof one === "string" ? "later in the alphabet" : "the larger";
  const means = role === "outcome" ? `, so that effects are on P(${column} = ${repr(one)})` : "";
  return {
    name: "coding",
    sentence: `The ${role} '${column}': ${repr(one)} counts as 1 because it is ${how}, ${repr(zero)} as 0${means}.`,
    remedy:
      `If it should be the other way round, ones={${repr(column)}: ${repr(zero)}} (--one ${column}=${zero === null ? "None" : show(zero)}) turns it; ` +
      `naming ${repr(one)} there settles it.`,
  };
}

/** A value of the outcome that looks like "no answer". */
function missingCode(column: Column, { zero, one }: Coding, binary: boolean): Oddity | null {
  const about = { name: "missing codes", remedy: "If it means that there is no answer, leave those cells empty." };
  if (binary && typeof one === "string") {
    const suspect = [zero, one].find((v) => typeof v === "string" && NO_ANSWER.test(v.trim()));
    return suspect === undefined ? null : { ...about, sentence: `The outcome '${column.name}' has the value ${repr(suspect)}, which counts like any other.` };
  }
  if (binary || column.kind !== "number") return null;
  const counts = new Map<number, number>();
  column.numbers.forEach((value, i) => column.missing[i] || counts.set(value, (counts.get(value) ?? 0) + 1));
  const values = [...counts.keys()].sort((a, b) => a - b);
  for (const place of [0, values.length - 1]) {
    const code = values[place]!;
    const rest = values.filter((_, k) => k !== place);
    const count = counts.get(code)!;
    if (!KNOWN.codes.includes(code) || rest.length < 2 || !standsApart(code, rest, count)) continue;
    const [low, high] = [rest[0]!, rest[rest.length - 1]!];
    const sentence =
      `The outcome '${column.name}' is ${g(code)} for ${commas(count)} rows, and between ${g(low)} and ${g(high)} for all others: ` +
      `${g(code)} looks like a code for a missing answer, and it widens the range and with it the bounds.`;
    return { ...about, sentence };
  }
  return null;
}

function standsApart(code: number, rest: number[], count: number): boolean {
  const [low, high] = [rest[0]!, rest[rest.length - 1]!];
  if (rest.length === 2 && ((low === 0 && high === 1) || (code < 0 && low >= 0))) return true;
  if (count < 2) return false;
  if (code < 0) return low >= 0 && (code < -1 || rest.every(Number.isInteger));
  return code - high >= 0.8 * (high - low);
}

function dates(column: Column): Oddity | null {
  const found = column.kind === "text" ? levels(column) : [];
  if (!allLike(found, DATE)) return null;
  return {
    name: "dates",
    sentence: `The covariate '${column.name}' is text that looks like dates (${showValues(found, 1)}).`,
    remedy: "Make a column of days, months or years: as text, each date is a category of its own.",
  };
}

function numbersAsText(column: Column): Oddity | null {
  const found = column.kind === "text" ? levels(column) : [];
  if (found.length < 3 || !allLike(found, NUMBER, DECIMAL_COMMA)) return null;
  const how = found.some((level) => String(level).includes(",")) ? "numbers with a decimal comma" : "numbers";
  return {
    name: "numbers as text",
    sentence: `The covariate '${column.name}' is text that looks like ${how} (${showValues(found, 2)}); each value became a category.`,
    remedy: "Write a decimal point, or turn the column into numbers.",
  };
}

/** A column of numbers that a few words turned into text. */
function numbersButForWords(column: Column): Oddity | null {
  const found = column.kind === "text" ? levels(column) : [];
  const words = found.filter((level) => !allLike([level], NUMBER, DECIMAL_COMMA));
  if (!words.length || words.length > KNOWN.most_words || found.length - words.length < KNOWN.least_numbers) return null;
  const shown = words.map(repr).join(" and ");
  return {
    name: "numbers as text",
    sentence: `The covariate '${column.name}' is text because of ${shown}, though its other values are numbers; each value became a category.`,
    remedy: "If that is a missing answer, leave those cells empty, and the column is read as numbers; else write one.",
  };
}

function identifiers(column: Column): Oddity | null {
  const n = column.missing.length;
  if (n < KNOWN.least_rows) return null;
  const found = levels(column);
  let likely = false;
  if (column.kind === "text") likely = found.length > 0.9 * n && !allLike(found, NUMBER, DECIMAL_COMMA, DATE);
  else if (column.kind === "number" && found.length === n) {
    const values = found as number[];
    likely = values.every(Number.isInteger) && (values[n - 1]! - values[0]! === n - 1 || ID_NAME.test(column.name));
  }
  if (!likely) return null;
  return {
    name: "identifiers",
    sentence: `The covariate '${column.name}' is different in nearly every row, like a name or a number of the person.`,
    remedy: "Leave it out: it says nothing about anybody else.",
  };
}

/** Encoded covariates that say what the treatment or the outcome says. */
export function repeats(encoded: Encoded[], roles: [string, string, ArrayLike<number>][]): Oddity[] {
  return encoded.flatMap(([name, values]) =>
    roles
      .filter(([, , told]) => told.length >= KNOWN.least_rows && correlation(values, told) >= KNOWN.same)
      .map(([role, column]) => ({
        name: "repeats",
        sentence: `The covariate '${name}' says in every row what the ${role} '${column}' says.`,
        remedy: "Leave it out: covariates are what was known before the assignment.",
      })),
  );
}

/** The size of the correlation; NaN if one of the two does not vary. */
function correlation(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const n = a.length;
  let [meanA, meanB] = [0, 0];
  for (let i = 0; i < n; i++) [meanA, meanB] = [meanA + a[i]! / n, meanB + b[i]! / n];
  let [aa, bb, ab] = [0, 0, 0];
  for (let i = 0; i < n; i++) {
    const [u, v] = [a[i]! - meanA, b[i]! - meanB];
    [aa, bb, ab] = [aa + u * u, bb + v * v, ab + u * v];
  }
  return Math.abs(ab) / Math.sqrt(aa * bb);
}

/** Rows that are there more than once although a covariate is continuous; `others` are the columns beside x. */
export function copies(x: Column[], others: Column[]): Oddity[] {
  const n = others[0]!.missing.length;
  const continuous = x.filter((column) => column.kind === "number" && !column.numbers.every(Number.isInteger));
  if (n < KNOWN.least_rows || !continuous.length) return [];
  const tally = (keys: Iterable<string | number>) => {
    const counts = new Map<string | number, number>();
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
    return [...counts.values()];
  };
  const marked = (column: Column, i: number) => (column.missing[i] ? "" : column.kind === "text" ? column.texts[i]! : String(column.numbers[i]!));
  const rows = tally(Array.from({ length: n }, (_, i) => [...others, ...x].map((column) => marked(column, i)).join("\u0000")));
  const repeated = rows.reduce((sum, size) => sum + size - 1, 0);
  if (repeated < Math.max(5, 0.02 * n)) return [];
  const pairs = (counts: number[]) => counts.reduce((sum, size) => sum + size * (size - 1), 0);
  // In measurements, who shares a value rarely shares everything else; rounded ones are shared by many.
  const column = continuous.find((each) => pairs(rows) >= 0.9 * pairs(tally(each.numbers)));
  if (!column) return [];
  const sentence =
    `${commas(repeated)} of ${commas(n)} rows repeat another row exactly, although '${column.name}' is continuous: copies ` +
    "of the same people make any method too sure.";
  return [{ name: "copies", sentence, remedy: "Keep one row per person, or give the number of people as weights." }];
}
