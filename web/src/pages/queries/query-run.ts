import { ApiError, call, callText } from '../../lib/api.ts';
import type { QueryStatus } from '../../lib/types.ts';

/** It is longer than the gateway waits for a query by default (120 s), for gateways that respond only then. */
const QUERY_TIMEOUT_MS = 300_000;
/** Time between two looks at the state: short at first, for queries that take no time. Milliseconds. */
const FIRST_POLL_MS = 40;
const MAX_POLL_MS = 1000;
/** Looks at the state that may fail one after the other. */
const MAX_FAILURES = 5;

/** Headers that name the gateway with the query and its result: another one may receive the request. */
export function storedAt(at: {
  readonly brokerHost?: string | undefined;
  readonly brokerPort?: number | undefined;
}): Record<string, string> {
  return at.brokerHost === undefined ? {} : { FORWARD_HOST: at.brokerHost, FORWARD_PORT: String(at.brokerPort) };
}

/** The text of a page of a stored result. @throws {ApiError} 409 while the query runs */
export function readPage(
  rows: { readonly requestId: string; readonly offset: number; readonly numRows: number },
  options: { readonly signal: AbortSignal; readonly headers?: Record<string, string> | undefined },
): Promise<string> {
  const path = `/query/${encodeURIComponent(rows.requestId)}/results?offset=${rows.offset}&numRows=${rows.numRows}`;
  return callText(path, { signal: options.signal, headers: options.headers ?? {} });
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(new DOMException('left', 'AbortError'));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

/**
 * A query that the gateway runs by itself: it goes on when the page is left, and its id leads to it again. Aborting the signal stops looking at it;
 * `cancel` ends it, also at the engine.
 */
export class QueryRun {
  readonly #signal: AbortSignal;
  readonly #onStatus: (status: QueryStatus) => void;
  #status: QueryStatus | undefined;
  #isCancelled = false;

  constructor(signal: AbortSignal, onStatus: (status: QueryStatus) => void) {
    this.#signal = signal;
    this.#onStatus = onStatus;
  }

  /** Submits the query. @returns the text of the first page, or of the engine's error. @throws {ApiError} */
  async submit(sql: string, numRows: number): Promise<string> {
    const path = `/query/sql?doPaginate=true&numRows=${numRows}`;
    const options = { method: 'POST', body: { sql }, timeoutMs: QUERY_TIMEOUT_MS } as const;
    let text: string;
    try {
      // The signal is not passed on: the response has the id, without which the query could not be cancelled.
      text = await callText(`${path}&async=true`, options);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 501)) throw error;
      // The engine keeps the results of this gateway, and runs queries only while the caller waits.
      return callText(path, { ...options, signal: this.#signal });
    }
    const status = JSON.parse(text) as Partial<QueryStatus>;
    if (status.state === undefined) return text;
    return this.follow(status as QueryStatus, { offset: 0, numRows });
  }

  /** Waits for the end of a query. @returns the text of the rows. @throws {ApiError} */
  async follow(begun: QueryStatus, rows: { readonly offset: number; readonly numRows: number }): Promise<string> {
    const signal = this.#signal;
    const { requestId } = begun;
    const headers = storedAt(begun);
    let status = begun;
    let delay = FIRST_POLL_MS;
    for (let failures = 0; ;) {
      this.#status = status;
      if (this.#isCancelled) this.#end();
      signal.throwIfAborted();
      this.#onStatus(status);
      if (status.state === 'done') return readPage({ requestId, ...rows }, { signal, headers });
      if (status.state === 'failed')
        throw new ApiError(status.error?.status ?? 0, status.error?.message ?? 'The query failed without a reason.');
      if (status.state === 'cancelled') throw new ApiError(0, 'The query was cancelled.');
      await sleep(delay, signal);
      delay = Math.min(MAX_POLL_MS, delay * 1.5);
      try {
        status = await this.statusOf(requestId, headers);
        failures = 0;
      } catch (error) {
        const mayPass = error instanceof ApiError && (error.status === 0 || error.status >= 500);
        if (!mayPass || ++failures > MAX_FAILURES) throw error;
      }
    }
  }

  /** @throws {ApiError} */
  statusOf(requestId: string, headers: Record<string, string> = {}): Promise<QueryStatus> {
    return call<QueryStatus>(`/query/${encodeURIComponent(requestId)}`, { signal: this.#signal, headers });
  }

  /** Ends the query. Without its id yet, as soon as the gateway has responded. */
  cancel(): void {
    this.#isCancelled = true;
    this.#end();
  }

  #end(): void {
    if (this.#status === undefined) return;
    cancelQuery(this.#status).catch(() => {
      // The query may have ended, and the gateway ends it at its time limit otherwise. The list of queries shows its state.
    });
  }
}

/** Cancels a query that waits or runs. @throws {ApiError} */
export async function cancelQuery(status: QueryStatus): Promise<void> {
  const headers = storedAt(status);
  await callText(`/query/${encodeURIComponent(status.requestId)}`, { method: 'DELETE', headers });
}
