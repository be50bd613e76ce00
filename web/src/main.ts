// The page: two ways in, one answer.
import { Client } from "./client";
import { CountsPanel } from "./counts";
import type { Roles } from "./data";
import { $ } from "./dom";
import { FACTS } from "./facts";
import { FilePanel } from "./file";
import { showNothing } from "./show";
import amount from "../examples/earnings.csv";
import covariates from "../examples/encouragement.csv";

const client = new Client();
const alpha = () => Number($<HTMLSelectElement>("alpha").value);
const counts = new CountsPanel(client, alpha);
const file = new FilePanel(client, alpha);
let current: "counts" | "file" = "counts";

const TABS = ["counts", "file"] as const;

function choose(name: (typeof TABS)[number]): void {
  current = name;
  for (const each of TABS) {
    const tab = $(`tab-${each}`);
    tab.setAttribute("aria-selected", String(each === name));
    tab.tabIndex = each === name ? 0 : -1;
    $(`panel-${each}`).hidden = each !== name;
  }
  (name === "counts" ? file : counts).leave();
}

for (const [place, name] of TABS.entries()) {
  const tab = $(`tab-${name}`);
  tab.addEventListener("click", () => {
    if (current === name) return;
    choose(name);
    if (name === "counts") void counts.answer();
    else showNothing("Choose a file, or drop one.", "wait");
  });
  tab.addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const other = $(`tab-${TABS[1 - place]!}`);
    other.focus();
    other.click();
  });
}

$("alpha").addEventListener("change", () => void (current === "counts" ? counts.answer() : file.run()));

const NONE = { weights: null, range: null, ones: {} };
const FILES: Record<string, [string, string, Roles]> = {
  encouragement: [
    "encouragement.csv",
    covariates,
    { ...NONE, ones: { invited: "letter" }, outcome: "quit", treatment: "attended", instrument: "invited", covariates: ["age", "sex", "region", "cigarettes"], missing: "indicator" },
  ],
  earnings: [
    "earnings.csv",
    amount,
    { ...NONE, outcome: "earnings", treatment: "trained", instrument: "offered", covariates: ["age", "schooling"], missing: "drop", range: [0, 45] },
  ],
};

for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-example]")) {
  button.addEventListener("click", () => {
    const name = button.dataset["example"]!;
    const table = (FACTS.counts as Record<string, number[][][]>)[name];
    choose(table ? "counts" : "file");
    if (table) counts.set(table.flat(2));
    else void file.open(...FILES[name]!);
  });
}

async function start(): Promise<void> {
  const [bar, label] = [$<HTMLProgressElement>("loading-bar"), $("loading-text")];
  try {
    await client.load((what, share) => {
      bar.value = share;
      label.textContent = what;
    });
    $("loading").hidden = true;
    document.documentElement.dataset["ready"] = "yes";
  } catch (error) {
    label.textContent = `The network could not be loaded: ${(error as Error).message}`;
  }
}

choose("counts");
counts.set(FACTS.counts.cholestyramine.flat(2));
void start();
