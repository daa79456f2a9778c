import { isRequestId } from '../request-id.ts';
import type { StoredObject } from './object-client.ts';

/** Ends of the keys of a result's two objects: its rows with their index, and its record, which is put last. */
export const ROWS = '.rows';
export const RECORD = '.json';

/** Halves that wait for the other one: buckets list in the order of names, so that the two lie side by side. A few kinds of bucket do not. */
const MAX_WAITING = 10_000;

/** A result in a listing. Where only one object is there, the other one may yet exist: it was not near, or came later. */
export interface StoredPair {
  readonly requestId: string;
  readonly record: StoredObject | undefined;
  readonly rows: StoredObject | undefined;
}

/** Puts the objects of a listing together; what is no object of a result is left out. Memory is bounded, whatever the order. */
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
