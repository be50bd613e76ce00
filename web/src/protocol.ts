// What the page and its worker say to each other.
import type { Preview, Roles } from "./data";
import type { Result } from "./result";

export type Ask =
  | { kind: "load" }
  | { kind: "counts"; counts: number[]; alpha: number }
  | { kind: "open"; name: string; content: Blob | string }
  | { kind: "fit"; roles: Roles; alpha: number };

export interface Opened {
  name: string;
  rows: number;
  header: string[];
  columns: Preview[];
}

/** Answers carry the number of what they answer; progress may come before. */
export type Tell =
  | { id: number; kind: "progress"; what: string; share: number }
  | { id: number; kind: "ready" }
  | { id: number; kind: "result"; result: Result; seconds: number }
  | { id: number; kind: "opened"; opened: Opened }
  | { id: number; kind: "refused"; sentence: string }
  | { id: number; kind: "failed"; reason: string };
