// What the data say about the design before any bound: measurements, and findings graded ok, look or stop.
import { weightedQuantile } from "./columns";
import { people as peopleOf, type Data } from "./data";
import { LIMITS } from "./facts";
import { lossesOf, lossFinding, madeByTheTop, type Losses } from "./losses";
import { chiSquaredTail, eigen, erfc, expit, solve } from "./special";
import { capitalised, commas, g, percent, shownP } from "./text";
import { arms, checkCounts, countCells, type Inequality } from "./theory";

export type Grade = "ok" | "look" | "stop";
const GRADES: Grade[] = ["ok", "look", "stop"];
/** Standard deviations that stand for infinitely many: the covariate has one value in each arm. */
const SEPARATED = 99;

export interface Finding {
  name: string;
  grade: Grade;
  sentence: string;
  remedy: string;
}

export interface FirstStage {
  treated_if_z0: number;
  treated_if_z1: number;
  difference: number;
  se: number;
  f: number | null;
  correlation: number | null;
  n_z0: number;
  n_z1: number;
}

export interface Diagnostics {
  first_stage: FirstStage;
  compliance: { people: number[][]; kind: string; counts: number[][][] | null };
  inequalities: Inequality[];
  positivity: { range: [number, number]; central_98_percent: [number, number]; share_z1: number } | null;
  balance: { standardised_differences: Record<string, number>; largest: number; largest_column: string; p_value: number } | null;
  sample: { n: number; n_rows: number; n_dropped: number; d: number };
  outcome: { range: [number, number]; observed: [number, number]; central_98_percent: [number, number]; mean: number; top_percent_of_width: number | null };
  findings: Finding[];
  grade: Grade;
  losses: Losses | null;
}

export function textOf(finding: Finding): string {
  return `${finding.sentence} ${finding.remedy}`.trim();
}

/** What stands before any bound: the findings of grade stop. Empty where there are none. */
export function headline(diagnostics: Diagnostics): string {
  return diagnostics.findings
    .filter((finding) => finding.grade === "stop")
    .map(textOf)
    .join(" ");
}

export function diagnose(data: Data): Diagnostics {
  const stage = firstStage(data);
  const compliance = complianceOf(data);
  const inequalities = check(data);
  const rows = standardisedRows(data);
  const positivity = positivityOf(data, rows);
  const balance = balanceOf(rows);
  const sample = { n: peopleOf(data), n_rows: data.w.length, n_dropped: data.dropped, d: data.covariates.length };
  const outcome = outcomeOf(data);
  const losses = lossesOf(data);
  const others = [
    complianceFinding(compliance, stage),
    inequalityFinding(inequalities),
    ...positivityFinding(positivity),
    ...balanceFinding(balance, stage),
    sampleFinding(sample, stage),
    ...data.oddities.map((odd) => finding(odd.name, "look", odd.sentence, odd.remedy)),
    ...lossFinding(losses, data.range[1] - data.range[0]),
    outcomeFinding(outcome, data.binary),
  ];
  const stopped = others.some((finding) => finding.grade === "stop");
  const findings = [firstStageFinding(stage, stopped), ...others];
  const grade = findings.map((f) => f.grade).reduce((a, b) => (GRADES.indexOf(a) >= GRADES.indexOf(b) ? a : b));
  return { first_stage: stage, compliance, inequalities, positivity, balance, sample, outcome, findings, grade, losses };
}

function finding(name: string, grade: Grade, sentence: string, remedy = ""): Finding {
  return { name, grade, sentence, remedy };
}

// --- what is measured

function firstStage(data: Data): FirstStage {
  const { people, shares } = arms(data);
  const sizes = [people[0]! + people[1]!, people[2]! + people[3]!] as const;
  const treated = [shares[1]!, shares[3]!] as const;
  const variance = treated.reduce((total, s, z) => total + (s * (1 - s)) / sizes[z]!, 0);
  const difference = treated[1] - treated[0];
  const shareZ = sizes[1] / (sizes[0] + sizes[1]);
  const shareT = (1 - shareZ) * treated[0] + shareZ * treated[1];
  const spread = shareT * (1 - shareT);
  return {
    treated_if_z0: treated[0],
    treated_if_z1: treated[1],
    difference,
    se: Math.sqrt(variance),
    f: variance > 0 ? difference ** 2 / variance : null,
    correlation: spread > 0 ? difference * Math.sqrt((shareZ * (1 - shareZ)) / spread) : null,
    n_z0: sizes[0],
    n_z1: sizes[1],
  };
}

function complianceOf(data: Data): Diagnostics["compliance"] {
  const { people } = arms(data);
  const table = [people.slice(0, 2), people.slice(2)];
  const treated = table.map((row) => row[1]! > 0);
  const untreated = table.map((row) => row[0]! > 0);
  let kind = "one-sided";
  if (!(treated[0] || untreated[1]) || !(treated[1] || untreated[0])) kind = "perfect";
  else if (treated.every(Boolean) && untreated.every(Boolean)) kind = "two-sided";
  else if (!treated.some(Boolean) || !untreated.some(Boolean)) kind = "no variation";
  const flat = data.binary ? countCells(data.z, data.t, data.y, data.w) : null;
  const counts = flat && [0, 1].map((z) => [0, 1].map((t) => [0, 1].map((y) => flat[4 * z + 2 * t + y]!)));
  return { people: table, kind, counts };
}

/** The four inequalities; for an amount, each at the threshold where its p-value is smallest. */
function check(data: Data): Inequality[] {
  if (data.binary) return checkCounts(countCells(data.z, data.t, data.y, data.w), null);
  const most = 9;
  let cuts = [...new Set(data.y)].sort((a, b) => a - b).slice(1);
  if (!cuts.length) cuts = [data.range[1]];
  if (cuts.length > most) {
    const asked = Array.from({ length: most }, (_, k) => (k + 1) / (most + 1));
    cuts = [...new Set(weightedQuantile(data.y, data.w, asked))].sort((a, b) => a - b);
  }
  const worst = new Map<string, Inequality>();
  for (const cut of cuts) {
    const above = data.y.map((y) => (y >= cut ? 1 : 0));
    for (const found of checkCounts(countCells(data.z, data.t, above, data.w), cut)) {
      const key = `${found.t}${found.y}`;
      const before = worst.get(key);
      if (!before || found.p_value < before.p_value) worst.set(key, found);
    }
  }
  return [...worst.values()];
}

function outcomeOf(data: Data): Diagnostics["outcome"] {
  const [low, high] = weightedQuantile(data.y, data.w, [0.01, 0.99]) as [number, number];
  const total = peopleOf(data);
  return {
    range: data.range,
    observed: [data.y.reduce((a, b) => Math.min(a, b), Infinity), data.y.reduce((a, b) => Math.max(a, b), -Infinity)],
    central_98_percent: [low, high],
    mean: data.w.reduce((sum, w, i) => sum + w * data.y[i]!, 0) / total,
    top_percent_of_width: data.binary ? null : madeByTheTop(data, high),
  };
}

/** Rows that the learner of P(Z=1 | X) sees; more would cost seconds and change nothing that is reported. */
const MOST_ROWS = 50_000;

interface Standardised {
  names: string[];
  x: Float64Array[];
  z: Float64Array;
  w: Float64Array;
}

function standardisedRows(data: Data): Standardised {
  const kept = data.x.map((column) => spanOf(column)).map(({ varies }, j) => (varies ? j : -1)).filter((j) => j >= 0);
  const step = Math.max(1, Math.ceil(data.w.length / MOST_ROWS));
  const some = (values: Float64Array) => (step === 1 ? values : values.filter((_, i) => i % step === 0));
  const w = some(data.w);
  return { names: kept.map((j) => data.covariates[j]!), x: kept.map((j) => standardise(some(data.x[j]!), w)), z: some(data.z), w };
}

function spanOf(column: Float64Array): { low: number; half: number; varies: boolean } {
  let [low, high] = [Infinity, -Infinity];
  for (const value of column) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const half = 0.5 * high - 0.5 * low;
  return { low, half, varies: half > 1e-13 * Math.max(Math.abs(low), Math.abs(high)) };
}

/** Weighted mean 0 and variance 1; a constant column becomes zero. */
export function standardise(column: Float64Array, w: Float64Array): Float64Array {
  const { low, half, varies } = spanOf(column);
  if (!varies) return new Float64Array(column.length);
  const total = w.reduce((a, b) => a + b, 0);
  const unit = column.map((value) => (0.5 * value - 0.5 * low) / half);
  const mean = unit.reduce((sum, u, i) => sum + (w[i]! / total) * u, 0);
  const centred = unit.map((u) => u - mean);
  const variance = centred.reduce((sum, c, i) => sum + (w[i]! / total) * c * c, 0);
  return centred.map((c) => c / Math.sqrt(variance > 0 ? variance : 1));
}

function positivityOf(data: Data, { x, z, w }: Standardised): Diagnostics["positivity"] {
  if (!x.length) return null;
  const chance = logisticRidge(x, z, w, x.length);
  const [low, high] = weightedQuantile(chance, w, [0.01, 0.99]) as [number, number];
  const total = peopleOf(data);
  return {
    range: [chance.reduce((a, b) => Math.min(a, b)), chance.reduce((a, b) => Math.max(a, b))],
    central_98_percent: [low, high],
    share_z1: data.w.reduce((sum, v, i) => sum + v * data.z[i]!, 0) / total,
  };
}

/** Fitted P(Z=1 | x) by damped Newton steps; the intercept is not penalised. */
function logisticRidge(x: Float64Array[], z: Float64Array, w: Float64Array, penalty: number): Float64Array {
  const n = w.length;
  const features = [new Float64Array(n).fill(1), ...x];
  const d = features.length;
  const total = w.reduce((a, b) => a + b, 0);
  const ridge = features.map((_, j) => (j ? penalty : 1e-9 * total));
  const share = Math.min(Math.max(w.reduce((sum, v, i) => sum + v * z[i]!, 0) / total, 1e-12), 1 - 1e-12);
  let beta = features.map((_, j) => (j ? 0 : Math.log(share / (1 - share))));
  const score = (b: number[]) => {
    const found = new Float64Array(n);
    features.forEach((column, j) => {
      const slope = b[j]!;
      if (slope) for (let i = 0; i < n; i++) found[i]! += slope * column[i]!;
    });
    return found;
  };
  const objective = (b: number[]) => {
    const s = score(b);
    let value = 0;
    for (let i = 0; i < n; i++) value += w[i]! * (z[i]! * s[i]! - (Math.max(s[i]!, 0) + Math.log1p(Math.exp(-Math.abs(s[i]!)))));
    return value - b.reduce((sum, v, j) => sum + (ridge[j]! * v * v) / 2, 0);
  };
  let current = objective(beta);
  for (let round = 0; round < 25; round++) {
    const fitted = score(beta).map(expit);
    const weight = fitted.map((p, i) => w[i]! * p * (1 - p));
    const gradient = features.map((column, j) => column.reduce((sum, f, i) => sum + f * w[i]! * (z[i]! - fitted[i]!), 0) - ridge[j]! * beta[j]!);
    const curvature = features.map(() => new Array<number>(d).fill(0));
    for (let j = 0; j < d; j++) {
      for (let k = 0; k <= j; k++) {
        let value = j === k ? ridge[j]! : 0;
        const [a, b] = [features[j]!, features[k]!];
        for (let i = 0; i < n; i++) value += a[i]! * b[i]! * weight[i]!;
        curvature[j]![k] = curvature[k]![j] = value;
      }
    }
    const step = solve(curvature, gradient);
    let size = 1;
    let moved = beta;
    let value = current;
    for (; size > 1e-4; size /= 2) {
      moved = beta.map((b, j) => b + size * step[j]!);
      value = objective(moved);
      if (value >= current) break;
    }
    if (size <= 1e-4) break;
    beta = moved;
    if (value - current < 1e-10 * Math.abs(current)) break;
    current = value;
  }
  return score(beta).map(expit);
}

function balanceOf({ names, x, z, w }: Standardised): Diagnostics["balance"] {
  if (!x.length) return null;
  const size = [0, 1].map((arm) => w.reduce((sum, v, i) => (z[i] === arm ? sum + v : sum), 0));
  const differences = x.map((column) => {
    const mean = [0, 0];
    column.forEach((value, i) => (mean[z[i]!]! += (w[i]! / size[z[i]!]!) * value));
    const variance = [0, 0];
    column.forEach((value, i) => (variance[z[i]!]! += (w[i]! / size[z[i]!]!) * (value - mean[z[i]!]!) ** 2));
    const difference = mean[1]! - mean[0]!;
    const pooled = Math.sqrt((variance[0]! + variance[1]!) / 2);
    const found = pooled > 1e-9 ? difference / pooled : Math.sign(difference) * SEPARATED;
    return Math.min(Math.max(found, -SEPARATED), SEPARATED);
  });
  const largest = differences.reduce((best, value, j) => (Math.abs(value) > Math.abs(differences[best]!) ? j : best), 0);
  return {
    standardised_differences: Object.fromEntries(names.map((name, j) => [name, differences[j]!])),
    largest: Math.abs(differences[largest]!),
    largest_column: names[largest]!,
    p_value: omnibus(x, z, w),
  };
}

/** P-value of the score test that no covariate goes with Z: n R^2 of the regression of Z on X is chi-squared. */
function omnibus(x: Float64Array[], z: Float64Array, w: Float64Array): number {
  const total = w.reduce((a, b) => a + b, 0);
  const mean = w.reduce((sum, v, i) => sum + v * z[i]!, 0) / total;
  const centred = z.map((v) => v - mean);
  const weighted = (a: Float64Array, b: Float64Array) => {
    let value = 0;
    for (let i = 0; i < a.length; i++) value += w[i]! * a[i]! * b[i]!;
    return value;
  };
  const gram = x.map(() => new Array<number>(x.length).fill(0));
  x.forEach((a, j) => {
    for (let k = 0; k <= j; k++) gram[j]![k] = gram[k]![j] = weighted(a, x[k]!);
  });
  const moment = x.map((column) => weighted(column, centred));
  const { values, vectors } = eigen(gram);
  const floor = 1e-9 * Math.max(...values, 1e-300);
  const spread = weighted(centred, centred) / total;
  const used = values.map((value, k) => ({ value, vector: vectors[k]! })).filter(({ value }) => value > floor);
  if (spread <= 0 || !used.length) return 1;
  const statistic = used.reduce((sum, { value, vector }) => sum + vector.reduce((s, v, j) => s + v * moment[j]!, 0) ** 2 / value, 0);
  return chiSquaredTail(statistic / spread, used.length);
}

// --- what it means

function firstStageFinding(stage: FirstStage, stopped: boolean): Finding {
  const moved = `The instrument changes the share treated from ${percent(stage.treated_if_z0)} to ${percent(stage.treated_if_z1)}`;
  const name = "first stage";
  if (stage.f === null && stage.difference === 0) return finding(name, "look", `${moved}: not at all, so that it tells nothing about the treatment.`);
  if (stage.f === null) return finding(name, "ok", `${moved}.`);
  if (stage.f < LIMITS.weak_f) {
    const cost = stopped ? "" : "; bounds need no strong one, but will be wide";
    return finding(name, "look", `${moved} (F = ${stage.f.toFixed(1)}): a weak instrument${cost}.`);
  }
  return finding(name, "ok", `${moved} (F = ${commas(stage.f)}).`);
}

function complianceFinding(found: Diagnostics["compliance"], stage: FirstStage): Finding {
  const name = "compliance";
  if (found.kind === "perfect") {
    return finding(name, "ok", "Everybody did as the instrument says: the data are those of a trial with perfect compliance.");
  }
  if (found.kind === "no variation") {
    return finding(name, "stop", "The data cannot answer: everybody has the same treatment, so that its effect cannot be learnt.");
  }
  if (found.kind === "one-sided") {
    const arm = found.people[0]!.includes(0) ? 0 : 1;
    const who = found.people[arm]![1] === 0 ? "nobody" : "everybody";
    const [[untreated0, treated0], [untreated1]] = found.people as [[number, number], [number, number]];
    if (!untreated1 && treated0 >= Math.max(10, 0.05 * (untreated0 + treated0))) {
      // Whoever is not treated has Z = 0: so it looks when the column of what was taken is named as the instrument.
      const sentence =
        `One-sided non-compliance: everybody with Z = 1 is treated, and ${commas(treated0)} of ${commas(untreated0 + treated0)} ` +
        "with Z = 0 are too: so it looks when instrument and treatment are swapped.";
      return finding(name, "look", sentence, "Check that the instrument is what was assigned, not what was taken.");
    }
    return finding(name, "ok", `One-sided non-compliance: ${who} with Z = ${arm} is treated.`);
  }
  if (stage.difference < 0) {
    return finding(name, "look", "The instrument lowers the treatment.", "If that surprises you, check which value means 1.");
  }
  const [treated, untreated] = [found.people[0]![1]!, found.people[1]![0]!];
  return finding(name, "ok", `Two-sided non-compliance: ${commas(treated)} treated with Z = 0, ${commas(untreated)} untreated with Z = 1.`);
}

export function worstInequality(inequalities: Inequality[]): Inequality {
  return inequalities.reduce((worst, each) => (each.p_value < worst.p_value ? each : worst));
}

function inequalityFinding(inequalities: Inequality[]): Finding {
  const name = "instrumental inequalities";
  const worst = worstInequality(inequalities);
  if (!worst.violated) return finding(name, "ok", "The sample does not contradict the instrument: all four inequalities hold.");
  const what = `${worst.name} fails by ${worst.excess.toFixed(3)} in the sample (one-sided ${shownP(worst.p_value)})`;
  if (worst.p_value < LIMITS.violated_p / inequalities.length) {
    const remedy = "Check how the data are coded; if it is as you think, the instrument is not valid.";
    return finding(name, "stop", `The data contradict the instrument: ${what}, more than chance explains.`, remedy);
  }
  return finding(name, "look", `${what}: chance can explain it, but a valid instrument never implies it.`);
}

function positivityFinding(found: Diagnostics["positivity"]): Finding[] {
  if (!found) return [];
  const name = "positivity";
  const [low, high] = found.central_98_percent;
  const what = `given the covariates, the chance of Z = 1 lies between ${low.toFixed(2)} and ${high.toFixed(2)} for 98 % of the people`;
  const least = Math.min(low, 1 - high);
  if (least < 0.01 && 0.01 < Math.min(found.share_z1, 1 - found.share_z1)) {
    const sentence = `The data contradict that both arms are possible for everybody: ${what}; for some, one arm is all but impossible, and nothing is learnt about them.`;
    return [finding(name, "stop", sentence)];
  }
  if (least < 0.05) return [finding(name, "look", `${capitalised(what)}: for some, one arm is rare.`)];
  return [finding(name, "ok", `${capitalised(what)}: both arms are possible for everybody.`)];
}

function balanceFinding(found: Diagnostics["balance"], stage: FirstStage): Finding[] {
  if (!found) return [];
  if (found.largest >= SEPARATED) {
    const sentence = `The data cannot answer given the covariates: '${found.largest_column}' has one value in each arm, so nobody in one arm has a counterpart in the other.`;
    return [finding("balance", "stop", sentence, "Leave it out: it is the instrument once more, or was made from it.")];
  }
  const what = `the largest difference between the arms is ${found.largest.toFixed(2)} standard deviations, in '${found.largest_column}'`;
  // Among many covariates the joint test may miss one that differs much.
  const alone = erfc(found.largest / Math.sqrt(2 * (1 / stage.n_z0 + 1 / stage.n_z1))) * Object.keys(found.standardised_differences).length;
  const large = found.largest > LIMITS.large_difference;
  if ((large && (found.p_value < LIMITS.chance_p || alone < LIMITS.chance_p)) || (found.largest > 0.1 && found.p_value < 0.001)) {
    const remedy = "If assignment was meant to be random, find out why; if not, the bounds rely on the covariates to explain it.";
    return [finding("balance", "look", `The arms differ in their covariates: ${what}.`, remedy)];
  }
  if (large) return [finding("balance", "ok", `The arms differ in their covariates no more than chance explains: ${what}.`)];
  return [finding("balance", "ok", `The arms are alike in their covariates: ${what}.`)];
}

function sampleFinding(sample: Diagnostics["sample"], stage: FirstStage): Finding {
  const { n, d } = sample;
  const name = "sample";
  const smaller = Math.min(stage.n_z0, stage.n_z1);
  const [least, most] = LIMITS.people_range as [number, number];
  if (n < least || smaller < 10) {
    return finding(name, "look", `${commas(n)} people, ${commas(smaller)} in the smaller arm: so few that the prior speaks louder than the data.`);
  }
  if (n > most) return finding(name, "look", `${commas(n)} people are beyond the range that the network is made for; they count as ${commas(most)}.`);
  if (d > LIMITS.most_covariates) {
    return finding(name, "look", `${d} covariates: the network reads the ${LIMITS.most_covariates} that go most with Z, T and Y.`);
  }
  const rows = sample.n_rows + sample.n_dropped;
  if (sample.n_dropped > 0.1 * rows) {
    const remedy = "Find out whether those with missing values are like the others.";
    return finding(name, "look", `${commas(sample.n_dropped)} of ${commas(rows)} rows were dropped.`, remedy);
  }
  const covariates = d ? `${d} covariate${d === 1 ? "" : "s"}` : "no covariates";
  return finding(name, "ok", `${commas(n)} people and ${covariates}: within the range that the network is made for.`);
}

function outcomeFinding(found: Diagnostics["outcome"], binary: boolean): Finding {
  const [low, high] = found.range;
  if (binary) {
    if (found.mean === 0 || found.mean === 1) return finding("outcome", "look", `The outcome is ${found.mean} for everybody.`);
    return finding("outcome", "ok", `The outcome is binary, with ${percent(found.mean)} ones.`);
  }
  const [centralLow, centralHigh] = found.central_98_percent;
  const what = `98 % of the outcomes lie between ${g(centralLow)} and ${g(centralHigh)}, the possible range is ${g(low)} to ${g(high)}`;
  const top = found.top_percent_of_width ?? 0;
  if ((centralHigh - centralLow) / (high - low) < 0.5 || top > LIMITS.heavy_top) {
    const share = top >= LIMITS.top_worth_saying ? `; ${(100 * top).toFixed(0)} % of it comes from the top per cent.` : ".";
    const remedy =
      `If less is possible, give outcome_range=(${g(low)}, ...) (--range ${g(low)},HIGH); or bound the effect on ` +
      `the outcome cut off at its 99 % quantile, ${g(centralHigh)}: cap='99%' (--cap 99%).`;
    return finding("outcome", "look", `${what}: bounds grow with the range, so that a few extreme values make much of the width${share}`, remedy);
  }
  return finding("outcome", "ok", `${what}.`);
}
