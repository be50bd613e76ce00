// Outcomes that are not binary: binary problems at thresholds, whose posteriors are added quantile by quantile.
import { groups, type Data } from "./data";
import { FACTS } from "./facts";
import type { Answer, Rows } from "./model";
import { BinnedPosterior, IdentifiedSet } from "./posterior";

/** Where the outcome is cut and how much each cut counts, in the names of the schema. */
export interface Thresholds {
  points: number[];
  lengths: number[];
  slack: number;
  rounding_shift: number;
  combine: string;
  problems: number;
}

/** The values themselves when there are few of them, which is exact; else midpoints of equal steps. */
export function chooseThresholds(data: Data): Thresholds {
  const most = FACTS.defaults.n_thresholds;
  const [low, high] = data.range;
  const ends = [...new Set([low, ...data.y, high])].sort((a, b) => a - b);
  const cut = (points: number[], lengths: number[], slack: number, shift: number): Thresholds => ({
    points,
    lengths,
    slack,
    rounding_shift: shift,
    combine: "comonotone",
    problems: points.length,
  });
  if (ends.length - 1 <= most) return cut(ends.slice(1), ends.slice(1).map((end, k) => end - ends[k]!), 0, 0);
  const step = (high - low) / most;
  const points = Array.from({ length: most }, (_, k) => low + step * (k + 0.5));
  const [gap, size] = [[0, 0], [0, 0]];
  data.w.forEach((w, i) => {
    const rounded = low + step * points.filter((point) => point <= data.y[i]!).length;
    gap[data.z[i]!]! += w * (rounded - data.y[i]!);
    size[data.z[i]!]! += w;
  });
  return cut(points, points.map(() => step), step, gap[1]! / size[1]! - gap[0]! / size[0]!);
}

/** The binary problem of each threshold. Rows that differ in the outcome alone are one group: a cut moves people between two weights. */
export function thresholdRows(data: Data, points: number[]): Rows[] {
  const { first, group } = groups(data, false);
  if (2 * first.length > group.length) return points.map((c) => ({ ...data, y: data.y.map((y) => (y >= c ? 1 : 0)) }));
  const twice = (values: Float64Array) => Float64Array.from([...first, ...first], (i) => values[i]!);
  const [x, z, t] = [data.x.map(twice), twice(data.z), twice(data.t)];
  const y = Float64Array.from({ length: 2 * first.length }, (_, k) => (k < first.length ? 0 : 1));
  return points.map((c) => {
    const w = new Float64Array(y.length);
    group.forEach((place, i) => (w[data.y[i]! >= c ? first.length + place : place]! += data.w[i]!));
    return { x, z, t, y, w };
  });
}

/** One answer on the scale of [0, 1] from those of the thresholds; the ends always add by quantiles. */
export function combine(answers: Answer[], { lengths }: Thresholds, range: [number, number]): Answer {
  const shares = lengths.map((length) => length / (range[1] - range[0]));
  const add = (parts: BinnedPosterior[]) => comonotone(parts.map((part, k) => part.scaled(shares[k]!)));
  const ends = new IdentifiedSet(add(answers.map(({ ends }) => ends.lower)), add(answers.map(({ ends }) => ends.upper)));
  return { effect: add(answers.map(({ effect }) => effect)), ends };
}

/** The law of the sum when all parts move together: quantiles add. */
function comonotone(parts: BinnedPosterior[]): BinnedPosterior {
  const first = new Set<number>();
  for (const part of parts) for (const level of part.cumulated) first.add(level);
  // Values just after a level and just before the next differ where a part has an empty stretch: take both sides.
  const both = new Set<number>();
  for (const level of first) both.add(level).add(Math.min(nextAbove(level), 1));
  const levels = Float64Array.from(both).sort();
  let most = -Infinity;
  const summed = levels.map((q) => (most = Math.max(most, parts.reduce((total, part) => total + part.quantile(q), 0))));
  const bins = parts[0]!.probabilities.length;
  const low = parts.reduce((total, part) => total + part.edges[0]!, 0);
  const high = parts.reduce((total, part) => total + part.edges[part.edges.length - 1]!, 0);
  const edges = Float64Array.from({ length: bins + 1 }, (_, k) => (k === bins ? high : low + ((high - low) / bins) * k));
  const cumulated = edges.map((edge) => interpolated(edge, summed, levels));
  [cumulated[0], cumulated[bins]] = [0, 1];
  return new BinnedPosterior(edges, Float64Array.from({ length: bins }, (_, k) => Math.max(cumulated[k + 1]! - cumulated[k]!, 0)));
}

/** numpy's interp with 0 on the left and 1 on the right: of equal places the last counts. */
function interpolated(x: number, places: Float64Array, values: Float64Array): number {
  const last = places.length - 1;
  if (x < places[0]!) return 0;
  if (x > places[last]!) return 1;
  let [low, high] = [0, last];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (places[middle]! <= x) low = middle;
    else high = middle - 1;
  }
  if (low === last) return values[last]!;
  return values[low]! + ((values[low + 1]! - values[low]!) * (x - places[low]!)) / (places[low + 1]! - places[low]!);
}

const SCRATCH = new DataView(new ArrayBuffer(8));

function nextAbove(value: number): number {
  if (value === 0) return Number.MIN_VALUE;
  SCRATCH.setFloat64(0, value);
  SCRATCH.setBigInt64(0, SCRATCH.getBigInt64(0) + 1n);
  return SCRATCH.getFloat64(0);
}
