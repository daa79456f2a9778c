import type { EngineResponse } from '../../engine/types.ts';
import { QueryError } from '../errors.ts';
import type { HolderAddress, Page } from '../page.ts';
import type { ResultReader, ResultStore } from '../result-store.ts';
import type { ScannedAnswer } from '../scanner/answer-scanner.ts';
import { type EngineAnswer, engineAnswer, type InspectAnswer, type Submission } from '../submit.ts';
import { cursorIn, noCursors, requireRows, type ToldCursor } from './answer.ts';
import type { CursorBrokers, CursorRecord } from './brokers.ts';
import { cursorPage, spooled } from './page.ts';
import type { Spool } from './spool.ts';

export interface CursorSubmission {
  readonly store: ResultStore;
  readonly brokers: CursorBrokers;
  /** Takes the rows of the first page; discarded by whoever made it, once the page is out or nothing came of it. */
  readonly spool: Spool;
  readonly submission: Submission;
  /** Rows that the first page was asked for. */
  readonly numRows: number;
  readonly holder: HolderAddress | undefined;
}

export type CursorOutcome =
  | { readonly kind: 'stored'; readonly reader: ResultReader; readonly page: Page }
  /** Closing it discards the spool. */
  | EngineAnswer
  /** The engine keeps nothing of such a result that tells its columns. */
  | { readonly kind: 'no-rows' };

const NO_ROWS = { stride: 1, checkpoints: new Float64Array(0) };

/**
 * Takes the first answer to a query whose result the engine keeps, and leaves a record without rows in the store.
 * @throws {QueryError} no-cursors, bad-answer, store-full, store-unavailable, aborted; whatever `inspect` throws. Nothing is left behind then
 */
export async function storeCursor(
  response: EngineResponse,
  parts: CursorSubmission,
  inspect: InspectAnswer,
  signal: AbortSignal,
): Promise<CursorOutcome> {
  const { spool, brokers, holder } = parts;
  const url = response.url ?? '';
  const answer = await spooled(response, spool, signal);
  const told = cursorIn(answer.fields, url);
  const record = told && recordOf(answer, told, parts.submission);
  let kept = false;
  try {
    inspect(answer.fields);
    if (answer.hasExceptions) return engineAnswer(answer, spool.rows(signal), () => spool.discard());
    if (told === undefined || record === undefined) throw notStored(url);
    if (told.rowCount === 0) return { kind: 'no-rows' };
    if (answer.dataSchema === undefined)
      throw new QueryError('bad-answer', 'the engine told rows without their columns');
    requireRows(answer, told, { offset: 0, numRows: parts.numRows });
    const reader = await putRecord(parts.store, record, signal);
    kept = true;
    return { kind: 'stored', reader, page: cursorPage({ record, answer, spool, offset: 0, holder }, signal) };
  } finally {
    if (record !== undefined && !kept) await brokers.forget(record);
  }
}

function recordOf(answer: ScannedAnswer, told: ToldCursor, submission: Submission): CursorRecord {
  const { submissionTimeMs, expirationTimeMs } = submission;
  return {
    version: 1,
    ...submission,
    // By the lengths of time, not by the times: the engine's clock is another one.
    expirationTimeMs: Math.min(expirationTimeMs, submissionTimeMs + told.lifetimeMs),
    rowCount: told.rowCount,
    rowBytes: 0,
    stride: NO_ROWS.stride,
    checkpoints: 0,
    dataSchema: answer.dataSchema ?? '{}',
    tableFields: [],
    fields: [],
    cursor: told.cursor,
  };
}

async function putRecord(store: ResultStore, record: CursorRecord, signal: AbortSignal): Promise<ResultReader> {
  const writer = await store.begin(record.requestId, signal);
  try {
    await writer.seal(NO_ROWS);
    return await writer.commit(record);
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

function notStored(url: string): QueryError {
  const error = noCursors(url);
  return new QueryError(error.code, `${error.message}. Nothing was stored`);
}
