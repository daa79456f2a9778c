import { admit } from '../../server/admission/admit.ts';
import type { PageRequest } from '../../../results/rows/page.ts';
import { acceptedFormat, EXPORT_FORMATS, type ExportFormat } from '../../../results/export/format.ts';
import type { ResultReader } from '../../../results/result-store.ts';
import { HttpError } from '../../server/errors.ts';
import { asksForPart, byteRange, type ByteRange } from './byte-range.ts';
import { CODING_BYTES, codingFor } from './coding.ts';
import type { DataPlaneDependencies } from './dependencies.ts';
import type { Exchange } from './exchange.ts';
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
}

/** Streams rows of a result in constant memory, with back-pressure. */
export async function sendExport(
  exchange: Exchange,
  reader: ResultReader,
  request: ExportRequest,
  { queries, memory, settings }: Pick<DataPlaneDependencies, 'queries' | 'memory' | 'settings'>,
): Promise<void> {
  const { format, offset } = request;
  const { signal } = exchange;
  const isHead = exchange.method === 'HEAD';
  const caller = exchange.principal.srn;
  // A HEAD converts no rows, so it needs neither their memory nor a place of a download.
  const lease = isHead ? undefined : await admit(memory, caller, { units: EXPORT_BYTES + CODING_BYTES, signal });
  exchange.onClose(() => lease?.release());
  const found = await queries.export(reader, { format, caller: isHead ? undefined : caller }, request, signal);
  exchange.onClose(found.release);
  const { numRows, measure } = found;
  const { requestId } = reader.record;
  const { contentType, extension, tag, isCompressed } = EXPORT_FORMATS[format];
  // A stored result never changes, so its id, the rows and the rules of the format identify the bytes.
  const etag = `"${requestId}.${offset}.${numRows}.${tag}"`;
  const coding = isCompressed === true ? undefined : codingFor(exchange, found.length, settings());
  if (coding === undefined) lease?.resize(EXPORT_BYTES);
  const headers = {
    'content-type': contentType,
    'content-disposition': `attachment; filename="${requestId}.${extension}"`,
    'x-olap-warden-rows': String(numRows),
    etag,
    vary: VARY,
    'accept-ranges': found.length === undefined && measure === undefined ? 'none' : 'bytes',
  };
  const body = async (from: number, to: number): Promise<AsyncIterable<Uint8Array>> => {
    const pieces = found.body(from, to, signal);
    return isHead ? pieces : begun(whileAllowed(exchange, reader.record, pieces), PIECES_BEFORE_HEAD[format]);
  };
  const whole = (): Promise<AsyncIterable<Uint8Array>> => body(0, found.length ?? Number.MAX_SAFE_INTEGER);
  if (coding !== undefined) {
    // The bytes are others, so they have another ETag, and a part of them cannot be requested.
    const coded = { ...headers, etag: `${etag.slice(0, -1)}.${coding}"`, 'accept-ranges': 'none' };
    return sendBody(exchange, { status: 200, headers: coded, coding }, await whole());
  }
  const length = found.length ?? (!isHead && asksForPart(exchange.headers, etag) ? await measure?.(signal) : undefined);
  if (length === undefined) return sendBody(exchange, { status: 200, headers }, await whole());
  return sendPart(exchange, { headers, etag, length }, body);
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
