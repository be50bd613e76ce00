// Eight counts, answered as they are typed.
import { Refused, type Client } from "./client";
import { $, h } from "./dom";
import { showNothing, showResult } from "./show";

const ARMS = ["Not assigned", "Assigned"];
const TREATED = ["not treated", "treated"];

export class CountsPanel {
  private asked = 0;
  private timer = 0;
  private readonly inputs: HTMLInputElement[] = [];

  constructor(
    private readonly client: Client,
    private readonly alpha: () => number,
  ) {
    const body = $("counts-body");
    for (const z of [0, 1]) {
      for (const t of [0, 1]) {
        const cells = [0, 1].map((y) => {
          const input = h("input", {
            id: `n${z}${t}${y}`,
            inputmode: "numeric",
            autocomplete: "off",
            "aria-label": `People ${ARMS[z]!.toLowerCase()}, ${TREATED[t]}, outcome ${y}`,
            input: () => this.soon(),
          });
          this.inputs.push(input);
          return h("td", {}, input);
        });
        const arm = t === 0 ? [h("th", { scope: "rowgroup", rowspan: 2, class: "arm" }, ARMS[z]!, h("span", { class: "code" }, `Z = ${z}`))] : [];
        body.append(h("tr", { class: t === 0 ? "first" : null }, ...arm, h("th", { scope: "row" }, TREATED[t]!, h("span", { class: "code" }, `T = ${t}`)), ...cells));
      }
    }
  }

  set(counts: number[]): void {
    counts.forEach((count, k) => (this.inputs[k]!.value = String(count)));
    void this.answer();
  }

  private soon(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.answer(), 120);
  }

  async answer(): Promise<void> {
    const turn = ++this.asked;
    const typed = this.inputs.map((input) => input.value.trim().replace(/[\s,_]/g, ""));
    this.inputs.forEach((input, k) => input.toggleAttribute("aria-invalid", typed[k] !== "" && !/^\d+$/.test(typed[k]!)));
    const wrong = typed.findIndex((text) => text !== "" && !/^\d+$/.test(text));
    if (wrong >= 0) return showNothing(`counts must be whole numbers of at least 0, but one is '${typed[wrong]}'.`, "error");
    if (typed.every((text) => text === "")) return showNothing("Type the eight counts, or take an example.", "wait");
    const counts = typed.map(Number);
    const alpha = this.alpha();
    try {
      const { result, seconds } = await this.client.counts(counts, alpha);
      if (turn === this.asked) showResult(result, { kind: "counts", counts, alpha }, seconds);
    } catch (error) {
      if (turn !== this.asked) return;
      showNothing(error instanceof Refused ? error.message : `Something went wrong in the page: ${(error as Error).message}`, "error");
    }
  }

  /** What was asked and is not answered yet is not wanted any more. */
  leave(): void {
    clearTimeout(this.timer);
    this.asked++;
  }
}
