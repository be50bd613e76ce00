// A file: choose it, say which column is what, see what became 0 and 1, run.
import { Refused, type Client } from "./client";
import type { Range } from "./columns";
import { noSuchColumn, type Preview, type Roles } from "./data";
import { $, h } from "./dom";
import type { Opened } from "./protocol";
import { showNothing, showResult } from "./show";
import { commas, show, type Value } from "./text";

type Role = "outcome" | "treatment" | "instrument" | "weights";
const ROLES: Role[] = ["instrument", "treatment", "outcome", "weights"];
const ABOUT: Record<Role, [string, string]> = {
  instrument: ["Instrument", "What people were assigned or encouraged to do, by lot or as good as by lot. Two values."],
  treatment: ["Treatment", "What they really took or did. Two values."],
  outcome: ["Outcome", "What it may have changed: two values, or numbers in a bounded range."],
  weights: ["People per row (optional)", "A column that says how many people a row stands for."],
};

export class FilePanel {
  private opened: Opened | null = null;
  private asked = 0;
  private readonly selects = {} as Record<Role, HTMLSelectElement>;
  private readonly below = {} as Record<Role, HTMLElement>;
  private readonly ones: Record<string, Value> = {};
  private covariates = new Set<string>();

  constructor(
    private readonly client: Client,
    private readonly alpha: () => number,
  ) {
    const input = $<HTMLInputElement>("file");
    input.addEventListener("change", () => {
      const file = input.files?.[0];
      if (file) void this.open(file.name, file);
      input.value = "";
    });
    const drop = $("drop");
    for (const kind of ["dragenter", "dragover"]) {
      drop.addEventListener(kind, (event) => {
        event.preventDefault();
        drop.classList.add("over");
      });
    }
    for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void this.open(file.name, file);
    });
    $("run").addEventListener("click", () => void this.run());
    for (const role of ROLES) this.addRole(role);
  }

  private addRole(role: Role): void {
    const [name, about] = ABOUT[role];
    const select = h("select", { id: `role-${role}`, "aria-describedby": `about-${role}`, change: () => this.chosen() });
    const below = h("div", { class: "below", "aria-live": "polite" });
    this.selects[role] = select;
    this.below[role] = below;
    $("roles").append(
      h("div", { class: "role" }, h("label", { for: `role-${role}` }, name), h("p", { class: "hint", id: `about-${role}` }, about), select, below),
    );
  }

  /** Read a file. Choices made for the file before it are kept if its columns are there. */
  async open(name: string, content: Blob | string, roles?: Roles): Promise<void> {
    const turn = ++this.asked;
    const before = roles ?? (this.opened ? this.roles() : null);
    showNothing(`Reading '${name}' ...`, "wait");
    try {
      const opened = await this.client.open(name, content, (what, share) => this.progress(what, share));
      if (turn !== this.asked) return;
      this.opened = opened;
      const gone = before && before.outcome ? noSuchColumn(opened.header, before) : null;
      this.fill(gone ? null : before);
      if (gone) showNothing(gone, "error");
      else if (roles) await this.run();
      else showNothing(`'${name}' has ${commas(opened.rows)} rows and ${opened.header.length} columns. Choose the instrument, the treatment and the outcome.`, "wait");
    } catch (error) {
      if (turn === this.asked) this.refuse(error);
    } finally {
      if (turn === this.asked) this.progress(null, 0);
    }
  }

  private refuse(error: unknown): void {
    showNothing(error instanceof Refused ? error.message : `Something went wrong in the page: ${(error as Error).message}`, "error");
  }

  private progress(what: string | null, share: number): void {
    const bar = $<HTMLProgressElement>("progress");
    $("working").hidden = what === null;
    bar.value = share;
    $("progress-text").textContent = what ?? "";
  }

  private fill(roles: Roles | null): void {
    const { columns, name, rows } = this.opened!;
    $("columns").hidden = false;
    $("file-name").textContent = `${name}: ${commas(rows)} rows`;
    for (const role of ROLES) {
      const select = this.selects[role];
      select.replaceChildren(h("option", { value: "" }, role === "weights" ? "none: one row per person" : "choose a column"));
      for (const column of columns) select.append(h("option", { value: column.name }, `${column.name} (${described(column)})`));
      select.value = roles?.[role] ?? "";
    }
    for (const key of Object.keys(this.ones)) delete this.ones[key];
    Object.assign(this.ones, roles?.ones ?? {});
    this.covariates = new Set(roles?.covariates ?? []);
    $<HTMLInputElement>("keep-missing").checked = roles?.missing === "indicator";
    $<HTMLInputElement>("range-low").value = roles?.range ? String(roles.range[0]) : "";
    $<HTMLInputElement>("range-high").value = roles?.range ? String(roles.range[1]) : "";
    this.chosen();
  }

  private column(name: string): Preview | undefined {
    return this.opened?.columns.find((column) => column.name === name);
  }

  /** Show what follows from the choices: values, what becomes 0 and 1, which columns are left for covariates. */
  private chosen(): void {
    for (const role of ROLES) this.below[role].replaceChildren(...this.consequence(role));
    const outcome = this.column(this.selects.outcome.value);
    const amount = outcome !== undefined && outcome.distinct > 2 && outcome.kind !== "text";
    $("range").hidden = !amount;
    if (amount) {
      const hint = "Bounds grow with the range. Leave it empty for the smallest and the largest value seen.";
      $("range-hint").textContent = hint;
    }
    const taken = new Set(ROLES.map((role) => this.selects[role].value));
    const left = (this.opened?.columns ?? []).filter((column) => !taken.has(column.name));
    $("covariates").replaceChildren(
      ...left.map((column) => {
        const box = h("input", { type: "checkbox", value: column.name, change: () => (box.checked ? this.covariates.add(column.name) : this.covariates.delete(column.name)) });
        box.checked = this.covariates.has(column.name);
        return h("label", { class: "covariate" }, box, h("span", {}, h("b", {}, column.name), h("span", { class: "hint" }, described(column))));
      }),
    );
    $("covariates-none").hidden = left.length > 0;
    const ready = ["outcome", "treatment", "instrument"].every((role) => this.selects[role as Role].value);
    $<HTMLButtonElement>("run").disabled = !ready;
  }

  private consequence(role: Role): (Node | string)[] {
    const column = this.column(this.selects[role].value);
    if (!column) return [];
    const gone = column.missing ? [h("span", { class: "hint" }, `${commas(column.missing)} rows without a value are left out.`)] : [];
    if (role === "weights") return gone;
    if (column.distinct !== 2) {
      if (role === "outcome" && column.kind !== "text" && column.distinct > 2) return [h("span", { class: "hint" }, "An amount: the effect is in its own units."), ...gone];
      return [h("span", { class: "hint" }, `It has ${commas(column.distinct)} value${column.distinct === 1 ? "" : "s"}: ${column.levels.map(show).join(", ")}${column.distinct > column.levels.length ? ", ..." : ""}.`), ...gone];
    }
    const [first, second] = column.levels as [Value, Value];
    const one = this.ones[column.name] ?? second;
    const zero = one === first ? second : first;
    const swap = h("button", {
      type: "button",
      class: "link",
      click: () => {
        if (zero === second) delete this.ones[column.name];
        else this.ones[column.name] = zero;
        this.chosen();
      },
    }, "swap", h("span", { class: "visually-hidden" }, ` 0 and 1 of ${column.name}`));
    return [h("span", { class: "coding" }, h("b", {}, show(one)), " is 1, ", h("b", {}, show(zero)), " is 0 ", swap), ...gone];
  }

  private roles(): Roles {
    const value = (role: Role) => this.selects[role].value;
    const named = [value("outcome"), value("treatment"), value("instrument")];
    const [low, high] = [$<HTMLInputElement>("range-low").value.trim(), $<HTMLInputElement>("range-high").value.trim()];
    const amount = !$("range").hidden && (low !== "" || high !== "");
    const taken = new Set(ROLES.map(value));
    return {
      outcome: value("outcome"),
      treatment: value("treatment"),
      instrument: value("instrument"),
      covariates: (this.opened?.header ?? []).filter((name) => this.covariates.has(name) && !taken.has(name)),
      weights: value("weights") || null,
      range: amount ? ([Number(low || NaN), Number(high || NaN)] as Range) : null,
      missing: $<HTMLInputElement>("keep-missing").checked ? "indicator" : "drop",
      ones: Object.fromEntries(Object.entries(this.ones).filter(([column]) => named.includes(column))),
    };
  }

  async run(): Promise<void> {
    const turn = ++this.asked;
    const [roles, alpha] = [this.roles(), this.alpha()];
    if (!this.opened || !roles.outcome || !roles.treatment || !roles.instrument) return;
    const { name } = this.opened;
    showNothing("Working ...", "wait");
    try {
      const { result, seconds } = await this.client.fit({ kind: "fit", roles, alpha }, (what, share) => this.progress(what, share));
      if (turn === this.asked) showResult(result, { kind: "file", name, roles, alpha }, seconds);
    } catch (error) {
      if (turn === this.asked) this.refuse(error);
    } finally {
      if (turn === this.asked) this.progress(null, 0);
    }
  }

  leave(): void {
    this.asked++;
    this.progress(null, 0);
  }
}

function described(column: Preview): string {
  const kind = { number: "numbers", boolean: "true/false", text: "text" }[column.kind];
  const values = column.distinct <= 3 ? column.levels.map(show).join(", ") : `${commas(column.distinct)} values`;
  return `${kind}: ${values || "none"}${column.missing ? `; ${commas(column.missing)} missing` : ""}`;
}
