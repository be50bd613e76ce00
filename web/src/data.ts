// An instrumental-variable data set: columns or counts in, encoded numbers out, with a report of everything that was done.
import {
  encodeBinary,
  encodeCovariate,
  levels,
  readColumn,
  readOutcome,
  take,
  type Coding,
  type Column,
  type Encoded,
  type Range,
} from "./columns";
import type { Table } from "./csv";
import { InputError, note, refusal } from "./facts";
import { copies, oddities, repeats, type Oddity } from "./oddities";
import { g, repr, showValues, type Value } from "./text";

export interface Data {
  /** Encoded covariates, column by column, nothing missing. */
  x: Float64Array[];
  z: Float64Array;
  t: Float64Array;
  y: Float64Array;
  /** How many people each row stands for. */
  w: Float64Array;
  covariates: string[];
  /** Covariates by the names of the file. */
  variables: string[];
  range: Range;
  binary: boolean;
  dropped: number;
  /** People by [z][t], flat, whose outcome is missing and nothing else; they are not among the rows. */
  lost: number[];
  codings: Record<string, Coding>;
  notes: string[];
  /** What looks wrong in the columns although they can be read. */
  oddities: Oddity[];
}

export interface Roles {
  outcome: string;
  treatment: string;
  instrument: string;
  covariates: string[];
  weights: string | null;
  range: Range | null;
  missing: "drop" | "indicator";
  ones: Record<string, Value>;
}

export function people(data: Data): number {
  return data.w.reduce((sum, w) => sum + w, 0);
}

export function fromCounts(counts: number[]): Data {
  const bad = counts.find((c) => !(Number.isFinite(c) && c >= 0 && Number.isInteger(c)));
  if (bad !== undefined) throw new InputError(`counts must be whole numbers of at least 0, but one is ${g(bad)}.`);
  for (const arm of [0, 1]) {
    if (!counts.slice(4 * arm, 4 * arm + 4).some((c) => c > 0)) {
      throw new InputError(`the table of counts has nobody with z = ${arm}, so there is nothing to compare; give the people of both arms.`);
    }
  }
  const cells = [...counts.keys()].filter((cell) => counts[cell]! > 0);
  return {
    x: [],
    z: Float64Array.from(cells, (c) => c >> 2),
    t: Float64Array.from(cells, (c) => (c >> 1) & 1),
    y: Float64Array.from(cells, (c) => c & 1),
    w: Float64Array.from(cells, (c) => counts[c]!),
    covariates: [],
    variables: [],
    range: [0, 1],
    binary: true,
    dropped: 0,
    lost: [0, 0, 0, 0],
    codings: {},
    notes: [],
    oddities: [],
  };
}

export function refuseSharedColumns(roles: Roles): void {
  const seen = new Map<string, string>();
  const named: [string, string][] = [
    ["outcome", roles.outcome],
    ["treatment", roles.treatment],
    ["instrument", roles.instrument],
    ...roles.covariates.map((name, i): [string, string] => [`covariate ${i + 1}`, name]),
  ];
  if (roles.weights !== null) named.push(["weights", roles.weights]);
  for (const [role, column] of named) {
    if (seen.has(column)) throw refusal("column_twice", { column, first: seen.get(column), second: role });
    seen.set(column, role);
  }
}

/** A role whose column the table does not have, as the sentence to show; null if all are there. */
export function noSuchColumn(header: string[], roles: Roles): string | null {
  const asked = [
    ["outcome", roles.outcome],
    ["treatment", roles.treatment],
    ["instrument", roles.instrument],
    ...roles.covariates.map((name, i) => [`covariate ${i + 1}`, name]),
    ...(roles.weights === null ? [] : [["weights", roles.weights]]),
  ] as [string, string][];
  const gone = asked.find(([, column]) => !header.includes(column));
  return gone ? `there is no column '${gone[1]}' for the ${gone[0]}; the columns are ${showValues(header, 8)}.` : null;
}

export function fromTable(table: Table, roles: Roles): Data {
  const unknown = noSuchColumn(table.header, roles);
  if (unknown) throw new InputError(unknown);
  refuseSharedColumns(roles);
  const read = (name: string) => readColumn(name, table.column(name));
  const [z, t, y] = [read(roles.instrument), read(roles.treatment), read(roles.outcome)];
  const x = roles.covariates.map(read);
  const notes: string[] = [];
  const weights = roles.weights === null ? new Float64Array(table.rows).fill(1) : checkedWeights(read(roles.weights));
  const keep = rowsToKeep(z, t, y, x, weights, roles.missing, notes);
  const kept = Float64Array.from(keep, (i) => weights[i]!);
  const codings: Record<string, Coding> = {};
  const [zCoded, zCoding] = encodeBinary(take(z, keep), "instrument", roles.ones[z.name]);
  const [tCoded, tCoding] = encodeBinary(take(t, keep), "treatment", roles.ones[t.name]);
  const outcome = readOutcome(take(y, keep), roles.range, roles.ones[y.name]);
  Object.assign(codings, { instrument: zCoding, treatment: tCoding, outcome: outcome.coding });
  for (const [role, c] of Object.entries(codings)) {
    const usual = Number(c.zero) === 0 && Number(c.one) === 1 && typeof c.one !== "string" && typeof c.zero !== "string" && c.zero !== null;
    if (c.one !== null && !usual) notes.push(note("coded", { role, column: c.column, one: repr(c.one), zero: repr(c.zero) }));
  }
  const xKept = x.map((column) => take(column, keep));
  const encoded = xKept.flatMap((column): Encoded[] => encodeCovariate(column, kept, notes));
  const [zKept, tKept, yKept] = [take(z, keep), take(t, keep), take(y, keep)];
  const odd = oddities(yKept, xKept, codings, outcome.binary);
  if (roles.weights === null) odd.push(...copies(xKept, [zKept, tKept, yKept]));
  odd.push(...repeats(encoded, [["treatment", t.name, tCoded], ["outcome", y.name, outcome.values]]));
  return {
    x: encoded.map(([, values]) => values),
    z: zCoded,
    t: tCoded,
    y: outcome.values,
    w: kept,
    covariates: encoded.map(([name]) => name),
    variables: roles.covariates,
    range: outcome.range,
    binary: outcome.binary,
    dropped: table.rows - keep.length,
    lost: countLost(z, t, y, roles.missing === "drop" ? x : [], weights, codings),
    codings,
    notes,
    oddities: odd,
  };
}

/** People by [z][t] who would be used if their outcome were known. */
function countLost(z: Column, t: Column, y: Column, x: Column[], weights: Float64Array, codings: Record<string, Coding>): number[] {
  const bit = (column: Column, { zero, one }: Coding, row: number): number | null => {
    if (column.missing[row]) return null;
    const value = column.kind === "text" ? column.texts[row]! : column.numbers[row]!;
    const same = (level: Value | null) => level !== null && (typeof level === "string" ? level === value : Number(level) === value);
    return same(one) ? 1 : same(zero) ? 0 : null;
  };
  const lost = [0, 0, 0, 0];
  y.missing.forEach((gone, row) => {
    if (!gone || !(weights[row]! > 0) || x.some((column) => column.missing[row])) return;
    const [a, b] = [bit(z, codings["instrument"]!, row), bit(t, codings["treatment"]!, row)];
    if (a !== null && b !== null) lost[2 * a + b]! += weights[row]!;
  });
  return lost;
}

function checkedWeights(column: Column): Float64Array {
  const name = { column: column.name };
  if (column.kind === "text") throw refusal("weights_text", { ...name, values: showValues(levels(column), 2) });
  const gone = column.missing.reduce((sum, m) => sum + m, 0);
  if (gone) throw refusal("weights_missing", { ...name, count: gone });
  const least = column.numbers.reduce((a, b) => Math.min(a, b), Infinity);
  if (least < 0) throw refusal("weights_negative", { ...name, value: g(least) });
  const fraction = column.numbers.find((v) => !Number.isInteger(v));
  if (fraction !== undefined) throw refusal("weights_fraction", { ...name, value: g(fraction) });
  const total = column.numbers.reduce((a, b) => a + b, 0);
  if (total === 0) throw refusal("weights_zero", name);
  if (total > 2 ** 53) throw refusal("weights_large", { ...name, value: g(total, 3) });
  return column.numbers;
}

function rowsToKeep(
  z: Column,
  t: Column,
  y: Column,
  x: Column[],
  weights: Float64Array,
  missing: Roles["missing"],
  notes: string[],
): Uint32Array {
  let keep = [...weights.keys()].filter((i) => weights[i]! > 0);
  if (keep.length < weights.length) notes.push(note("zero_weight", { count: weights.length - keep.length }));
  const decisive: [Column, string][] = [
    [z, "instrument"],
    [t, "treatment"],
    [y, "outcome"],
  ];
  if (missing === "drop") decisive.push(...x.map((c): [Column, string] => [c, "covariate"]));
  for (const [column, role] of decisive) {
    const left = keep.filter((i) => !column.missing[i]);
    const gone = keep.length - left.length;
    if (gone) notes.push(note("dropped", { count: gone, role, column: column.name }));
    if (gone && !left.length) {
      const rest = gone < weights.length ? " that were left" : "";
      throw refusal("none_left", { role, column: column.name, count: gone, rest });
    }
    keep = left;
  }
  return Uint32Array.from(keep);
}

/** The rows of `data` that come first of their equals in (x, z, t[, y]), and for every row its group. */
export function groups(data: Data, withOutcome: boolean): { first: Uint32Array; group: Uint32Array } {
  const keys = [...data.x, data.z, data.t, ...(withOutcome ? [data.y] : [])];
  const bits = new Float64Array(keys.length);
  const bytes = new Uint32Array(bits.buffer);
  const seen = new Map<string, number>();
  const group = new Uint32Array(data.w.length);
  const first: number[] = [];
  for (let i = 0; i < group.length; i++) {
    keys.forEach((values, k) => (bits[k] = values[i]! + 0)); // -0 and 0 are equal
    const key = String.fromCharCode(...new Uint16Array(bytes.buffer));
    let place = seen.get(key);
    if (place === undefined) {
      place = first.length;
      seen.set(key, place);
      first.push(i);
    }
    group[i] = place;
  }
  return { first: Uint32Array.from(first), group };
}

/** The same people with equal rows merged into weights: exact, and often far smaller. */
export function merged(data: Data): Data {
  const { first, group } = groups(data, true);
  if (first.length === data.w.length) return data;
  const w = new Float64Array(first.length);
  group.forEach((place, i) => (w[place]! += data.w[i]!));
  const pick = (values: Float64Array) => Float64Array.from(first, (i) => values[i]!);
  return { ...data, x: data.x.map(pick), z: pick(data.z), t: pick(data.t), y: pick(data.y), w };
}

/** How many rows and people each column of a file has of what, for the lists in which roles are chosen. */
export interface Preview {
  name: string;
  kind: Column["kind"];
  missing: number;
  /** The first levels, and how many there are (counted up to a limit). */
  levels: Value[];
  distinct: number;
}

export function preview(table: Table): Preview[] {
  return table.header.map((name) => {
    let column: Column;
    try {
      column = readColumn(name, table.column(name));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return { name, kind: "number", missing: 0, levels: [], distinct: 0 };
    }
    const found = levels(column);
    const missing = column.missing.reduce((sum, m) => sum + m, 0);
    return { name, kind: column.kind, missing, levels: found.slice(0, 6), distinct: found.length };
  });
}
