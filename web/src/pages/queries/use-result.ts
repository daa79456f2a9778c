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
  /** Undefined before the gateway has answered. */
  readonly status: QueryStatus | undefined;
}

export interface Result {
  /** The shown page; undefined while a new query runs. */
  readonly page: CursorResponse | undefined;
  readonly error: string | undefined;
  /** What happened to the last query if it has no result, such as that it was cancelled. */
  readonly notice: string | undefined;
  readonly running: RunningQuery | undefined;
  /** Number of queries that have begun or ended. */
  readonly changes: number;
  readonly run: (sql: string, numRows: number) => Promise<void>;
  readonly cancel: () => void;
  /** Shows a page of the current result. */
  readonly go: (offset: number, numRows: number) => Promise<void>;
  /** Shows the first page of a stored result. */
  readonly open: (requestId: string, numRows: number) => Promise<void>;
}

interface Rows {
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

/**
 * The result on the page of queries. The address contains its id and its first row (`result`, `row`), so that a reload or a later visit shows the
 * same rows while the result is stored, and finds a query that still runs.
 */
export function useResult(numRows: number): Result {
  const { query } = useLocation();
  const [page, setPage] = useState<CursorResponse>();
  const [error, setError] = useState<string>();
  const [notice, setNotice] = useState<string>();
  const [running, setRunning] = useState<RunningQuery>();
  const [changes, setChanges] = useState(0);
  /** The latest attempt to get rows. */
  const current = useRef<{ readonly abort: AbortController; readonly run: QueryRun } | undefined>(undefined);
  /** The rows that are shown or awaited: id of the result, and offset. */
  const shown = useRef<string | undefined>(undefined);

  /** @param replace whether the address of the rows replaces the current one, instead of being a new choice */
  const attempt = async (
    load: (run: QueryRun, signal: AbortSignal) => Promise<string>,
    replace: boolean,
    since = Date.now(),
  ): Promise<void> => {
    current.current?.abort.abort();
    const abort = new AbortController();
    const { signal } = abort;
    const isLatest = (): boolean => current.current?.abort === abort;
    const run = new QueryRun(signal, (status) => {
      shown.current = rowsKey(status.requestId, offsetOf(new URLSearchParams(location.search).get('row')));
      if (status.state === 'done') return;
      setRunning({ since: Math.min(since, status.submissionTimeMs), status });
      // The id leads to the query again, also while it runs.
      setQuery({ result: status.requestId }, true);
    });
    current.current = { abort, run };
    setError(undefined);
    setNotice(undefined);
    try {
      // A submission goes on after it was left, so that its query can be cancelled.
      const read = parseExact(await Promise.race([load(run, signal), aborted(signal)])) as CursorResponse;
      if (signal.aborted) return;
      shown.current = rowsKey(read.requestId, read.offset);
      setPage(read);
      if (read.resultTable) setQuery({ result: read.requestId, row: String(read.offset + 1) }, replace);
    } catch (failure) {
      if (!signal.aborted) setError(messageOfError(failure));
    } finally {
      if (isLatest()) setRunning(undefined);
      setChanges((count) => count + 1);
    }
  };
  const run = async (sql: string, rows: number): Promise<void> => {
    if (running) current.current?.run.cancel();
    const since = Date.now();
    setQuery({ sql, result: undefined, row: undefined });
    // The rows of the previous query are not those of this one.
    setPage(undefined);
    setRunning({ since, status: undefined });
    setChanges((count) => count + 1);
    await attempt((queryRun) => queryRun.submit(sql, rows), true, since);
  };
  const read = (rows: Rows, replace: boolean): Promise<void> =>
    attempt(async (queryRun, signal) => {
      try {
        return await readPage(rows, { signal, headers: rows.headers });
      } catch (failure) {
        // The query still runs.
        if (!(failure instanceof ApiError && failure.status === 409)) throw failure;
        setPage(undefined);
        return queryRun.follow(await queryRun.statusOf(rows.requestId, rows.headers), rows);
      }
    }, replace);

  // The address is that of other rows after Back and Forward, and on the first visit.
  const wanted = query.get('result');
  const offset = offsetOf(query.get('row'));
  useEffect(() => {
    if (wanted === null) {
      shown.current = undefined;
      if (running) return;
      setPage(undefined);
      setError(undefined);
      setNotice(undefined);
    } else if (rowsKey(wanted, offset) !== shown.current) void read({ requestId: wanted, offset, numRows }, true);
  }, [wanted, offset]);
  useEffect(() => () => current.current?.abort.abort(), []);

  return {
    page,
    error,
    notice,
    running,
    changes,
    run,
    cancel: () => {
      current.current?.run.cancel();
      current.current?.abort.abort();
      if (!running) return;
      setRunning(undefined);
      setNotice(`The query was cancelled after ${duration(Date.now() - running.since)}.`);
    },
    go: async (first, rows) => {
      if (!page) return;
      await read({ requestId: page.requestId, offset: first, numRows: rows, headers: storedAt(page) }, false);
    },
    open: (requestId, rows) => {
      setPage(undefined);
      return read({ requestId, offset: 0, numRows: rows }, false);
    },
  };
}
