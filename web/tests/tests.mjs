// The tests, in order; the first one meets the page cold.
import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { WEB } from "./browser.mjs";
import { answered, chooseRoles, expect, giveFile, run, saved, typeCounts } from "./hands.mjs";

const VECTORS = JSON.parse(readFileSync(join(WEB, "../tests/data/page_vectors.json"), "utf8"));
const AXE = readFileSync(join(WEB, "node_modules/axe-core/axe.min.js"), "utf8");
// A machine that does other things at the same time is given more time: PATIENCE=4.
const PATIENCE = Number(process.env.PATIENCE ?? 1);

function within(seconds, limit, what) {
  expect(seconds <= limit * PATIENCE, `${what} took ${seconds.toFixed(1)} s, more than ${limit} s`);
  return `${what} ${seconds.toFixed(2)} s`;
}

async function timed(action) {
  const start = performance.now();
  await action();
  return (performance.now() - start) / 1000;
}

/** Where two structures differ: numbers by more than the tolerance, anything else at all. */
function difference(found, expected, tolerance, path = "") {
  if (typeof expected === "number") {
    return typeof found === "number" && Math.abs(found - expected) <= tolerance ? null : `${path}: ${found}, not ${expected}`;
  }
  if (expected !== null && typeof expected === "object") {
    if (found === null || typeof found !== "object") return `${path}: ${found}, not ${JSON.stringify(expected)}`;
    const keys = new Set([...Object.keys(expected), ...Object.keys(found)]);
    for (const key of keys) {
      const here = difference(found[key], expected[key], tolerance, `${path}.${key}`);
      if (here) return here;
    }
    return null;
  }
  return found === expected ? null : `${path}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`;
}

function compare(name, found, expected) {
  const span = expected.outcome_range[1] - expected.outcome_range[0];
  const { ladder, findings, ...rest } = expected;
  for (const [key, value] of Object.entries(rest)) {
    const here = difference(found[key], value, 1e-6 * span, key);
    expect(!here, `${name}: ${here}`);
  }
  for (const rung of found.ladder) {
    const name = `${rung.method}, ${rung.adjusted ? "adjusted" : "no covariates"}`;
    const here = difference([rung.lower, rung.upper], ladder[name], 1e-6 * span, name);
    expect(!here, `${name}: ladder, ${here}`);
  }
  const here = difference(found.diagnostics.findings, findings, 0, "findings");
  expect(!here, `${name}: ${here}`);
}

async function accessible(page, state) {
  const found = await page.evaluate(`(() => { const module = undefined; const exports = undefined; ${AXE}; return window.axe.run(document); })()`);
  const bad = found.violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  expect(!bad.length, `${state}: ${bad.map(({ id, nodes }) => `${id} at ${nodes[0].target}`).join("; ")}`);
}

async function refuses(page, name, content, sentence) {
  await giveFile(page, name, content);
  const said = await answered(page, ".refusal");
  expect(said.includes(sentence), `said "${said}", not "${sentence}"`);
  expect(/^[^\n]{10,400}\.$/.test(said), `not one sentence: ${said}`);
}

const TRIAL = VECTORS.find(({ name }) => name.startsWith("text and missing values, dropped"));

function large(rows, covariates, seed = 1) {
  let state = seed;
  const random = () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32);
  const names = Array.from({ length: covariates }, (_, k) => `x${k}`);
  const lines = [["z", "t", "y", ...names].join(",")];
  for (let i = 0; i < rows; i++) {
    const x = names.map(() => random().toFixed(4));
    const z = Number(random() < 0.5);
    const t = Number(random() < 0.2 + 0.5 * z);
    lines.push([z, t, Number(random() < 0.3 + 0.3 * t), ...x].join(","));
  }
  return { text: `${lines.join("\n")}\n`, names };
}

const BASIC = { instrument: "z", treatment: "t", outcome: "y" };

export const TESTS = {
  async "a cold load answers the first example"({ page, start }) {
    await answered(page);
    const seconds = (performance.now() - start) / 1000;
    const answer = await page.locator("#answer").textContent();
    const [low, high] = ["lower", "upper"].map((end) => VECTORS[0].expected[end].toFixed(3));
    expect(answer.includes(`between ${low} and ${high}`), answer);
    const threads = await page.evaluate(() => crossOriginIsolated);
    return `${within(seconds, 5, "first interval")}, ${threads ? "several threads" : "one thread"}`;
  },

  async "the vectors: the package's numbers and words"({ page, out }) {
    for (const vector of VECTORS) {
      await page.selectOption("#alpha", String(vector.alpha));
      if (vector.counts) await typeCounts(page, vector.counts);
      else {
        await giveFile(page, "file.csv", vector.text);
        await chooseRoles(page, vector.roles);
        await run(page);
      }
      await answered(page);
      compare(vector.name, JSON.parse(await saved(page, "#save-json", join(out, "vector.json"))), vector.expected);
    }
    await page.selectOption("#alpha", "0.05");
    return `${VECTORS.length} data sets`;
  },

  async "counts answer as they are typed"({ page }) {
    await typeCounts(page, [100, 50, 0, 0, 60, 40, 20, 90]);
    const seconds = await timed(async () => {
      await page.fill("#n111", "91");
      await page.waitForFunction(() => document.querySelector("#python-call")?.textContent.includes("[20, 91]"));
    });
    const shown = await page.locator(".key").textContent();
    await page.click("button[data-example=vitamin_a]");
    await page.waitForFunction(() => document.querySelector("#python-call").textContent.includes("11514"));
    expect(shown !== (await page.locator(".key").textContent()), "the figures did not change");
    return within(seconds, 0.5, "a count");
  },

  async "counts that cannot be"({ page }) {
    await page.click("#tab-counts");
    await page.fill("#n000", "many");
    await page.waitForFunction(() => document.querySelector(".refusal")?.textContent.includes("'many'"));
    for (const id of ["n000", "n001", "n010", "n011"]) await page.fill(`#${id}`, "0");
    await page.waitForFunction(() => document.querySelector(".refusal")?.textContent.includes("nobody with z = 0"));
  },

  async "bad files, each with a sentence"({ page, out }) {
    await refuses(page, "empty.csv", "", "'empty.csv' is empty");
    await refuses(page, "blank.csv", "\n\n", "'blank.csv' is empty");
    await refuses(page, "words.txt", "not a table at all\nreally", "fewer than three columns");
    await refuses(page, "picture.csv", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 1, 2]), "is not a table");
    await refuses(page, "head.csv", "z,t,y\n", "has the names of columns but no rows");
    await refuses(page, "ragged.csv", "z,t,y\n1,0,1\n1,0,1,7\n", "line 3 has 4 fields");
    await refuses(page, "quote.csv", 'z,t,y\n1,0,"open\n', "line 2 a quotation mark");
    await refuses(page, "twice.csv", "z,z,y\n1,0,1\n", "more than one column named 'z'");
    const big = join(out, "big.csv");
    writeFileSync(big, "z,t,y\n0,0,1\n");
    truncateSync(big, 200e6);
    await refuses(page, "big.csv", big, "200 MB");
    truncateSync(big, 0);
  },

  async "roles that cannot be, each with a sentence"({ page }) {
    const asked = async (text, roles, sentence) => {
      await giveFile(page, "roles.csv", text);
      await chooseRoles(page, roles);
      await run(page);
      const said = await answered(page, ".refusal");
      expect(said.includes(sentence), `said "${said}", not "${sentence}"`);
    };
    await asked("z,t,y\n0,0,1\n1,1,0\n1,2,1\n", BASIC, "treatment 't' must have two values, but has 3: 0, 1, 2");
    await asked("z,t,y\n1,0,1\n1,1,0\n", BASIC, "instrument 'z' is always 1");
    await asked("z,t,y\n0,0,a\n1,1,b\n1,0,c\n", BASIC, "outcome 'y' must be numbers or two values");
    await asked("z,t,y\n0,0,1\n1,1,0\n0,1,1\n1,0,1\n", { ...BASIC, outcome: "t" }, "column 't' is given twice");
    await asked("z,t,y,w\n0,0,1,1.5\n1,1,0,2\n", { ...BASIC, weights: "w" }, "must be whole numbers");
    // The choices of the last file are kept where its columns are there, and said where they are not.
    await giveFile(page, "other.csv", "arm,taken,well\n0,0,1\n1,1,0\n");
    const said = await answered(page, ".refusal");
    expect(said.includes("there is no column") && said.includes("'arm', 'taken', 'well'"), said);
  },

  async "text in the encodings of older spreadsheets"({ page }) {
    const text = "z,t,y,place\n0,0,1,Zürich\n1,1,0,Bern\n1,0,1,Zürich\n";
    const wide = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, "utf16le")]);
    for (const [name, content] of [["latin.csv", Buffer.from(text, "latin1")], ["wide.csv", wide]]) {
      await giveFile(page, name, content);
      expect((await page.locator("#covariates, #roles").allTextContents()).join().includes("Zürich"), `${name} is not read`);
    }
  },

  async "text from a file stays text"({ page }) {
    const evil = '<img src=x onerror="window.hacked=1">';
    const text = `z,t,y,"${evil.replace(/"/g, '""')}"\n${["0,0,1,a", "1,1,0,<script>hacked=1</script>", "0,1,1,a", "1,0,0,a"].join("\n")}\n`;
    await giveFile(page, `${evil}.csv`.replace("/", ""), text);
    await chooseRoles(page, { ...BASIC, covariates: [evil] });
    await run(page);
    await answered(page);
    expect((await page.locator("#result").textContent()).includes(evil), "the name is not shown");
    expect((await page.locator("img, #result script").count()) === 0, "markup was made of text");
    expect((await page.evaluate(() => window.hacked)) === undefined, "a script of the file ran");
  },

  async "a large study with a progress bar"({ page }) {
    const { text, names } = large(2000, 10);
    await giveFile(page, "study.csv", text);
    await chooseRoles(page, { ...BASIC, covariates: names });
    await run(page);
    const seconds = await timed(() => run(page));
    await answered(page);
    return within(seconds, 3, "2,000 rows of ten covariates");
  },

  async "a file of more than 10 MB"({ page }) {
    const { text } = large(330000, 4);
    expect(text.length > 10e6, "too small a file");
    const seconds = await timed(() => giveFile(page, "long.csv", text));
    await chooseRoles(page, BASIC);
    await run(page);
    await answered(page);
    expect((await page.locator(".pairs").textContent()).includes("330,000"), "not all rows were used");
    return within(seconds, 15, `${(text.length / 1e6).toFixed(0)} MB read`);
  },

  async "examples, and what can be taken home"({ page, out }) {
    const saves = { cholestyramine: "counts", encouragement: "covariates", earnings: "amount" };
    for (const [example, name] of Object.entries(saves)) {
      await page.click(`button[data-example=${example}]`);
      await page.waitForFunction((word) => document.querySelector("#shell-call")?.textContent.includes(word), example === "cholestyramine" ? "158" : `${example}.csv`, { timeout: 60000 });
      await answered(page);
      await saved(page, "#save-json", join(out, `${name}.json`));
      const report = await saved(page, "#save-report", join(out, `${name}.html`));
      expect(report.includes("<svg") && !/\$\w/.test(report.replace(/<style>[^]*<\/style>/, "")), "the report is not filled in");
      expect(!/(?:src|href)="(?!#|data:)/.test(report), "the report leads outside");
      writeFileSync(join(out, `${name}.py`), await page.locator("#python-call").textContent());
      writeFileSync(join(out, `${name}.sh`), await page.locator("#shell-call").textContent());
      await saved(page, "figcaption button >> nth=0", join(out, `${name}.svg`));
    }
  },

  async "nothing serious for axe, light and dark, wide and narrow"({ page }) {
    await giveFile(page, "file.csv", TRIAL.text);
    await chooseRoles(page, TRIAL.roles);
    await run(page);
    await answered(page);
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await accessible(page, `a file, ${colorScheme}`);
    }
    await page.click("button[data-example=cholestyramine]");
    await page.waitForFunction(() => document.querySelector("#shell-call")?.textContent.includes("158"));
    await page.setViewportSize({ width: 360, height: 740 });
    await accessible(page, "counts, phone, dark");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide <= 360, `the page is ${wide} wide on a phone of 360`);
    await page.fill("#n000", "x");
    await page.waitForSelector(".refusal");
    await page.emulateMedia({ colorScheme: "light" });
    await accessible(page, "an error, phone, light");
    await page.setViewportSize({ width: 1280, height: 900 });
  },

  async "the keyboard is enough"({ page }) {
    await page.click("button[data-example=cholestyramine]");
    await page.focus("#tab-counts");
    await page.keyboard.press("ArrowRight");
    expect(await page.isVisible("#panel-file"), "the arrow does not change the tab");
    expect((await page.evaluate(() => document.activeElement.id)) === "tab-file", "the focus is lost");
    await page.keyboard.press("Tab");
    expect((await page.evaluate(() => document.activeElement.id)) === "file", "the file cannot be reached");
    await page.focus("#tab-file");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Tab");
    expect((await page.evaluate(() => document.activeElement.id)) === "n000", "the counts cannot be reached");
    await page.keyboard.type("1");
    await answered(page);
  },

  async "nothing leaves the page, nothing is kept"({ page, context, log, url }) {
    const heard = [];
    const outside = createServer((request, response) => {
      heard.push(request.url);
      response.writeHead(200, { "access-control-allow-origin": "*" }).end();
    });
    await new Promise((resolve) => outside.listen(0, "127.0.0.1", resolve));
    const target = `http://127.0.0.1:${outside.address().port}/`;
    const before = log.complaints.slice();
    const calls = (address) => fetch(address).then(() => "got out", () => "refused");
    expect((await page.evaluate(calls, target)) === "refused", "the page can call others");
    const [worker] = page.workers();
    expect((await worker.evaluate(calls, target)) === "refused", "the worker can call others");
    outside.close();
    expect(!heard.length, "a request reached another server");
    const strangers = log.requests.filter((address) => !address.startsWith(url) && !address.startsWith("blob:") && !address.startsWith("data:") && address !== target);
    expect(!strangers.length, `asked for ${strangers[0]}`);
    const kept = await page.evaluate(async () => [document.cookie, localStorage.length, sessionStorage.length, (await indexedDB.databases()).length, (await caches.keys()).length].join());
    expect(kept === ",0,0,0,0", `something is stored: ${kept}`);
    expect(!(await context.cookies()).length, "a cookie is stored");
    expect(!before.length, `the browser complained: ${before[0]}`);
    return `${log.requests.length} requests, all to the page's own files`;
  },
};
