import { text } from 'node:stream/consumers';
import { EngineError, type EngineEndpoint, type EngineRequest, type EngineResponse } from '../../pinot/types.ts';
import { sleep, type Clock } from '../../platform/clock.ts';
import { retry } from '../../platform/retry.ts';
import type { CallOutcome, HealthMetrics } from '../metrics.ts';
import { readFailed, readOk, type Read } from '../snapshot.ts';
import { JsonScanner, type JsonVisitor } from './json-scanner.ts';
import { askForPieces, type PieceConsumer } from './pieces.ts';

export interface ReaderOptions {
  readonly metrics: HealthMetrics;
  readonly clock: Pick<Clock, 'random' | 'schedule'>;
  /** Aborts all calls; parts that were not read by then are failed reads. */
  readonly signal: AbortSignal;
  /** Maximum number of concurrent calls. */
  readonly concurrency: number;
  /** Maximum number of attempts for one call. */
  readonly attempts: number;
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
const BACKOFF = { baseMs: 300, maxMs: 10_000, jitter: 'half' } as const;
/** Limit for responses that are not read as streams. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;

/** The engine responded with an error status. */
export class StatusError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.name = 'StatusError';
    this.status = status;
  }
}

/** Makes the calls of one run, with bounded concurrency, a time-out for each, and retries with backoff. */
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

  /** The parsed JSON of a response. @throws {StatusError} a status other than 200 */
  async json(call: Call): Promise<unknown> {
    return this.#attempts(call, async () => {
      const answer = await this.#text(call);
      if (answer.status !== 200) throw statusError(call, answer.status, answer.body);
      return parse(answer.body);
    });
  }

  /** The response, with any status. */
  async answer(call: Call): Promise<Answer> {
    return this.#attempts(
      call,
      () => this.#text(call),
      ({ status }) => (status < 400 ? 'ok' : 'http_error'),
    );
  }

  /** Streams the JSON of a response to a visitor. @param visitor creates one for each attempt @returns the visitor of the last attempt */
  async stream<V extends JsonVisitor>(call: Call, visitor: () => V): Promise<V> {
    return this.pieces(call, () => {
      const current = visitor();
      const scanner = new JsonScanner(current);
      return {
        push: (piece) => {
          if (current.satisfied?.() !== true) scanner.push(piece);
          return false;
        },
        end: () => {
          if (current.satisfied?.() !== true) scanner.end();
          return current;
        },
      };
    });
  }

  /** Streams the body of a response to a consumer. @param consumer creates one for each attempt @returns the consumer's result */
  async pieces<T>(call: Call, consumer: () => PieceConsumer<T>): Promise<T> {
    return this.#attempts(call, async () => {
      const answer = await askForPieces(call.endpoint, this.#request(call), consumer());
      if ('value' in answer) return answer.value;
      throw statusError(call, answer.status, answer.text);
    });
  }

  /** Converts the outcome of `work` to a Read. */
  async read<T>(work: () => Promise<T>): Promise<Read<T>> {
    try {
      return readOk(await work());
    } catch (error) {
      return readFailed(this.explain(error));
    }
  }

  /** The message of a failed read. */
  explain(error: unknown): string {
    if (this.signal.aborted) return 'the run was aborted or reached its deadline';
    return error instanceof Error ? error.message : String(error);
  }

  sleep(ms: number): Promise<void> {
    return sleep(this.#options.clock, ms, this.signal);
  }

  async #attempts<T>(call: Call, ask: () => Promise<T>, outcome?: (value: T) => CallOutcome): Promise<T> {
    const { attempts, clock } = this.#options;
    return retry(() => this.#once(call, ask, outcome), {
      attempts,
      backoff: BACKOFF,
      clock,
      signal: this.signal,
      retryAfterMs: (error) => (isRetryable(error) ? 0 : undefined),
    });
  }

  async #once<T>(call: Call, ask: () => Promise<T>, outcome?: (value: T) => CallOutcome): Promise<T> {
    await this.#acquire();
    try {
      const value = await ask();
      this.#options.metrics.engineCall(call.name, outcome?.(value) ?? 'ok');
      return value;
    } catch (error) {
      this.#options.metrics.engineCall(call.name, this.#outcome(error));
      throw error instanceof Error ? error : new Error(String(error));
    } finally {
      this.#release();
    }
  }

  #request(call: Call): EngineRequest & { readonly signal: AbortSignal } {
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

  async #text(call: Call): Promise<Answer> {
    const { status, headers, body } = await call.endpoint.request(this.#request(call));
    try {
      let size = 0;
      body.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_TEXT_BYTES) body.destroy(new Error('the response is larger than 64 MiB'));
      });
      return { status, headers, body: await text(body) };
    } finally {
      // Frees the connection if the body was not read to its end.
      body.destroy();
    }
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

/** Network errors, time-outs, 5xx and 429 are retried; other statuses would be the same again. */
function isRetryable(error: unknown): boolean {
  if (error instanceof StatusError) return error.status >= 500 || error.status === 429;
  return !(error instanceof EngineError) || error.code !== 'aborted';
}

function statusError(call: Call, status: number, body: string): StatusError {
  return new StatusError(
    status,
    `\`${call.method ?? 'GET'} ${call.path.split('?')[0]}\` responded with ${status}${errorText(body)}`,
  );
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new EngineError('bad-answer', `the response is not JSON: \`${body.slice(0, 80)}\``, { cause: error });
  }
}

/** The message of the engine's error body, truncated. */
function errorText(body: string): string {
  const match = /"(?:error|message)"\s*:\s*"((?:[^"\\]|\\.)*)"/u.exec(body);
  const message = match?.[1] ?? '';
  return message === '' ? '' : `: ${message.slice(0, 200)}`;
}
