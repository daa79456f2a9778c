import { cut } from './checksums.ts';
import { damaged, type QueryError } from '../errors.ts';
import type { PageRequest } from './page.ts';
import type { RowIndex } from './row-index.ts';
import { RowWalk } from '../scanner/row-walk.ts';

/** A byte range of the rows. */
interface BytesOfRows {
  readonly from: number;
  readonly to: number;
}

/** The strides that contain the first and the last row of a page. */
export interface Strides {
  readonly first: BytesOfRows;
  /** Rows of the first stride before the page. */
  readonly skip: number;
  readonly last: BytesOfRows;
  /** Rows of the last stride up to the end of the page. */
  readonly keep: number;
}

const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;

/** Start of the row after the last page read, because sequential reading is the usual case. */
const nextRows = new WeakMap<RowIndex, { row: number; at: number }>();

/**
 * @param row the row after the page
 * @param read the bytes of the strides, their offset in the result, and a view of the page's rows in them
 */
export function rememberNext(
  index: RowIndex,
  row: number,
  read: { readonly piece: Uint8Array; readonly from: number; readonly rows: Uint8Array | undefined },
): void {
  const { piece, from, rows } = read;
  if (rows === undefined) return;
  const end = rows.byteOffset + rows.length - piece.byteOffset;
  if (piece[end] !== COMMA || piece[end + 1] !== OPEN_ARRAY) return;
  const at = from + end + 1;
  const next = nextRows.get(index);
  if (next === undefined) nextRows.set(index, { row, at });
  else {
    next.row = row;
    next.at = at;
  }
}

export function stridesOf(index: RowIndex, rowBytes: number, page: PageRequest): Strides {
  const { stride, checkpoints } = index;
  const range = (row: number): BytesOfRows => {
    const at = Math.floor(row / stride);
    return { from: checkpoints[at] ?? 0, to: checkpoints[at + 1] ?? rowBytes };
  };
  const lastRow = page.offset + page.numRows - 1;
  const first = range(page.offset);
  const last = range(lastRow);
  const keep = (lastRow % stride) + 1;
  const next = nextRows.get(index);
  // Within a single stride the last row is counted from the start of the stride.
  if (next?.row !== page.offset || first.from === last.from) return { first, skip: page.offset % stride, last, keep };
  return { first: { from: next.at, to: first.to }, skip: 0, last, keep };
}

/** @param pieces bytes from the first to the last stride */
export function cutRows(
  pieces: readonly Uint8Array[],
  strides: Strides,
): { rows: readonly Uint8Array[]; bytes: number } {
  const base = strides.first.from;
  const start = rowStart(cut(pieces, 0, strides.first.to - base), strides.skip);
  const lastAt = strides.last.from - base;
  const end = lastAt + rowEnd(cut(pieces, lastAt, strides.last.to - base), strides.keep);
  return { rows: cut(pieces, start, end), bytes: end - start };
}

/** Offset of row `skip`; the pieces begin with row 0. */
function rowStart(pieces: readonly Uint8Array[], skip: number): number {
  if (skip === 0) return 0;
  const search = new StartSearch(skip);
  for (const piece of pieces) if (search.finds(piece)) break;
  return search.found();
}

/** Offset after the `count`-th row; the pieces begin with a row. */
function rowEnd(pieces: readonly Uint8Array[], count: number): number {
  const search = new EndSearch(count);
  for (const piece of pieces) if (search.finds(piece)) break;
  return search.found();
}

/** Pieces in memory, or as they arrive. */
type StridePieces = readonly Uint8Array[] | AsyncIterable<Uint8Array>;

/** Like `rowStart`, without keeping the pieces. @throws {QueryError} damaged */
export async function rowStartIn(pieces: StridePieces, skip: number): Promise<number> {
  if (skip === 0) return 0;
  const search = new StartSearch(skip);
  for await (const piece of pieces) if (search.finds(piece)) break;
  return search.found();
}

/** Like `rowEnd`, without keeping the pieces. @throws {QueryError} damaged */
export async function rowEndIn(pieces: StridePieces, count: number): Promise<number> {
  const search = new EndSearch(count);
  for await (const piece of pieces) if (search.finds(piece)) break;
  return search.found();
}

/** Searches an offset in the pieces of rows, one after the other. */
abstract class OffsetSearch {
  /** Offset of the next piece. */
  protected base = 0;
  protected offset: number | undefined;

  /** @returns whether the offset is known; further pieces are not needed then. @throws {QueryError} damaged */
  finds(piece: Uint8Array): boolean {
    try {
      if (this.offset === undefined) this.search(piece);
    } catch (cause) {
      // The rows were valid JSON when they were stored: the pieces do not begin with a row.
      throw mismatch({ cause });
    }
    this.base += piece.length;
    return this.offset !== undefined;
  }

  /** @throws {QueryError} damaged */
  found(): number {
    if (this.offset === undefined) throw mismatch();
    return this.offset;
  }

  protected abstract search(piece: Uint8Array): void;
}

class StartSearch extends OffsetSearch {
  readonly #row: number;
  readonly #walk: RowWalk;

  constructor(row: number) {
    super();
    this.#row = row;
    this.#walk = new RowWalk(row + 1);
  }

  protected search(piece: Uint8Array): void {
    this.#walk.scan(piece, this.#row, (row, offset) => {
      if (row === this.#row) this.offset = this.base + offset;
    });
  }
}

class EndSearch extends OffsetSearch {
  readonly #count: number;
  readonly #walk: RowWalk;

  constructor(count: number) {
    super();
    this.#count = count;
    this.#walk = new RowWalk(count);
  }

  protected search(piece: Uint8Array): void {
    const used = this.#walk.scan(piece, this.#count, ignoreRow);
    if (!this.#walk.ended) return;
    // A `]` ends the walk, too.
    if (this.#walk.rows < this.#count) throw mismatch();
    this.offset = this.base + used;
  }
}

function mismatch(options?: ErrorOptions): QueryError {
  return damaged('its index does not match its rows', options);
}

function ignoreRow(): void {}
