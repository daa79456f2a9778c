import { QueryError } from '../errors.ts';
import { ENGINE_ID } from '../request-id.ts';
import type { EngineCursor } from '../result-store.ts';
import type { ScannedAnswer } from '../scanner/answer-scanner.ts';
import { countIn, type RawField } from '../scanner/fields.ts';

/** A cursor as reported by the engine. */
export interface ReportedCursor {
  readonly cursor: EngineCursor;
  /** Rows of the whole result. */
  readonly rowCount: number;
  /** Retention time at the engine, in milliseconds. */
  readonly lifetimeMs: number;
  readonly offset: number;
  readonly numRows: number;
}

/** These fields describe the engine's store, not this gateway's. */
const STORE_FIELDS = new Set(['submissionTimeMs', 'expirationTimeMs']);
const MAX_SHOWN = 300;

/** @returns undefined if the response has no cursor, as with versions before 1.3 */
export function cursorIn(fields: readonly RawField[], url: string): ReportedCursor | undefined {
  const number = (name: string): number | undefined => countIn(fields, name);
  const requestId = fields.findLast(({ name }) => name === 'requestId')?.value.replaceAll('"', '');
  const submissionTimeMs = number('submissionTimeMs');
  const expirationTimeMs = number('expirationTimeMs');
  const [rowCount, offset, numRows] = [number('numRowsResultSet'), number('offset'), number('numRows')];
  if (requestId === undefined || !ENGINE_ID.test(requestId)) return undefined;
  if (submissionTimeMs === undefined || expirationTimeMs === undefined) return undefined;
  if (rowCount === undefined || offset === undefined || numRows === undefined) return undefined;
  return {
    cursor: { url, requestId, submissionTimeMs, bytes: number('bytesWritten') ?? 0 },
    rowCount,
    lifetimeMs: Math.max(0, expirationTimeMs - submissionTimeMs),
    offset,
    numRows,
  };
}

/** Whether it is the same result: a restarted broker may reuse the id for another query. */
export function isSame(cursor: EngineCursor, reported: ReportedCursor): boolean {
  return reported.cursor.requestId === cursor.requestId && reported.cursor.submissionTimeMs === cursor.submissionTimeMs;
}

/** Rejects a response whose metadata does not match its rows. @throws {QueryError} bad-answer */
export function requireRows(
  answer: ScannedAnswer,
  reported: ReportedCursor,
  asked: { readonly offset: number; readonly numRows: number },
): void {
  const { rowCount } = answer;
  if (reported.offset === asked.offset && reported.numRows === rowCount && rowCount >= 1 && rowCount <= asked.numRows)
    return;
  throw new QueryError(
    'bad-answer',
    `invalid page in the engine's response: requested up to ${asked.numRows} rows from offset ${asked.offset}, received ${rowCount} rows, reported as ${reported.numRows} rows from offset ${reported.offset}`,
  );
}

/** The engine's statistics for a page. */
export function pageFields(fields: readonly RawField[]): readonly RawField[] {
  return fields.filter(({ name }) => !STORE_FIELDS.has(name));
}

/** Engine text, shortened for an error message. */
export function shown(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}

/** Error for a broker without cursor support. */
export function noCursors(url: string): QueryError {
  return new QueryError(
    'no-cursors',
    `the broker ${url} returned no cursor. Pinot before 1.3 does not support cursors, and query options can disable them: upgrade the broker, ` +
      'or set `olap.broker.pagination.native` to `false`, so that the gateway stores results itself',
  );
}
