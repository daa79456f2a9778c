import { framePage, type HolderAddress, type Page, type PageRequest, placeNow } from './page.ts';
import type { FileRows, ResultReader, RowFile } from './result-store.ts';
import { rememberNext, rowEnd, rowStart, type Strides } from './strides.ts';

/** A page whose rows were left in their file. */
export type FilePage = Omit<Page, 'rows'> & { readonly rows: FileRows };

/** Below, what is done for each page costs more than the copying that it saves. */
const MIN_BYTES = 64 * 1024;
/** Where more must be read to find an end, the rows are so large that the page is read as any other. */
const MAX_STRIDE_BYTES = 64 * 1024;
/** Bytes that such a page may hold in memory at the most: two strides, and a piece on its way. */
export const FILE_PAGE_MEMORY = 256 * 1024;

/**
 * A large page, of which no more is read than where it begins and ends.
 * @returns undefined where it is small, or its file must be waited for: then `readPageNow` must be asked
 */
export function readFilePageNow(
  reader: ResultReader,
  request: PageRequest,
  holder: HolderAddress | undefined,
): FilePage | undefined {
  const placed = placeNow(reader, request);
  if (placed === undefined) return undefined;
  const { index, strides, page } = placed;
  const { first, last, keep } = strides;
  if (last.to - first.from <= MIN_BYTES) return undefined;
  if (Math.max(first.to - first.from, last.to - last.from) > MAX_STRIDE_BYTES) return undefined;
  const file = reader.rowFile;
  if (file === undefined) return undefined;
  const from = startIn(file, strides);
  const piece = file.readNow(last.from, last.to);
  const end = rowEnd([piece], keep);
  rememberNext(index, page.offset + page.numRows, { piece, from: last.from, rows: piece.subarray(0, end) });
  const rows = { file, from, to: last.from + end };
  const { head, tail } = framePage(reader.record, page, holder);
  return { head, rows, tail, numRows: page.numRows, length: head.length + (rows.to - from) + tail.length };
}

function startIn(file: RowFile, { first, skip }: Strides): number {
  return skip === 0 ? first.from : first.from + rowStart([file.readNow(first.from, first.to)], skip);
}
