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
  /** Id of the shown result. */
  const shown = useRef<string | undefined>(undefined);

  const attempt = async (load: (signal: AbortSignal) => Promise<string>): Promise<void> => {
    current.current?.abort();
    const abort = new AbortController();
    current.current = abort;
    setError(undefined);
    setNotice(undefined);
    try {
      const read = parseExact(await load(abort.signal)) as CursorResponse;
      if (abort.signal.aborted) return;
      shown.current = read.requestId;
      setPage(read);
      if (read.resultTable) setQuery({ result: read.requestId, row: String(read.offset + 1) });
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
    await attempt((signal) => callText(path, { method: 'POST', body: { sql }, signal, timeoutMs: QUERY_TIMEOUT_MS }));
    // Another query may run by now.
    setRunningSince((latest) => (latest === since ? undefined : latest));
    setFinished((count) => count + 1);
  };
  const read = (requestId: string, offset: number, rows: number, headers: Record<string, string>): Promise<void> =>
    attempt((signal) =>
      callText(`/query/${encodeURIComponent(requestId)}/results?offset=${offset}&numRows=${rows}`, { signal, headers }),
    );

  const wanted = query.get('result');
  useEffect(() => {
    if (wanted !== null && wanted !== shown.current) void read(wanted, offsetOf(query.get('row')), numRows, {});
  }, [wanted]);
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
    go: async (offset, rows) => {
      if (!page) return;
      // The gateway that stores the result: another one may receive the request.
      const { brokerHost: FORWARD_HOST, brokerPort } = page;
      const headers = FORWARD_HOST === undefined ? undefined : { FORWARD_HOST, FORWARD_PORT: String(brokerPort) };
      await read(page.requestId, offset, rows, headers ?? {});
    },
    open: (requestId, rows) => {
      setPage(undefined);
      return read(requestId, 0, rows, {});
    },
  };
}
