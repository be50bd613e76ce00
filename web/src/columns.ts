// From the fields of a column to numbers: the same rules as ivicl.data (`encoding_rules.json` states them).
import { fill, note, refusal, RULES } from "./facts";
import { isClear, withHint } from "./oddities";
import { byCodePoint, repr, showValues, type Value } from "./text";

export type Kind = "number" | "boolean" | "text";

/** One column as read; values are arbitrary where missing. */
export interface Column {
  name: string;
  kind: Kind;
  /** Of numbers and booleans. */
  numbers: Float64Array;
  /** Of text. */
  texts: string[];
  missing: Uint8Array;
}

export interface Coding {
  column: string;
  zero: Value | null;
  one: Value | null;
  /** Nobody named the value that means 1, and it is not plain from the two. */
  guessed: boolean;
}

export type Range = [number, number];

const WHOLE = /^-?\d+$/;
const DECIMAL = /^[-+]?(?:\d*\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d+\.|inf)$/;
const TRUE_FALSE = /^(?:true|false|True|False|TRUE|FALSE)$/;
/** What Python's float() takes, after spaces around it are gone. */
const FLOAT = /^[-+]?(?:(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:[eE][-+]?\d+(?:_\d+)*)?|inf|infinity|nan)$/i;

function toNumber(text: string): number {
  if (/inf/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  return Number(text.replace(/_/g, ""));
}

export function readColumn(name: string, fields: (string | null)[]): Column {
  const rows = fields.length;
  const missing = new Uint8Array(rows);
  let [whole, decimal, boolean, present] = [true, true, true, 0];
  for (let i = 0; i < rows; i++) {
    const field = fields[i]!;
    if (field === null) {
      missing[i] = 1;
      continue;
    }
    present++;
    if (decimal && !WHOLE.test(field)) {
      whole = false;
      decimal = DECIMAL.test(field);
    }
    if (boolean && !TRUE_FALSE.test(field)) boolean = false;
  }
  const column: Column = { name, kind: "number", numbers: new Float64Array(0), texts: [], missing };
  if (present && boolean) {
    column.kind = "boolean";
    column.numbers = Float64Array.from(fields, (f) => (f !== null && f[0]!.toLowerCase() === "t" ? 1 : 0));
  } else if (whole || decimal) {
    column.numbers = Float64Array.from(fields, (f) => (f === null ? 0 : toNumber(f)));
    refuseInfinite(column);
  } else {
    column.kind = "text";
    column.texts = fields.map((f, i) => {
      const text = f === null ? "" : f.trim();
      if (RULES.file.missing.includes(text)) missing[i] = 1;
      return text;
    });
  }
  return column;
}

function refuseInfinite(column: Column): void {
  let count = 0;
  for (let i = 0; i < column.numbers.length; i++) if (!column.missing[i] && !Number.isFinite(column.numbers[i]!)) count++;
  if (count) throw refusal("infinite", { column: column.name, count, s: count > 1 ? "s" : "" });
}

export function take(column: Column, rows: Uint32Array): Column {
  return {
    ...column,
    numbers: column.kind === "text" ? column.numbers : Float64Array.from(rows, (i) => column.numbers[i]!),
    texts: column.kind === "text" ? Array.from(rows, (i) => column.texts[i]!) : column.texts,
    missing: Uint8Array.from(rows, (i) => column.missing[i]!),
  };
}

/** The distinct values that are not missing, sorted. */
export function levels(column: Column): Value[] {
  if (column.kind === "text") {
    const found = new Set<string>();
    column.texts.forEach((text, i) => column.missing[i] || found.add(text));
    return [...found].sort(byCodePoint);
  }
  const found = new Set<number>();
  column.numbers.forEach((value, i) => column.missing[i] || found.add(value + 0));
  const sorted = [...found].sort((a, b) => a - b);
  return column.kind === "boolean" ? sorted.map((v) => v === 1) : sorted;
}

/** The same column as numbers if every value reads as one; else unchanged. */
export function numbersFromText(column: Column): Column {
  if (column.kind !== "text" || column.texts.some((text, i) => !column.missing[i] && !FLOAT.test(text))) return column;
  const missing = column.missing.slice();
  const numbers = Float64Array.from(column.texts, (text, i) => {
    if (!missing[i] && /nan/i.test(text)) missing[i] = 1;
    return missing[i] ? 0 : toNumber(text);
  });
  const read: Column = { ...column, kind: "number", numbers, texts: [], missing };
  refuseInfinite(read);
  return read;
}

/** A column of two values as 0 and 1. The larger number, or the later text, becomes 1 unless `one` names the value. */
export function encodeBinary(column: Column, role: string, one: Value | undefined): [Float64Array, Coding] {
  const found = levels(column);
  const values = showValues(found);
  const about = { role, column: column.name, values, count: found.length };
  if (found.length > 2) throw withHint(refusal("two_values", about), found);
  if (found.length === 1 && role === "instrument") throw refusal("constant_instrument", about);
  let [zero, top]: [Value | null, Value] = [null, 1];
  if (one !== undefined) {
    const chosen = found.find((level) => String(level) === String(one) || Number(level) === one);
    if (chosen === undefined && found.length > 1) throw refusal("no_such_value", { ...about, value: repr(one) });
    top = chosen ?? one;
    zero = found.find((level) => level !== top) ?? null;
  } else if (found.length === 2) {
    [zero, top] = [found[0]!, found[1]!];
  } else if (column.kind !== "text" && (Number(found[0]) === 0 || Number(found[0]) === 1)) {
    [zero, top] = [0, 1];
  } else {
    throw refusal("unclear_one", about);
  }
  const coded =
    column.kind === "text"
      ? Float64Array.from(column.texts, (text) => (text === top ? 1 : 0))
      : column.numbers.map((value) => (value === Number(top) ? 1 : 0));
  const coding = { column: column.name, zero, one: top, guessed: false };
  return [coded, { ...coding, guessed: one === undefined && !isClear(coding) }];
}

export interface Outcome {
  values: Float64Array;
  range: Range;
  binary: boolean;
  coding: Coding;
}

export function readOutcome(given: Column, asked: Range | null, one: Value | undefined): Outcome {
  if (asked && !(Number.isFinite(asked[0]) && Number.isFinite(asked[1]) && asked[0] < asked[1])) {
    throw refusal("bad_range", { low: asked[0], high: asked[1] });
  }
  const column = one === undefined ? numbersFromText(given) : given;
  const found = levels(column);
  const isBit = (v: Value) => Number(v) === 0 || Number(v) === 1;
  const binary = asked
    ? asked[0] === 0 && asked[1] === 1 && column.kind !== "text" && found.every(isBit)
    : found.length === 2 || (found.length === 1 && (one !== undefined || column.kind === "text" || isBit(found[0]!)));
  if (binary) {
    const [values, coding] = encodeBinary(column, "outcome", one);
    return { values, range: [0, 1], binary: true, coding };
  }
  const about = { column: column.name, count: found.length };
  if (column.kind === "text") {
    if (asked) throw refusal("text_with_range", { ...about, values: showValues(found, 3) });
    throw withHint(refusal("outcome_kind", { ...about, values: showValues(found) }), found);
  }
  if (!asked && found.length === 1) throw refusal("constant_outcome", { ...about, value: found[0] });
  const [low, high] = asked ?? [Number(found[0]), Number(found[found.length - 1])];
  const outside = [...column.numbers].filter((v) => v < low || v > high);
  if (outside.length) throw refusal("outside", { ...about, low, high, count: outside.length, value: outside[0] });
  return { values: column.numbers, range: [low, high], binary: false, coding: { column: column.name, zero: null, one: null, guessed: false } };
}

export type Encoded = [string, Float64Array];

/** Numeric columns for one covariate; missing values, if any are left, get a column of their own. */
export function encodeCovariate(column: Column, weights: Float64Array, notes: string[]): Encoded[] {
  const rows = column.missing.length;
  const gone = column.missing.reduce((sum, m) => sum + m, 0);
  const flag: Encoded = [fill(RULES.covariates.missing_name, { column: column.name }), Float64Array.from(column.missing)];
  if (column.kind !== "text") {
    if (!gone) return [[column.name, column.numbers]];
    const present = Uint32Array.from([...Array(rows).keys()].filter((i) => !column.missing[i]));
    const middle = weightedQuantile(
      Float64Array.from(present, (i) => column.numbers[i]!),
      Float64Array.from(present, (i) => weights[i]!),
      [0.5],
    )[0]!;
    notes.push(note("filled", { column: column.name, count: gone }));
    return [[column.name, column.numbers.map((v, i) => (column.missing[i] ? middle : v))], flag];
  }
  const frequency = new Map<string, number>();
  column.texts.forEach((text, i) => column.missing[i] || frequency.set(text, (frequency.get(text) ?? 0) + weights[i]!));
  let found = [...frequency.keys()].sort(byCodePoint);
  let values = column.texts;
  if (found.length > RULES.covariates.most_levels) {
    // Ties are broken by name, so that the order of the rows cannot change the encoding.
    const kept = [...found]
      .sort((a, b) => frequency.get(b)! - frequency.get(a)! || byCodePoint(a, b))
      .slice(0, RULES.covariates.most_levels - 1);
    notes.push(note("joined", { column: column.name, count: found.length, kept: kept.length }));
    const lookup = new Set(kept);
    values = values.map((v) => (lookup.has(v) ? v : RULES.covariates.joined));
    found = [...kept.sort(byCodePoint), RULES.covariates.joined];
  }
  const columns = found.slice(1).map((level): Encoded => {
    const name = fill(RULES.covariates.level_name, { column: column.name, level });
    return [name, Float64Array.from(values, (v, i) => (v === level && !column.missing[i] ? 1 : 0))];
  });
  if (gone) columns.push(flag);
  if (found.length > 1) notes.push(note("levels", { column: column.name, count: found.length, reference: found[0] }));
  return columns;
}

/** The smallest value with at least q of the weight at or below it: one row of weight k equals k rows. */
export function weightedQuantile(values: Float64Array, weights: Float64Array, levelsAsked: number[]): number[] {
  if (!values.length) return levelsAsked.map(() => 0);
  const order = Uint32Array.from(values.keys()).sort((a, b) => values[a]! - values[b]! || a - b);
  const cumulated = new Float64Array(values.length);
  let total = 0;
  order.forEach((i, k) => (cumulated[k] = total += weights[i]!));
  return levelsAsked.map((q) => {
    let [low, high] = [0, values.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cumulated[middle]! < q * total) low = middle + 1;
      else high = middle;
    }
    return values[order[Math.min(low, values.length - 1)]!]!;
  });
}
