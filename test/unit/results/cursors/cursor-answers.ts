import type { Submission } from '../../../../src/results/submit.ts';
import type { CursorRecord } from '../../../../src/results/cursors/brokers.ts';
import { Spool } from '../../../../src/results/cursors/spool.ts';
import { DATA_SCHEMA, rowTexts, submission } from '../answers.ts';

export const URL = 'http://broker.test:8099';
export const CURSOR = { url: URL, requestId: '1234', submissionTimeMs: 5000, bytes: 900 };

/** A response of an engine that keeps a result of ten rows, and returns four. */
export function cursorText(changes: Readonly<Record<string, unknown>> = {}, schema = true): string {
  const { rows = rowTexts(4), ...fields } = {
    requestId: '1234',
    submissionTimeMs: 5000,
    expirationTimeMs: 5000 + 3_600_000,
    numRowsResultSet: 10,
    offset: 0,
    numRows: 4,
    bytesWritten: 900,
    exceptions: [],
    numDocsScanned: 3,
    ...changes,
  } as { readonly rows?: readonly string[] };
  const table = schema ? `"dataSchema":${DATA_SCHEMA},` : '';
  return `{"resultTable":{${table}"rows":[${rows.join(',')}]},${JSON.stringify(fields).slice(1)}`;
}

export function cursorRecord(over: Partial<CursorRecord> = {}, own: Partial<Submission> = {}): CursorRecord {
  return {
    ...submission(own),
    version: 1,
    rowCount: 10,
    rowBytes: 0,
    stride: 1,
    checkpoints: 0,
    dataSchema: DATA_SCHEMA,
    tableFields: [],
    fields: [],
    cursor: CURSOR,
    ...over,
  };
}

/** A spool in memory. */
export function spoolOf(maxBytes = 1_000_000): Spool {
  const begin = (): Promise<never> => Promise.reject(new Error('the store is not used'));
  return new Spool(maxBytes, begin, () => undefined);
}
