import type { EngineResponse } from '../../pinot/types.ts';
import { QueryError } from '../errors.ts';
import { framePage, type HolderAddress, type Page, type PageRequest, rowsOf } from '../page.ts';
import type { ResultRecord } from '../result-store.ts';
import type { ScannedAnswer } from '../scanner/answer-scanner.ts';
import { decoded, scanInto } from '../submit.ts';
import { cursorIn, isSame, noCursors, pageFields, requireRows, shown } from './answer.ts';
import { type CursorBrokers, type CursorRecord, notFoundAtEngine } from './brokers.ts';
import type { Spool } from './spool.ts';

/** What `readCursorPage` needs. */
export interface CursorPageOptions {
  readonly brokers: CursorBrokers;
  /** Buffers the rows. The caller discards it after the page was sent or failed. */
  readonly spool: Spool;
  readonly holder: HolderAddress | undefined;
}

/**
 * Reads a page of a result that the engine keeps. The rows are passed through unchanged. The page is returned only after the whole response
 * was received and checked to belong to the requested result.
 * @throws {QueryError} bad-page, not-found, bad-answer, no-cursors, store-full, store-unavailable, aborted; {EngineError} timeout, overloaded
 */
export async function readCursorPage(
  record: CursorRecord,
  request: PageRequest,
  { brokers, spool, holder }: CursorPageOptions,
  signal: AbortSignal,
): Promise<Page> {
  const asked = { offset: request.offset, numRows: rowsOf(record, request) };
  const response = await brokers.page(record, asked, signal);
  const answer = await spooled(response, spool, signal);
  const reported = cursorIn(answer.fields, record.cursor.url);
  if (answer.hasExceptions) throw failed(record, answer);
  if (reported === undefined) throw noCursors(record.cursor.url);
  if (!isSame(record.cursor, reported)) throw notFoundAtEngine(record);
  requireRows(answer, reported, asked);
  return cursorPage({ record, answer, spool, offset: asked.offset, holder }, signal);
}

/** Reads a response of the engine with its rows in the spool. @throws {QueryError} bad-answer, store-full, store-unavailable, aborted */
export async function spooled(response: EngineResponse, spool: Spool, signal: AbortSignal): Promise<ScannedAnswer> {
  const body = decoded(response);
  try {
    return await scanInto(spool, body, signal);
  } finally {
    body.destroy();
  }
}

export interface CursorPageParts {
  readonly record: ResultRecord;
  readonly answer: ScannedAnswer;
  readonly spool: Spool;
  readonly offset: number;
  readonly holder: HolderAddress | undefined;
}

/** Builds the page from the spooled rows. */
export function cursorPage(parts: CursorPageParts, signal: AbortSignal): Page {
  const { record, answer, spool, offset, holder } = parts;
  const numRows = answer.rowCount;
  const pageRecord = { ...record, fields: pageFields(answer.fields), tableFields: answer.tableFields };
  const { head, tail, nextUrl } = framePage(pageRecord, { offset, numRows }, holder);
  return { head, tail, nextUrl, numRows, rows: spool.rows(signal), length: head.length + spool.bytes + tail.length };
}

function failed({ cursor }: CursorRecord, { fields }: ScannedAnswer): QueryError {
  const exceptions = fields.find(({ name }) => name === 'exceptions')?.value ?? '';
  return new QueryError('bad-answer', `the broker ${cursor.url} failed to read the result: ${shown(exceptions)}`);
}
