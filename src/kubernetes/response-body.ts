import { StringDecoder } from 'node:string_decoder';
import type { Dispatcher } from 'undici';
import type { Deadline } from '../platform/deadline.ts';
import { connectionError, KubernetesApiError } from './api-error.ts';

type Body = Dispatcher.ResponseData['body'];

/** etcd's default limit for an object is 1.5 MiB; its JSON in a watch event is a little larger. */
const MAX_LINE_LENGTH = 16 * 1024 * 1024;

/** What an error during a request means: the caller's abort reason, a time-out, or a failed connection. A KubernetesApiError stays as it is. */
export function requestError(error: unknown, request: string, deadline: Deadline): unknown {
  if (error instanceof KubernetesApiError) return error;
  if (deadline.abortedBy !== undefined) return deadline.abortedBy.reason;
  if (deadline.expired) return connectionError(request, new Error(`nothing received within ${deadline.timeoutMs} ms`));
  return connectionError(request, error);
}

/** @throws {Error} when the body is longer than `maxBytes` */
export async function readText(body: Body, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw new Error(`the response is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString('utf8');
}

/**
 * The complete lines of a body.
 * @param idleMs the longest time without any bytes, milliseconds
 */
export async function* completeLines(
  body: Body,
  request: string,
  deadline: Deadline,
  idleMs: number,
): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      deadline.restart(idleMs);
      const lines = (rest + decoder.write(chunk)).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE_LENGTH) throw new Error(`a line is longer than ${MAX_LINE_LENGTH} characters`);
      for (const line of lines) if (line.trim() !== '') yield line;
    }
    if (rest.trim() !== '') throw new Error('the response ended in the middle of a line');
  } catch (error) {
    throw requestError(error, request, deadline);
  } finally {
    deadline.clear();
    body.destroy();
  }
}
