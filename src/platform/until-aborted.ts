/**
 * Settles like the promise, or rejects as soon as the signal aborts. For work that takes no signal: only the wait ends, and the work ends
 * by its own time-out.
 * @param reasonOf creates the error; default: the signal's reason
 */
export async function untilAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  reasonOf: () => unknown = () => signal.reason,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(reasonOf());
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([aborted.promise, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Resolves when the signal aborts; at once if it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
