// Pictures of a result, drawn as SVG. Colours are attributes, which the page's own styles replace in light and dark.
import { s } from "./dom";
import { rungLevel, type Rung } from "./ladder";
import { BinnedPosterior } from "./posterior";
import { levelOf, posteriorOf, setOf, type Result } from "./result";
import { capitalised, commas, g, roundedInterval } from "./text";
import { ESTIMANDS } from "./facts";
import { armOf, unitOf } from "./words";

export interface Picture {
  name: string;
  element: SVGElement;
  caption: string;
}

const INK = "#1f2933";
const SOFT = "#5b6b7a";
const ACCENT = "#1f5f8b";
const FILL = "#c9dbe8";
const SECOND = "#b5541c";
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
/** Width of a picture for a screen or a page, and for a phone, where labels stand above what they label. */
export const WIDE = 720;
export const NARROW = 340;

function canvas(wide: number, height: number, label: string, ...children: SVGElement[]): SVGElement {
  return s(
    "svg",
    { viewBox: `0 0 ${wide} ${height}`, role: "img", "aria-label": label, "font-family": FONT, "font-size": 13, class: "picture" },
    ...children,
  );
}

function text(x: number, y: number, words: string, more: Record<string, string | number> = {}): SVGElement {
  return s("text", { x, y, fill: INK, class: "ink", ...more }, words);
}

function line(x1: number, y1: number, x2: number, y2: number, stroke: string, kind: string, more: Record<string, string | number> = {}): SVGElement {
  return s("line", { x1, y1, x2, y2, stroke, class: kind, ...more });
}

/** Round numbers in [low, high], about `wanted` of them. */
function ticks(low: number, high: number, wanted: number): number[] {
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((m) => m >= raw * 0.999)!;
  const found: number[] = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

/** The axis below a picture, and the function from an effect to its place. */
function axis(view: [number, number], left: number, right: number, y: number, label: string): { at: (v: number) => number; parts: SVGElement[] } {
  const at = (v: number) => left + ((right - left) * (v - view[0])) / (view[1] - view[0]);
  const parts = [line(left, y, right, y, INK, "ink-line", { "stroke-width": 1 })];
  for (const tick of ticks(view[0], view[1], right - left > 400 ? 6 : 4)) {
    const shown = g(Math.abs(tick) < 1e-12 * (view[1] - view[0]) ? 0 : tick, 4).replace("-", "\u2212");
    parts.push(line(at(tick), y, at(tick), y + 5, INK, "ink-line"), text(at(tick), y + 19, shown, { "text-anchor": "middle", "font-size": 12 }));
  }
  parts.push(text((left + right) / 2, y + 40, label, { "text-anchor": "middle", "font-size": 12.5, fill: SOFT, class: "soft" }));
  return { at, parts };
}

function effectLabel(result: Result): string {
  return `${capitalised(ESTIMANDS[result.estimand]!.short)} (${unitOf(result)})`;
}

/** The part of the effect's range worth showing: the interval, the classical bounds and zero, with a margin. */
function view(result: Result): [number, number] {
  const span = result.outcome_range[1] - result.outcome_range[0];
  const [effect, ends] = [posteriorOf(result), setOf(result)];
  const shown = [result.lower, result.upper, 0, ...effect.interval(0.002), ends.lower.quantile(0.002), ends.upper.quantile(0.998)];
  const classical = sharp(result.ladder);
  if (classical) shown.push(classical.lower, classical.upper);
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  const margin = 0.06 * (high - low) + 0.01 * span;
  return [Math.max(low - margin, -1.02 * span), Math.min(high + margin, 1.02 * span)];
}

function sharp(ladder: Rung[]): Rung | undefined {
  return ladder.filter((rung) => !rung.sampling_error && rung.estimand === "ATE").pop();
}

/** A density as a path: steps of its bins, from `base` upwards. */
function outline(law: BinnedPosterior, at: (v: number) => number, up: (density: number) => number, inside: [number, number], base?: number): string {
  const points: [number, number][] = [];
  law.probabilities.forEach((p, k) => {
    const middle = (law.edges[k]! + law.edges[k + 1]!) / 2;
    if (middle >= inside[0] && middle <= inside[1]) points.push([at(middle), up(p / (law.edges[k + 1]! - law.edges[k]!))]);
  });
  if (!points.length) return "";
  const path = points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
  return base === undefined ? path : `${path}L${points[points.length - 1]![0].toFixed(2)} ${base}L${points[0]![0].toFixed(2)} ${base}Z`;
}

function peak(law: BinnedPosterior): number {
  return law.probabilities.reduce((most, p, k) => Math.max(most, p / (law.edges[k + 1]! - law.edges[k]!)), 0);
}

/** The posterior of the effect, its interval, the ends of the identified set and the classical bounds. */
export function posteriorPicture(result: Result, wide = WIDE): Picture {
  const [effect, ends] = [posteriorOf(result), setOf(result)];
  const narrow = wide < WIDE;
  const [left, right, top, base] = narrow ? [4, wide - 4, 92, 242] : [16, wide - 16, 52, 232];
  const range = view(result);
  const { at, parts } = axis(range, left, right, base + 56, effectLabel(result));
  const most = peak(effect);
  const up = (density: number) => base - ((base - top) * density) / most;
  const legend = (x: number, y: number, kind: string, colour: string, words: string, width: number) => [
    line(x, y - 4, x + 22, y - 4, colour, kind, { "stroke-width": width }),
    text(x + 29, y, words, { "font-size": 12 }),
  ];
  const drawn = [
    s("path", { d: outline(effect, at, up, [result.lower, result.upper], base), fill: FILL, class: "fill" }),
    s("path", { d: outline(effect, at, up, range), fill: "none", stroke: ACCENT, "stroke-width": 1.8, class: "accent-line" }),
  ];
  for (const end of [ends.lower, ends.upper]) {
    // The ends are far sharper than the effect: drawn to a common height, for place and spread only.
    const own = peak(end);
    const scaled = (density: number) => base - (0.5 * (base - top) * density) / own;
    drawn.push(s("path", { d: outline(end, at, scaled, range), fill: "none", stroke: SECOND, "stroke-width": 1.3, class: "second-line" }));
  }
  const classical = sharp(result.ladder);
  const bars = [line(at(result.lower), base + 18, at(result.upper), base + 18, ACCENT, "accent-line", { "stroke-width": 5 })];
  if (classical) bars.push(line(at(classical.lower), base + 36, at(classical.upper), base + 36, INK, "ink-line", { "stroke-width": 3 }));
  const zero = line(at(0), top - 6, at(0), base + 56, INK, "ink-line", { "stroke-dasharray": "3 4", "stroke-width": 1 });
  const keys: [string, string, string, number][] = [
    ["accent-line", ACCENT, "posterior of the effect", 1.8],
    ["accent-line", ACCENT, `interval, ${levelOf(result)}`, 5],
    ["second-line", SECOND, "ends of the identified set (scaled)", 1.3],
  ];
  if (classical) keys.push(["ink-line", INK, `${classical.label} (estimated)`, 3]);
  const legends = keys.flatMap(([kind, colour, words, width], k) =>
    legend(narrow ? left : left + 360 * (k >> 1), 16 + 20 * (narrow ? k : k & 1), kind, colour, words, width),
  );
  const held = effect.cdf(result.upper) - effect.cdf(result.lower);
  const caption =
    `Posterior of the ${ESTIMANDS[result.estimand]!.short}; the shaded part, inside the interval, holds ${g(100 * held, 3)} % of it. ` +
    "Between the ends of the identified set its shape comes from the prior, not from the data.";
  return { name: "posterior", element: canvas(wide, base + 104, caption, ...drawn, zero, ...bars, ...parts, ...legends), caption };
}

/** The ladder of assumptions: one interval a rung. */
export function ladderPicture(result: Result, wide = WIDE): Picture {
  const rungs = result.ladder;
  const narrow = wide < WIDE;
  const [left, right, step, top] = narrow ? [8, wide - 8, 64, 4] : [252, wide - 16, 46, 14];
  const base = top + step * rungs.length;
  const all = rungs.flatMap((rung) => [rung.lower, rung.upper, 0]);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const margin = 0.05 * (high - low);
  const { at, parts } = axis([low - margin, high + margin], left, right, base, `Effect (${unitOf(result)})`);
  const bars = rungs.flatMap((rung, k) => {
    const y = top + step * k + (narrow ? 48 : step / 2);
    const label = narrow ? y - 30 : y - 2;
    const own = rung.method === result.method && rung.adjusted === result.adjusted;
    const another = rung.estimand !== "ATE";
    const [colour, kind] = another ? [SECOND, "second-line"] : own ? [ACCENT, "accent-line"] : [INK, "ink-line"];
    const dots = rung.sampling_error ? [...new Set([rung.estimate_lower, rung.estimate_upper])] : [];
    return [
      text(0, label, rung.label, { "font-size": 13, "font-weight": own ? 650 : 450 }),
      text(0, label + 16, rungLevel(rung), { "font-size": 11, fill: SOFT, class: "soft" }),
      line(at(rung.lower), y, at(rung.upper), y, colour, kind, { "stroke-width": own ? 5 : 2.5, ...(another ? { "stroke-dasharray": "5 3" } : {}) }),
      ...[rung.lower, rung.upper].map((end) => line(at(end), y - 7, at(end), y + 7, colour, kind, { "stroke-width": 1.5 })),
      ...dots
        .filter((dot): dot is number => dot !== null && dot >= rung.lower && dot <= rung.upper)
        .map((dot) => s("circle", { cx: at(dot), cy: y, r: 4, fill: "#ffffff", stroke: colour, "stroke-width": 2, class: `${kind} dot` })),
    ];
  });
  const zero = line(at(0), top - 4, at(0), base, INK, "ink-line", { "stroke-dasharray": "3 4", "stroke-width": 1 });
  const spoken = rungs.map((rung) => `${rung.label}: ${roundedInterval(rung.lower, rung.upper)}, ${rungLevel(rung)}`).join(". ");
  const caption =
    "What each assumption buys. Estimated: a formula applied to the sample, without allowance for sampling error. Dots: point estimates. " +
    "Dashed: another estimand (LATE, the effect among compliers).";
  return { name: "ladder", element: canvas(wide, base + 48, `${caption} ${spoken}.`, zero, ...bars, ...parts), caption };
}

/** Who was treated in each arm of the instrument. */
export function compliancePicture(result: Result, wide = WIDE): Picture {
  const named = [0, 1].map((z) => armOf(result, z)).map((name) => (name.length > 26 ? `${name.slice(0, 25)}…` : name));
  const left = 12 + 7 * Math.max(...named.map((name) => name.length));
  const room = wide - left - 4;
  const parts = result.diagnostics.compliance.people.flatMap((row, arm) => {
    const total = row[0]! + row[1]!;
    const share = row[1]! / total;
    const y = 8 + 44 * arm;
    const word = (value: number, from: number, part: number, words: string, light: boolean) => {
      const label = `${words} ${(100 * part).toFixed(1)} %${wide < WIDE ? "" : ` (${commas(value)})`}`;
      return part * room > 7 * label.length
        ? [text(from + (part * room) / 2, y + 21, label, { "text-anchor": "middle", "font-size": 12, ...(light ? { fill: "#ffffff", class: "on-accent" } : {}) })]
        : [];
    };
    return [
      text(0, y + 21, named[arm]!, { "font-size": 12 }),
      s("rect", { x: left, y, width: share * room, height: 32, fill: ACCENT, class: "accent-fill" }),
      s("rect", { x: left + share * room, y, width: (1 - share) * room, height: 32, fill: FILL, class: "fill" }),
      ...word(row[1]!, left, share, "treated", true),
      ...word(row[0]!, left + share * room, 1 - share, "not treated", false),
    ];
  });
  const caption = "Treatment taken in each arm of the instrument.";
  const spoken = result.diagnostics.compliance.people.map((row, arm) => `${armOf(result, arm)}: ${commas(row[1]!)} treated, ${commas(row[0]!)} not`).join("; ");
  return { name: "compliance", element: canvas(wide, 92, `${caption} ${spoken}.`, ...parts), caption };
}
