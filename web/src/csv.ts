// A text file as a table of fields, by the rules of `encoding_rules.json`. Fields are places in the text, not strings: a large file stays small.
import { InputError, refusal, RULES } from "./facts";
import { repr } from "./text";

export const MOST_BYTES = 100e6;

const FILE_MISSING = new Set(RULES.file.missing);

/** What is wrong with a file before it is read: too large, or of a kind that only the package reads. */
export function refuseBySize(name: string, bytes: number): void {
  if (bytes > MOST_BYTES) {
    throw new InputError(
      `'${name}' has ${Math.round(bytes / 1e6)} MB, and this page reads files of up to ${MOST_BYTES / 1e6} MB; ` +
        "the Python package reads larger ones: ivicl fit.",
    );
  }
}

export class Table {
  constructor(
    readonly name: string,
    readonly header: string[],
    readonly rows: number,
    private readonly text: string,
    private readonly starts: Uint32Array,
    private readonly ends: Uint32Array,
  ) {}

  /** One field, without its quotes; null if it is missing. */
  field(row: number, column: number): string | null {
    const place = row * this.header.length + column;
    let found = this.text.slice(this.starts[place], this.ends[place]);
    if (found.startsWith('"')) found = found.slice(1, -1).replace(/""/g, '"');
    return FILE_MISSING.has(found) ? null : found;
  }

  column(name: string): (string | null)[] {
    const place = this.header.indexOf(name);
    const values = new Array<string | null>(this.rows);
    for (let row = 0; row < this.rows; row++) values[row] = this.field(row, place);
    return values;
  }
}

export function decode(name: string, bytes: Uint8Array): string {
  if (!bytes.length) throw refusal("empty_file", { name: `'${name}'` });
  if (String.fromCharCode(...bytes.subarray(0, 4)) === "PAR1") {
    throw new InputError(`'${name}' is Parquet, which this page does not read; save it as CSV, or use ivicl fit.`);
  }
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  if (bytes.subarray(0, 4096).some((byte) => byte < 9 || (byte > 13 && byte < 32))) {
    throw new InputError(`'${name}' is not a table: it is neither CSV nor Parquet.`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // The Western encoding of Windows, of which Latin-1 is part: older spreadsheets write it.
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

/** The fields of the line that starts at `from`: where each starts and ends, and where the next line starts. */
function scanLine(text: string, from: number, separator: string, place: (start: number, end: number) => void): number {
  let at = from;
  for (;;) {
    const start = at;
    if (text[at] === '"') {
      at++;
      for (;;) {
        at = text.indexOf('"', at);
        if (at < 0) return -1;
        if (text[at + 1] !== '"') break;
        at += 2;
      }
      at++;
    } else {
      while (at < text.length && text[at] !== separator && text[at] !== "\n") at++;
    }
    let end = at;
    const last = at >= text.length || text[at] === "\n";
    if (last && end > start && text[end - 1] === "\r") end--;
    if (!last && text[at] !== separator) {
      // Something after a closing quote: "\r\n" ends the line, anything else is a broken field.
      if (!(text[at] === "\r" && (at + 1 >= text.length || text[at + 1] === "\n"))) return -1;
      place(start, at);
      return at + 2;
    }
    place(start, end);
    if (last) return at + 1;
    at++;
  }
}

function firstLine(text: string, from: number, separator: string): string[] {
  const fields: string[] = [];
  const done = scanLine(text, from, separator, (start, end) => fields.push(text.slice(start, end)));
  if (done < 0) return [];
  return fields.map((field) => (field.startsWith('"') ? field.slice(1, -1).replace(/""/g, '"') : field));
}

export function parse(name: string, text: string, progress: (share: number) => void = () => {}): Table {
  let from = 0;
  while (text[from] === "\n" || text[from] === "\r") from++;
  const headers = RULES.file.separators.map((separator) => firstLine(text, from, separator));
  const most = Math.max(...headers.map((header) => header.length));
  const chosen = headers.findIndex((header) => header.length === most);
  const header = headers[chosen]!;
  const separator = RULES.file.separators[chosen]!;
  if (most < RULES.file.least_columns) {
    const line = header.join(separator);
    if (!line.trim()) throw refusal("empty_file", { name: `'${name}'` });
    throw new InputError(
      `'${name}' is not a table: its first line has fewer than three columns, ${repr(line.slice(0, 60))}; ` +
        "an instrument, a treatment and an outcome are needed.",
    );
  }
  const twice = header.find((column, place) => header.indexOf(column) < place);
  if (twice !== undefined) throw new InputError(`'${name}' has more than one column named ${repr(twice)}.`);

  const columns = header.length;
  let room = columns * Math.max(1024, Math.ceil(text.length / (columns * 8)));
  let starts = new Uint32Array(room);
  let ends = new Uint32Array(room);
  let used = 0;
  let rows = 0;
  let at = scanLine(text, from, separator, () => {});
  while (at < text.length) {
    if (used + columns > room) {
      room *= 2;
      [starts, ends] = [starts, ends].map((old) => {
        const larger = new Uint32Array(room);
        larger.set(old);
        return larger;
      }) as [Uint32Array<ArrayBuffer>, Uint32Array<ArrayBuffer>];
    }
    let field = 0;
    const base = used;
    const next = scanLine(text, at, separator, (start, end) => {
      if (field < columns) {
        starts[base + field] = start;
        ends[base + field] = end;
      }
      field++;
    });
    rows++;
    if (next < 0) throw new InputError(`'${name}' is not a table: in line ${rows + 1} a quotation mark does not end with the field.`);
    if (field > columns) {
      throw new InputError(`'${name}' is not a table: line ${rows + 1} has ${field} fields, but the first line names ${columns} columns.`);
    }
    // Short lines are missing at their end: places of nothing.
    used += columns;
    at = next;
    if (rows % 50000 === 0) progress(at / text.length);
  }
  if (!rows) throw refusal("header_only", { name: `'${name}'` });
  return new Table(name, header, rows, text, starts.subarray(0, used), ends.subarray(0, used));
}
