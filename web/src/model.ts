// The network: one graph behind one function. Everything that knows the graph's inputs and outputs is in this file.
import * as ort from "onnxruntime-web/wasm";
import { FACTS } from "./facts";
import { BinnedPosterior, IdentifiedSet, sum } from "./posterior";

/** What the graph is asked: rows of (x, z, t) that w people share, with the mean y of their outcomes, between 0 and 1. */
export interface Rows {
  x: Float64Array[];
  z: Float64Array;
  t: Float64Array;
  y: Float64Array;
  w: Float64Array;
  /** Variance of the outcome among the people of the row; none is zero. */
  v?: Float64Array;
}

/** What it answers, on the scale of an outcome between 0 and 1. */
export interface Answer {
  effect: BinnedPosterior;
  ends: IdentifiedSet;
}

export interface Model {
  answer(rows: Rows): Promise<Answer>;
}

/** The schema of the graph that this page speaks (ivicl/methods/pretrained/schema_2.py). */
const SCHEMA = 2;

/** Load the wasm and the model file, both beside the page. `progress` is told the share of the bytes that are here. */
export async function loadModel(base: string, progress: (share: number) => void): Promise<Model> {
  if (FACTS.model.schema !== SCHEMA) throw new Error(`This page does not speak schema ${FACTS.model.schema} of the network's graph.`);
  ort.env.wasm.wasmPaths = new URL("ort/", base).href;
  // Threads need shared memory, which browsers give only to pages served with isolation headers (as ivicl app does).
  ort.env.wasm.numThreads = globalThis.crossOriginIsolated ? Math.min(4, navigator.hardwareConcurrency || 1) : 1;
  const content = await fetchWithProgress(new URL(FACTS.model.name, base).href, progress);
  const session = await ort.InferenceSession.create(content, {
    executionProviders: ["wasm"],
    // As in the package: the optimiser and the memory planner spend seconds on this graph, and passes are no faster.
    graphOptimizationLevel: "disabled",
    enableMemPattern: false,
    logSeverityLevel: 3,
  });
  return speaking(session);
}

async function fetchWithProgress(url: string, progress: (share: number) => void): Promise<Uint8Array> {
  const response = await fetch(url);
  if (!response.ok || !response.body) throw new Error(`The model file cannot be loaded (${response.status}).`);
  const total = Number(response.headers.get("content-length")) || 10e6;
  const parts: Uint8Array[] = [];
  let done = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { value, done: last } = await reader.read();
    if (last) break;
    parts.push(value);
    done += value.length;
    progress(Math.min(done / total, 1));
  }
  const content = new Uint8Array(done);
  parts.reduce((at, part) => (content.set(part, at), at + part.length), 0);
  return content;
}

const BINS = 1024;
const EDGES = Float64Array.from({ length: BINS + 1 }, (_, k) => (k === BINS ? 1 : -1 + (2 / BINS) * k));

/** Eleven quantities, of which the first two are the ends of the effect, on grids of their own. */
const QUANTITIES = 11;
const CELLS = 128;
const [REACH, SPAN] = [0.8, 5];
const OFFSETS = Float64Array.from({ length: CELLS + 1 }, (_, k) => REACH * Math.sinh(-SPAN + ((2 * SPAN) / CELLS) * k));

/** Merged rows with the mean and the variance of y; outputs: log probabilities of the effect, and anchor, unit and log mass of the quantities. */
function speaking(session: ort.InferenceSession): Model {
  return {
    async answer(rows) {
      const yesNo = rows.y.every((y) => y === 0 || y === 1);
      const merged = varies(rows.x) ? rows : yesNo ? eightCells(rows) : fourCells(rows);
      const told = {
        no_defiers: new ort.Tensor("float32", new Float32Array(1), [1, 1]),
        design: new ort.Tensor("float32", new Float32Array(QUANTITIES).fill(1), [1, QUANTITIES]),
      };
      const found = await session.run({ ...feedOf(merged), ...told }, ["effect", "anchor", "unit", "mass"]);
      const [anchor, unit, mass] = [numbers(found["anchor"]!), numbers(found["unit"]!), numbers(found["mass"]!)];
      const end = (place: number) => {
        const edges = OFFSETS.map((offset) => Math.min(Math.max(anchor[place]! + unit[place]! * offset, -1), 1));
        return onCells(edges, shares(mass.subarray(place * CELLS, (place + 1) * CELLS)));
      };
      return { effect: new BinnedPosterior(EDGES, shares(numbers(found["effect"]!))), ends: new IdentifiedSet(end(0), end(1)) };
    },
  };
}

/** On edges some of which are equal, cut to the possible range: what a cell without width holds goes to the next one that has some. */
function onCells(edges: Float64Array, masses: Float64Array): BinnedPosterior {
  const wide = [...masses.keys()].filter((k) => edges[k + 1]! > edges[k]!);
  const held = new Float64Array(wide.length);
  let owner = 0;
  masses.forEach((mass, k) => {
    while (owner < wide.length - 1 && wide[owner]! < k) owner++;
    held[owner]! += mass;
  });
  return new BinnedPosterior(Float64Array.from([...wide.map((k) => edges[k]!), edges[wide[wide.length - 1]! + 1]!]), held);
}

function feedOf(rows: Rows): Record<string, ort.Tensor> {
  const { x, w } = rows;
  const n = w.length;
  const flat = new Float64Array(n * x.length);
  x.forEach((column, j) => column.forEach((value, i) => (flat[i * x.length + j] = value)));
  const named: Record<string, Float64Array> = { z: rows.z, t: rows.t, y: rows.y, w, v: rows.v ?? new Float64Array(n) };
  const narrow = Object.entries(named).map(([name, values]) => [name, new ort.Tensor("float32", Float32Array.from(values), [1, n])]);
  return { x: new ort.Tensor("float64", flat, [1, n, x.length]), ...Object.fromEntries(narrow) };
}

function numbers(tensor: ort.Tensor): Float64Array {
  return Float64Array.from(tensor.data as Float32Array | Float64Array);
}

/** Probabilities from log probabilities that sum to one up to float32. */
function shares(logs: Float64Array): Float64Array {
  const masses = logs.map(Math.exp);
  const total = sum(masses);
  return masses.map((m) => m / total);
}

function varies(x: Float64Array[]): boolean {
  return x.some((column) => column.some((value) => value !== column[0]));
}

/** Without covariates the table is its eight counts. */
function eightCells({ z, t, y, w }: Rows): Rows {
  const cells = Float64Array.from({ length: 8 }, (_, k) => k);
  const counts = new Float64Array(8);
  w.forEach((weight, i) => (counts[4 * z[i]! + 2 * t[i]! + y[i]!]! += weight));
  return { x: [], z: cells.map((k) => k >> 2), t: cells.map((k) => (k >> 1) & 1), y: cells.map((k) => k & 1), w: counts };
}

/** An amount without covariates: people, mean and variance in each (z, t). */
function fourCells({ z, t, y, w, v }: Rows): Rows {
  const [people, mean, spread] = [new Float64Array(4), new Float64Array(4), new Float64Array(4)];
  const cell = (i: number) => 2 * z[i]! + t[i]!;
  w.forEach((weight, i) => (people[cell(i)]! += weight));
  w.forEach((weight, i) => (mean[cell(i)]! += (weight * y[i]!) / people[cell(i)]!));
  w.forEach((weight, i) => (spread[cell(i)]! += (weight * ((y[i]! - mean[cell(i)]!) ** 2 + (v?.[i] ?? 0))) / people[cell(i)]!));
  const cells = Float64Array.from({ length: 4 }, (_, k) => k);
  return { x: [], z: cells.map((k) => k >> 1), t: cells.map((k) => k & 1), y: mean, w: people, v: spread };
}
