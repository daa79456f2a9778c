import { scheduleJob, type Job } from 'node-schedule';
import type { Clock } from '../../platform/clock.ts';

/** A schedule is a date: node-schedule waits until the wall clock shows it. A clock that is set back is noticed within this time. */
const MAX_WAIT_MS = 300_000;

/**
 * Calls a function once: at a time of the wall clock, as soon as possible if that time is past, and after five minutes at the latest, so that the caller
 * can compare its times with the clock again.
 * @param at milliseconds since the epoch
 * @returns cancels the call
 */
export function callBy(clock: Pick<Clock, 'now' | 'schedule'>, at: number, callback: () => void): () => void {
  const cancel = (): void => {
    job?.cancel();
    cancelLimit();
  };
  const once = (): void => {
    cancel();
    callback();
  };
  const job = scheduleJob(new Date(at), once) as Job | null;
  const cancelLimit = clock.schedule(once, job === null ? 0 : MAX_WAIT_MS);
  return cancel;
}
