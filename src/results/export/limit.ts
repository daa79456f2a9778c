import { QueryError } from '../errors.ts';

/** Converting rows needs CPU time of the only thread that serves requests. */
const MAX_EXPORTS = 8;
/** A caller that reads slowly, or never ends its downloads, must not occupy all of them. */
const MAX_OF_CALLER = 4;

/** Limits the concurrent downloads of a gateway, and of each caller. */
export class ExportLimit {
  #running = 0;
  readonly #byCaller = new Map<string, number>();

  /** @returns ends the download; further calls have no effect. @throws {QueryError} busy */
  begin(caller: string): () => void {
    if (this.#running >= MAX_EXPORTS) throw exceeded(`limit (${MAX_EXPORTS}) of this gateway`);
    if (this.#of(caller) >= MAX_OF_CALLER) throw exceeded(`limit (${MAX_OF_CALLER}) of one caller`);
    this.#count(caller, 1);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#count(caller, -1);
    };
  }

  #of(caller: string): number {
    return this.#byCaller.get(caller) ?? 0;
  }

  #count(caller: string, change: 1 | -1): void {
    this.#running += change;
    const left = this.#of(caller) + change;
    if (left === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, left);
  }
}

function exceeded(what: string): QueryError {
  return new QueryError('busy', `concurrent download ${what} exceeded; try again later`);
}
