// What the package says (words, formulas, limits, rules of encoding): made by facts.py at the build, written once in Python.
import facts from "../generated/facts.json";

export interface Assumption {
  title: string;
  meaning: string;
  failure: string;
  clause: string;
  denial: string;
  implies: string[];
  instrument: boolean;
}

export type IntervalKind = "credible" | "confidence" | "estimate";

export interface MethodFacts {
  name: string;
  label: string;
  procedure: string;
  interval: IntervalKind;
  assumptions: string[];
  estimand: string;
  covers: "set" | "effect";
  rung: number | null;
  /** It is quick without covariates: the ladder then shows beside its answer what it says without them. */
  rung_without_covariates: boolean;
}

export interface EstimandFacts {
  title: string;
  short: string;
  meaning: string;
  question: string;
  among: string;
  units: string[];
}

export const FACTS = facts;
export const RULES = facts.rules;
export const LIMITS = facts.limits;
export const ASSUMPTIONS = facts.assumptions as Record<string, Assumption>;
export const METHODS = facts.methods as Record<string, MethodFacts>;
export const ESTIMANDS = facts.estimands as unknown as Record<string, EstimandFacts>;
export const COMBINATIONS = facts.combinations as Record<string, string>;

/** A sentence of the package that a person has to be told: wrong input, with what was found and what to do. */
export class InputError extends Error {}

/** Fill in the names in braces, as Python's str.format does. */
export function fill(template: string, values: Record<string, unknown>): string {
  return template.replace(/\{\{|\}\}|\{(\w+)(?::g)?\}/g, (found, name: string | undefined) =>
    found === "{{" ? "{" : found === "}}" ? "}" : String(values[name as string]),
  );
}

export function note(name: keyof typeof RULES.notes, values: Record<string, unknown>): string {
  return fill(RULES.notes[name], values);
}

export function refusal(name: keyof typeof RULES.errors, values: Record<string, unknown>): InputError {
  return new InputError(fill(RULES.errors[name], values));
}
