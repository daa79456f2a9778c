import type { TableName } from '../../pinot/table-name.ts';
import type { EngineResponse } from '../../pinot/types.ts';
import { QueryError } from '../errors.ts';
import type { HolderAddress, Page } from '../page.ts';
import type { ResultReader, ResultStore } from '../result-store.ts';
import type { ScannedAnswer } from '../scanner/answer-scanner.ts';
import { type EngineAnswer, engineAnswer, type Submission, type SubmissionHooks } from '../submit.ts';
import { cursorIn, noCursors, requireRows, type ReportedCursor } from './answer.ts';
import type { CursorBrokers, CursorRecord } from './brokers.ts';
import { cursorPage, spooled } from './page.ts';
import type { Spool } from './spool.ts';

export interface CursorSubmission {
  readonly store: ResultStore;
  readonly brokers: CursorBrokers;
  /** Buffers the rows of the first page. The caller discards it after the page was sent or the submission failed. */
  readonly spool: Spool;
  readonly submission: Submission;
  /** Requested rows of the first page. */
  readonly numRows: number;
  readonly holder: HolderAddress | undefined;
}

export type CursorOutcome =
  | { readonly kind: 'stored'; readonly reader: ResultReader; readonly page: Page }
  /** Closing it discards the spool. */
  | EngineAnswer
  /** The result has no rows, so the engine keeps no cursor with its columns. */
  | { readonly kind: 'no-rows' };

const NO_ROWS = { stride: 1, checkpoints: new Float64Array(0) };

/**
 * Takes the first response to a query whose result the engine keeps, and stores a record without rows.
 * @throws {QueryError} no-cursors, bad-answer, store-full, store-unavailable, aborted; and whatever `hooks.inspect` throws. On error nothing stays stored
 */
export async function storeCursor(
  response: EngineResponse,
  parts: CursorSubmission,
  hooks: SubmissionHooks,
  signal: AbortSignal,
): Promise<CursorOutcome> {
  const { spool, brokers, holder } = parts;
  const url = response.url ?? '';
  const answer = await spooled(response, spool, signal);
  const reported = cursorIn(answer.fields, url);
  const record = reported && recordOf(answer, reported, parts.submission);
  let kept = false;
  try {
    const others = inspected(answer, reported, hooks);
    if (answer.hasExceptions) return engineAnswer(answer, spool.rows(signal), () => spool.discard());
    if (reported === undefined || record === undefined) throw notStored(url);
    if (reported.rowCount === 0) return { kind: 'no-rows' };
    if (answer.dataSchema === undefined)
      throw new QueryError('bad-answer', 'the engine returned rows without their columns');
    requireRows(answer, reported, { offset: 0, numRows: parts.numRows });
    const stored = { ...completed(record, hooks), tables: [...record.tables, ...others] };
    hooks.onRows?.(record.rowCount, reported.cursor.bytes);
    const reader = await putRecord(parts.store, stored, signal);
    kept = true;
    return { kind: 'stored', reader, page: cursorPage({ record: stored, answer, spool, offset: 0, holder }, signal) };
  } finally {
    if (record !== undefined && !kept) await brokers.forget(record);
  }
}

function recordOf(answer: ScannedAnswer, reported: ReportedCursor, submission: Submission): CursorRecord {
  const { submissionTimeMs, expirationTimeMs } = submission;
  return {
    version: 1,
    ...submission,
    // Computed from durations, because the engine's clock may differ.
    expirationTimeMs: Math.min(expirationTimeMs, submissionTimeMs + reported.lifetimeMs),
    rowCount: reported.rowCount,
    rowBytes: 0,
    stride: NO_ROWS.stride,
    checkpoints: 0,
    dataSchema: answer.dataSchema ?? '{}',
    tableFields: [],
    fields: [],
    cursor: reported.cursor,
  };
}

function inspected(
  { fields, rowCount }: ScannedAnswer,
  reported: ReportedCursor | undefined,
  { inspect }: SubmissionHooks,
): readonly TableName[] {
  return inspect?.(fields, reported?.rowCount ?? rowCount) ?? [];
}

function completed(record: CursorRecord, { complete }: SubmissionHooks): CursorRecord {
  const { expirationTimeMs = record.expirationTimeMs, ...additions } = complete?.(record.rowCount) ?? {};
  // The engine deletes its rows at the time of the record, whatever this gateway prefers.
  return { ...record, ...additions, expirationTimeMs: Math.min(record.expirationTimeMs, expirationTimeMs) };
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
