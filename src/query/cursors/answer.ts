import { QueryError } from '../errors.ts';
import { ENGINE_ID } from '../request-id.ts';
import type { EngineCursor } from '../result-store.ts';
import type { ScannedAnswer } from '../scanner/answer-scanner.ts';
import type { RawField } from '../scanner/fields.ts';

/** What the engine tells of a result that it keeps. */
export interface ToldCursor {
  readonly cursor: EngineCursor;
  /** Rows of the whole result. */
  readonly rowCount: number;
  /** Milliseconds that the engine keeps it. */
  readonly lifetimeMs: number;
  readonly offset: number;
  readonly numRows: number;
}

/** What these say holds for the engine's store, not for this gateway's. */
const ABOUT_THE_STORE = new Set(['submissionTimeMs', 'expirationTimeMs']);
const MAX_SHOWN = 300;

/** @returns undefined where the engine does not say that it keeps a result, as versions before 1.3 do not */
export function cursorIn(fields: readonly RawField[], url: string): ToldCursor | undefined {
  const values = new Map(fields.map(({ name, value }) => [name, value]));
  const number = (name: string): number | undefined => {
    const value = Number(values.get(name) ?? Number.NaN);
    return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  };
  const requestId = values.get('requestId')?.replaceAll('"', '');
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

/** Whether the engine tells of the very same result: a broker that was restarted may have given its id to another query. */
export function isSame(cursor: EngineCursor, told: ToldCursor): boolean {
  return told.cursor.requestId === cursor.requestId && told.cursor.submissionTimeMs === cursor.submissionTimeMs;
}

/** An answer that says something else of its rows than it holds is not handed on. @throws {QueryError} bad-answer */
export function requireRows(
  answer: ScannedAnswer,
  told: ToldCursor,
  asked: { readonly offset: number; readonly numRows: number },
): void {
  const { rowCount } = answer;
  if (told.offset === asked.offset && told.numRows === rowCount && rowCount >= 1 && rowCount <= asked.numRows) return;
  throw new QueryError(
    'bad-answer',
    `the engine was asked for ${asked.numRows} rows from row ${asked.offset} on, and answered with ${rowCount}, which it calls ${told.numRows} rows from row ${told.offset} on`,
  );
}

/** The engine's statistics in a page. */
export function pageFields(fields: readonly RawField[]): readonly RawField[] {
  return fields.filter(({ name }) => !ABOUT_THE_STORE.has(name));
}

/** Text of the engine as a part of a message. */
export function shown(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}

/** What a broker without cursors is answered with. */
export function noCursors(url: string): QueryError {
  return new QueryError(
    'no-cursors',
    `the broker ${url} has no cursors, as versions of the engine before 1.3 do not, or the query switches them off, so that it cannot keep a result: upgrade it, ` +
      'or set `olap.broker.pagination.native` to `false`, with which the gateway stores results itself',
  );
}
