// A static server for the built page and a headless Chromium: what every test of the page needs.
import { createReadStream, existsSync, mkdtempSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const WEB = dirname(dirname(fileURLToPath(import.meta.url)));
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

/** As a plain static host: no headers but the type. */
export async function serve(root = join(WEB, "dist")) {
  const server = createServer((request, response) => {
    const path = join(root, normalize(decodeURIComponent(new URL(request.url, "http://x").pathname)).replace(/\/$/, "/index.html"));
    if (!path.startsWith(root) || !existsSync(path)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream", "content-length": statSync(path).size });
    createReadStream(path).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

export async function launch() {
  const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
  args.push("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage");
  return chromium.launchPersistentContext(mkdtempSync(join(tmpdir(), "ivicl-page-")), {
    executablePath,
    headless: true,
    args,
    acceptDownloads: true,
    viewport: { width: 1280, height: 900 },
  });
}

/** Open the page; everything that it asks for and everything that it complains about is kept. */
export async function open(context, url) {
  const page = await context.newPage();
  const log = { requests: [], complaints: [] };
  context.on("request", (request) => log.requests.push(request.url()));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && log.complaints.push(message.text()));
  page.on("pageerror", (error) => log.complaints.push(String(error)));
  const start = performance.now();
  await page.goto(url);
  return { page, log, start };
}
