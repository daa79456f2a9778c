import type { File } from '@google-cloud/storage';
import type { Readable } from 'node:stream';
import { withErrorListener } from '../../../platform/stream-errors.ts';

/** The bytes of an object. */
export interface GcsRead {
  readonly stream: Readable;
  /** Ends the read, now or when the response begins. No effect after the end. */
  readonly stop: () => void;
}

/**
 * Begins to read an object. The SDK connects the response to its stream without a check, and throws where nobody can catch it if that stream was
 * destroyed meanwhile, which ends the process. So a read that is stopped early ends when its response begins, or with the time-out of the SDK.
 */
export function readObject(file: File, options: Parameters<File['createReadStream']>[0]): GcsRead {
  // The listener receives the error of a read that is stopped; other errors reject the wait for their bytes.
  const stream = withErrorListener(file.createReadStream(options));
  let hasBegun = false;
  let isStopped = false;
  stream.once('response', () => {
    hasBegun = true;
    // The SDK connects the response after this event.
    if (isStopped) setImmediate(destroy);
  });
  const destroy = (): void => {
    stream.destroy();
  };
  return {
    stream,
    stop: () => {
      if (isStopped) return;
      isStopped = true;
      if (hasBegun) setImmediate(destroy);
    },
  };
}
