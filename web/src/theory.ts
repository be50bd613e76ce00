// Closed formulas at the sample's law: Balke-Pearl, the instrumental inequalities, means by arm. As in ivicl/identification.
import type { Data } from "./data";
import { FACTS } from "./facts";
import { normalCdf } from "./special";
import { g } from "./text";

/** Eight numbers in the order [z][t][y]. */
export type Eight = number[];

export function countCells(z: Float64Array, t: Float64Array, y: Float64Array, w: Float64Array): Eight {
  const counts = new Array<number>(8).fill(0);
  w.forEach((weight, i) => (counts[4 * z[i]! + 2 * t[i]! + y[i]!]! += weight));
  return counts;
}

/** People by [z][t], and E[Y 1{T=t} | Z=z] and P(T=t | Z=z), flat in that order. */
export function arms(data: Data): { people: number[]; means: number[]; shares: number[] } {
  const [people, totals] = [[0, 0, 0, 0], [0, 0, 0, 0]];
  data.w.forEach((w, i) => {
    const cell = 2 * data.z[i]! + data.t[i]!;
    people[cell]! += w;
    totals[cell]! += w * data.y[i]!;
  });
  const size = (cell: number) => people[cell & 2]! + people[(cell & 2) + 1]!;
  return { people, means: totals.map((v, c) => v / size(c)), shares: people.map((v, c) => v / size(c)) };
}

export function lawOf(counts: Eight): Eight {
  const size = [0, 4].map((from) => counts.slice(from, from + 4).reduce((a, b) => a + b, 0));
  return counts.map((count, k) => count / size[k >> 2]!);
}

/** The two ends of the identified set of the average effect at a law. */
export function sharpEnds(law: Eight): [number, number] {
  const formulas = FACTS.balke_pearl;
  const terms = (constants: number[], table: number[][]) =>
    constants.map((constant, j) => constant + table[j]!.reduce((total, c, k) => total + c * law[k]!, 0));
  return [
    Math.max(...terms(formulas.lower_constants, formulas.lower_table)),
    Math.min(...terms(formulas.upper_constants, formulas.upper_table)),
  ];
}

const at = (z: number, t: number, y: number) => 4 * z + 2 * t + y;

/** By treatment: how far the law is from possible; at most one is above zero. */
export function levelExcess(law: Eight): [number, number] {
  const over = (t: number) => Math.max(law[at(0, t, 0)]!, law[at(1, t, 0)]!) + Math.max(law[at(0, t, 1)]!, law[at(1, t, 1)]!) - 1;
  return [over(0), over(1)];
}

/** The sample's law, moved as little as a valid instrument demands: the most likely law among the possible ones. */
export function nearestLaw(counts: Eight): Eight {
  const law = lawOf(counts);
  const over = levelExcess(law);
  const worst = Math.max(...over);
  if (worst <= 1e-12) return law; // rounding alone
  const t = over[0] >= over[1] ? 0 : 1;
  const size = [0, 4].map((from) => counts.slice(from, from + 4).reduce((a, b) => a + b, 0));
  const moves = [0, 1].map((z) => (worst * size[1 - z]!) / (size[0]! + size[1]!));
  const before = [0, 1].map((z) => [law[at(z, t, 0)]!, law[at(z, t, 1)]!]);
  const surplus = [0, 1].map((z) => [0, 1].map((y) => before[z]![y]! - Math.min(before[0]![y]!, before[1]![y]!)));
  const stays = surplus.map((row) => row.map((s) => s === 0));
  const own = [0, 1].map((z) => {
    const total = surplus[z]![0]! + surplus[z]![1]!;
    return [0, 1].map((y) => before[z]![y]! - (moves[z]! * surplus[z]![y]!) / total);
  });
  const repaired = law.slice();
  for (const z of [0, 1]) {
    const other = [0, 1].map((y) => law[at(z, 1 - t, y)]!);
    const given = shares(
      [...[0, 1].map((y) => (stays[z]![y] ? own[z]![y]! : 0)), ...other],
      [...stays[z]!, true, true],
    ).map((share) => share * moves[z]!);
    const room = [0, 1].map((y) => (stays[z]![y] ? own[1 - z]![y]! - own[z]![y]! : 0));
    const kept = [0, 1].map((y) => Math.min(given[y]!, room[y]!));
    const spilled = given[0]! + given[1]! - kept[0]! - kept[1]!;
    const even = shares(other, [true, true]);
    for (const y of [0, 1]) {
      repaired[at(z, t, y)] = own[z]![y]! + kept[y]!;
      repaired[at(z, 1 - t, y)] = other[y]! + given[2 + y]! + spilled * even[y]!;
    }
  }
  return repaired;
}

function shares(mass: number[], allowed: boolean[]): number[] {
  const total = mass.reduce((a, b) => a + b, 0);
  const used = total > 0 ? mass : allowed.map(Number);
  const whole = used.reduce((a, b) => a + b, 0);
  return used.map((m) => m / whole);
}

export interface Inequality {
  t: number;
  y: number;
  excess: number;
  p_value: number;
  threshold: number | null;
  /** The package's engines may know means alone; the page has every row. */
  by_means: false;
  name: string;
  violated: boolean;
}

/** The four instrumental inequalities of one table, each with Wang, Robins and Richardson's one-sided test. */
export function checkCounts(counts: Eight, threshold: number | null): Inequality[] {
  const law = lawOf(counts);
  const size = [0, 4].map((from) => counts.slice(from, from + 4).reduce((a, b) => a + b, 0)) as [number, number];
  const event = threshold === null ? "Y" : `1{Y >= ${g(threshold)}}`;
  return [0, 1].flatMap((t) =>
    [0, 1].map((y) => {
      const excess = law[at(1, t, y)]! + law[at(0, t, 1 - y)]! - 1;
      const pooled = (counts[at(1, t, y)]! + size[0] - counts[at(0, t, 1 - y)]!) / (size[0] + size[1]);
      const error = Math.sqrt(pooled * (1 - pooled) * (1 / size[0] + 1 / size[1]));
      return {
        t,
        y,
        excess,
        p_value: error > 0 ? normalCdf(-excess / error) : 1,
        threshold,
        by_means: false as const,
        name: `P(T=${t}, ${event}=${y} | Z=1) + P(T=${t}, ${event}=${1 - y} | Z=0) <= 1`,
        violated: excess > 1e-12,
      };
    }),
  );
}
