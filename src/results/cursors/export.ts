import type { Columns } from '../export/columns/batches.ts';
import { convertRows, type Export } from '../export/export.ts';
import type { ExportFormat } from '../export/format.ts';
import type { Page, PageRequest } from '../page.ts';
import type { CursorRecord } from './brokers.ts';

/** The engine reads the whole result for each page, so large ones are requested. They are buffered in the store. */
const PAGE_BYTES = 16 * 1024 * 1024;
const COMMA = Buffer.from(',');

export interface CursorExport {
  readonly record: CursorRecord;
  readonly format: ExportFormat;
  readonly columns: Columns;
  /** Rows within the result. */
  readonly rows: PageRequest;
  /** Maximum rows of one page. */
  readonly maxPageSize: number;
  /** Reads a page. The rows of the page before are not used any more. */
  readonly read: (page: PageRequest) => Promise<Page>;
}

/**
 * Prepares a download of rows that the engine keeps: its pages are read one after the other. The first one is read before this resolves, so that its failure is an error response.
 * @throws whatever `read` throws
 */
export async function exportCursor({
  record,
  format,
  columns,
  rows,
  maxPageSize,
  read,
}: CursorExport): Promise<Export> {
  const end = rows.offset + rows.numRows;
  const size = rowsPerPage(record, maxPageSize);
  const pageAt = (offset: number): Promise<Page> => read({ offset, numRows: Math.min(size, end - offset) });
  const first = await pageAt(rows.offset);
  return {
    format,
    numRows: rows.numRows,
    length: undefined,
    body: () => convertRows(format, columns, bytes()),
  };

  async function* bytes(): AsyncIterable<Uint8Array> {
    let page = first;
    for (let at = rows.offset; ; page = await pageAt(at)) {
      yield* page.rows;
      at += page.numRows;
      if (at >= end) return;
      yield COMMA;
    }
  }
}

function rowsPerPage({ cursor, rowCount }: CursorRecord, maxPageSize: number): number {
  const rowBytes = Math.max(1, cursor.bytes / Math.max(1, rowCount));
  return Math.max(1, Math.min(maxPageSize, Math.floor(PAGE_BYTES / rowBytes)));
}
