import { systemClock } from '../../../platform/clock.ts';
import { FairQueue, type QueueObserver } from '../../../platform/fair-queue.ts';

export interface MemoryLimits {
  /** Bytes of pages, responses and request bodies that may be in memory at the same time. */
  readonly totalBytes: number;
  /** The part of `totalBytes` that one caller may use. */
  readonly bytesPerCaller: number;
  /** Requests that may wait; further ones are refused. */
  readonly maxWaiting?: number;
}

const MB = 1024 * 1024;
const DEFAULT_MEMORY: MemoryLimits = { totalBytes: 128 * MB, bytesPerCaller: 32 * MB };
const MAX_WAITING = 1_000;
/** The part of the waiting requests that may be of one caller. */
const WAITING_SHARE = 0.25;
const MAX_WAIT_MS = 10_000;

/** The memory for pages, responses and request bodies; its units are bytes, its keys are callers. */
export function memoryQueue(limits: MemoryLimits = DEFAULT_MEMORY, observer?: QueueObserver): FairQueue {
  const { totalBytes: total, bytesPerCaller: perKey, maxWaiting = MAX_WAITING } = limits;
  const maxWaitingOfKey = Math.floor(maxWaiting * WAITING_SHARE);
  return new FairQueue(
    { name: 'memory', total, perKey, maxWaiting, maxWaitingOfKey, maxWaitMs: MAX_WAIT_MS },
    systemClock,
    observer,
  );
}
