import { QueryError } from './errors.ts';
import type { ResultReader, ResultRecord } from './result-store.ts';
import type { RowIndex } from './row-index.ts';
import { cutRows, rememberNext, rowEnd, rowStart, stridesOf, type Strides } from './strides.ts';
import type { RawField } from './scanner/fields.ts';

/** Pages up to this size are read whole before the answer begins, so that a failure is an error and not a broken answer. */
export const WHOLE_PAGE_BYTES = 4 * 1024 * 1024;

/** Where the result lies, for clients that must come back to the same gateway; undefined with a shared store. */
export interface HolderAddress {
  readonly host: string;
  readonly port: number;
}

export interface PageRequest {
  readonly offset: number;
  /** At least 1; clipped at the end of the result. */
  readonly numRows: number;
}

/** An answer ready to be sent: `head`, then the rows, then `tail`; `length` bytes in all. */
export interface Page {
  readonly length: number;
  readonly head: Buffer;
  readonly rows: readonly Uint8Array[] | AsyncIterable<Uint8Array>;
  readonly tail: Buffer;
  readonly numRows: number;
}

/** A page whose rows are in memory. */
export type WholePage = Page & { readonly rows: readonly Uint8Array[] };

export interface PageOptions {
  /** `brokerHost` and `brokerPort`. */
  readonly holder?: HolderAddress | undefined;
  /** A page of more bytes is streamed; `WHOLE_PAGE_BYTES` by default. */
  readonly wholeBytes?: number;
}

/** What this gateway itself says in a page; the engine's fields of these names give way. */
const OWN_FIELDS = new Set([
  'requestId',
  'brokerId',
  'numRowsResultSet',
  'offset',
  'numRows',
  'nextOffsetParams',
  'exceptions',
  'brokerHost',
  'brokerPort',
]);

/**
 * One page: a range of the stored bytes between a head and a tail. Nothing is parsed and printed again.
 * @throws {QueryError} bad-page, not-found, store-unavailable
 */
export async function readPage(
  reader: ResultReader,
  request: PageRequest,
  options: PageOptions,
  signal: AbortSignal,
): Promise<Page> {
  const { record } = reader;
  const { offset } = request;
  const numRows = rowsOf(record, request);
  const frame = { ...framePage(record, { offset, numRows }, options.holder), numRows };
  const { head, tail } = frame;
  if (numRows === 0) return { ...frame, rows: [], length: head.length + tail.length };

  const strides = stridesOf(reader.knownIndex ?? (await reader.index(signal)), record.rowBytes, { offset, numRows });
  const { rows, bytes } =
    strides.last.to - strides.first.from <= (options.wholeBytes ?? WHOLE_PAGE_BYTES)
      ? await readWhole(reader, strides, signal)
      : await readInPieces(reader, strides, signal);
  return { ...frame, rows, length: head.length + bytes + tail.length };
}

/**
 * The same without waiting, where the rows are at hand as one piece.
 * @returns undefined where `readPage` must be asked, which also says what is wrong
 */
export function readPageNow(
  reader: ResultReader,
  request: PageRequest,
  { holder, wholeBytes = WHOLE_PAGE_BYTES }: PageOptions,
): WholePage | undefined {
  const placed = placeNow(reader, request);
  if (placed === undefined) return undefined;
  const { index, strides, page } = placed;
  const { from } = strides.first;
  const { to } = strides.last;
  const piece = to - from <= wholeBytes ? reader.readNow?.(from, to) : undefined;
  if (piece === undefined) return undefined;
  const { rows, bytes } = cutRows([piece], strides);
  rememberNext(index, page.offset + page.numRows, { piece, from, rows: rows[0] });
  const { head, tail } = framePage(reader.record, page, holder);
  return { head, rows, tail, numRows: page.numRows, length: head.length + bytes + tail.length };
}

/** Where a page of rows that lie here is, as far as that is known without reading; undefined where it has none. */
export function placeNow(
  { record, knownIndex }: ResultReader,
  { offset, numRows: asked }: PageRequest,
): { readonly index: RowIndex; readonly strides: Strides; readonly page: PageRequest } | undefined {
  const page = { offset, numRows: Math.min(asked, record.rowCount - offset) };
  if (knownIndex === undefined || record.cursor !== undefined || page.numRows < 1) return undefined;
  return { index: knownIndex, strides: stridesOf(knownIndex, record.rowBytes, page), page };
}

/** Rows that a page will hold. @throws {QueryError} bad-page where it begins behind the end of the result */
export function rowsOf({ rowCount }: ResultRecord, { offset, numRows }: PageRequest): number {
  if (offset >= rowCount && !(rowCount === 0 && offset === 0)) {
    throw new QueryError(
      'bad-page',
      `\`offset\` is ${offset}, but the result has ${rowCount} rows: offsets 0 to ${Math.max(0, rowCount - 1)}`,
    );
  }
  return Math.min(numRows, rowCount - offset);
}

/** What stands before and behind the rows of a page. @param page exactly the rows that it holds */
export function framePage(
  record: ResultRecord,
  page: PageRequest,
  holder: HolderAddress | undefined,
): { readonly head: Buffer; readonly tail: Buffer } {
  const frame = frameOf(record, holder);
  return { head: frame.head, tail: pageTail(frame, record.rowCount, page) };
}

/** The parts of a page's head and tail that are the same for every page of a result. */
interface Frame {
  readonly head: Buffer;
  /** Behind the rows. */
  readonly own: Buffer;
  /** Behind what only this page has. */
  readonly statistics: Buffer;
  readonly holder: HolderAddress | undefined;
}

const frames = new WeakMap<ResultRecord, Frame>();

function frameOf(record: ResultRecord, holder: HolderAddress | undefined): Frame {
  const known = frames.get(record);
  if (known !== undefined && known.holder === holder) return known;
  const table = record.tableFields.map((field) => `,${printField(field)}`).join('');
  const at = holder === undefined ? '' : `,"brokerHost":${JSON.stringify(holder.host)},"brokerPort":${holder.port}`;
  const statistics = record.fields
    .filter((field) => !OWN_FIELDS.has(field.name))
    .map((field) => `,${printField(field)}`)
    .join('');
  const frame = {
    head: Buffer.from(`{"resultTable":{"dataSchema":${record.dataSchema},"rows":[`),
    own: Buffer.from(
      `]${table}},"requestId":${JSON.stringify(record.requestId)},"brokerId":${JSON.stringify(record.brokerId)},` +
        `"numRowsResultSet":${record.rowCount}`,
    ),
    statistics: Buffer.from(`${at}${statistics}}`),
    holder,
  };
  frames.set(record, frame);
  return frame;
}

function pageTail({ own, statistics }: Frame, rowCount: number, { offset, numRows }: PageRequest): Buffer {
  const next = offset + numRows;
  const more = next < rowCount ? `,"nextOffsetParams":"offset=${next}&numRows=${numRows}"` : '';
  const page = `,"offset":${offset},"numRows":${numRows}${more},"exceptions":[]`;
  // In pieces: the statistics of a large cluster are long, and encoding them for each page costs more than the page's rows.
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
  reader: ResultReader,
  strides: Strides,
  signal: AbortSignal,
): Promise<{ rows: readonly Uint8Array[]; bytes: number }> {
  return cutRows(await reader.read(strides.first.from, strides.last.to, signal), strides);
}

async function readInPieces(
  reader: ResultReader,
  strides: Strides,
  signal: AbortSignal,
): Promise<{ rows: AsyncIterable<Uint8Array>; bytes: number }> {
  const { first, last } = strides;
  const from = first.from + rowStart(await reader.read(first.from, first.to, signal), strides.skip);
  const to = last.from + rowEnd(await reader.read(last.from, last.to, signal), strides.keep);
  return { rows: reader.stream(from, to, signal), bytes: to - from };
}
