// Outcomes lost of people whose instrument and treatment are known: how many, how evenly, and what hangs on them.
import type { Data } from "./data";
import type { Finding } from "./diagnostics";
import { FACTS, LIMITS } from "./facts";
import { chiSquaredTail } from "./special";
import { commas, g, percent, shownP } from "./text";
import { arms, nearestLaw, sharpEnds } from "./theory";

export interface Losses {
  people: number[][];
  share_z0: number;
  share_z1: number;
  p_arms: number;
  p_treatment: number;
  free: false;
  lower_move: number;
  upper_move: number;
}

export function lossesOf(data: Data): Losses | null {
  const { lost } = data;
  if (!lost.some((count) => count > 0)) return null;
  const { people } = arms(data);
  const span = data.range[1] - data.range[0];
  const everybody = people.map((count, cell) => count + lost[cell]!);
  const soft = softTable(data);
  const free = freeEnds(nearestCells(withLost(soft, lost)));
  const dropped = sharpEnds(nearestLaw(soft));
  const share = (z: number) => (lost[2 * z]! + lost[2 * z + 1]!) / (everybody[2 * z]! + everybody[2 * z + 1]!);
  const byArm = (counts: number[]): [number, number] => [counts[0]! + counts[1]!, counts[2]! + counts[3]!];
  const pair = (z: number, counts: number[]): [number, number] => [counts[2 * z]!, counts[2 * z + 1]!];
  return {
    people: [lost.slice(0, 2), lost.slice(2)],
    share_z0: share(0),
    share_z1: share(1),
    p_arms: pValue([[byArm(lost), byArm(everybody)]]),
    p_treatment: pValue([0, 1].map((z) => [pair(z, lost), pair(z, everybody)])),
    free: false,
    lower_move: Math.max(span * (dropped[0] - free[0]), 0),
    upper_move: Math.max(span * (free[1] - dropped[1]), 0),
  };
}

/** People [z][t][y] of the soft law: each counts as 1 by the share of the range that their outcome is. */
function softTable(data: Data): number[] {
  const { people, means, shares } = arms(data);
  const [low, high] = data.range;
  return people.flatMap((count, cell) => {
    const size = people[cell & 2]! + people[(cell & 2) + 1]!;
    const ones = Math.min(Math.max((means[cell]! - low * shares[cell]!) / (high - low), 0), shares[cell]!) * size;
    return [count - ones, ones];
  });
}

function withLost(soft: number[], lost: number[]): number[] {
  return lost.flatMap((count, cell) => [soft[2 * cell]!, soft[2 * cell + 1]!, count]);
}

/** Which share of the width of the bounds by means goes if outcomes are cut off at this quantile. */
export function madeByTheTop(data: Data, quantile: number): number {
  const [low, top] = data.range;
  if (!(low < quantile && quantile < top)) return 0;
  const [cut, whole] = [quantile, top].map((limit) => {
    const table = softTable({ ...data, y: data.y.map((y) => Math.min(y, limit)), range: [low, limit] });
    const [lower, upper] = freeEnds(nearestCells(withLost(table, [0, 0, 0, 0])));
    return (limit - low) * (upper - lower);
  }) as [number, number];
  return whole > 0 ? Math.max(0, 1 - cut / whole) : 0;
}

/** Of the test that within each pair the two shares lost / people are equal: chi-squared, one degree a pair. */
function pValue(pairs: [[number, number], [number, number]][]): number {
  let [total, degrees] = [0, 0];
  for (const [lost, people] of pairs) {
    if (people.includes(0)) continue;
    const pooled = (lost[0] + lost[1]) / (people[0] + people[1]);
    if (!(pooled > 0 && pooled < 1)) continue;
    total += (lost[1] / people[1] - lost[0] / people[0]) ** 2 / (pooled * (1 - pooled) * (1 / people[0] + 1 / people[1]));
    degrees++;
  }
  return degrees ? chiSquaredTail(total, degrees) : 1;
}

/** Both ends of the set where the lost may have had any outcome, at cells [z][t][0, 1, lost]. */
function freeEnds(cells: number[]): [number, number] {
  const mirrored = cells.map((_, k) => cells[k % 3 === 2 ? k : k % 3 === 0 ? k + 1 : k - 1]!);
  const [lower, upper] = [cells, mirrored].map((each) =>
    Math.max(...FACTS.lost_terms.map((term) => term.reduce((total, c, k) => total + c * each[k]!, 0))),
  ) as [number, number];
  return [lower, -upper];
}

/** The sample's cells, moved as little as a valid instrument demands. */
function nearestCells(counts: number[]): number[] {
  const size = [0, 1].map((z) => counts.slice(6 * z, 6 * z + 6).reduce((a, b) => a + b, 0));
  const arm = [0, 1].map((z) => counts.slice(6 * z, 6 * z + 6).map((count) => count / size[z]!));
  for (const t of [0, 1]) {
    for (const y of [0, 1]) {
      const excess = arm[1]![3 * t + y]! + arm[0]![3 * t + 1 - y]! - 1;
      if (excess <= 0) continue;
      for (const [z, own] of [[1, y], [0, 1 - y]] as const) {
        arm[z] = moved(arm[z]!, 3 * t + own, (excess * size[1 - z]!) / (size[0]! + size[1]!));
      }
    }
  }
  return arm.flat();
}

/** An arm after `share` has left a cell for the others, evenly for those that are seen if all are empty. */
function moved(arm: number[], place: number, share: number): number[] {
  let others = arm.map((value, k) => (k === place ? 0 : value));
  if (!others.some((value) => value > 0)) others = arm.map((_, k) => (k === place || k % 3 === 2 ? 0 : 1));
  const total = others.reduce((a, b) => a + b, 0);
  return arm.map((value, k) => value + (share * others[k]!) / total - (k === place ? share : 0));
}

/** A loss that differs between the arms is a look and not a stop: who was lost may still be like the others. */
export function lossFinding(found: Losses | null, span: number): Finding[] {
  if (!found) return [];
  const uneven = [];
  if (found.p_arms < LIMITS.uneven_p) uneven.push(`between the arms (${shownP(found.p_arms)})`);
  if (found.p_treatment < LIMITS.uneven_p) uneven.push(`between treated and untreated (${shownP(found.p_treatment)})`);
  const differs = uneven.length ? `; it differs ${uneven.join(" and ")} by more than chance explains` : "";
  const sentence =
    `The outcome is lost for ${percent(found.share_z0)} of the people with Z = 0 and ${percent(found.share_z1)} of those with Z = 1${differs}. ` +
    "They were left out, as if they were like the others; if their outcomes may have been anything, the estimated bounds reach " +
    `${g(found.lower_move, 3)} further down and ${g(found.upper_move, 3)} further up.`;
  const largest = Math.max(found.lower_move, found.upper_move) / span;
  const look = largest > LIMITS.large_move || (uneven.length > 0 && largest > LIMITS.small_move);
  const remedy = look ? "missing_outcome='bounds' (--missing-outcome bounds) assumes nothing about them." : "";
  return [{ name: "lost outcomes", grade: look ? "look" : "ok", sentence, remedy }];
}

export function totalLost(found: Losses): number {
  return found.people.flat().reduce((a, b) => a + b, 0);
}

export function lostInShort(found: Losses): string {
  return `${commas(totalLost(found))} (${percent(found.share_z0)} with Z = 0, ${percent(found.share_z1)} with Z = 1): left out, as if they were like the others`;
}
