// The Python call and the command that give the same result as the page.
import type { Roles } from "./data";
import { FACTS } from "./facts";
import { g, repr, show } from "./text";

export type Asked =
  | { kind: "counts"; counts: number[]; alpha: number }
  | { kind: "file"; name: string; roles: Roles; alpha: number };

export function pythonCall(asked: Asked): string {
  const settings = asked.alpha === FACTS.defaults.alpha ? "" : `alpha=${g(asked.alpha)}`;
  if (asked.kind === "counts") {
    const [a, b, c, d, e, f, h, i] = asked.counts;
    const table = `[[[${a}, ${b}], [${c}, ${d}]], [[${e}, ${f}], [${h}, ${i}]]]`;
    return `from ivicl import IVBounds\n\nres = IVBounds(${settings}).fit_counts(${table})\nprint(res.summary())\n`;
  }
  const { roles } = asked;
  const given = [
    `outcome=${repr(roles.outcome)}`,
    `treatment=${repr(roles.treatment)}`,
    `instrument=${repr(roles.instrument)}`,
    ...(roles.covariates.length ? [`covariates=[${roles.covariates.map(repr).join(", ")}]`] : []),
    ...(roles.weights === null ? [] : [`weights=${repr(roles.weights)}`]),
    ...(roles.range ? [`outcome_range=(${roles.range.map((v) => show(v)).join(", ")})`] : []),
    ...(roles.missing === "drop" ? [] : [`missing=${repr(roles.missing)}`]),
    ...(Object.keys(roles.ones).length
      ? [`ones={${Object.entries(roles.ones).map(([column, one]) => `${repr(column)}: ${repr(one)}`).join(", ")}}`]
      : []),
  ];
  return (
    `from ivicl import IVBounds\nfrom ivicl.data.files import read_table\n\ndf = read_table(${repr(asked.name)})\n` +
    `res = IVBounds(${settings}).fit(\n    df,\n    ${given.join(",\n    ")},\n)\nprint(res.summary())\n`
  );
}

export function shellCall(asked: Asked): string {
  const level = asked.alpha === FACTS.defaults.alpha ? [] : ["--alpha", g(asked.alpha)];
  if (asked.kind === "counts") return `${["ivicl", "counts", ...asked.counts.map(String), ...level].join(" ")}\n`;
  const { roles } = asked;
  const comma = roles.covariates.find((name) => name.includes(","));
  if (comma !== undefined) return `# A comma separates names on the command line, and '${comma}' has one: use Python, or rename it.\n`;
  const words = [
    "ivicl", "fit", asked.name,
    "-y", roles.outcome,
    "-t", roles.treatment,
    "-z", roles.instrument,
    ...roles.covariates.flatMap((name) => ["-x", name]),
    ...(roles.weights === null ? [] : ["-w", roles.weights]),
    ...(roles.range ? ["--range", roles.range.map((v) => show(v)).join(",")] : []),
    ...(roles.missing === "drop" ? [] : ["--missing", roles.missing]),
    ...Object.entries(roles.ones).flatMap(([column, one]) => ["--one", `${column}=${show(one)}`]),
    ...level,
  ];
  return `${words.map(quoted).join(" ")}\n`;
}

function quoted(word: string): string {
  return /^[\w./,=:+-]+$/.test(word) ? word : `'${word.replace(/'/g, `'"'"'`)}'`;
}
