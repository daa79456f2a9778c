import { type FairQueue, type Place, type PlaceSize, QueueRefusal } from '../../../platform/fair-queue.ts';
import { HttpError } from '../errors.ts';

interface Limit {
  /** What the request waits for, in the message of a refusal. */
  readonly what: string;
  /** The setting of the limit. */
  readonly setting?: string;
  readonly retryAfterSeconds: number;
}

/** The queues in which requests wait, by name. docs/operations.md#what-may-wait-and-for-how-long lists them for operators. */
const LIMITS: Readonly<Record<string, Limit>> = {
  memory: { what: 'memory for responses and bodies', setting: 'max-answer-bytes', retryAfterSeconds: 2 },
  calls: { what: 'a call to the controller', setting: 'max-concurrent-calls', retryAfterSeconds: 1 },
  'own-calls': { what: 'a call to RBAC or health', setting: 'max-concurrent-calls', retryAfterSeconds: 1 },
  'long-work': { what: 'the work for a large body', retryAfterSeconds: 5 },
  lists: { what: 'a list or review', retryAfterSeconds: 5 },
  'listings-of-queries': { what: 'a listing of queries', retryAfterSeconds: 1 },
};

/**
 * Waits for a place of a request; there is no promise where one is free.
 * @param caller SRN
 * The promise rejects with {HttpError} 429 where too many requests of the caller wait, 503 where too many of all wait or this one waited too long, 499 where the client left
 */
export function admit(
  queue: FairQueue,
  caller: string,
  options: PlaceSize & { readonly signal?: AbortSignal } = {},
): Place | Promise<Place> {
  const place = queue.acquire(caller, options);
  if (!(place instanceof Promise)) return place;
  return place.catch((error: unknown) => {
    if (error instanceof QueueRefusal) throw refused(error);
    if (options.signal?.aborted === true) throw new HttpError(499, 'the client disconnected');
    throw error;
  });
}

function refused({ reason, limits: { name, maxWaitMs } }: QueueRefusal): HttpError {
  const { what, setting, retryAfterSeconds } = LIMITS[name] ?? { what: `\`${name}\``, retryAfterSeconds: 1 };
  const limited = setting === undefined ? '' : ` (limited by \`${setting}\`)`;
  const why = {
    'full-of-key': `too many requests of this caller wait for ${what}${limited}`,
    full: `too many requests wait for ${what}${limited}`,
    timeout: `the request waited ${(maxWaitMs ?? 0) / 1000} s for ${what}${limited}`,
  }[reason];
  return new HttpError(reason === 'full-of-key' ? 429 : 503, `${why}: try again in ${retryAfterSeconds} s`, {
    headers: { 'retry-after': String(retryAfterSeconds) },
  });
}
