import { admit } from '../../server/admission/admit.ts';
import { WHOLE_PAGE_BYTES, type Page, type PageRequest } from '../../../results/rows/page.ts';
import type { ExportFormat } from '../../../results/export/format.ts';
import type { ResultReader, ResultRecord } from '../../../results/result-store.ts';
import type { RequestClass } from '../../server/request/classify.ts';
import { traced } from '../../../platform/tracing.ts';
import { HttpError } from '../../server/errors.ts';
import { requireRead } from '../access.ts';
import { openResult } from '../open-result.ts';
import { holderOf } from '../peer-routing.ts';
import { PageQuerystring, RequestIdParams, ResultsQuerystring } from '../schemas.ts';
import { parameterReader, schemaReader } from '../../server/request/schema-readers.ts';
import { CODING_BYTES, codingFor } from './coding.ts';
import type { DataPlaneDependencies } from './dependencies.ts';
import type { Exchange } from './exchange.ts';
import { exportFormat, sendExport } from './export.ts';
import { isWhole, sendResponse, sendJson, sendPage } from './send.ts';

const readRequestId = schemaReader(RequestIdParams, 'params');
const readResultsParameters = parameterReader(ResultsQuerystring);
const readPageParameters = parameterReader(PageQuerystring);

const CURSOR_PREFIX = 'responseStore';

/** The response contains a credential. */
const NOT_STORED = { 'cache-control': 'no-store' };

/** Memory of a page that is streamed. */
const STREAMED_PAGE_BYTES = 512 * 1024;
/** Allowance for the head, the tail and read buffers of a page. */
const FRAME_BYTES = 64 * 1024;

/** Serves one page or a download of a stored result, from this gateway or from the one that stores it. */
export async function sendResultPage(
  exchange: Exchange,
  requestClass: RequestClass,
  dependencies: DataPlaneDependencies,
): Promise<void> {
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') {
    throw new HttpError(405, `\`${exchange.method}\` is not allowed here: use GET, HEAD`, {
      headers: { allow: 'GET, HEAD' },
    });
  }
  const { peers } = dependencies;
  const { requestId } = readRequestId({ requestId: requestClass.segments[1] });
  const { offset, numRows, form, types } = readWanted(exchange, requestClass);
  const { signal } = exchange;
  const { span } = exchange.trail;
  const holder = await holderOf(exchange, requestId, peers);
  if (holder !== undefined) return sendResponse(exchange, await holder.forward(exchange, requestClass, signal));
  const reader = await openResult(requestId, exchange, dependencies, signal);
  let sent = false;
  try {
    requireRead(exchange, reader.record);
    if (form !== 'page') {
      const rows = { offset, numRows: numRows ?? Math.max(1, reader.record.rowCount) };
      if (form === 'links') await sendLinks(exchange, reader, rows, dependencies);
      else
        await traced(span, 'export result', () =>
          sendExport(exchange, reader, { format: form, types, ...rows }, dependencies),
        );
      return;
    }
    const { pageSize, maxPageSize } = dependencies.settings();
    const range = { offset, numRows: Math.min(numRows ?? pageSize, maxPageSize) };
    sent = await readAndSend(exchange, reader, range, dependencies, signal);
  } finally {
    await reader.close(sent);
  }
}

/** What a request wants of a result. */
interface WantedRows {
  readonly offset: number;
  readonly numRows: number | undefined;
  readonly form: 'page' | 'links' | ExportFormat;
  /** Of a download in a format of columns. */
  readonly types: 'text' | undefined;
}

/** @throws {RequestValidationError} 400; {HttpError} 400 */
function readWanted(exchange: Exchange, { segments, parameters }: RequestClass): WantedRows {
  const { offset, numRows, format, links, types } = readResultsParameters(parameters);
  if (links === true && format !== undefined)
    throw new HttpError(400, '`links` cannot be combined with `format`: the bucket has the rows as they are stored');
  const form = links === true ? 'links' : (exportFormat(exchange, format) ?? 'page');
  // Only a page has a required offset: a download and links begin with the first row, and so does Pinot's own path.
  if (form === 'page' && offset === undefined && segments[0] !== CURSOR_PREFIX) readPageParameters(parameters);
  return { offset: offset ?? 0, numRows, form, types };
}

async function sendLinks(
  exchange: Exchange,
  reader: ResultReader,
  rows: PageRequest,
  { queries }: Pick<DataPlaneDependencies, 'queries'>,
): Promise<void> {
  const { dataSchema, ...found } = await queries.links(reader, rows, exchange.signal);
  sendJson(exchange, 200, NOT_STORED, { ...found, dataSchema: JSON.parse(dataSchema) as unknown });
}

/** Waits for memory, then reads and sends a page. @returns as `writePage` */
export async function readAndSend(
  exchange: Exchange,
  reader: ResultReader,
  range: PageRequest,
  { queries, memory, settings }: Pick<DataPlaneDependencies, 'queries' | 'memory' | 'settings'>,
  signal: AbortSignal,
): Promise<boolean> {
  const expected = estimate(reader.record, range);
  const expectedCoding = codingFor(exchange, expected, settings());
  const bytes = expected + FRAME_BYTES + (expectedCoding === undefined ? 0 : CODING_BYTES);
  const lease = await admit(memory, exchange.principal.srn, { units: bytes, signal });
  exchange.onClose(() => lease.release());
  const page = await traced(exchange.trail.span, 'read result', () => queries.page(reader, range, signal));
  const coding = codingFor(exchange, page.length, settings());
  lease.resize(memoryOf(page) + (coding === undefined ? 0 : CODING_BYTES));
  return sendPage(exchange, page, coding);
}

/** Memory of a page in bytes. */
function memoryOf(page: Page): number {
  return isWhole(page) ? page.length : STREAMED_PAGE_BYTES;
}

/** Estimates the bytes of a page's rows before they are read, from the average row size. */
function estimate({ rowBytes, rowCount }: ResultRecord, { numRows }: PageRequest): number {
  const rows = Math.ceil((rowBytes / Math.max(1, rowCount)) * Math.min(numRows, rowCount));
  return Math.min(WHOLE_PAGE_BYTES, rows);
}
