// Tests of the built page in a real browser: node tests/run.mjs [folder for what is downloaded] [part of a test's name]
// PAGE_URL is where somebody else serves the page; else it is served here, as a plain static host would.
import { mkdirSync } from "node:fs";
import { launch, open, serve } from "./browser.mjs";
import { TESTS } from "./tests.mjs";

const [out = "downloads", only = ""] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const server = process.env.PAGE_URL ? { url: process.env.PAGE_URL, close() {} } : await serve();
const context = await launch();
const { page, log, start } = await open(context, server.url);
let failed = 0;
for (const [name, test] of Object.entries(TESTS)) {
  if (!name.includes(only)) continue;
  const began = performance.now();
  try {
    const said = await test({ page, context, log, start, out, url: server.url });
    console.log(`ok    ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)${said ? `: ${said}` : ""}`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}: ${error.message}`);
  }
}
await context.close();
server.close();
console.log(failed ? `${failed} failed` : "all passed");
process.exit(failed ? 1 : 0);
