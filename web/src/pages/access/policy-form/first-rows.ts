import { ApiError, callStream } from '../../../lib/api.ts';
import { parseExact } from '../../../lib/exact-json.ts';
import type { CursorResponse, PolicyPreview } from '../../../lib/types.ts';

/** Maximum bytes of a response. */
const MAX_BYTES = 1024 * 1024;
export const MAX_ROWS = 20;
const TIMEOUT_MS = 20_000;

export interface FirstRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  /** Whether the query has more. */
  readonly more: boolean;
}

async function textOf(response: Response): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    text += part.value;
    if (text.length <= MAX_BYTES) continue;
    await reader?.cancel();
    throw new ApiError(0, 'The rows have more than 1 MB: select fewer columns, or set a smaller LIMIT.');
  }
  return text;
}

/**
 * Runs the query of a preview as the caller, so that the rows are those that the caller may read anyway.
 * @throws {ApiError}
 */
export async function firstRows(preview: PolicyPreview, signal: AbortSignal): Promise<FirstRows> {
  const { sql = '', database, columnNames = {} } = preview;
  const headers = database === undefined ? {} : { database };
  const response = await callStream('/query/sql', {
    method: 'POST',
    body: { sql },
    headers,
    signal,
    timeoutMs: TIMEOUT_MS,
  });
  const { resultTable, exceptions = [] } = parseExact(await textOf(response)) as Partial<CursorResponse>;
  const [failure] = exceptions;
  if (failure !== undefined) throw new ApiError(0, failure.message.split('\n', 1)[0] ?? '');
  const columns = (resultTable?.dataSchema?.columnNames ?? []).map((name, index) => columnNames[index] ?? name);
  const rows = resultTable?.rows ?? [];
  return { columns, rows: rows.slice(0, MAX_ROWS), more: rows.length > MAX_ROWS };
}
