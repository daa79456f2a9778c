import { scheduleJob, type Job } from 'node-schedule';
import type { Clock } from '../platform/clock.ts';

/**
 * Calls a function once at a time, or as soon as possible if that time is past. node-schedule also waits for longer than a timer of Node can.
 * @param at milliseconds since the epoch
 * @returns cancels the call
 */
export function callAt(clock: Pick<Clock, 'schedule'>, at: number, callback: () => void): () => void {
  const job = scheduleJob(new Date(at), callback) as Job | null;
  if (job !== null) return () => void job.cancel();
  return clock.schedule(callback, 0);
}
