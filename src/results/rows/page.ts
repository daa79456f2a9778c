import { QueryError } from '../errors.ts';
import type { ResultReader, ResultRecord } from '../result-store.ts';
import { type IndexedReader, readRows, streamRows } from './checksums.ts';
import { cutRows, rememberNext, rowEndIn, rowStartIn, stridesOf, type Strides } from './strides.ts';
import type { RawField } from '../scanner/fields.ts';

/** Pages up to this size are read completely before the response starts, so that a failure results in an error status and not in a truncated response. */
export const WHOLE_PAGE_BYTES = 4 * 1024 * 1024;

/** Address of the gateway with the result, for clients that must use the same gateway; undefined with a shared store. */
export interface HolderAddress {
  readonly host: string;
  readonly port: number;
}

export interface PageRequest {
  readonly offset: number;
  /** At least 1; reduced at the end of the result. */
  readonly numRows: number;
}

/** A response ready to be sent: `head`, then the rows, then `tail`; `length` bytes in total. */
export interface Page {
  readonly length: number;
  readonly head: Buffer;
  readonly rows: readonly Uint8Array[] | AsyncIterable<Uint8Array>;
  readonly tail: Buffer;
  readonly numRows: number;
  /** `nextUrl` of the page; undefined for the last one. */
  readonly nextUrl: string | undefined;
}

/** A page whose rows are in memory. */
export type WholePage = Page & { readonly rows: readonly Uint8Array[] };

export interface PageOptions {
  /** `brokerHost` and `brokerPort`. */
  readonly holder?: HolderAddress | undefined;
  /** Whether rows of this many bytes may be in memory; otherwise they are streamed. By default up to `WHOLE_PAGE_BYTES`. */
  readonly isRoomFor?: (bytes: number) => boolean;
}

/** Fields set by this gateway; the engine's fields of these names are dropped. */
const OWN_FIELDS = new Set([
  'requestId',
  'brokerId',
  'numRowsResultSet',
  'offset',
  'numRows',
  'nextOffsetParams',
  'nextUrl',
  'exceptions',
  'brokerHost',
  'brokerPort',
  'submissionTimeMs',
  'expirationTimeMs',
  'bytesWritten',
  'cursorResultWriteTimeMs',
  'cursorFetchTimeMs',
]);

/**
 * Reads a page: a range of the stored bytes between head and tail. Rows are not parsed.
 * @throws {QueryError} bad-page, damaged, not-found, store-unavailable
 */
export async function readPage(
  reader: ResultReader,
  request: PageRequest,
  options: PageOptions,
  signal: AbortSignal,
): Promise<Page> {
  const { record } = reader;
  // Also for a result without rows, of which nothing is read.
  if (reader.damage !== undefined) throw reader.damage;
  const { offset } = request;
  const numRows = rowsOf(record, request);
  const frame = { ...framePage(record, { offset, numRows }, options.holder), numRows };
  const { head, tail } = frame;
  if (numRows === 0) return { ...frame, rows: [], length: head.length + tail.length };

  const page = { offset, numRows };
  const index = reader.knownIndex ?? (await reader.index(signal));
  const strides = stridesOf(index, record.rowBytes, page);
  const readBytes = strides.last.to - strides.first.from;
  const { rows, bytes } =
    (options.isRoomFor?.(readBytes) ?? readBytes <= WHOLE_PAGE_BYTES)
      ? await readWhole({ reader, index }, { strides, page }, signal)
      : await readInPieces({ reader, index }, strides, signal);
  return { ...frame, rows, length: head.length + bytes + tail.length };
}

/** Number of rows in the page. @throws {QueryError} bad-page if it begins after the end of the result */
export function rowsOf({ rowCount }: ResultRecord, { offset, numRows }: PageRequest): number {
  if (offset >= rowCount && !(rowCount === 0 && offset === 0)) {
    throw new QueryError(
      'bad-page',
      `\`offset\` is ${spelled(offset)}, but the result has ${rowCount} rows: valid offsets are 0 to ${Math.max(0, rowCount - 1)}`,
    );
  }
  return Math.min(numRows, rowCount - offset);
}

/** Larger numbers have lost the digits that the caller wrote. */
function spelled(offset: number): string {
  return Number.isSafeInteger(offset) ? String(offset) : `above ${Number.MAX_SAFE_INTEGER}`;
}

/** The JSON before and after the rows of a page. @param page the actual range of rows */
export function framePage(
  record: ResultRecord,
  page: PageRequest,
  holder: HolderAddress | undefined,
): Pick<Page, 'head' | 'tail' | 'nextUrl'> {
  const frame = frameOf(record, holder);
  const next = nextParams(record, page);
  const nextUrl = next === undefined ? undefined : `/query/${record.requestId}/results?${next}`;
  return { head: frame.head, tail: pageTail(frame, page, next, nextUrl), nextUrl };
}

/** `nextOffsetParams` */
function nextParams({ rowCount }: ResultRecord, { offset, numRows }: PageRequest): string | undefined {
  const next = offset + numRows;
  return next < rowCount ? `offset=${next}&numRows=${numRows}` : undefined;
}

/** Parts of head and tail that are the same for every page of a result. */
interface Frame {
  readonly head: Buffer;
  /** Follows the rows. */
  readonly own: Buffer;
  /** Follows the fields of the single page. */
  readonly statistics: Buffer;
  readonly holder: HolderAddress | undefined;
}

const frames = new WeakMap<ResultRecord, Frame>();

function frameOf(record: ResultRecord, holder: HolderAddress | undefined): Frame {
  const known = frames.get(record);
  if (known !== undefined && known.holder === holder) return known;
  const table = record.tableFields.map((field) => `,${printField(field)}`).join('');
  const at = holder === undefined ? '' : `,"brokerHost":${JSON.stringify(holder.host)},"brokerPort":${holder.port}`;
  const warnings = record.warnings === undefined ? '' : `,"warnings":${JSON.stringify(record.warnings)}`;
  const cursor = JSON.stringify(cursorFields(record)).slice(1, -1);
  const statistics = record.fields
    .filter(({ name }) => !OWN_FIELDS.has(name) && (name !== 'warnings' || warnings === ''))
    .map((field) => `,${printField(field)}`)
    .join('');
  const frame = {
    head: Buffer.from(`{"resultTable":{"dataSchema":${record.dataSchema},"rows":[`),
    own: Buffer.from(
      `]${table}},"requestId":${JSON.stringify(record.requestId)},"brokerId":${JSON.stringify(record.brokerId)},` +
        `"numRowsResultSet":${record.rowCount}`,
    ),
    statistics: Buffer.from(`${at},${cursor}${warnings}${statistics}}`),
    holder,
  };
  frames.set(record, frame);
  return frame;
}

/**
 * What Pinot's clients require of a page of a cursor: without the expiration the Java client takes it for expired. Rows are stored while the engine sends
 * them, so the time of writing begins with the submission. A page has the same bytes each time, so that of reading is 0.
 */
function cursorFields({
  submissionTimeMs,
  expirationTimeMs,
  rowBytes,
  storedTimeMs = submissionTimeMs,
}: ResultRecord): object {
  return {
    submissionTimeMs,
    expirationTimeMs,
    bytesWritten: rowBytes,
    cursorResultWriteTimeMs: Math.max(0, storedTimeMs - submissionTimeMs),
    cursorFetchTimeMs: 0,
  };
}

function pageTail(
  { own, statistics }: Frame,
  { offset, numRows }: PageRequest,
  next: string | undefined,
  nextUrl: string | undefined,
): Buffer {
  const more = next === undefined ? '' : `,"nextOffsetParams":"${next}","nextUrl":"${nextUrl}"`;
  const page = `,"offset":${offset},"numRows":${numRows}${more},"exceptions":[]`;
  // Concatenated as encoded parts: the statistics of a large cluster are long, and encoding them for each page costs more than its rows.
  const tail = Buffer.allocUnsafe(own.length + page.length + statistics.length);
  tail.set(own);
  tail.write(page, own.length, 'latin1');
  tail.set(statistics, own.length + page.length);
  return tail;
}

function printField(field: RawField): string {
  return `${JSON.stringify(field.name)}:${field.value}`;
}

async function readWhole(
  indexed: IndexedReader,
  { strides, page }: { readonly strides: Strides; readonly page: PageRequest },
  signal: AbortSignal,
): Promise<{ rows: readonly Uint8Array[]; bytes: number }> {
  const { from } = strides.first;
  const pieces = await readRows(indexed, from, strides.last.to, signal);
  const cut = cutRows(pieces, strides);
  const [piece] = pieces;
  if (piece !== undefined && pieces.length === 1) {
    rememberNext(indexed.index, page.offset + page.numRows, { piece, from, rows: cut.rows[0] });
  }
  return cut;
}

async function readInPieces(
  indexed: IndexedReader,
  strides: Strides,
  signal: AbortSignal,
): Promise<{ rows: AsyncIterable<Uint8Array>; bytes: number }> {
  const { from, to } = await rangeIn(indexed, strides, signal);
  return { rows: streamRows(indexed, from, to, signal), bytes: to - from };
}

async function rangeIn(
  indexed: IndexedReader,
  { first, last, skip, keep }: Strides,
  signal: AbortSignal,
): Promise<{ from: number; to: number }> {
  const from = await rowStartIn(await piecesOf(indexed, first, signal), skip);
  const to = await rowEndIn(await piecesOf(indexed, last, signal), keep);
  return { from: first.from + from, to: last.from + to };
}

/** A stride. It is small, unless it has rows of many megabytes, or the index is damaged: then it is not kept in memory. */
async function piecesOf(
  indexed: IndexedReader,
  { from, to }: Strides['first'],
  signal: AbortSignal,
): Promise<readonly Uint8Array[] | AsyncIterable<Uint8Array>> {
  return to - from <= WHOLE_PAGE_BYTES ? readRows(indexed, from, to, signal) : streamRows(indexed, from, to, signal);
}

/**
 * The bytes of some rows, from the start of the first to the end of the last.
 * @param page within the result
 * @throws {QueryError} damaged, not-found, store-unavailable
 */
export async function rowRange(
  indexed: IndexedReader,
  page: PageRequest,
  signal: AbortSignal,
): Promise<{ readonly from: number; readonly to: number }> {
  if (page.numRows === 0) return { from: 0, to: 0 };
  return rangeIn(indexed, stridesOf(indexed.index, indexed.reader.record.rowBytes, page), signal);
}
