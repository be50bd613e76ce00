// The page's end of the worker: one question at a time is awaited, later ones of the same kind replace earlier ones.
import type { Ask, Opened, Tell } from "./protocol";
import type { Result } from "./result";

export class Refused extends Error {}

type Progress = (what: string, share: number) => void;

interface Waiting {
  resolve: (message: Tell) => void;
  reject: (error: Error) => void;
  progress: Progress;
}

export class Client {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  constructor() {
    // A worker that is loaded from a file has the policy of that file's headers, which static hosts do not set. One that starts
    // from a blob inherits the page's policy: no connection but to the page's own files, in the worker too.
    const base = new URL(".", document.baseURI).href;
    const start = `self.pageBase=${JSON.stringify(base)};await import(${JSON.stringify(new URL("worker.js", base).href)});self.postMessage("started");`;
    const url = URL.createObjectURL(new Blob([start], { type: "text/javascript" }));
    this.worker = new Worker(url, { type: "module" });
    this.started = new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data }: MessageEvent<Tell | "started">) => {
        if (data === "started") resolve();
        else this.hear(data);
      };
      this.worker.onerror = () => reject(new Error("The page's own files could not be loaded."));
    });
  }

  private readonly started: Promise<void>;

  private hear(message: Tell): void {
    const asked = this.waiting.get(message.id);
    if (!asked) return;
    if (message.kind === "progress") return asked.progress(message.what, message.share);
    this.waiting.delete(message.id);
    if (message.kind === "refused") asked.reject(new Refused(message.sentence));
    else if (message.kind === "failed") asked.reject(new Error(message.reason));
    else asked.resolve(message);
  }

  private async ask(ask: Ask, progress: Progress): Promise<Tell> {
    await this.started;
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, progress });
      this.worker.postMessage({ id, ask });
    });
  }

  async load(progress: Progress): Promise<void> {
    await this.ask({ kind: "load" }, progress);
  }

  async counts(counts: number[], alpha: number): Promise<{ result: Result; seconds: number }> {
    return (await this.ask({ kind: "counts", counts, alpha }, () => {})) as Extract<Tell, { kind: "result" }>;
  }

  async open(name: string, content: Blob | string, progress: Progress): Promise<Opened> {
    return ((await this.ask({ kind: "open", name, content }, progress)) as Extract<Tell, { kind: "opened" }>).opened;
  }

  async fit(ask: Extract<Ask, { kind: "fit" }>, progress: Progress): Promise<{ result: Result; seconds: number }> {
    return (await this.ask(ask, progress)) as Extract<Tell, { kind: "result" }>;
  }
}
