import { QueryError } from '../errors.ts';

/** @throws {QueryError} aborted */
export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw callerLeft();
}

/** For promises without abort support: only the wait ends; the work itself ends by its own timeout. @throws {QueryError} aborted */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(callerLeft());
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function callerLeft(): QueryError {
  return new QueryError('aborted', 'the caller went away');
}
