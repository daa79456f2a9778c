import type { EventEmitter } from 'node:events';

/**
 * For a stream whose failures its reader observes in another way, as by iteration: before it begins and after it has ended, an `error` event
 * without a listener would be an uncaught exception.
 * @returns the stream
 */
export function withErrorListener<T extends EventEmitter>(stream: T): T {
  return stream.on('error', () => undefined);
}
