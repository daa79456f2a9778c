import { untilAborted } from '../../platform/until-aborted.ts';
import { QueryError } from '../errors.ts';

/** @throws {QueryError} aborted */
export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortedByCaller();
}

/** Ends the wait for a promise without abort support; the work itself ends by its own time-out. @throws {QueryError} aborted */
export function untilCallerAborts<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return untilAborted(work, signal, abortedByCaller);
}

export function abortedByCaller(): QueryError {
  return new QueryError('aborted', 'request aborted by the client');
}
