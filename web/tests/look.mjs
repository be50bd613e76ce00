// Screenshots of the page, to look at: node tests/look.mjs FOLDER
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, open, serve } from "./browser.mjs";

const out = process.argv[2] ?? "look";
mkdirSync(out, { recursive: true });
const server = await serve();
const context = await launch();
const { page, log } = await open(context, server.url);
const shot = (name) => page.screenshot({ path: join(out, `${name}.png`), fullPage: true });
try {
  await page.waitForSelector("#answer", { timeout: 60000 });
  await shot("counts");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("counts-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 390, height: 800 });
  await shot("counts-phone");
  await page.click("button[data-example=encouragement]");
  await page.waitForFunction(() => document.querySelector("#shell-call")?.textContent.includes("encouragement"));
  await shot("file-phone");
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.click("#tab-counts");
  for (const [id, count] of Object.entries({ n000: 20, n001: 70, n010: 5, n011: 5, n100: 70, n101: 20, n110: 5, n111: 5 })) await page.fill(`#${id}`, String(count));
  await page.waitForSelector(".headline");
  await shot("stop");
  for (const example of ["encouragement", "earnings"]) {
    await page.click(`button[data-example=${example}]`);
    await page.waitForSelector("#answer, .refusal", { timeout: 60000 });
    await page.waitForFunction(() => document.querySelector("#working").hidden);
    await shot(example);
  }
  await page.selectOption("#role-treatment", "age").catch(() => {});
  await page.click("#run");
  await page.waitForSelector(".refusal", { timeout: 60000 });
  await shot("error");
} finally {
  console.log(log.complaints.join("\n"));
  await context.close();
  server.close();
}
