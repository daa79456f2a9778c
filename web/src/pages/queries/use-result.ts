import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, messageOfError } from '../../lib/api.ts';
import { parseExact } from '../../lib/exact-json.ts';
import { duration } from '../../lib/format.ts';
import { setQuery, useLocation } from '../../lib/router.ts';
import type { CursorResponse, QueryStatus } from '../../lib/types.ts';
import { QueryRun, readPage, storedAt } from './query-run.ts';

/** The query that runs. */
export interface RunningQuery {
  /** When it was sent, epoch milliseconds. */
  readonly since: number;
  /** It is undefined until the gateway has responded. */
  readonly status: QueryStatus | undefined;
}

interface ResultState {
  /** The shown page; undefined while a new query runs. */
  readonly page: CursorResponse | undefined;
  readonly error: string | undefined;
  /** What happened to the last query if it has no result, such as that it was cancelled. */
  readonly notice: string | undefined;
  readonly running: RunningQuery | undefined;
  /** Number of queries that have begun or ended. */
  readonly changes: number;
}

export interface Result extends ResultState {
  readonly run: (sql: string, numRows: number) => Promise<void>;
  readonly cancel: () => void;
  /** Shows a page of the current result. */
  readonly go: (offset: number, numRows: number) => Promise<void>;
  /** Shows the first page of a stored result. */
  readonly open: (requestId: string, numRows: number) => Promise<void>;
}

interface RowRange {
  readonly requestId: string;
  readonly offset: number;
  readonly numRows: number;
  readonly headers?: Record<string, string> | undefined;
}

const rowsKey = (requestId: string, offset: number): string => `${requestId}/${offset}`;

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new DOMException('left', 'AbortError')), { once: true });
  });
}

/** The offset, from 0, of the row in the address, which counts from 1. */
function offsetOf(row: string | null): number {
  const number = Number(row ?? '1');
  return Number.isSafeInteger(number) && number >= 1 ? number - 1 : 0;
}

const NOTHING: ResultState = { page: undefined, error: undefined, notice: undefined, running: undefined, changes: 0 };

/** What an attempt to get rows does. @returns the text of the rows */
type Load = (run: QueryRun, signal: AbortSignal) => Promise<string>;

interface Begun {
  /** Epoch milliseconds. */
  readonly since: number;
  /** Called with the id of the result as soon as it is known. */
  readonly onId?: (requestId: string) => void;
}

interface Attempts {
  readonly state: ResultState;
  readonly update: (changes: Partial<ResultState>) => void;
  /** The rows that are shown or awaited: id of the result, and offset. */
  readonly shown: { current: string | undefined };
  /**
   * Replaces the current attempt, if there is one.
   * @param replace whether the address of the rows replaces the current one, instead of being a new choice
   */
  readonly attempt: (load: Load, replace: boolean, begun?: Begun) => Promise<void>;
  /** Ends the query of the current attempt, also at the engine. */
  readonly cancel: () => void;
  /** Stops waiting for the current attempt. */
  readonly leave: () => void;
}

/** One attempt at a time to get rows, and what the last one led to. */
function useAttempts(): Attempts {
  const [state, setState] = useState(NOTHING);
  const update = (changes: Partial<ResultState>): void => setState((old) => ({ ...old, ...changes }));
  const current = useRef<{ readonly abort: AbortController; readonly run: QueryRun } | undefined>(undefined);
  const shown = useRef<string | undefined>(undefined);
  const onStatus = (status: QueryStatus, { since, onId }: Begun): void => {
    onId?.(status.requestId);
    shown.current = rowsKey(status.requestId, offsetOf(new URLSearchParams(location.search).get('row')));
    if (status.state === 'done') return;
    update({ running: { since: Math.min(since, status.submissionTimeMs), status } });
    // The id leads to the query again, also while it runs.
    setQuery({ result: status.requestId }, true);
  };
  const onRows = (page: CursorResponse, replace: boolean, { onId }: Begun): void => {
    onId?.(page.requestId);
    shown.current = rowsKey(page.requestId, page.offset);
    update({ page });
    if (page.resultTable) setQuery({ result: page.requestId, row: String(page.offset + 1) }, replace);
  };
  const attempt: Attempts['attempt'] = async (load, replace, begun = { since: Date.now() }) => {
    current.current?.abort.abort();
    const abort = new AbortController();
    const { signal } = abort;
    const run = new QueryRun(signal, (status) => onStatus(status, begun));
    current.current = { abort, run };
    update({ error: undefined, notice: undefined });
    try {
      // A submission goes on after it was left, so that its query can be cancelled.
      const page = parseExact(await Promise.race([load(run, signal), aborted(signal)])) as CursorResponse;
      if (!signal.aborted) onRows(page, replace, begun);
    } catch (failure) {
      if (!signal.aborted) update({ error: messageOfError(failure) });
    } finally {
      if (current.current?.abort === abort) update({ running: undefined });
      setState((old) => ({ ...old, changes: old.changes + 1 }));
    }
  };
  const leave = (): void => current.current?.abort.abort();
  return { state, update, shown, attempt, cancel: () => current.current?.run.cancel(), leave };
}

/** Reads stored rows, or follows the query until it has them. */
const rowsOf =
  (rows: RowRange, onRunning: () => void): Load =>
  async (run, signal) => {
    try {
      return await readPage(rows, { signal, headers: rows.headers });
    } catch (failure) {
      // The query still runs.
      if (!(failure instanceof ApiError && failure.status === 409)) throw failure;
      onRunning();
      return run.follow(await run.statusOf(rows.requestId, rows.headers), rows);
    }
  };

/** Reads the rows of the address when they are not those that are shown: after Back and Forward, and on the first visit. */
function useAddressedRows({ state, shown, update }: Attempts, read: (requestId: string, offset: number) => void): void {
  const { query } = useLocation();
  const wanted = query.get('result');
  const offset = offsetOf(query.get('row'));
  useEffect(() => {
    if (wanted === null) {
      shown.current = undefined;
      if (!state.running) update({ page: undefined, error: undefined, notice: undefined });
    } else if (rowsKey(wanted, offset) !== shown.current) read(wanted, offset);
  }, [wanted, offset]);
}

/**
 * The result on the page of queries. The address contains its id and its first row (`result`, `row`), so that a reload or a later visit shows the
 * same rows while the result is stored, and finds a query that still runs.
 * @param onResult called with the id of each result of a query that was run here, and its text
 */
export function useResult(numRows: number, onResult: (requestId: string, sql: string) => void): Result {
  const attempts = useAttempts();
  const { state, update, attempt, cancel, leave } = attempts;
  const { page, running, changes } = state;
  const read = (rows: RowRange, replace: boolean): Promise<void> =>
    attempt(
      rowsOf(rows, () => update({ page: undefined })),
      replace,
    );
  useAddressedRows(attempts, (requestId, offset) => void read({ requestId, offset, numRows }, true));
  useEffect(() => leave, []);
  return {
    ...state,
    run: async (sql, rows) => {
      if (running) cancel();
      const since = Date.now();
      setQuery({ result: undefined, row: undefined });
      // The rows of the previous query are not those of this one.
      update({ page: undefined, running: { since, status: undefined }, changes: changes + 1 });
      await attempt((queryRun) => queryRun.submit(sql, rows), true, { since, onId: (id) => onResult(id, sql) });
    },
    cancel: () => {
      cancel();
      leave();
      if (!running) return;
      update({ running: undefined, notice: `The query was cancelled after ${duration(Date.now() - running.since)}.` });
    },
    go: async (first, rows) => {
      if (!page) return;
      await read({ requestId: page.requestId, offset: first, numRows: rows, headers: storedAt(page) }, false);
    },
    open: (requestId, rows) => {
      update({ page: undefined });
      return read({ requestId, offset: 0, numRows: rows }, false);
    },
  };
}
