import type { LruCache } from '../../platform/lru.ts';
import { longWork } from '../../platform/long-work.ts';
import { type IndexedReader, streamRows } from '../rows/checksums.ts';
import { QueryError } from '../errors.ts';
import { type PageRequest, rowRange, rowsOf } from '../rows/page.ts';
import type { ResultReader } from '../result-store.ts';
import { arrowStream } from './arrow.ts';
import { type ColumnTypes, createColumns, decimalScales, hasDecimals } from './columns/create-columns.ts';
import type { Columns } from './columns/batches.ts';
import { completeRows } from './complete-rows.ts';
import { csvHeader, csvRows } from './csv.ts';
import { CsvLayout } from './csv-layout.ts';
import { type ColumnFormat, type ExportFormat, isColumnFormat } from './format.ts';
import { jsonLines, MAX_SPACE_BYTES } from './json-lines.ts';
import { parquetStream } from './parquet/parquet.ts';

/** Rows of a result, ready to be sent. */
export interface Export {
  readonly format: ExportFormat;
  readonly numRows: number;
  /** Bytes of the complete export; undefined where it is known only at the end. */
  readonly length: number | undefined;
  /** Of a file that was made once: tells its bytes from others of the same rows and rules; empty where there are none. Absent for rows that are converted. */
  readonly version?: string;
  /** Converts all rows to find `length`; absent where parts of the export cannot be read. */
  readonly measure?: (signal: AbortSignal) => Promise<number>;
  /** Bytes `from` to `to` (exclusive) of the export, in pieces. Parts can be read where there is `length` or `measure`. */
  readonly body: (from: number, to: number, signal: AbortSignal) => AsyncIterable<Uint8Array>;
}

/** Read at most after the end of a part of JSON lines, so that the comma between two rows is recognized: white space, and the start of a row. */
const LOOK_AHEAD_BYTES = MAX_SPACE_BYTES + 1;

/** What is to be exported. */
export interface ExportForm {
  readonly format: ExportFormat;
  /** Of formats of columns; `exact` by default. */
  readonly types?: ColumnTypes;
}

interface ExportOptions extends ExportForm {
  readonly layouts: LruCache<string, CsvLayout>;
}

/** Compressed bytes of a row group of Parquet in an export that is converted for each request, of which a caller may have several at once. */
const GROUP_BYTES = 4 * 1024 * 1024;

/**
 * Prepares the export of some rows.
 * @throws {QueryError} bad-page, bad-response, damaged, not-found, store-unavailable
 */
export async function exportRows(
  reader: ResultReader,
  { format, types, layouts }: ExportOptions,
  request: PageRequest,
  signal: AbortSignal,
): Promise<Export> {
  const numRows = rowsOf(reader.record, request);
  const columns = columnsOf(reader.record.dataSchema, format);
  const indexed = { reader, index: reader.knownIndex ?? (await reader.index(signal)) };
  const rows = { offset: request.offset, numRows };
  if (format === 'csv') return csvExport(indexed, columns, rows, layouts);
  const range = await rowRange(indexed, rows, signal);
  if (!isColumnFormat(format)) return jsonLinesExport(indexed, range, numRows);
  const body: Export['body'] = (_from, _to, abort) =>
    columnRows({ format, types, columns, groupBytes: GROUP_BYTES }, () =>
      streamRows(indexed, range.from, range.to, abort),
    );
  return { format, numRows, length: undefined, body };
}

/** How rows are written in a format of columns. */
export interface ColumnForm {
  readonly format: ColumnFormat;
  readonly types?: ColumnTypes | undefined;
  readonly columns: Columns;
  /** See `parquetStream`. */
  readonly groupBytes: number;
}

/**
 * Rows in a format of columns.
 * @param rows bytes that begin with a row; read twice where a column has decimals, whose type depends on all values
 * @throws {QueryError} bad-response for a value that is not of the type of its column
 */
export async function* columnRows(
  { format, types = 'exact', columns, groupBytes }: ColumnForm,
  rows: () => AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const isScaled = types === 'exact' && hasDecimals(columns);
  const scales = isScaled ? await decimalScales(columns, inTurns(completeRows(rows()))) : undefined;
  const created = createColumns(columns, types, scales);
  const pieces = inTurns(completeRows(rows()));
  yield* format === 'arrow' ? arrowStream(created, pieces) : parquetStream(created, pieces, groupBytes);
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

/** The columns for a download. @throws {QueryError} bad-response */
export function columnsOf(dataSchema: string, format: ExportFormat): Columns {
  const { columnNames, columnDataTypes } = (JSON.parse(dataSchema) as Partial<Columns> | null) ?? {};
  if (isTexts(columnNames) && isTexts(columnDataTypes) && columnNames.length === columnDataTypes.length) {
    if (columnNames.length <= MAX_COLUMNS || !isColumnFormat(format)) return { columnNames, columnDataTypes };
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
