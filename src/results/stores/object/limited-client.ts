import type { Clock } from '../../../platform/clock.ts';
import { Deadline, isTimeout } from '../../../platform/deadline.ts';
import { abortedByCaller, throwIfAborted } from '../aborted.ts';
import { QueryError } from '../../errors.ts';
import type { ObjectClient } from './object-client.ts';

/**
 * How long a read waits for the bucket: for a response, and for the next bytes of one. A request to a bucket that does not respond fails within this
 * time, because it waits in one call. Longer than the retries of the SDKs need after a short outage.
 */
export const BUCKET_READ_MS = 12_000;

type LimitClock = Pick<Clock, 'monotonic' | 'schedule'>;

/**
 * Limits the time of reads, listings and deletions, for which callers wait. The time-outs of the SDKs are those of one attempt, and are made for uploads.
 * Uploads and the listing of unfinished ones are those of `client`.
 */
export function limitedClient(client: ObjectClient, clock: LimitClock): ObjectClient {
  const limited = <T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    withinLimit(clock, signal, call);
  return {
    base: client.base,
    rights: client.rights,
    upload: (key, signal) => client.upload(key, signal),
    put: (key, bytes, signal) => client.put(key, bytes, signal),
    get: (key, signal) => limited(signal, (both) => client.get(key, both)),
    size: (key, signal) => limited(signal, (both) => client.size(key, both)),
    range: (key, from, to, signal) => limitedRange(clock, signal, (both) => client.range(key, from, to, both)),
    list: (start, signal) => limitedPieces(clock, signal, (both) => client.list(start, both)),
    delete: (key, signal) => limited(signal, (both) => client.delete(key, both)),
    uploads: (start, signal) => client.uploads(start, signal),
    abortUpload: (upload, signal) => client.abortUpload(upload, signal),
    link: (key, validity, signal) => client.link(key, validity, signal),
    close: () => client.close(),
  };
}

/** @throws {QueryError} store-unavailable when the time is over, aborted */
async function withinLimit<T>(
  clock: LimitClock,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  throwIfAborted(signal);
  const deadline = new Deadline(clock, BUCKET_READ_MS, signal);
  try {
    return await deadline.limit(call(deadline.signal));
  } catch (error) {
    throw failureOf(deadline, error);
  } finally {
    deadline.clear();
  }
}

/** The time ends with the response, because its reader may wait for a client; each further piece has its own. */
async function limitedRange(
  clock: LimitClock,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array> | undefined>,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  throwIfAborted(signal);
  const deadline = new Deadline(clock, BUCKET_READ_MS, signal);
  try {
    const pieces = await deadline.limit(call(deadline.signal));
    deadline.stopTimer();
    if (pieces !== undefined) return limitedIterable(deadline, pieces);
  } catch (error) {
    deadline.clear();
    throw failureOf(deadline, error);
  }
  deadline.clear();
  return undefined;
}

async function* limitedPieces<T>(
  clock: LimitClock,
  signal: AbortSignal,
  open: (signal: AbortSignal) => AsyncIterable<T>,
): AsyncIterable<T> {
  throwIfAborted(signal);
  const deadline = new Deadline(clock, BUCKET_READ_MS, signal);
  yield* limitedIterable(deadline, open(deadline.signal));
}

/** Restarts the time for each piece, and stops it while the reader works. */
async function* limitedIterable<T>(deadline: Deadline, pieces: AsyncIterable<T>): AsyncIterable<T> {
  const iterator = pieces[Symbol.asyncIterator]();
  let isOpen = true;
  try {
    for (;;) {
      deadline.restart(BUCKET_READ_MS);
      const next = await deadline.limit(iterator.next());
      deadline.stopTimer();
      if (next.done === true) {
        isOpen = false;
        return;
      }
      yield next.value;
    }
  } catch (error) {
    // A generator that waits for the bucket could not return now. The aborted signal ends it.
    isOpen = false;
    throw failureOf(deadline, error);
  } finally {
    deadline.clear();
    if (isOpen) await iterator.return?.();
  }
}

function failureOf(deadline: Deadline, error: unknown): unknown {
  if (deadline.expired) {
    const message = `the bucket of the result store did not respond within ${BUCKET_READ_MS / 1000} s; try again later`;
    return new QueryError('store-unavailable', message, { cause: error });
  }
  if (error instanceof QueryError || deadline.abortedBy === undefined) return error;
  return isTimeout(error)
    ? new QueryError('store-unavailable', 'the result store did not respond in time', { cause: error })
    : abortedByCaller();
}
