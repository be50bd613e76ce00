// What a person does on the page, as functions, and what they then see.
import { readFileSync } from "node:fs";

export function expect(truth, sentence) {
  if (!truth) throw new Error(sentence);
}

/** Wait until the page has answered what was asked last: with a result, or with a sentence. */
export async function answered(page, wanted = "#answer") {
  await page.waitForFunction(() => document.querySelector("#working").hidden && document.querySelector("#answer, .refusal"), null, { timeout: 120000 });
  const refusal = await page.locator(".refusal").allTextContents();
  if (wanted === "#answer") expect(!refusal.length, `the page refused: ${refusal[0]}`);
  else expect(refusal.length === 1, "the page should have refused, but answered");
  return refusal[0];
}

export async function typeCounts(page, counts) {
  await page.click("#tab-counts");
  const before = await page.locator("#python-call").textContent().catch(() => null);
  for (const [k, count] of counts.entries()) await page.fill(`#n${k >> 2}${(k >> 1) & 1}${k & 1}`, String(count));
  const [a, b, c, d, e, f, g, h] = counts;
  const call = `[[[${a}, ${b}], [${c}, ${d}]], [[${e}, ${f}], [${g}, ${h}]]]`;
  if (before?.includes(call)) return;
  await page.waitForFunction((text) => document.querySelector("#python-call")?.textContent.includes(text), call, { timeout: 60000 });
}

export async function giveFile(page, name, content) {
  await page.click("#tab-file");
  await page.setInputFiles("#file", typeof content === "string" && content.startsWith("/") ? content : { name, mimeType: "text/csv", buffer: Buffer.from(content) });
  await page.waitForFunction((file) => document.querySelector("#file-name").textContent.startsWith(`${file}:`) || document.querySelector(".refusal"), name, { timeout: 60000 });
  await page.waitForFunction(() => document.querySelector("#working").hidden, null, { timeout: 60000 });
}

export async function chooseRoles(page, roles) {
  for (const role of ["instrument", "treatment", "outcome", "weights"]) await page.selectOption(`#role-${role}`, roles[role] ?? "");
  for (const box of await page.locator("#covariates input").all()) {
    await box.setChecked((roles.covariates ?? []).includes(await box.getAttribute("value")));
  }
  for (const role of ["instrument", "treatment", "outcome"]) {
    const one = roles.ones?.[roles[role]];
    if (one === undefined) continue;
    const part = page.locator(".role", { has: page.locator(`#role-${role}`) });
    if ((await part.locator(".coding b").first().textContent()) !== String(one)) await part.locator("button.link").click();
  }
  await page.setChecked("#keep-missing", roles.missing === "indicator");
  if (roles.outcome_range) {
    await page.fill("#range-low", String(roles.outcome_range[0]));
    await page.fill("#range-high", String(roles.outcome_range[1]));
  }
}

export async function run(page) {
  await page.click("#run");
  await page.waitForFunction(() => !document.querySelector(".waiting"), null, { timeout: 120000 });
}

export async function saved(page, button, path) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
  await download.saveAs(path);
  return readFileSync(path, "utf8");
}
