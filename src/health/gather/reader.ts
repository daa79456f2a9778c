import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { EngineError, type EngineEndpoint, type EngineRequest, type EngineResponse } from '../../engine/types.ts';
import type { CallOutcome, HealthMetrics } from '../metrics.ts';
import { readFailed, readOk, type Read } from '../snapshot.ts';
import { JsonScanner, type JsonVisitor } from './json-scanner.ts';

export interface ReaderOptions {
  readonly metrics: HealthMetrics;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Ends every call; what was not read by then is a failed read. */
  readonly signal: AbortSignal;
  /** How many calls may be under way at once. */
  readonly concurrency: number;
  /** How often a call is made at most. */
  readonly attempts: number;
  /** Resolves after so many milliseconds, or rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface Call {
  /** Name of the endpoint for metrics; one of a fixed set. */
  readonly name: string;
  readonly endpoint: EngineEndpoint;
  readonly path: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: EngineResponse['headers'];
  readonly body: string;
}

const TIMEOUT_MS = 15_000;
const RETRY_BASE_MS = 200;
/** Longer answers than this are only read as streams. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;

/** The engine answered, and with an error. */
export class StatusError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.name = 'StatusError';
    this.status = status;
  }
}

/** Makes the calls of one run: a bounded number at once, each with a time-out, again after a while where that may help. */
export class Reader {
  readonly #options: ReaderOptions;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#free = options.concurrency;
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  /** The answer's JSON. Rejects with a StatusError where its status is no 200. */
  async json(call: Call): Promise<unknown> {
    return this.#attempts(call, async (answer) => parse(await this.#text(answer)));
  }

  /** The answer, whatever its status. */
  async answer(call: Call): Promise<Answer> {
    return this.#attempts(
      call,
      async (answer) => ({ status: answer.status, headers: answer.headers, body: await this.#text(answer) }),
      true,
    );
  }

  /** Streams the answer's JSON by a visitor, which must be a new one for each attempt. Resolves with that visitor. */
  async stream<V extends JsonVisitor>(call: Call, visitor: () => V): Promise<V> {
    return this.chunks(call, () => {
      const current = visitor();
      const scanner = new JsonScanner(current);
      return {
        push: (chunk) => {
          if (current.satisfied?.() !== true) scanner.push(chunk);
        },
        end: () => {
          if (current.satisfied?.() !== true) scanner.end();
          return current;
        },
      };
    });
  }

  /** The answer's body, chunk by chunk, to a consumer that must be a new one for each attempt. Resolves with what it gives in the end. */
  async chunks<T>(call: Call, consumer: () => { push(chunk: Buffer): void; end(): T }): Promise<T> {
    return this.#attempts(call, async (answer) => {
      const current = consumer();
      await drained(answer.body, (chunk) => current.push(chunk));
      return current.end();
    });
  }

  /** The outcome of something that reads, as a Read. */
  async read<T>(work: () => Promise<T>): Promise<Read<T>> {
    try {
      return readOk(await work());
    } catch (error) {
      return readFailed(this.explain(error));
    }
  }

  explain(error: unknown): string {
    if (this.signal.aborted) return 'the deadline of the run passed before';
    return error instanceof Error ? error.message : String(error);
  }

  sleep(ms: number): Promise<void> {
    return this.#options.sleep(ms, this.signal);
  }

  async #attempts<T>(call: Call, use: (answer: EngineResponse) => Promise<T>, anyStatus = false): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once(call, use, anyStatus);
      } catch (error) {
        if (attempt >= this.#options.attempts || this.signal.aborted || !mayHelp(error)) throw error;
        await this.sleep(RETRY_BASE_MS * 2 ** (attempt - 1) * (0.5 + this.#options.random()));
      }
    }
  }

  async #once<T>(call: Call, use: (answer: EngineResponse) => Promise<T>, anyStatus: boolean): Promise<T> {
    await this.#acquire();
    try {
      const answer = await call.endpoint.request(this.#request(call));
      try {
        if (answer.status !== 200 && !anyStatus) throw await this.#statusError(call, answer);
        const value = await use(answer);
        this.#options.metrics.engineCall(call.name, answer.status < 400 ? 'ok' : 'http_error');
        return value;
      } finally {
        // Read to its end it is a no-op; else it frees the connection.
        answer.body.destroy();
      }
    } catch (error) {
      this.#options.metrics.engineCall(call.name, this.#outcome(error));
      throw error instanceof Error ? error : new Error(String(error));
    } finally {
      this.#release();
    }
  }

  #request(call: Call): EngineRequest {
    const timeout = call.timeoutMs ?? TIMEOUT_MS;
    return {
      method: call.method ?? 'GET',
      path: call.path,
      headersTimeoutMs: timeout,
      bodyTimeoutMs: timeout,
      signal: this.signal,
      ...(call.headers === undefined ? {} : { headers: call.headers }),
      ...(call.body === undefined ? {} : { body: call.body }),
    };
  }

  async #statusError(call: Call, answer: EngineResponse): Promise<StatusError> {
    const body = await this.#text(answer).catch(() => '');
    const path = call.path.split('?')[0];
    return new StatusError(answer.status, `\`${call.method ?? 'GET'} ${path}\` answered ${answer.status}${said(body)}`);
  }

  async #text(answer: EngineResponse): Promise<string> {
    let size = 0;
    answer.body.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_TEXT_BYTES) answer.body.destroy(new Error('the answer is larger than 64 MiB'));
    });
    return text(answer.body);
  }

  #outcome(error: unknown): CallOutcome {
    if (error instanceof StatusError) return 'http_error';
    if (this.signal.aborted) return 'aborted';
    if (!(error instanceof EngineError)) return 'bad_answer';
    switch (error.code) {
      case 'timeout':
        return 'timeout';
      case 'aborted':
        return 'aborted';
      case 'bad-answer':
        return 'bad_answer';
      default:
        return 'unreachable';
    }
  }

  async #acquire(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

/** A broken connection, a time-out or a server's own trouble may pass; a refusal or a wrong question will not. */
function mayHelp(error: unknown): boolean {
  if (error instanceof StatusError) return error.status >= 500 || error.status === 429;
  return !(error instanceof EngineError) || error.code !== 'aborted';
}

/** Hands out a body chunk by chunk; by events, which cost a fraction of an async iterator. */
export async function drained(body: Readable, onChunk: (chunk: Buffer) => void): Promise<void> {
  const ended = finished(body, { writable: false });
  body.on('data', (chunk: Buffer) => {
    try {
      onChunk(chunk);
    } catch (error) {
      body.destroy(error as Error);
    }
  });
  await ended;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new EngineError('bad-answer', `the answer is no JSON: \`${body.slice(0, 80)}\``, { cause: error });
  }
}

/** The engine's own words, cut short. */
function said(body: string): string {
  const match = /"(?:error|message)"\s*:\s*"((?:[^"\\]|\\.)*)"/u.exec(body);
  const words = match?.[1] ?? '';
  return words === '' ? '' : `: ${words.slice(0, 200)}`;
}
