import { admit } from '../../server/admission/admit.ts';
import type { PageRequest } from '../../../results/rows/page.ts';
import type { Export } from '../../../results/export/export.ts';
import { acceptedFormat, EXPORT_FORMATS, type ExportFormat, isColumnFormat } from '../../../results/export/format.ts';
import type { ResultReader, ResultRecord } from '../../../results/result-store.ts';
import type { Coding } from '../../server/content-coding.ts';
import { HttpError } from '../../server/errors.ts';
import { asksForPart, byteRange, type ByteRange } from './byte-range.ts';
import { CODING_BYTES, codingFor } from './coding.ts';
import type { DataPlaneDependencies } from './dependencies.ts';
import type { Exchange } from './exchange.ts';
import { precondition } from './preconditions.ts';
import { sendBody, VARY } from './send.ts';
import { whileAllowed } from './while-allowed.ts';

/**
 * Memory of a download: pieces of the rows, their text, and a record batch or the row group of a Parquet file. The downloads that one caller may have
 * at once, compressed, leave room for its pages in the default of `max-answer-bytes-per-caller`.
 */
const EXPORT_BYTES = 5 * 1024 * 1024;

/** The requested download format; undefined for a page. @param format the query parameter */
export function exportFormat({ headers }: Exchange, format: string | undefined): ExportFormat | undefined {
  if (format === undefined) return acceptedFormat(headers.accept);
  return format === 'json' ? undefined : (format as ExportFormat);
}

export interface ExportRequest extends PageRequest {
  readonly format: ExportFormat;
  readonly types: 'text' | undefined;
}

/** Memory of a download that is read from a file. */
const FILE_BYTES = 512 * 1024;

type Parts = Pick<DataPlaneDependencies, 'queries' | 'memory' | 'settings'>;

/** A download before its first byte. */
interface Download {
  readonly found: Export;
  readonly coding: Coding | undefined;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends rows of a result in constant memory, with back-pressure. */
export async function sendExport(
  exchange: Exchange,
  reader: ResultReader,
  request: ExportRequest,
  parts: Parts,
): Promise<void> {
  const { signal } = exchange;
  const isHead = exchange.method === 'HEAD';
  const { found, coding, etag, headers } = await begunDownload(exchange, reader, request, parts);
  const condition = precondition(exchange.headers, etag);
  if (condition === 'failed')
    throw new HttpError(412, `\`If-Match\` is not the ETag of the download: ${etag}`, { headers: { etag } });
  if (condition === 'not-modified') return sendBody(exchange, { status: 304, headers: { etag, vary: VARY } }, NOTHING);
  const body = async (from: number, to: number): Promise<AsyncIterable<Uint8Array>> => {
    if (isHead) return NOTHING;
    const before = found.version === undefined ? PIECES_BEFORE_HEAD[found.format] : 1;
    return begun(whileAllowed(exchange, reader.record, found.body(from, to, signal)), before);
  };
  const isMeasured = coding === undefined && (isHead || asksForPart(exchange.headers, etag));
  const length = found.length ?? (isMeasured ? await found.measure?.(signal) : undefined);
  if (coding === undefined && length !== undefined) return sendPart(exchange, { headers, etag, length }, body);
  const whole = await body(0, length ?? Number.MAX_SAFE_INTEGER);
  return sendBody(exchange, { status: 200, headers, coding }, whole);
}

/** Waits for memory, and for the file of the download where there is one. */
async function begunDownload(
  exchange: Exchange,
  reader: ResultReader,
  request: ExportRequest,
  { queries, memory, settings }: Parts,
): Promise<Download> {
  const { format, types = 'exact' } = request;
  const { signal } = exchange;
  const { record } = reader;
  const isHead = exchange.method === 'HEAD';
  const caller = exchange.principal.srn;
  const expected = expectedBytes(request, record, isHead);
  const lease = await admit(memory, caller, { units: expected, signal });
  exchange.onClose(() => lease.release());
  const needsFile = isHead || exchange.headers.range !== undefined;
  const found = await queries.export(reader, { format, types, caller, isHead, needsFile }, request, signal);
  exchange.onClose(found.release);
  const { contentType, extension, isCompressed } = EXPORT_FORMATS[format];
  const coding = isCompressed === true ? undefined : codingFor(exchange, found.length, settings());
  const isConverted = found.version === undefined && !isHead;
  lease.resize(
    (isConverted ? EXPORT_BYTES : Math.min(expected, EXPORT_BYTES)) + (coding === undefined ? 0 : CODING_BYTES),
  );
  const etag = etagOf(record.requestId, request, found, coding);
  const headers = {
    etag,
    vary: VARY,
    'accept-ranges': coding === undefined && hasParts(found, request, record) ? 'bytes' : 'none',
    'content-type': contentType,
    'content-disposition': `attachment; filename="${record.requestId}.${extension}"`,
    'x-olap-warden-rows': String(found.numRows),
  };
  return { found, coding, etag, headers };
}

function hasParts({ length, measure, format }: Export, request: ExportRequest, record: ResultRecord): boolean {
  // A stream of Arrow has the bytes of the file that a request for a part of it makes.
  return length !== undefined || measure !== undefined || (format === 'arrow' && isWhole(request, record));
}

/** A file of a whole result is usual in a format of columns. Programs that read one request many parts of it at once. */
function expectedBytes(request: ExportRequest, record: ResultRecord, isHead: boolean): number {
  const { format } = request;
  const isFile = isColumnFormat(format) && isWhole(request, record);
  return isFile || (isHead && format !== 'csv') ? FILE_BYTES : EXPORT_BYTES + CODING_BYTES;
}

function isWhole({ offset, numRows }: PageRequest, { rowCount }: ResultRecord): boolean {
  return offset === 0 && numRows >= rowCount;
}

const NOTHING: AsyncIterable<Uint8Array> = {
  async *[Symbol.asyncIterator]() {},
};

/**
 * A stored result never changes, so its id, the rows, and the rules of the format identify the bytes; with its version those of a file that was made once.
 * A coding has other bytes, of which no parts can be requested.
 */
function etagOf(
  requestId: string,
  { offset, format, types }: ExportRequest,
  { numRows, version }: Pick<Export, 'numRows' | 'version'>,
  coding: Coding | undefined,
): string {
  const { tag } = EXPORT_FORMATS[format];
  const isText = types === 'text' && isColumnFormat(format);
  const parts = [requestId, offset, numRows, tag, isText ? types : undefined, version, coding];
  return `"${parts.filter((part) => part !== undefined && part !== '').join('.')}"`;
}

/** Sends the requested part, or everything. */
async function sendPart(
  exchange: Exchange,
  download: { readonly headers: Readonly<Record<string, string>>; readonly etag: string; readonly length: number },
  body: (from: number, to: number) => Promise<AsyncIterable<Uint8Array>>,
): Promise<void> {
  const { headers, length } = download;
  // RFC 9110 section 14.2: `Range` is ignored for other methods than GET.
  const range = exchange.method === 'HEAD' ? undefined : byteRange(exchange.headers, download);
  if (range === 'unsatisfiable') {
    throw new HttpError(416, `\`Range\` begins after the end: the download has ${length} bytes`, {
      headers: { 'content-range': `bytes */${length}` },
    });
  }
  const { from, to }: ByteRange = range ?? { from: 0, to: length };
  const part = range === undefined ? {} : { 'content-range': `bytes ${from}-${to - 1}/${length}` };
  return sendBody(
    exchange,
    { status: range === undefined ? 200 : 206, headers: { ...headers, ...part, 'content-length': String(to - from) } },
    await body(from, to),
  );
}

/** Pieces of a download until the first rows are converted: the names of the columns come before them. */
const PIECES_BEFORE_HEAD: Readonly<Record<ExportFormat, number>> = { jsonl: 1, csv: 2, arrow: 2, parquet: 1 };

/**
 * Converts the first rows before the head is sent, so that a value that is not of its type is an error with a reason and not a connection that is cut.
 * @throws {QueryError} bad-response, damaged, store-unavailable
 */
async function begun(pieces: AsyncIterable<Uint8Array>, count: number): Promise<AsyncIterable<Uint8Array>> {
  const iterator = pieces[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  while (first.length < count) {
    const { value, done } = await iterator.next();
    if (done === true) break;
    first.push(value);
  }
  return rest();

  async function* rest(): AsyncIterable<Uint8Array> {
    try {
      yield* first;
      yield* { [Symbol.asyncIterator]: () => iterator };
    } finally {
      await iterator.return?.();
    }
  }
}
