import { QueryError } from '../errors.ts';

/** @throws {QueryError} aborted */
export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw callerLeft();
}

/** For what takes no signal: the wait ends, the work itself by its own time-out. @throws {QueryError} aborted */
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
