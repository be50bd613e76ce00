// Numbers and values as Python writes them, so that the page and the package say the same.

/** A p-value with two significant digits; and never 0, which no p-value is. */
export function shownP(p: number): string {
  return p < 1e-4 ? "p < 0.0001" : `p = ${g(p, 2)}`;
}

/** Python's f"{value:.{digits}g}". */
export function g(value: number, digits = 6): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e") as [string, string];
  const power = Number(exponent);
  const trim = (text: string) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (power < -4 || power >= digits) {
    const size = String(Math.abs(power)).padStart(2, "0");
    return `${trim(mantissa)}e${power < 0 ? "-" : "+"}${size}`;
  }
  return trim(value.toFixed(Math.max(digits - 1 - power, 0)));
}

/** Python's f"{value:,.{decimals}f}". */
export function commas(value: number, decimals = 0): string {
  const [whole, part] = value.toFixed(decimals).split(".") as [string, string?];
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return part === undefined ? grouped : `${grouped}.${part}`;
}

/** Python's repr of a float. */
function floatText(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e16) return `${value}.0`;
  const text = String(value);
  const found = /^(-?[\d.]+)e([+-])(\d+)$/.exec(text);
  return found ? `${found[1]}e${found[2]}${found[3]!.padStart(2, "0")}` : text;
}

export type Value = string | number | boolean;

/** Python's str of a level: whole numbers without a point, True and False. */
export function show(value: Value): string {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return value;
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : floatText(value);
}

/** Python's repr of a level. */
export function repr(value: Value | null): string {
  if (value === null) return "None";
  if (typeof value !== "string") return show(value);
  const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
  let text = "";
  for (const c of value) {
    const code = c.codePointAt(0)!;
    if (c === "\\") text += "\\\\";
    else if (c === quote) text += `\\${c}`;
    else if (c === "\n") text += "\\n";
    else if (c === "\r") text += "\\r";
    else if (c === "\t") text += "\\t";
    else if (code < 32 || code === 127) text += `\\x${code.toString(16).padStart(2, "0")}`;
    else text += c;
  }
  return quote + text + quote;
}

/** A short list of values for a message. */
export function showValues(values: Value[], most = 5): string {
  const text = values.slice(0, most).map((v) => (typeof v === "string" ? repr(v) : show(v)));
  return text.join(", ") + (values.length > most ? ", ..." : "");
}

/** The value to the digit that matters: a width gets three figures, its ends as many decimals as it has. */
export function rounded(value: number, width: number): string {
  if (!(width > 0 && width < Infinity)) return g(value, 3);
  const decimals = 2 - Math.floor(Math.log10(width));
  if (decimals < -6 || decimals > 8) return g(value, 3);
  const unit = 10 ** Math.min(decimals, 0);
  const near = decimals < 0 ? Math.round(value * unit) / unit : value;
  const text = commas(near, Math.max(decimals, 0));
  return Number(text.replace(/,/g, "")) === 0 ? text.replace("-0", "0") : text;
}

export function roundedInterval(lower: number, upper: number): string {
  return `[${rounded(lower, upper - lower)}, ${rounded(upper, upper - lower)}]`;
}

/** "12.3 %". */
export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

export function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Sort order of Python's strings: by code point, where JavaScript's own goes by halves of them. */
export function byCodePoint(a: string, b: string): number {
  const [left, right] = [a[Symbol.iterator](), b[Symbol.iterator]()];
  for (;;) {
    const [one, other] = [left.next(), right.next()];
    if (one.done || other.done) return (one.done ? 0 : 1) - (other.done ? 0 : 1);
    const difference = one.value.codePointAt(0)! - other.value.codePointAt(0)!;
    if (difference) return difference;
  }
}

/** A number stays on the line of its unit. */
export function tied(text: string): string {
  return text.replace(/ %/g, "\u00a0%").replace(/([A-Z]) = /g, "$1\u00a0=\u00a0");
}
