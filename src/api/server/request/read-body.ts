import type { IncomingMessage } from 'node:http';
import { HttpError } from '../errors.ts';

/**
 * Reads the whole body of a request.
 * @param max maximum bytes
 * @throws {HttpError} 413; 400 where it ends unexpectedly
 */
export function readBody(raw: IncomingMessage, max: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  const onData = (chunk: Buffer): void => {
    size += chunk.length;
    if (size <= max) chunks.push(chunk);
    else {
      raw.off('data', onData).resume();
      // The rest is discarded, so the connection cannot be reused.
      const headers = { connection: 'close' };
      reject(new HttpError(413, `the body is too large: at most ${max} bytes are allowed here`, { headers }));
    }
  };
  const onBroken = (cause?: Error): void => {
    if (!raw.readableEnded) reject(new HttpError(400, 'the request body ended unexpectedly', { cause }));
  };
  raw.on('data', onData);
  raw.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
  raw.once('error', onBroken);
  raw.once('close', onBroken);
  return promise;
}
