// The ladder: the same data under more and more assumptions, by closed formulas. What does each assumption buy?
import type { Data } from "./data";
import { ASSUMPTIONS, fill, METHODS, type IntervalKind, type MethodFacts } from "./facts";
import { normalQuantile } from "./special";
import { capitalised, g } from "./text";
import { arms, countCells, nearestLaw, sharpEnds } from "./theory";

export interface Rung {
  method: string;
  label: string;
  assumption: string;
  lower: number;
  upper: number;
  estimand: string;
  interval: IntervalKind;
  alpha: number;
  covers: "set" | "effect";
  adjusted: boolean;
  estimate_lower: number | null;
  estimate_upper: number | null;
  classical: boolean;
  sampling_error: boolean;
  estimate: number | null;
}

export interface Ends {
  lower: number;
  upper: number;
  estimates: [number, number] | null;
}

/** On the outcome scaled to [0, 1]. */
type Formula = (data: Data, alpha: number) => Ends;

const FORMULAS: Record<string, Formula> = {
  manski,
  "manski-iv": manskiWithInstrument,
  "balke-pearl": balkePearl,
  late,
};

/** The rungs below and above the network's own, which is put in its place, after what it says without covariates. */
export function climb(data: Data, alpha: number, own: Ends, bare: Ends | null): Rung[] {
  const [low, high] = data.range;
  const span = high - low;
  const unit: Data = { ...data, y: data.y.map((y) => (y - low) / span), range: [0, 1] };
  const rungs = Object.values(METHODS)
    .filter((method) => method.rung !== null && method.name in FORMULAS)
    .sort((a, b) => a.rung! - b.rung!)
    .map((method) => {
      const found = clipped(FORMULAS[method.name]!(unit, alpha));
      const scaled = { lower: span * found.lower, upper: span * found.upper, estimates: found.estimates?.map((e) => span * e) ?? null };
      return rung(method, scaled as Ends, alpha, false);
    });
  const place = rungs.findIndex((each) => each.estimand !== "ATE");
  const network = METHODS["ivicl"]!;
  const without = bare ? [{ ...rung(network, bare, alpha, false), label: `${network.label}, no covariates` }] : [];
  rungs.splice(place < 0 ? rungs.length : place, 0, ...without, rung(network, own, alpha, data.covariates.length > 0));
  return rungs;
}

function clipped(found: Ends): Ends {
  return { ...found, lower: Math.max(found.lower, -1), upper: Math.min(found.upper, 1) };
}

function rung(method: MethodFacts, found: Ends, alpha: number, adjusted: boolean): Rung {
  const [low, high] = found.estimates ?? [null, null];
  return {
    method: method.name,
    label: method.label,
    assumption: inShort(method.assumptions, adjusted),
    lower: found.lower,
    upper: found.upper,
    estimand: method.estimand,
    interval: method.interval,
    alpha,
    covers: method.covers,
    adjusted,
    estimate_lower: low,
    estimate_upper: high,
    classical: method.interval === "estimate",
    sampling_error: method.interval !== "estimate",
    estimate: low === high ? low : null,
  };
}

/** A line for the ladder: what is assumed, but for what every method needs. */
function inShort(assumed: string[], adjusted: boolean): string {
  const given = adjusted ? " given the covariates" : "";
  const phrases = Object.entries(ASSUMPTIONS)
    .filter(([key, value]) => assumed.includes(key) && value.clause)
    .map(([, value]) => fill(value.clause, { given }));
  return phrases.length ? `${capitalised(phrases.join("; "))}.` : "";
}

/** What kind of interval it is, in a few words. */
export function level(kind: IntervalKind, alpha: number, covers: "set" | "effect"): string {
  if (kind === "estimate") return "estimated";
  return `${g(100 * (1 - alpha))} % ${kind}${covers === "set" ? " for the set" : ""}`;
}

export function rungLevel(each: Rung): string {
  const words = level(each.interval, each.alpha, each.covers) + (each.estimand === "ATE" ? "" : `, of the ${each.estimand}`);
  return `${words}, ${each.adjusted ? "adjusted" : "no covariates"}`;
}

function estimated(lower: number, upper: number): Ends {
  return { lower, upper, estimates: [lower, upper] };
}

function manski(data: Data): Ends {
  let [n, share, seen1, seen0] = [0, 0, 0, 0];
  data.w.forEach((w, i) => {
    n += w;
    if (data.t[i]) [share, seen1] = [share + w, seen1 + w * data.y[i]!];
    else seen0 += w * data.y[i]!;
  });
  return estimated((seen1 - seen0 - share) / n, (seen1 + (n - share) - seen0) / n);
}

function manskiWithInstrument(data: Data): Ends {
  const { means, shares } = arms(data);
  const [untreated, treated] = [0, 1].map((t) => {
    // Whoever did not take t could have had any outcome; each arm bounds the same mean.
    const least = Math.max(means[t]!, means[2 + t]!);
    const most = Math.min(means[t]! + 1 - shares[t]!, means[2 + t]! + 1 - shares[2 + t]!);
    return least <= most ? [least, most] : [(least + most) / 2, (least + most) / 2];
  }) as [[number, number], [number, number]];
  return estimated(treated[0] - untreated[1], treated[1] - untreated[0]);
}

/** By thresholds for an amount: between two seen values the table does not change, so finitely many carry the integral. */
function balkePearl(data: Data): Ends {
  if (data.binary) {
    const [lower, upper] = sharpEnds(nearestLaw(countCells(data.z, data.t, data.y, data.w)));
    return estimated(Math.max(lower, -1), Math.min(upper, 1));
  }
  const cuts = [...new Set(data.y)].sort((a, b) => a - b);
  const order = Uint32Array.from(data.y.keys()).sort((a, b) => data.y[a]! - data.y[b]!);
  const counts = [0, 1, 2, 3, 4, 5, 6, 7].map(() => 0);
  data.w.forEach((w, i) => (counts[4 * data.z[i]! + 2 * data.t[i]! + 1]! += w));
  let [lower, upper, at, before] = [0, 0, 0, 0];
  for (const cut of [...cuts, 1]) {
    // Whoever lies below this cut has left the ones.
    while (at < order.length && data.y[order[at]!]! < cut) {
      const i = order[at++]!;
      const cell = 4 * data.z[i]! + 2 * data.t[i]!;
      counts[cell]! += data.w[i]!;
      counts[cell + 1]! -= data.w[i]!;
    }
    if (cut > before) {
      const [low, high] = sharpEnds(nearestLaw(counts));
      lower += (cut - before) * low;
      upper += (cut - before) * high;
    }
    before = cut;
  }
  return estimated(Math.max(lower, -1), Math.min(upper, 1));
}

/** Wald's ratio, with Anderson and Rubin's interval, which a weak instrument cannot fool. */
function late(data: Data, alpha: number): Ends {
  const { means, shares } = arms(data);
  const yEffect = means[2]! + means[3]! - means[0]! - means[1]!;
  const tEffect = shares[3]! - shares[1]!;
  let [varY, varT, cov] = [0, 0, 0];
  for (const arm of [0, 1]) {
    let [n, y, t] = [0, 0, 0];
    data.w.forEach((w, i) => {
      if (data.z[i] === arm) [n, y, t] = [n + w, y + w * data.y[i]!, t + w * data.t[i]!];
    });
    let spread = 0;
    data.w.forEach((w, i) => {
      if (data.z[i] !== arm) return;
      const [dy, dt] = [data.y[i]! - y / n, data.t[i]! - t / n];
      spread += (w * dy * dy) / n;
      varT += (w * dt * dt) / n ** 2;
      cov += (w * dy * dt) / n ** 2;
    });
    // Equal outcomes are not certainty: the mean is known as well as with one more person at each end of the range.
    const guess = (y + 1) / (n + 2);
    varY += spread > 1e-12 ? spread / n : (guess * (1 - guess)) / (n + 2);
  }
  const z2 = normalQuantile(1 - alpha / 2) ** 2;
  const a = tEffect ** 2 - z2 * varT;
  const h = yEffect * tEffect - z2 * cov;
  const c = yEffect ** 2 - z2 * varY;
  const clip = (v: number) => Math.min(Math.max(v, -1), 1);
  const root = Math.sqrt(Math.max(h * h - a * c, 0));
  const ratio = yEffect / tEffect;
  const estimates: [number, number] | null = tEffect !== 0 ? [ratio, ratio] : null;
  return a <= 0 ? { lower: -1, upper: 1, estimates } : { lower: clip((h - root) / a), upper: clip((h + root) / a), estimates };
}
