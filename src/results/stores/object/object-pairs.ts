import { isRequestId } from '../../request-id.ts';
import type { StoredObject } from './object-client.ts';

/** Key suffixes of the two objects of a result: rows with index, and the record, which is written last. */
export const ROWS = '.rows';
export const RECORD = '.json';

/** Maximum unpaired objects. Most buckets list in key order, so both objects of a result are adjacent; a few buckets do not. */
const MAX_WAITING = 10_000;

/** A result in a listing. If one object is missing, it may still exist: listed much later, or written during the listing. */
export interface StoredPair {
  readonly requestId: string;
  readonly record: StoredObject | undefined;
  readonly rows: StoredObject | undefined;
}

/** Pairs the objects of a listing; other objects are ignored. Memory is bounded for any order. */
export async function* pairsOf(objects: AsyncIterable<StoredObject>): AsyncIterable<StoredPair> {
  const waiting = new Map<string, StoredPair>();
  for await (const object of objects) {
    const half = halfOf(object);
    if (half === undefined) continue;
    const other = waiting.get(half.requestId);
    const pair = { ...half, record: half.record ?? other?.record, rows: half.rows ?? other?.rows };
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
  const suffix = [ROWS, RECORD].find((end) => object.key.endsWith(end));
  const requestId = object.key.slice(0, -(suffix?.length ?? 0));
  if (suffix === undefined || !isRequestId(requestId)) return undefined;
  return suffix === ROWS
    ? { requestId, record: undefined, rows: object }
    : { requestId, record: object, rows: undefined };
}

function* oldest(waiting: Map<string, StoredPair>): Iterable<StoredPair> {
  for (const [requestId, pair] of waiting) {
    waiting.delete(requestId);
    yield pair;
    return;
  }
}
