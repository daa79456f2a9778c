import { blocksOf, type IndexedReader } from '../rows/checksums.ts';
import { notFound, QueryError } from '../errors.ts';
import { type StoredCoding, storedRange } from '../rows/frames.ts';
import { type PageRequest, rowRange, rowsOf } from '../rows/page.ts';
import type { ResultReader, ResultStore } from '../result-store.ts';
import { combinedCrc } from './combined-crc.ts';

/** One request of a client to the bucket. */
export interface LinkedPart {
  /** The first row of the part. */
  readonly offset: number;
  readonly numRows: number;
  /** Request headers that select the bytes of the part. */
  readonly headers: { readonly Range: string };
  /** Size of the bytes. */
  readonly bytes: number;
  /** Where the rows are in the bytes, which are complete blocks: from `rowsStart` to `rowsEnd` (exclusive), after decompression. */
  readonly rowsStart: number;
  readonly rowsEnd: number;
  /** CRC-32 of all bytes after decompression, 8 hexadecimal digits. Absent for results of releases without checksums. */
  readonly crc32?: string;
}

/** Where a client reads rows without the gateway. */
export interface ResultLinks extends PageRequest {
  readonly requestId: string;
  /** JSON text as received from the engine. */
  readonly dataSchema: string;
  readonly numRowsResultSet: number;
  /** Signed: anyone who has the URL can read the rows until it expires. */
  readonly url: string;
  /** When `url` expires; epoch milliseconds. */
  readonly expirationTimeMs: number;
  readonly coding: StoredCoding | 'identity';
  readonly parts: readonly LinkedPart[];
}

/** Large enough that requests to a bucket cost little, small enough that several are read in parallel. */
const PART_BYTES = 8 * 1024 * 1024;
/** Bounds the response. */
const MAX_PARTS = 1000;
const MIN_LIFETIME_MS = 1000;

export interface LinkOptions {
  readonly store: ResultStore;
  /** Time until the links expire, in milliseconds; 0 where they are off. */
  readonly lifetimeMs: number;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Signs a link to the rows of a result. It expires at the latest with the result.
 * @throws {QueryError} no-links, bad-page, damaged, not-found, store-unavailable
 */
export async function linkRows(
  reader: ResultReader,
  request: PageRequest,
  { store, lifetimeMs, now }: LinkOptions,
  signal: AbortSignal,
): Promise<ResultLinks> {
  const { record } = reader;
  const link = store.link?.bind(store);
  if (lifetimeMs === 0) throw noLinks('they are off: `olap.broker.pagination.links.expiration` is 0');
  if (link === undefined) throw noLinks('only results in a bucket (`s3` or `gcs`) have them');
  const offset = request.offset;
  const numRows = rowsOf(record, request);
  const left = Math.min(lifetimeMs, record.expirationTimeMs - now);
  if (left < MIN_LIFETIME_MS) throw notFound(record.requestId);
  const index = reader.knownIndex ?? (await reader.index(signal));
  const parts = await partsOf({ reader, index }, { offset, numRows }, signal);
  const { url, expirationTimeMs } = await link(record.requestId, left, signal);
  return {
    requestId: record.requestId,
    dataSchema: record.dataSchema,
    numRowsResultSet: record.rowCount,
    offset,
    numRows,
    url,
    expirationTimeMs,
    coding: record.compression?.coding ?? 'identity',
    parts,
  };
}

function noLinks(why: string): QueryError {
  return new QueryError('no-links', `no links to this result, because ${why}. Read it in pages or as a download`);
}

/** The start of a part. */
interface Cut {
  readonly row: number;
  readonly at: number;
}

async function partsOf(indexed: IndexedReader, page: PageRequest, signal: AbortSignal): Promise<LinkedPart[]> {
  const { rowCount, rowBytes } = indexed.reader.record;
  if (page.numRows === 0) return [];
  const range = page.numRows === rowCount ? { from: 0, to: rowBytes } : await rowRange(indexed, page, signal);
  const cuts = cutsOf(indexed, page, range);
  return cuts.map(({ row, at }, i) => {
    const next = cuts[i + 1] ?? { row: page.offset + page.numRows, at: range.to };
    return partOf(indexed, { offset: row, numRows: next.row - row }, { from: at, to: next.at });
  });
}

/** Parts begin with indexed rows, and the first one with the first row. */
function cutsOf(
  { index: { stride, checkpoints } }: IndexedReader,
  { offset, numRows }: PageRequest,
  { from, to }: { readonly from: number; readonly to: number },
): readonly Cut[] {
  const partBytes = Math.max(PART_BYTES, Math.ceil((to - from) / MAX_PARTS));
  const cuts: Cut[] = [{ row: offset, at: from }];
  let last = from;
  const end = Math.min(checkpoints.length, Math.ceil((offset + numRows) / stride));
  for (let i = Math.floor(offset / stride) + 1; i < end; i++) {
    const at = checkpoints[i] as number;
    if (at - last < partBytes) continue;
    cuts.push({ row: i * stride, at });
    last = at;
  }
  return cuts;
}

/** The complete blocks that contain some rows. @param rows their bytes */
function partOf(
  { reader, index }: IndexedReader,
  { offset, numRows }: PageRequest,
  rows: { readonly from: number; readonly to: number },
): LinkedPart {
  const { checksums } = index;
  const { rowBytes } = reader.record;
  const blocks = checksums === undefined ? rows : blocksOf(checksums, rows, rowBytes);
  const stored = storedRange(index, blocks);
  const part = {
    offset,
    numRows,
    headers: { Range: `bytes=${stored.from}-${stored.to - 1}` },
    bytes: stored.to - stored.from,
    rowsStart: rows.from - blocks.from,
    rowsEnd: rows.to - blocks.from,
  };
  if (checksums === undefined) return part;
  const { blockBytes } = checksums;
  const first = blocks.from / blockBytes;
  const end = Math.ceil(blocks.to / blockBytes);
  const sum = combinedCrc(checksums.sums.subarray(first, end), blockBytes, blocks.to - (end - 1) * blockBytes);
  return { ...part, crc32: sum.toString(16).padStart(8, '0') };
}
