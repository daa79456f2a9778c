import { useEffect, useRef, useState } from 'preact/hooks';
import { callText, messageOfError } from '../../lib/api.ts';
import { parseExact } from '../../lib/exact-json.ts';
import { duration } from '../../lib/format.ts';
import { setQuery, useLocation } from '../../lib/router.ts';
import type { CursorResponse } from '../../lib/types.ts';

/** Longer than the gateway waits for a query by default (120 s). */
const QUERY_TIMEOUT_MS = 300_000;

export interface Result {
  /** The shown page; undefined while a new query runs. */
  readonly page: CursorResponse | undefined;
  readonly error: string | undefined;
  /** What happened to the last query if it has no result, such as that it was cancelled. */
  readonly notice: string | undefined;
  /** When the running query was sent, epoch milliseconds; undefined when none runs. */
  readonly runningSince: number | undefined;
  /** Number of queries that have ended. */
  readonly finished: number;
  readonly run: (sql: string, numRows: number) => Promise<void>;
  readonly cancel: () => void;
  /** Shows a page of the current result. */
  readonly go: (offset: number, numRows: number) => Promise<void>;
  /** Shows the first page of a stored result. */
  readonly open: (requestId: string, numRows: number) => Promise<void>;
}

/** Headers that name the gateway that stores the result: another one may receive the request. */
export function storedAt({ brokerHost, brokerPort }: CursorResponse): Record<string, string> {
  return brokerHost === undefined ? {} : { FORWARD_HOST: brokerHost, FORWARD_PORT: String(brokerPort) };
}

interface Rows {
  readonly requestId: string;
  readonly offset: number;
  readonly numRows: number;
  readonly headers?: Record<string, string> | undefined;
}

const rowsKey = (requestId: string, offset: number): string => `${requestId}/${offset}`;

/** The offset, from 0, of the row in the address, which counts from 1. */
function offsetOf(row: string | null): number {
  const number = Number(row ?? '1');
  return Number.isSafeInteger(number) && number >= 1 ? number - 1 : 0;
}

/**
 * The result on the page of queries. The address contains its id and its first row (`result`, `row`), so that a reload or a later visit shows the
 * same rows while the result is stored.
 */
export function useResult(numRows: number): Result {
  const { query } = useLocation();
  const [page, setPage] = useState<CursorResponse>();
  const [error, setError] = useState<string>();
  const [notice, setNotice] = useState<string>();
  const [runningSince, setRunningSince] = useState<number>();
  const [finished, setFinished] = useState(0);
  const current = useRef<AbortController | undefined>(undefined);
  /** The shown rows: id of the result, and offset. */
  const shown = useRef<string | undefined>(undefined);

  /** @param replace whether the address of the rows replaces the current one, instead of being a new choice */
  const attempt = async (load: (signal: AbortSignal) => Promise<string>, replace: boolean): Promise<void> => {
    current.current?.abort();
    const abort = new AbortController();
    current.current = abort;
    setError(undefined);
    setNotice(undefined);
    try {
      const read = parseExact(await load(abort.signal)) as CursorResponse;
      if (abort.signal.aborted) return;
      shown.current = rowsKey(read.requestId, read.offset);
      setPage(read);
      if (read.resultTable) setQuery({ result: read.requestId, row: String(read.offset + 1) }, replace);
    } catch (failure) {
      if (!abort.signal.aborted) setError(messageOfError(failure));
    }
  };
  const run = async (sql: string, rows: number): Promise<void> => {
    const since = Date.now();
    setQuery({ sql, result: undefined, row: undefined });
    // The rows of the previous query are not those of this one.
    setPage(undefined);
    setRunningSince(since);
    const path = `/query/sql?doPaginate=true&numRows=${rows}`;
    const options = { method: 'POST', body: { sql }, timeoutMs: QUERY_TIMEOUT_MS } as const;
    await attempt((signal) => callText(path, { ...options, signal }), true);
    // Another query may run by now.
    setRunningSince((latest) => (latest === since ? undefined : latest));
    setFinished((count) => count + 1);
  };
  const read = (from: Rows, replace: boolean): Promise<void> => {
    const path = `/query/${encodeURIComponent(from.requestId)}/results?offset=${from.offset}&numRows=${from.numRows}`;
    return attempt((signal) => callText(path, { signal, headers: from.headers ?? {} }), replace);
  };

  // The address is that of other rows after Back and Forward, and on the first visit.
  const wanted = query.get('result');
  const offset = offsetOf(query.get('row'));
  useEffect(() => {
    if (wanted === null) {
      shown.current = undefined;
      if (runningSince !== undefined) return;
      setPage(undefined);
      setError(undefined);
      setNotice(undefined);
    } else if (rowsKey(wanted, offset) !== shown.current) void read({ requestId: wanted, offset, numRows }, true);
  }, [wanted, offset]);
  useEffect(() => () => current.current?.abort(), []);

  return {
    page,
    error,
    notice,
    runningSince,
    finished,
    run,
    cancel: () => {
      current.current?.abort();
      if (runningSince === undefined) return;
      setRunningSince(undefined);
      setNotice(`The query was cancelled after ${duration(Date.now() - runningSince)}.`);
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
