import { setTimeout as sleep } from 'node:timers/promises';

/** A busy machine may be ten times slower. A test that passes does not wait for this. */
const TIMEOUT_MS = 60_000;
const INTERVAL_MS = 2;

/**
 * Waits for a state instead of a time.
 * @param what names the state, for the message
 * @param next what happens between two checks; a short pause by default
 * @throws {Error} after a minute
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  next: () => Promise<unknown> = async () => sleep(INTERVAL_MS),
): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${TIMEOUT_MS / 1000} s: ${what}`);
    await next();
  }
}
