import type { EngineResponse } from '../../engine/types.ts';
import { QueryError } from '../errors.ts';
import { framePage, type HolderAddress, type Page, type PageRequest, rowsOf } from '../page.ts';
import type { ResultRecord } from '../result-store.ts';
import type { ScannedAnswer } from '../scanner/answer-scanner.ts';
import { decoded, scanInto } from '../submit.ts';
import { cursorIn, isSame, noCursors, pageFields, requireRows, shown } from './answer.ts';
import { type CursorBrokers, type CursorRecord, goneAtEngine } from './brokers.ts';
import type { Spool } from './spool.ts';

/** One page, as the engine gives it. */
export interface CursorPageOptions {
  readonly brokers: CursorBrokers;
  /** Takes the rows; discarded by whoever made it, once the page is out or has failed. */
  readonly spool: Spool;
  readonly holder: HolderAddress | undefined;
}

/**
 * A page of a result that the engine keeps: its rows as they came, between a head and a tail of our own. Nothing is handed out before the whole answer is
 * there and seen to be of the result that was asked for.
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
  const told = cursorIn(answer.fields, record.cursor.url);
  if (answer.hasExceptions) throw failed(record, answer);
  if (told === undefined) throw noCursors(record.cursor.url);
  if (!isSame(record.cursor, told)) throw goneAtEngine(record);
  requireRows(answer, told, asked);
  return cursorPage({ record, answer, spool, offset: asked.offset, holder }, signal);
}

/** An answer of the engine whose rows lie in the spool. @throws {QueryError} bad-answer, store-full, store-unavailable, aborted */
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

/** The spooled rows as a page of ours. */
export function cursorPage(parts: CursorPageParts, signal: AbortSignal): Page {
  const { record, answer, spool, offset, holder } = parts;
  const numRows = answer.rowCount;
  const told = { ...record, fields: pageFields(answer.fields), tableFields: answer.tableFields };
  const { head, tail } = framePage(told, { offset, numRows }, holder);
  return { head, tail, numRows, rows: spool.rows(signal), length: head.length + spool.bytes + tail.length };
}

function failed({ cursor }: CursorRecord, { fields }: ScannedAnswer): QueryError {
  const exceptions = fields.find(({ name }) => name === 'exceptions')?.value ?? '';
  return new QueryError(
    'bad-answer',
    `the broker ${cursor.url} could not read the result that it keeps: ${shown(exceptions)}`,
  );
}
