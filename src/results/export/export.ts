import { WorkSlices } from '../../platform/work-slices.ts';
import { type IndexedReader, streamRows } from '../checksums.ts';
import { QueryError } from '../errors.ts';
import { type PageRequest, rowRange, rowsOf } from '../page.ts';
import type { ResultReader } from '../result-store.ts';
import { arrowStream, type Columns } from './arrow.ts';
import { csv } from './csv.ts';
import type { ExportFormat } from './format.ts';
import { jsonLines, rowTexts } from './json-lines.ts';

/** Rows of a result, ready to be sent. */
export interface Export {
  readonly format: ExportFormat;
  readonly numRows: number;
  /** Bytes of the complete export; undefined where it is known only at the end. */
  readonly length: number | undefined;
  /** Bytes `from` to `to` (exclusive) of the export, in pieces. Anything but the complete export requires `length`. */
  readonly body: (from: number, to: number, signal: AbortSignal) => AsyncIterable<Uint8Array>;
}

/** Read after the end of a part of JSON lines, so that the comma between two rows is recognized. */
const LOOK_AHEAD_BYTES = 64 * 1024;

/**
 * Prepares the export of some rows.
 * @throws {QueryError} bad-page, bad-answer, damaged, not-found, store-unavailable
 */
export async function exportRows(
  reader: ResultReader,
  format: ExportFormat,
  request: PageRequest,
  signal: AbortSignal,
): Promise<Export> {
  const numRows = rowsOf(reader.record, request);
  const columns = columnsOf(reader.record.dataSchema);
  const indexed = { reader, index: reader.knownIndex ?? (await reader.index(signal)) };
  const range = await rowRange(indexed, { offset: request.offset, numRows }, signal);
  if (format === 'jsonl') return jsonLinesExport(indexed, range, numRows);
  const convert = format === 'csv' ? csvOf : arrowStream;
  return {
    format,
    numRows,
    length: undefined,
    body: (_from, _to, abort) => {
      const rows = jsonLines(streamRows(indexed, range.from, range.to, abort));
      return inTurns(convert(columns, rowTexts(rows)));
    },
  };
}

const csvOf = ({ columnNames }: Columns, rows: AsyncIterable<readonly string[]>): AsyncIterable<Buffer> =>
  csv(columnNames, rows);

interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** One byte of a line for each byte of the rows, and a line feed at the end, so that any part of it can be read. */
function jsonLinesExport(indexed: IndexedReader, rows: ByteRange, numRows: number): Export {
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
async function* inTurns(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const slices = new WorkSlices(1);
  for await (const piece of pieces) {
    yield piece;
    await slices.spend(1);
  }
}

function columnsOf(dataSchema: string): Columns {
  const { columnNames, columnDataTypes } = JSON.parse(dataSchema) as Partial<Columns>;
  if (isTexts(columnNames) && isTexts(columnDataTypes) && columnNames.length === columnDataTypes.length)
    return { columnNames, columnDataTypes };
  throw new QueryError(
    'bad-answer',
    'the schema of the result has no list of column names and types: read it in pages',
  );
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}
