import { setTimeout as sleep } from 'node:timers/promises';
import { WAIT_LIMIT_MS } from './limits.ts';

const INTERVAL_MS = 2;

/**
 * Waits for a state instead of a time.
 * @param what names the state, for the message
 * @param next what happens between two checks; a short pause by default
 * @throws {Error} after two minutes
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  next: () => Promise<unknown> = async () => sleep(INTERVAL_MS),
): Promise<void> {
  const deadline = performance.now() + WAIT_LIMIT_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${WAIT_LIMIT_MS / 1000} s: ${what}`);
    await next();
  }
}

/**
 * Bounds a wait that has no limit of its own, so that a test that hangs says for what.
 * @param what names what is waited for, for the message
 * @throws {Error} after two minutes, or after `limitMs`
 */
export async function within<T>(what: string, wait: Promise<T>, limitMs: number = WAIT_LIMIT_MS): Promise<T> {
  const over = new AbortController();
  const limit = sleep(limitMs, undefined, { signal: over.signal }).then(() => {
    throw new Error(`not within ${limitMs / 1000} s: ${what}`);
  });
  try {
    return await Promise.race([wait, limit]);
  } finally {
    over.abort();
    limit.catch(() => undefined);
  }
}
