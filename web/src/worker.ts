// Everything slow: reading files, encoding, the network. Data come in as a message and stay in this worker.
import { decode, parse, refuseBySize, type Table } from "./csv";
import { fromCounts, fromTable, preview } from "./data";
import { InputError } from "./facts";
import { loadModel, type Model } from "./model";
import type { Ask, Tell } from "./protocol";
import { bound } from "./result";

let model: Promise<Model> | null = null;
let table: Table | null = null;

// The page starts this file from a blob, so that its policy holds here too; the blob tells where the files are.
const base = (self as unknown as { pageBase: string }).pageBase;

function load(progress: (what: string, share: number) => void): Promise<Model> {
  model ??= loadModel(base, (share) => progress("Loading the network", 0.9 * share));
  return model;
}

async function answer(ask: Ask, progress: (what: string, share: number) => void): Promise<Omit<Extract<Tell, { kind: "ready" | "result" | "opened" }>, "id">> {
  let start = 0;
  if (ask.kind === "load") {
    await load(progress);
    return { kind: "ready" };
  }
  if (ask.kind === "open") {
    table = null;
    const bytes = typeof ask.content === "string" ? ask.content.length : ask.content.size;
    refuseBySize(ask.name, bytes);
    progress("Reading the file", 0.1);
    const text = typeof ask.content === "string" ? ask.content : decode(ask.name, new Uint8Array(await ask.content.arrayBuffer()));
    const read = parse(ask.name, text, (share) => progress("Reading the file", 0.2 + 0.6 * share));
    progress("Looking at the columns", 0.85);
    const columns = preview(read);
    table = read;
    return { kind: "opened", opened: { name: read.name, rows: read.rows, header: read.header, columns } } as never;
  }
  const network = await load(progress);
  start = performance.now();
  let data;
  if (ask.kind === "counts") {
    data = fromCounts(ask.counts);
  } else {
    if (!table) throw new InputError("choose a file first.");
    progress("Reading the columns", 0.02);
    data = fromTable(table, ask.roles);
  }
  const result = await bound(data, ask.alpha, network, progress);
  return { kind: "result", result, seconds: (performance.now() - start) / 1000 } as never;
}

self.onmessage = async ({ data: { id, ask } }: MessageEvent<{ id: number; ask: Ask }>) => {
  const tell = (message: Tell) => self.postMessage(message);
  try {
    const found = await answer(ask, (what, share) => tell({ id, kind: "progress", what, share }));
    tell({ id, ...found } as Tell);
  } catch (error) {
    if (error instanceof InputError) tell({ id, kind: "refused", sentence: error.message });
    else tell({ id, kind: "failed", reason: error instanceof Error ? error.message : String(error) });
  }
};
