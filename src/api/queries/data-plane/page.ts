import { WHOLE_PAGE_BYTES, type Page, type PageRequest } from '../../../results/page.ts';
import type { ResultReader, ResultRecord } from '../../../results/result-store.ts';
import type { RequestClass } from '../../server/request/classify.ts';
import { HttpError } from '../../server/errors.ts';
import { requireRead } from '../access.ts';
import { openResult } from '../open-result.ts';
import { holderOf } from '../peer-routing.ts';
import { CODING_BYTES, codingFor } from './coding.ts';
import type { DataPlaneParts } from './parts.ts';
import type { Exchange } from './exchange.ts';
import { exportFormat, sendExport } from './export.ts';
import { readPageParameters, readRequestId, readResultsParameters } from './operations.ts';
import { isWhole, sendAnswer, sendPage } from './send.ts';

const CURSOR_PREFIX = 'responseStore';

/** Memory of a page that is streamed. */
const STREAMED_PAGE_BYTES = 512 * 1024;
/** Allowance for the head, the tail and read buffers of a page. */
const FRAME_BYTES = 64 * 1024;

/** Serves one page or a download of a stored result, from this gateway or from the one that stores it. */
export async function sendResultPage(
  exchange: Exchange,
  requestClass: RequestClass,
  parts: DataPlaneParts,
): Promise<void> {
  if (exchange.method !== 'GET') {
    throw new HttpError(405, `\`${exchange.method}\` is not allowed here: use GET`, { headers: { allow: 'GET' } });
  }
  const { peers } = parts;
  const { requestId } = readRequestId({ requestId: requestClass.segments[1] });
  const { offset: written, numRows, format: named } = readResultsParameters(requestClass.parameters);
  // Pinot's own path begins with the first row by default.
  const offset = written ?? (requestClass.segments[0] === CURSOR_PREFIX ? 0 : undefined);
  const format = exportFormat(exchange, named);
  // Only a page has a required offset: a download begins with the first row.
  if (format === undefined && offset === undefined) readPageParameters(requestClass.parameters);
  const { signal } = exchange;
  const holder = await holderOf(exchange, requestId, peers);
  if (holder !== undefined) return sendAnswer(exchange, await holder.forward(exchange, requestClass, signal));
  const reader = await openResult(requestId, exchange.principal.srn, parts, signal);
  let sent = false;
  try {
    requireRead(exchange, reader.record);
    if (format !== undefined) {
      const rows = { offset: offset ?? 0, numRows: numRows ?? Math.max(1, reader.record.rowCount) };
      await sendExport(exchange, reader, { format, ...rows }, parts);
      return;
    }
    const { pageSize, maxPageSize } = parts.settings();
    const range = { offset: offset ?? 0, numRows: Math.min(numRows ?? pageSize, maxPageSize) };
    sent = await readAndSend(exchange, reader, range, parts, signal);
  } finally {
    await reader.close(sent);
  }
}

/** Waits for byte budget, then reads and sends a page. @returns as `writePage` */
export async function readAndSend(
  exchange: Exchange,
  reader: ResultReader,
  range: PageRequest,
  { queries, budget, settings }: Pick<DataPlaneParts, 'queries' | 'budget' | 'settings'>,
  signal: AbortSignal,
): Promise<boolean> {
  const expected = estimate(reader.record, range);
  const expectedCoding = codingFor(exchange, expected, settings());
  const bytes = expected + FRAME_BYTES + (expectedCoding === undefined ? 0 : CODING_BYTES);
  const lease = await budget.acquire(exchange.principal.srn, bytes, signal);
  exchange.onClose(() => lease.release());
  const page = await queries.page(reader, range, signal);
  const coding = codingFor(exchange, page.length, settings());
  lease.resize(memoryOf(page) + (coding === undefined ? 0 : CODING_BYTES));
  return sendPage(exchange, page, coding);
}

/** Memory of a page in bytes. */
export function memoryOf(page: Page): number {
  return isWhole(page) ? page.length : STREAMED_PAGE_BYTES;
}

/** Estimates the bytes of a page's rows before they are read, from the average row size. */
function estimate({ rowBytes, rowCount }: ResultRecord, { numRows }: PageRequest): number {
  const rows = Math.ceil((rowBytes / Math.max(1, rowCount)) * Math.min(numRows, rowCount));
  return Math.min(WHOLE_PAGE_BYTES, rows);
}
