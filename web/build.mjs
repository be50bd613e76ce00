// Builds the page into dist/: scripts, styles, the wasm of onnxruntime-web and the model file. PYTHON names a Python that has ivicl (python3).
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, statSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "dist");
const MOST_BYTES = 30e6;

const python = process.env.PYTHON ?? "python3";
let facts;
try {
  facts = execFileSync(python, [join(here, "facts.py")], { maxBuffer: 1e8 });
} catch {
  console.error(`The build asks ${python} for the package's words and formulas, and it could not answer: name a Python that has ivicl installed, as in PYTHON=../.venv/bin/python npm run build.`);
  process.exit(1);
}
mkdirSync(join(here, "generated"), { recursive: true });
writeFileSync(join(here, "generated", "facts.json"), facts);

rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: { main: join(here, "src/main.ts"), worker: join(here, "src/worker.ts") },
  outdir: out,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  loader: { ".html": "text", ".csv": "text" },
});
for (const name of ["index.html", "style.css"]) cpSync(join(here, name), join(out, name));
const runtime = join(here, "node_modules/onnxruntime-web/dist");
for (const name of ["ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"]) cpSync(join(runtime, name), join(out, "ort", name));
const { model } = JSON.parse(facts);
cpSync(join(here, "../src/ivicl/weights", model.name), join(out, model.name));

const size = (path) => (statSync(path).isDirectory() ? readdirSync(path).reduce((total, name) => total + size(join(path, name)), 0) : statSync(path).size);
const total = size(out);
if (total > MOST_BYTES) throw new Error(`the page has ${total} bytes, more than ${MOST_BYTES}`);
if (process.argv.includes("--package")) {
  // For a release: the page goes into the wheel without the model, which is there already.
  const inside = join(here, "../src/ivicl/page");
  rmSync(inside, { recursive: true, force: true });
  cpSync(out, inside, { recursive: true, filter: (path) => !path.endsWith(model.name) });
}
console.log(`built dist/: ${(total / 1e6).toFixed(1)} MB`);
