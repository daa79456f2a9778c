import { StringDecoder } from 'node:string_decoder';
import type { Dispatcher } from 'undici';
import type { StoreClock } from '../clock.ts';
import { connectionError, KubernetesApiError } from './api-error.ts';

type Body = Dispatcher.ResponseData['body'];

/** etcd holds no object above 1.5 MiB by default; as JSON in a watch event it is a little more. */
const MAX_LINE_LENGTH = 16 * 1024 * 1024;

/** An abort signal of one request: fires when the time is over or the caller's own signal fires. */
export class Deadline {
  readonly #clock: StoreClock;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onOuterAbort: () => void;
  #cancel: () => void = () => {};
  #timeoutMs = 0;
  #endsAt = 0;
  #expired = false;

  constructor(clock: StoreClock, timeoutMs: number, outer: AbortSignal | undefined) {
    outer?.throwIfAborted();
    this.#clock = clock;
    this.#outer = outer;
    this.#onOuterAbort = () => this.#controller.abort(outer?.reason);
    outer?.addEventListener('abort', this.#onOuterAbort, { once: true });
    this.restart(timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  remainingMs(): number {
    return this.#endsAt - this.#clock.now();
  }

  restart(timeoutMs: number): void {
    this.#cancel();
    this.#timeoutMs = timeoutMs;
    this.#endsAt = this.#clock.now() + timeoutMs;
    this.#cancel = this.#clock.schedule(() => {
      this.#expired = true;
      this.#controller.abort();
    }, timeoutMs);
  }

  clear(): void {
    this.#cancel();
    this.#outer?.removeEventListener('abort', this.#onOuterAbort);
  }

  /** The promise, but no longer than there is time: for work that takes no signal, such as a credential plugin. */
  async limit<T>(promise: Promise<T>): Promise<T> {
    const ended = Promise.withResolvers<never>();
    const onAbort = () => ended.reject(this.signal.reason as Error);
    this.signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([promise, ended.promise]);
    } finally {
      this.signal.removeEventListener('abort', onAbort);
    }
  }

  /** What an error means: the caller's own reason, a time-out, or a connection that failed. Errors that explain themselves stay. */
  explain(error: unknown, request: string): unknown {
    if (error instanceof KubernetesApiError) return error;
    if (this.#outer?.aborted === true) return this.#outer.reason;
    if (this.#expired) return connectionError(request, new Error(`nothing came within ${this.#timeoutMs} ms`));
    return connectionError(request, error);
  }
}

/** @throws {Error} when the body is longer than `maxBytes` */
export async function readText(body: Body, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString('utf8');
}

/** The lines of a body that is not silent for longer than `idleMs`. */
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
    if (rest.trim() !== '') throw new Error('the answer ended in the middle of a line');
  } catch (error) {
    throw deadline.explain(error, request);
  } finally {
    deadline.clear();
    body.destroy();
  }
}
