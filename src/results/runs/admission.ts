import type { Clock } from '../../platform/clock.ts';
import { FairQueue, type QueueObserver } from '../../platform/fair-queue.ts';
import { QueryError } from '../errors.ts';
import type { AsyncSettings } from '../settings.ts';
import type { Run } from './run.ts';

/** Memory of the texts of all queries that wait or run. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

/** @throws {QueryError} too-many */
export function requireRoom(
  active: Iterable<Run>,
  query: Pick<Run['query'], 'owner' | 'heldBytes'>,
  { maxPerCaller, maxInAll }: AsyncSettings,
): void {
  let count = 0;
  let ofCaller = 0;
  let held = query.heldBytes;
  for (const run of active) {
    count++;
    held += run.query.heldBytes;
    if (run.query.owner === query.owner) ofCaller++;
  }
  if (ofCaller >= maxPerCaller) throw tooMany(`limit of asynchronous queries of one caller (${maxPerCaller}) exceeded`);
  if (count >= maxInAll) throw tooMany(`limit of asynchronous queries of this gateway (${maxInAll}) exceeded`);
  if (held > MAX_HELD_BYTES)
    throw tooMany(`the texts of the asynchronous queries of this gateway exceed ${MAX_HELD_BYTES} bytes`);
}

/** The part of the places for running queries that one caller can occupy: its long queries do not block those of others. */
const SHARE_OF_CALLER = 0.75;

/** The places for running queries. How many wait is limited by `requireRoom`. */
export function runQueue(
  maxRunning: () => number,
  clock: Pick<Clock, 'monotonic' | 'schedule'>,
  observer?: QueueObserver,
): FairQueue {
  return new FairQueue(
    {
      name: 'asynchronous-queries',
      get total() {
        return maxRunning();
      },
      get perKey() {
        return Math.max(1, Math.floor(maxRunning() * SHARE_OF_CALLER));
      },
      maxWaiting: Infinity,
    },
    clock,
    observer,
  );
}

function tooMany(what: string): QueryError {
  return new QueryError('too-many', `${what}: try again when one of them has ended`);
}
