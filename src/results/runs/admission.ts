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

/** Of the places for running queries, the part that one caller can occupy. */
const SHARE_OF_CALLER = 0.75;

/**
 * The next query to start: of the caller with the fewest running queries, the oldest one. One caller occupies only a part of the places, so that
 * its long queries do not block those of others.
 */
export function nextToStart(active: Iterable<Run>, maxRunning: number): Run | undefined {
  const runs = [...active];
  const running = new Map<string, number>();
  for (const { isStarted, query } of runs) {
    if (isStarted) running.set(query.owner, (running.get(query.owner) ?? 0) + 1);
  }
  const total = [...running.values()].reduce((sum, count) => sum + count, 0);
  if (total >= maxRunning) return undefined;
  const maxOfCaller = Math.max(1, Math.floor(maxRunning * SHARE_OF_CALLER));
  let next: Run | undefined;
  for (const run of runs) {
    if (!run.isWaiting) continue;
    const ofCaller = running.get(run.query.owner) ?? 0;
    if (ofCaller < (next === undefined ? maxOfCaller : (running.get(next.query.owner) ?? 0))) next = run;
  }
  return next;
}

function tooMany(what: string): QueryError {
  return new QueryError('too-many', `${what}: try again when one of them has ended`);
}
