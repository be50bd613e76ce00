// Amounts by their means: a person with 30 % of the range counts as 0.3 of a yes and 0.7 of a no, and the table is worth as many people
// as the scores of its ends say. As in ivicl/methods/pretrained/effective.py, methods/design and identification/end_scores.py.
import { groups, type Data } from "./data";
import { standardise } from "./diagnostics";
import { FACTS } from "./facts";
import type { Answer, Rows } from "./model";
import { IdentifiedSet } from "./posterior";
import { inverse } from "./special";
import { arms } from "./theory";

const KNOWN = FACTS.means;

/** One table for each end, or one for both. */
export interface Worth {
  rows: Rows[];
  /** Of the lower and the upper end. */
  factors: [number, number];
}

/** The soft rows of an amount, worth what their scores say. */
export function softRows(data: Data): Worth {
  const table = yesAndNo(data);
  const [lower, upper] = designFactors(data);
  const [least, most] = [Math.min(lower, upper), Math.max(lower, upper)];
  const scaled = (factor: number): Rows => ({ ...table, w: table.w.map((w) => w * factor) });
  // Nearly the same factors pass as one table, by the smaller.
  if (most < KNOWN.nearly_the_same * least) return { rows: [scaled(least)], factors: [least, least] };
  return { rows: [scaled(lower), scaled(upper)], factors: [lower, upper] };
}

/** For a graph that takes amounts: people alike in x, z and t as one row, with the mean and the variance of their outcomes. */
export function meanRows(data: Data): Rows {
  const { first, group } = groups(data, false);
  const pick = (values: Float64Array) => Float64Array.from(first, (i) => values[i]!);
  const [y, w, v] = [new Float64Array(first.length), new Float64Array(first.length), new Float64Array(first.length)];
  const share = share01(data);
  data.w.forEach((weight, i) => (w[group[i]!]! += weight));
  data.w.forEach((weight, i) => (y[group[i]!]! += (weight * share[i]!) / w[group[i]!]!));
  data.w.forEach((weight, i) => (v[group[i]!]! += (weight * (share[i]! - y[group[i]!]!) ** 2) / w[group[i]!]!));
  return { x: data.x.map(pick), z: pick(data.z), t: pick(data.t), y, w, v };
}

/** Each end from the table of its own factor, the effect from the more careful one. */
export function readWorth({ factors }: Worth, answers: Answer[]): Answer {
  const [first, last] = [answers[0]!, answers[answers.length - 1]!];
  const careful = factors[0] <= factors[1] ? first : last;
  return { effect: careful.effect, ends: new IdentifiedSet(first.ends.lower, last.ends.upper) };
}

function share01(data: Data): Float64Array {
  const [low, high] = data.range;
  return data.y.map((y) => (y - low) / (high - low));
}

/** Rows that differ in the outcome alone are one group, which has a row of the no and a row of the yes. */
function yesAndNo(data: Data): Rows {
  const { first, group } = groups(data, false);
  const twice = (values: Float64Array) => Float64Array.from([...first, ...first], (i) => values[i]!);
  const w = new Float64Array(2 * first.length);
  share01(data).forEach((share, i) => {
    w[group[i]!]! += data.w[i]! * (1 - share);
    w[first.length + group[i]!]! += data.w[i]! * share;
  });
  const y = w.map((_, k) => (k < first.length ? 0 : 1));
  return { x: data.x.map(twice), z: twice(data.z), t: twice(data.t), y, w };
}

/** What a table of these amounts is worth, over as many yes/no people with the same means: for each end of the effect. */
export function designFactors(data: Data): [number, number] {
  const y = share01(data);
  const n = data.w.reduce((a, b) => a + b, 0);
  const { law, chance } = rowsLaw(data, y);
  const size = [0, 0];
  data.w.forEach((w, i) => (size[data.z[i]!]! += w));
  const noise = Math.sqrt(0.25 / (size[0]! + 2) + 0.25 / (size[1]! + 2));
  const rows = data.w.length;
  const score = [new Float64Array(rows), new Float64Array(rows)];
  const slope = [new Float64Array(rows), new Float64Array(rows)];
  let ends: number[][] = [];
  for (let i = 0; i < rows; i++) {
    const here = law[law.length > 1 ? i : 0]!;
    if (law.length > 1 || i === 0) ends = coefficients(here, noise);
    const [arm, taken] = [data.z[i]!, data.t[i]!];
    const p = chance[chance.length > 1 ? i : 0]!;
    const over = 1 / (arm ? p : 1 - p);
    ends.forEach((c, q) => {
      let mean = 0;
      for (let k = 4 * arm; k < 4 * arm + 4; k++) mean += c[k]! * here[k]!;
      const [no, yes] = [c[4 * arm + 2 * taken]!, c[4 * arm + 2 * taken + 1]!];
      slope[q]![i] = (yes - no) * over;
      score[q]![i] = (no + (yes - no) * y[i]! - mean) * over;
    });
  }
  return [0, 1].map((q) => {
    const middle = [0, 0];
    data.w.forEach((w, i) => (middle[data.z[i]!]! += (w / size[data.z[i]!]!) * score[q]![i]!));
    let [own, extra] = [0, 0];
    data.w.forEach((w, i) => {
      own += w * (score[q]![i]! - middle[data.z[i]!]!) ** 2;
      extra += w * slope[q]![i]! ** 2 * y[i]! * (1 - y[i]!);
    });
    const compared = (own + extra) / n ** 2;
    const variance = ((n * own) / n ** 2 + KNOWN.prior_people * compared) / (n + KNOWN.prior_people);
    const factor = variance > 1e-12 * compared ? compared / variance : 1;
    return Math.abs(factor - 1) < 1e-9 ? 1 : factor;
  }) as [number, number];
}

/** Of the lower and the upper end of the effect: what each cell of the law counts, terms equal up to noise sharing it. */
function coefficients(law: number[], noise: number): number[][] {
  const signed = KNOWN.mean_terms.map((rows, k) => {
    const terms = rows.map((row) => row.reduce((total, c, cell) => total + c * law[cell]!, 0));
    const most = Math.max(...terms);
    const active = terms.map((term) => Math.exp((term - most) / noise));
    const total = active.reduce((a, b) => a + b, 0);
    const sign = k % 2 ? -1 : 1;
    return law.map((_, cell) => sign * rows.reduce((sum, row, j) => sum + (active[j]! / total) * row[cell]!, 0));
  }) as [number[], number[], number[], number[]];
  const [leastTreated, mostTreated, leastUntreated, mostUntreated] = signed;
  return [leastTreated.map((c, k) => c - mostUntreated[k]!), mostTreated.map((c, k) => c - leastUntreated[k]!)];
}

interface RowsLaw {
  /** [z][t][y] at each row, or once where it does not vary. */
  law: number[][];
  chance: number[];
}

function rowsLaw(data: Data, y: Float64Array): RowsLaw {
  const { people, means, shares } = arms({ ...data, y, range: [0, 1] });
  const plain = shares.flatMap((share, cell) => {
    const ones = Math.min(Math.max(means[cell]!, 0), share);
    return [share - ones, ones];
  });
  const total = people.reduce((a, b) => a + b, 0);
  const chance = (people[2]! + people[3]!) / total;
  if (!data.x.some((column) => column.some((value) => value !== column[0]))) return { law: [plain], chance: [chance] };
  const features = [new Float64Array(y.length).fill(1), ...data.x.map((column) => standardise(column, data.w))];
  const cell = (t: number, yes: boolean) => y.map((share, i) => (data.t[i] === t ? (yes ? share : 1 - share) : 0));
  const cells = [cell(0, false), cell(0, true), cell(1, false), cell(1, true)];
  const fitted = [0, 1].map((arm) => {
    const teach = data.w.map((w, i) => (data.z[i] === arm ? w : 0));
    return ridge(features, cells, teach, plain.slice(4 * arm, 4 * arm + 4));
  });
  const [propensity] = ridge(features, [data.z], data.w, [chance]) as [Float64Array];
  const law = Array.from({ length: y.length }, (_, i) =>
    fitted.flatMap((columns) => {
      const raw = columns.map((column) => Math.max(column[i]!, KNOWN.least_cell));
      const sum = raw.reduce((a, b) => a + b, 0);
      return raw.map((value) => value / sum);
    }),
  );
  return { law, chance: Array.from(propensity, (p) => Math.min(Math.max(p, KNOWN.least_chance), 1 - KNOWN.least_chance)) };
}

/** Fits that never used the person itself, at the penalty whose fits have the least squared error. */
function ridge(features: Float64Array[], targets: Float64Array[], mass: Float64Array, mean: number[]): Float64Array[] {
  const [n, d] = [mass.length, features.length];
  const centred = targets.map((target, k) => target.map((value) => value - mean[k]!));
  const error = (fits: Float64Array[]) =>
    centred.reduce((total, target, k) => total + target.reduce((sum, value, i) => sum + mass[i]! * (value - fits[k]![i]!) ** 2, 0), 0);
  let best = centred.map(() => new Float64Array(n));
  let least = error(best);
  const dot = (a: Float64Array, b: Float64Array) => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += mass[i]! * a[i]! * b[i]!;
    return sum;
  };
  const gram = features.map((a) => features.map((b) => dot(a, b)));
  const moments = centred.map((target) => features.map((feature) => dot(feature, target)));
  const total = mass.reduce((a, b) => a + b, 0);
  for (const penalty of KNOWN.penalties) {
    const solver = inverse(gram.map((row, j) => row.map((v, k) => v + (j !== k ? 0 : j ? penalty * (d - 1) : 1e-9 * total))));
    const slopes = moments.map((moment) => solver.map((row) => row.reduce((sum, v, k) => sum + v * moment[k]!, 0)));
    const fits = centred.map(() => new Float64Array(n));
    for (let i = 0; i < n; i++) {
      // Nobody who does not teach has to be taken out.
      let own = 0;
      if (mass[i]! > 0) {
        for (let j = 0; j < d; j++) {
          let sum = 0;
          for (let k = 0; k < d; k++) sum += solver[j]![k]! * features[k]![i]!;
          own += features[j]![i]! * sum;
        }
        own = Math.min(own, 0.95);
      }
      centred.forEach((target, c) => {
        let fit = 0;
        for (let j = 0; j < d; j++) fit += slopes[c]![j]! * features[j]![i]!;
        fits[c]![i] = (fit - own * target[i]!) / (1 - own);
      });
    }
    const found = error(fits);
    if (found < least) [best, least] = [fits, found];
  }
  return best.map((fit, k) => fit.map((value) => value + mean[k]!));
}
