// Amounts as the network takes them: people alike in x, z and t as one row, with the mean and the variance of their outcomes.
// As in ivicl/methods/pretrained/tables.py.
import { groups, type Data } from "./data";
import type { Rows } from "./model";

/** Where every outcome is an end of the range, people of either outcome are a row: the graph knows yes and no by that. */
export function meanRows(data: Data): Rows {
  const share = share01(data);
  if (share.every((y) => y === 0 || y === 1)) return { x: data.x, z: data.z, t: data.t, y: share, w: data.w };
  const { first, group } = groups(data, false);
  const pick = (values: Float64Array) => Float64Array.from(first, (i) => values[i]!);
  const [y, w, v] = [new Float64Array(first.length), new Float64Array(first.length), new Float64Array(first.length)];
  data.w.forEach((weight, i) => (w[group[i]!]! += weight));
  data.w.forEach((weight, i) => (y[group[i]!]! += (weight * share[i]!) / w[group[i]!]!));
  data.w.forEach((weight, i) => (v[group[i]!]! += (weight * (share[i]! - y[group[i]!]!) ** 2) / w[group[i]!]!));
  return { x: data.x.map(pick), z: pick(data.z), t: pick(data.t), y, w, v };
}

function share01(data: Data): Float64Array {
  const [low, high] = data.range;
  return data.y.map((y) => (y - low) / (high - low));
}
