import { QueryError } from '../errors.ts';

/** Converting rows needs CPU time of the only thread that serves requests. */
const MAX_EXPORTS = 8;

/** Limits the concurrent downloads of a gateway. */
export class ExportLimit {
  #running = 0;

  /** @returns ends the download; further calls have no effect. @throws {QueryError} busy */
  begin(): () => void {
    if (this.#running >= MAX_EXPORTS)
      throw new QueryError(
        'busy',
        `concurrent download limit (${MAX_EXPORTS}) of this gateway exceeded; try again later`,
      );
    this.#running++;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#running--;
    };
  }
}

/** The engine reads the whole result for each page, so a download would read it many times. */
export function exportOfCursor(): QueryError {
  return new QueryError(
    'no-cursors',
    'a result that the engine keeps cannot be downloaded as a whole: read it in pages, or set `olap.broker.pagination.native` to `false`',
  );
}
