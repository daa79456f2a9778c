import { crc32 } from 'node:zlib';

const REQUEST_LIMIT_MS = 300_000;

/** A service that stores the rows of a query and serves them in pages. */
export interface CursorSide {
  /** Base URL. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface FirstPage {
  readonly requestId: string;
  readonly wallMs: number;
}

export interface ReadPages {
  readonly wallMs: readonly number[];
  /** Number and checksum of the rows of all pages, whatever their order: the engine does not keep one. */
  readonly rows: readonly [count: number, checksum: number];
}

/** Both sides use the paths and parameters of Pinot's cursors. */
export async function submitQuery({ url, headers }: CursorSide, sql: string, numRows: number): Promise<FirstPage> {
  const began = performance.now();
  const response = await fetch(`${url}/query/sql?getCursor=true&numRows=${numRows}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ sql, queryOptions: 'timeoutMs=120000' }),
    signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
  });
  const text = await response.text();
  const wallMs = performance.now() - began;
  const { requestId, exceptions } = JSON.parse(text) as { requestId?: string; exceptions?: unknown[] };
  if (requestId === undefined || (exceptions?.length ?? 0) > 0) {
    throw new Error(`the submission at ${url} returned ${response.status}: ${text.slice(0, 200)}`);
  }
  return { requestId, wallMs };
}

/** Reads the pages at these offsets, one after the other. */
export async function readPages(
  { url, headers }: CursorSide,
  requestId: string,
  offsets: readonly number[],
  numRows: number,
): Promise<ReadPages> {
  const wallMs: number[] = [];
  let count = 0;
  let checksum = 0;
  for (const offset of offsets) {
    const began = performance.now();
    const path = `/responseStore/${requestId}/results?offset=${offset}&numRows=${numRows}`;
    const response = await fetch(url + path, { headers, signal: AbortSignal.timeout(REQUEST_LIMIT_MS) });
    const text = await response.text();
    wallMs.push(performance.now() - began);
    const { resultTable } = JSON.parse(text) as { resultTable?: { rows: unknown[] } };
    if (resultTable === undefined) throw new Error(`${url}${path} returned ${response.status}: ${text.slice(0, 200)}`);
    count += resultTable.rows.length;
    for (const row of resultTable.rows) checksum += crc32(JSON.stringify(row));
  }
  return { wallMs, rows: [count, checksum] };
}
