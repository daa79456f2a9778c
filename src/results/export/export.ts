import type { LruCache } from '../../platform/lru.ts';
import { longWork } from '../../platform/long-work.ts';
import { type IndexedReader, streamRows } from '../rows/checksums.ts';
import { QueryError } from '../errors.ts';
import { type PageRequest, rowRange, rowsOf } from '../rows/page.ts';
import type { ResultReader } from '../result-store.ts';
import { arrowStream } from './arrow.ts';
import type { Columns } from './columns/batches.ts';
import { completeRows } from './complete-rows.ts';
import { csvHeader, csvRows } from './csv.ts';
import { CsvLayout } from './csv-layout.ts';
import type { ExportFormat } from './format.ts';
import { jsonLines, MAX_SPACE_BYTES } from './json-lines.ts';
import { parquetStream } from './parquet/parquet.ts';

/** Rows of a result, ready to be sent. */
export interface Export {
  readonly format: ExportFormat;
  readonly numRows: number;
  /** Bytes of the complete export; undefined where it is known only at the end. */
  readonly length: number | undefined;
  /** Converts all rows to find `length`; absent where parts of the export cannot be read. */
  readonly measure?: (signal: AbortSignal) => Promise<number>;
  /** Bytes `from` to `to` (exclusive) of the export, in pieces. Parts can be read where there is `length` or `measure`. */
  readonly body: (from: number, to: number, signal: AbortSignal) => AsyncIterable<Uint8Array>;
}

/** Read at most after the end of a part of JSON lines, so that the comma between two rows is recognized: white space, and the start of a row. */
const LOOK_AHEAD_BYTES = MAX_SPACE_BYTES + 1;

/**
 * Prepares the export of some rows.
 * @throws {QueryError} bad-page, bad-response, damaged, not-found, store-unavailable
 */
export async function exportRows(
  reader: ResultReader,
  { format, layouts }: { readonly format: ExportFormat; readonly layouts: LruCache<string, CsvLayout> },
  request: PageRequest,
  signal: AbortSignal,
): Promise<Export> {
  const numRows = rowsOf(reader.record, request);
  const columns = columnsOf(reader.record.dataSchema, format);
  const indexed = { reader, index: reader.knownIndex ?? (await reader.index(signal)) };
  const rows = { offset: request.offset, numRows };
  if (format === 'csv') return csvExport(indexed, columns, rows, layouts);
  const range = await rowRange(indexed, rows, signal);
  if (format === 'jsonl') return jsonLinesExport(indexed, range, numRows);
  return {
    format,
    numRows,
    length: undefined,
    body: (_from, _to, abort) => convertRows(format, columns, streamRows(indexed, range.from, range.to, abort)),
  };
}

/** All rows in a format. @param rows bytes that begin with a row */
export function convertRows(
  format: ExportFormat,
  columns: Columns,
  rows: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const convert = CONVERTERS[format];
  return inTurns(convert === undefined ? ended(jsonLines(rows)) : convert(columns, completeRows(rows)));
}

/** Formats other than JSON lines, from pieces of complete rows. */
const CONVERTERS: Readonly<
  Partial<Record<ExportFormat, (columns: Columns, rows: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>>>
> = { arrow: arrowStream, csv: csvOf, parquet: parquetStream };

async function* csvOf({ columnNames }: Columns, rows: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  yield csvHeader(columnNames);
  let count = 0;
  for await (const batch of rows) {
    const converted = csvRows(batch, { columns: columnNames.length, first: count });
    count += converted.rows;
    yield converted.bytes;
  }
}

/** Ends the last line, too. */
async function* ended(lines: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let isEmpty = true;
  for await (const bytes of lines) {
    isEmpty = false;
    yield bytes;
  }
  if (!isEmpty) yield Buffer.from('\n');
}

/** @param layouts of earlier downloads, by the id of the result and the rows */
function csvExport(
  indexed: IndexedReader,
  { columnNames }: Columns,
  { offset, numRows }: PageRequest,
  layouts: LruCache<string, CsvLayout>,
): Export {
  const header = csvHeader(columnNames);
  const key = `${indexed.reader.record.requestId}.${offset}.${numRows}`;
  const layout = layouts.get(key) ?? new CsvLayout(header.length);
  layouts.set(key, layout);
  return {
    format: 'csv',
    numRows,
    length: layout.length,
    measure: async (signal) => {
      for await (const _ of inTurns(converted(Number.MAX_SAFE_INTEGER, signal)));
      return layout.length as number;
    },
    body: (from, to, signal) => inTurns(part(from, to, signal)),
  };

  async function* part(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    if (from < Math.min(to, header.length)) yield header.subarray(from, to);
    if (to <= header.length) return;
    for await (const { bytes, at } of converted(from, signal)) {
      const piece = bytes.subarray(Math.max(0, from - at), Math.max(0, to - at));
      if (piece.length > 0) yield piece;
      if (at + bytes.length >= to) return;
    }
  }

  /** Batches of rows, beginning with a batch at or before a byte. */
  async function* converted(
    byte: number,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly bytes: Uint8Array; readonly at: number }> {
    const start = layout.before(byte);
    let { rows, bytes: at } = start;
    const range = await rowRange(indexed, { offset: offset + rows, numRows: numRows - rows }, signal);
    for await (const batch of completeRows(streamRows(indexed, range.from, range.to, signal))) {
      const { bytes, rows: converted } = csvRows(batch, { columns: columnNames.length, first: offset + rows });
      yield { bytes, at };
      rows += converted;
      at += bytes.length;
      layout.add(rows, at);
    }
    layout.length = at;
  }
}

interface BytesOfExport {
  readonly from: number;
  readonly to: number;
}

/** One byte of a line for each byte of the rows, and a line feed at the end, so that any part of it can be read. */
function jsonLinesExport(indexed: IndexedReader, rows: BytesOfExport, numRows: number): Export {
  const length = numRows === 0 ? 0 : rows.to - rows.from + 1;
  return {
    format: 'jsonl',
    numRows,
    length,
    body: (from, to, signal) => inTurns(lines(from, to, signal)),
  };

  async function* lines(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const wanted = { from: rows.from + from, to: Math.min(rows.to, rows.from + to) };
    const start = Math.max(rows.from, rowStartBefore(indexed.index.checkpoints, wanted.from));
    const end = Math.min(rows.to, wanted.to + LOOK_AHEAD_BYTES);
    let at = start;
    if (wanted.from < wanted.to) {
      for await (const bytes of jsonLines(streamRows(indexed, start, end, signal))) {
        const piece = bytes.subarray(Math.max(0, wanted.from - at), Math.max(0, wanted.to - at));
        at += bytes.length;
        if (piece.length > 0) yield piece;
        if (at >= wanted.to) break;
      }
    }
    if (to === length && from < to) yield Buffer.from('\n');
  }
}

/** The last indexed start of a row at or before a byte. */
function rowStartBefore(checkpoints: Float64Array, byte: number): number {
  let low = 0;
  let high = checkpoints.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((checkpoints[middle] as number) <= byte) low = middle;
    else high = middle - 1;
  }
  return checkpoints[low] ?? 0;
}

/** Lets other requests run between two pieces, because converting a piece takes milliseconds. */
async function* inTurns<T>(pieces: AsyncIterable<T>): AsyncIterable<T> {
  const turn = longWork.streamTurns();
  for await (const piece of pieces) {
    yield piece;
    await turn();
  }
}

/** Columns of a download in a format of columns: each takes memory, and a batch of them is encoded at once, in about 50 ms. */
const MAX_COLUMNS = 2_000;
const COLUMN_FORMATS: ReadonlySet<ExportFormat> = new Set(['arrow', 'parquet']);

/** The columns for a download. @throws {QueryError} bad-response */
export function columnsOf(dataSchema: string, format: ExportFormat): Columns {
  const { columnNames, columnDataTypes } = (JSON.parse(dataSchema) as Partial<Columns> | null) ?? {};
  if (isTexts(columnNames) && isTexts(columnDataTypes) && columnNames.length === columnDataTypes.length) {
    if (columnNames.length <= MAX_COLUMNS || !COLUMN_FORMATS.has(format)) return { columnNames, columnDataTypes };
    throw new QueryError(
      'bad-response',
      `the result has ${columnNames.length} columns; \`format=${format}\` can have ${MAX_COLUMNS}: read it as CSV, as JSON lines or in pages`,
    );
  }
  throw new QueryError(
    'bad-response',
    'the schema of the result has no list of column names and types: read it in pages',
  );
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}
