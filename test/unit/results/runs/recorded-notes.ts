import type { ResultNotes } from '../../../../src/results/notes.ts';

/** Notes in memory that record their calls, and wait for the test where it wants. */
export class RecordedNotes implements ResultNotes {
  readonly kept = new Map<string, string>();
  readonly calls: string[] = [];
  /** Calls that have begun and not ended. */
  running = 0;
  maxRunning = 0;
  /** Of a call by its name. */
  wait: (call: string) => Promise<void> | undefined = () => undefined;

  put(requestId: string, kind: string, text: string): Promise<void> {
    return this.#call(`put ${requestId}.${kind}`, () => void this.kept.set(`${requestId}.${kind}`, text));
  }

  get(requestId: string, kind: string): Promise<string | undefined> {
    return this.#call(`get ${requestId}.${kind}`, () => this.kept.get(`${requestId}.${kind}`));
  }

  delete(requestId: string, kind: string): Promise<void> {
    return this.#call(`delete ${requestId}.${kind}`, () => void this.kept.delete(`${requestId}.${kind}`));
  }

  async *list(kind: string): AsyncIterable<string> {
    for (const name of this.kept.keys()) if (name.endsWith(`.${kind}`)) yield name.slice(0, name.indexOf('.'));
  }

  async #call<T>(name: string, call: () => T): Promise<T> {
    this.calls.push(name);
    this.maxRunning = Math.max(this.maxRunning, ++this.running);
    try {
      await (this.wait(name) ?? Promise.resolve());
      return call();
    } finally {
      this.running--;
    }
  }
}
