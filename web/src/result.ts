// From a data set to a result in the package's schema (ivicl/results/schema.json): what the page shows, saves and reports.
import type { Coding } from "./columns";
import { merged, people, type Data } from "./data";
import { diagnose, standardise, type Diagnostics, type Grade } from "./diagnostics";
import { FACTS, LIMITS, METHODS, type IntervalKind } from "./facts";
import { climb, level, type Ends, type Rung } from "./ladder";
import { meanRows } from "./means";
import type { Answer, Model, Rows } from "./model";
import { BinnedPosterior, IdentifiedSet, widthParts, type WidthParts } from "./posterior";
import { commas, g } from "./text";
import { countCells } from "./theory";

interface PlainPosterior {
  edges: Float64Array;
  probabilities: Float64Array;
}

/** What was made of an amount: the page takes it as it is. */
interface Thresholds {
  points: number[];
  lengths: number[];
  slack: number;
  rounding_shift: number;
  combine: string;
  problems: number;
}

const BY_MEANS: Thresholds = { points: [], lengths: [], slack: 0, rounding_shift: 0, combine: "means", problems: 1 };

interface EstimandBounds {
  lower: number;
  upper: number;
  estimate_lower: number | null;
  estimate_upper: number | null;
  assumes: string[];
  interval: IntervalKind;
  covers: "set" | "effect";
  adjusted: boolean;
}

/** A result, in the names of the schema. */
export interface Result {
  lower: number;
  upper: number;
  alpha: number;
  method: string;
  label: string;
  procedure: string;
  interval_kind: IntervalKind;
  assumptions: string[];
  n: number;
  n_rows: number;
  n_dropped: number;
  covariates: string[];
  /** Covariates by the names of the file. */
  variables: string[];
  adjusted: boolean;
  estimand: string;
  outcome_range: [number, number];
  binary: boolean;
  diagnostics: Diagnostics;
  posterior: PlainPosterior;
  identified_set: { lower: PlainPosterior; upper: PlainPosterior };
  covers: "set" | "effect";
  estimates: { lower: number; upper: number; se_lower: number; se_upper: number };
  thresholds: Thresholds | null;
  ladder: Rung[];
  warnings: string[];
  notes: string[];
  codings: Record<string, Coding>;
  model: { name: string; sha256: string };
  details: Record<string, unknown>;
  version: string;
  grade: Grade;
  estimands: Record<string, EstimandBounds>;
}

export async function bound(data: Data, alpha: number, model: Model, progress: (what: string, share: number) => void): Promise<Result> {
  const method = METHODS["ivicl"]!;
  progress("Merging equal rows", 0.05);
  const question = pose(data);
  progress("Looking at the design", 0.1);
  const diagnostics = diagnose(data);
  const { effect, ends } = await answered(data, question, model, progress);
  const [lower, upper] = ends.interval(alpha);
  const estimates = { lower: ends.lower.mean, upper: ends.upper.mean, se_lower: ends.lower.sd, se_upper: ends.upper.sd };
  const adjusted = data.covariates.length > 0;
  let without: Ends | null = null;
  if (adjusted && method.rung_without_covariates) {
    const bare = { ...data, x: [], covariates: [], variables: [] };
    without = endsOf((await answered(bare, pose(bare), model, progress)).ends, alpha);
  }
  return {
    lower,
    upper,
    alpha,
    method: method.name,
    label: method.label,
    procedure: method.procedure,
    interval_kind: method.interval,
    assumptions: method.assumptions,
    n: people(data),
    n_rows: data.w.length,
    n_dropped: data.dropped,
    covariates: data.covariates,
    variables: data.variables,
    adjusted,
    estimand: method.estimand,
    outcome_range: data.range,
    binary: data.binary,
    diagnostics,
    posterior: plain(effect),
    identified_set: { lower: plain(ends.lower), upper: plain(ends.upper) },
    covers: method.covers,
    estimates,
    thresholds: data.binary ? null : BY_MEANS,
    ladder: climb(data, alpha, endsOf(ends, alpha), without),
    warnings: question.warnings,
    notes: data.notes,
    codings: data.codings,
    model: { name: FACTS.model.name, sha256: FACTS.model.sha256 },
    details: question.details,
    version: FACTS.version,
    grade: diagnostics.grade,
    estimands: {
      [method.estimand]: {
        lower,
        upper,
        estimate_lower: estimates.lower,
        estimate_upper: estimates.upper,
        assumes: method.assumptions,
        interval: method.interval,
        covers: method.covers,
        adjusted,
      },
    },
  };
}

/** The answer to a question, in outcome units. */
async function answered(data: Data, question: Question, model: Model, progress: (what: string, share: number) => void): Promise<Answer> {
  progress("One pass of the network", 0.25);
  const { effect, ends } = await model.answer(question.rows);
  const span = data.range[1] - data.range[0];
  return span === 1 ? { effect, ends } : { effect: effect.scaled(span), ends: ends.scaled(span) };
}

function endsOf(ends: IdentifiedSet, alpha: number): Ends {
  const [lower, upper] = ends.interval(alpha);
  return { lower, upper, estimates: [ends.lower.mean, ends.upper.mean] };
}

function plain({ edges, probabilities }: BinnedPosterior): PlainPosterior {
  return { edges, probabilities };
}

export function posteriorOf(result: Result): BinnedPosterior {
  return BinnedPosterior.revive(result.posterior);
}

export function setOf(result: Result): IdentifiedSet {
  return new IdentifiedSet(BinnedPosterior.revive(result.identified_set.lower), BinnedPosterior.revive(result.identified_set.upper));
}

export function partsOf(result: Result): WidthParts {
  return widthParts(setOf(result), result.alpha);
}

export function levelOf(result: Result): string {
  return level(result.interval_kind, result.alpha, result.covers);
}

/** As `BoundsResult.save` writes it, so that `BoundsResult.load` reads it. */
export function toJson(result: Result): string {
  const arrays = (_: string, value: unknown) =>
    value instanceof Float64Array ? [...value] : typeof value === "number" && !Number.isFinite(value) ? null : value;
  // What the package computes and this page does not is empty.
  const { empty, stamp } = FACTS;
  const ladder = result.ladder.map((rung) => known({ ...empty.rung, ...rung }, FACTS.fields.rung));
  const estimands = Object.fromEntries(Object.entries(result.estimands).map(([name, each]) => [name, known(each, FACTS.fields.estimand)]));
  return JSON.stringify({ ...stamp, ...completed(empty.result, result), ladder, estimands }, arrays) + "\n";
}

/** The fields that the schema has. */
function known(value: object, fields: string[]): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => fields.includes(name)));
}

/** The value, with what it lacks of the empty one, object by object. */
function completed(nothing: unknown, value: unknown): object {
  const isObject = (each: unknown): each is Record<string, unknown> => Object.getPrototypeOf(each ?? 0) === Object.prototype;
  if (!isObject(nothing) || !isObject(value)) return value as object;
  const both = Object.entries(value).map(([key, own]) => [key, isObject(nothing[key]) ? completed(nothing[key], own) : own]);
  return { ...nothing, ...Object.fromEntries(both) };
}

interface Question {
  rows: Rows;
  warnings: string[];
  details: Record<string, unknown>;
}

/** Merge equal rows, sample if there are too many: the rows that the network sees. */
function pose(data: Data): Question {
  const warnings: string[] = [];
  const all = merged(data);
  let used = all;
  const most = LIMITS.max_rows;
  if (all.w.length > most && all.covariates.length) {
    used = sampled(all, most);
    warnings.push(
      `${commas(all.w.length)} different rows are more than max_rows = ${commas(LIMITS.max_rows)}, so the network saw a random subsample ` +
        `of ${commas(people(used))} of the ${commas(people(all))} people; the interval is honest for that number. ` +
        "The Python package samples others, and takes all with max_rows.",
    );
  }
  const left = leftOut(used);
  if (left.length) {
    const shown = left.slice(0, 8).join(", ") + (left.length > 8 ? ` and ${left.length - 8} more` : "");
    warnings.push(
      `the network reads ${LIMITS.max_features} covariates; of ${data.covariates.length}, those least associated with ` +
        `instrument, treatment and outcome were left out: ${shown}.`,
    );
  }
  const n = people(used);
  if (n > LIMITS.max_count) {
    const trained = commas(LIMITS.max_count);
    warnings.push(`${commas(n)} people are more than the ${trained} that the network is made for; they count as ${trained}, which makes the interval a little wider than it could be.`);
  } else if (n < LIMITS.least_people) {
    warnings.push(`${g(n)} people are fewer than the ${LIMITS.least_people} that the network is made for; the prior speaks louder than they.`);
  }
  const rows = data.binary ? used : meanRows(used);
  return { rows, warnings, details: { n_used: n, rows_used: rows.w.length, left_out_columns: left } };
}

/** Each person is kept with the same probability; the numbers behind it are fixed, so that the same file gives the same answer. */
function sampled(data: Data, most: number): Data {
  let state = 0x9e3779b9;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let r = Math.imul(state ^ (state >>> 15), 1 | state);
    r = (r + Math.imul(r ^ (r >>> 7), 61 | r)) ^ r;
    return ((r ^ (r >>> 14)) >>> 0) / 2 ** 32;
  };
  // The share of the people at which the expected number of rows left is the limit.
  let [low, high] = [-40, 0];
  for (let k = 0; k < 60; k++) {
    const middle = (low + high) / 2;
    const gone = Math.log1p(-Math.exp(middle));
    const expected = data.w.reduce((sum, w) => sum - Math.expm1(w * gone), 0);
    [low, high] = expected < most ? [middle, high] : [low, middle];
  }
  const share = Math.exp(low);
  const kept = data.w.map((w) => {
    let count = 0;
    for (let k = 0; k < w; k++) if (random() < share) count++;
    return count;
  });
  const rows = Uint32Array.from([...kept.keys()].filter((i) => kept[i]! > 0));
  const pick = (values: Float64Array) => Float64Array.from(rows, (i) => values[i]!);
  return { ...data, x: data.x.map(pick), z: pick(data.z), t: pick(data.t), y: pick(data.y), w: pick(kept) };
}

/** Covariates beyond the network's limit: those that go least with the eight (z, t, y) cells, by the graph's own score. */
function leftOut(data: Data): string[] {
  if (data.covariates.length <= LIMITS.max_features) return [];
  const y = data.y.map((value) => (value - data.range[0]) / (data.range[1] - data.range[0]));
  const size = countCells(data.z, data.t, y.map(Math.round), data.w);
  const strength = data.x.map((column) => {
    const x = standardise(column, data.w);
    const score = new Array<number>(8).fill(0);
    x.forEach((value, i) => (score[4 * data.z[i]! + 2 * data.t[i]! + Math.round(y[i]!)]! += value * data.w[i]!));
    return score.reduce((sum, s, k) => sum + (s / (Math.sqrt(size[k]!) + 1e-9)) ** 2, 0);
  });
  const order = [...strength.keys()].sort((a, b) => strength[b]! - strength[a]! || a - b);
  const gone = new Set(order.slice(LIMITS.max_features));
  return data.covariates.filter((_, j) => gone.has(j));
}
