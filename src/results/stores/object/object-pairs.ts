import { isRequestId } from '../../request-id.ts';
import { downloadOf } from '../../stored-downloads.ts';
import type { StoredObject } from './object-client.ts';

/** Key suffixes of the two objects of a result: rows with index, and the record, which is written last. */
export const ROWS = '.rows';
export const RECORD = '.json';

/** Maximum unpaired objects. Most buckets list in key order, so both objects of a result are adjacent; a few buckets do not. */
const MAX_WAITING = 10_000;

/** A result in a listing. If the record or the rows are missing, it may still exist: listed much later, or written during the listing. */
export interface StoredPair {
  readonly requestId: string;
  readonly record: StoredObject | undefined;
  readonly rows: StoredObject | undefined;
  /** Files of downloads. Those that a bucket without order lists after the other objects are a pair of their own. */
  readonly downloads: readonly StoredObject[];
}

/** Pairs the objects of a listing; other objects are ignored. Memory is bounded for any order. */
export async function* pairsOf(objects: AsyncIterable<StoredObject>): AsyncIterable<StoredPair> {
  const waiting = new Map<string, StoredPair>();
  for await (const object of objects) {
    const half = halfOf(object);
    if (half === undefined) continue;
    const other = waiting.get(half.requestId);
    const pair = {
      requestId: half.requestId,
      record: half.record ?? other?.record,
      rows: half.rows ?? other?.rows,
      downloads: [...(other?.downloads ?? []), ...half.downloads],
    };
    if (pair.record !== undefined && pair.rows !== undefined) {
      waiting.delete(pair.requestId);
      yield pair;
      continue;
    }
    waiting.set(pair.requestId, pair);
    if (waiting.size > MAX_WAITING) yield* oldest(waiting);
  }
  yield* waiting.values();
}

function halfOf(object: StoredObject): StoredPair | undefined {
  const download = downloadOf(object.key)?.requestId;
  if (download !== undefined && isRequestId(download))
    return { requestId: download, record: undefined, rows: undefined, downloads: [object] };
  const suffix = [ROWS, RECORD].find((end) => object.key.endsWith(end));
  const requestId = object.key.slice(0, -(suffix?.length ?? 0));
  if (suffix === undefined || !isRequestId(requestId)) return undefined;
  return suffix === ROWS
    ? { requestId, record: undefined, rows: object, downloads: [] }
    : { requestId, record: object, rows: undefined, downloads: [] };
}

function* oldest(waiting: Map<string, StoredPair>): Iterable<StoredPair> {
  for (const [requestId, pair] of waiting) {
    waiting.delete(requestId);
    yield pair;
    return;
  }
}
