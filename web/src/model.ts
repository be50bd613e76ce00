// The network: one graph behind one function. Everything that knows the graph's inputs and outputs is in this file.
import * as ort from "onnxruntime-web/wasm";
import { FACTS } from "./facts";
import { BinnedPosterior, IdentifiedSet, sum } from "./posterior";

/** What the graph is asked: rows of (x, z, t, y) that w people share, y between 0 and 1. */
export interface Rows {
  x: Float64Array[];
  z: Float64Array;
  t: Float64Array;
  y: Float64Array;
  w: Float64Array;
}

/** What it answers, on the scale of an outcome between 0 and 1. */
export interface Answer {
  effect: BinnedPosterior;
  ends: IdentifiedSet;
}

export interface Model {
  answer(rows: Rows): Promise<Answer>;
}

/** The schema of the graph (ivicl/methods/pretrained/runtime.py) and how to speak it. A new graph is a new entry. */
const SCHEMAS: Record<number, (session: ort.InferenceSession) => Model> = { 1: firstSchema };

/** Load the wasm and the model file, both beside the page. `progress` is told the share of the bytes that are here. */
export async function loadModel(base: string, progress: (share: number) => void): Promise<Model> {
  const speak = SCHEMAS[FACTS.model.schema];
  if (!speak) throw new Error(`This page does not speak schema ${FACTS.model.schema} of the network's graph.`);
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
  return speak(session);
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

/** Inputs x (B,N,D) in float64 and z, t, y, w (B,N); outputs: log probabilities (B,K) of effect, lower and upper end. */
function firstSchema(session: ort.InferenceSession): Model {
  return {
    async answer(rows) {
      const { x, z, t, y, w } = varies(rows.x) ? rows : eightCells(rows);
      const n = w.length;
      const flat = new Float64Array(n * x.length);
      x.forEach((column, j) => column.forEach((value, i) => (flat[i * x.length + j] = value)));
      const part = (values: Float64Array) => new ort.Tensor("float32", Float32Array.from(values), [1, n]);
      const feed = { x: new ort.Tensor("float64", flat, [1, n, x.length]), z: part(z), t: part(t), y: part(y), w: part(w) };
      const found = await session.run(feed);
      const posterior = (name: string) => {
        const masses = Float64Array.from(found[name]!.data as Float32Array, Math.exp);
        const total = sum(masses);
        return new BinnedPosterior(EDGES, masses.map((m) => m / total));
      };
      return { effect: posterior("effect"), ends: new IdentifiedSet(posterior("lower"), posterior("upper")) };
    },
  };
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
