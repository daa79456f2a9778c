import { text } from 'node:stream/consumers';
import { asError, errorMessage } from '../../../platform/plain-error.ts';
import { EngineError, type EngineRequest } from '../../../pinot/types.ts';
import { sleep, type Clock } from '../../../platform/clock.ts';
import { Deadline } from '../../../platform/deadline.ts';
import { retry } from '../../../platform/retry.ts';
import type { CallOutcome, HealthMetrics } from '../../metrics.ts';
import { readFailed, readHung, readOk, readReported, type Read } from '../../snapshot.ts';
import {
  parseJson,
  ReportedError,
  statusError,
  StatusError,
  titleOf,
  type CallResponse,
  type ControllerCall,
} from './call.ts';
import { EndpointGuards, HangingError, seconds } from './endpoint-guards.ts';
import { JsonScanner, type JsonVisitor } from './json-scanner.ts';
import { askForPieces, type PieceConsumer } from './pieces.ts';
import { Slots } from './slots.ts';

export interface ReaderOptions {
  readonly metrics: HealthMetrics;
  readonly clock: Pick<Clock, 'monotonic' | 'random' | 'schedule'>;
  /** Aborts all calls; parts that were not read by then are failed reads. */
  readonly signal: AbortSignal;
  /** Maximum number of concurrent calls, except slow ones; see `Slots`. */
  readonly concurrency: number;
  /** Maximum number of attempts for one call. */
  readonly attempts: number;
}

const TIMEOUT_MS = 15_000;
/** Maximum duration of a call, as a multiple of its time-out: a response may arrive slowly, but must end. */
const MAX_TIMEOUTS = 6;
const MAX_REPEATED_TIMEOUT_MS = 20_000;
/** Attempts of a call without a response. */
const HANGING_ATTEMPTS = 2;
const BACKOFF = { baseMs: 300, maxMs: 10_000, jitter: 'half' } as const;
/** Limit for responses that are not read as streams. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;

/** Makes the calls of one run, with bounded concurrency, a time-out for each, and retries with backoff. */
export class EngineReader {
  readonly #options: ReaderOptions;
  readonly #slots: Slots;
  readonly #guards: EndpointGuards;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#slots = new Slots(options.concurrency, options.clock);
    this.#guards = new EndpointGuards(options.clock);
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  /** The parsed JSON of a response. @throws {StatusError} a status other than 200 */
  async json(call: ControllerCall): Promise<unknown> {
    return (await this.jsonResponse(call)).body;
  }

  /** The parsed JSON of a response, and its headers. @throws {StatusError} a status other than 200 */
  async jsonResponse(call: ControllerCall): Promise<{ body: unknown; headers: CallResponse['headers'] }> {
    return this.#attempts(call, async (signal) => {
      const response = await this.#text(call, signal);
      if (response.status !== 200) throw statusError(call, response);
      return { body: parseJson(response.body), headers: response.headers };
    });
  }

  /** The response, with any status. */
  async response(call: ControllerCall): Promise<CallResponse> {
    return this.#attempts(
      call,
      (signal) => this.#text(call, signal),
      ({ status }) => (status < 400 ? 'ok' : 'http_error'),
    );
  }

  /** Streams the JSON of a response to a visitor. @param visitor creates one for each attempt @returns the visitor of the last attempt */
  async stream<V extends JsonVisitor>(call: ControllerCall, visitor: () => V): Promise<V> {
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
  async pieces<T>(call: ControllerCall, consumer: () => PieceConsumer<T>): Promise<T> {
    return this.#attempts(call, async (signal) => {
      const response = await askForPieces(call.endpoint, this.#request(call, signal), consumer());
      if ('value' in response) return response.value;
      throw statusError(call, { status: response.status, headers: {}, body: response.text });
    });
  }

  /** Converts the outcome of `work` to a Read. */
  async read<T>(work: () => Promise<T>): Promise<Read<T>> {
    try {
      return readOk(await work());
    } catch (error) {
      if (error instanceof ReportedError) return readReported(error.message, error.check);
      return error instanceof HangingError ? readHung(error.message) : readFailed(this.explain(error));
    }
  }

  /** The message of a failed read. */
  explain(error: unknown): string {
    if (this.signal.aborted) return 'the run was aborted or reached its deadline';
    return errorMessage(error);
  }

  sleep(ms: number): Promise<void> {
    return sleep(this.#options.clock, ms, this.signal);
  }

  async #attempts<T>(
    call: ControllerCall,
    ask: (signal: AbortSignal) => Promise<T>,
    outcome?: (value: T) => CallOutcome,
  ): Promise<T> {
    const { attempts, clock } = this.#options;
    const retryHanging = call.retryHanging ?? (call.timeoutMs ?? TIMEOUT_MS) <= MAX_REPEATED_TIMEOUT_MS;
    let hanging = 0;
    let first: HangingError | undefined;
    const attempt = async (): Promise<T> => {
      try {
        return await this.#once(call, ask, outcome);
      } catch (error) {
        // The repetition was not made. The error to report is that of the first attempt, which got no response.
        if (first !== undefined && error instanceof HangingError && !error.called) throw first;
        if (error instanceof HangingError) first = error;
        throw error;
      }
    };
    return retry(attempt, {
      attempts,
      backoff: BACKOFF,
      clock,
      signal: this.signal,
      retryAfterMs: (error) => {
        if (!(error instanceof HangingError)) return isRetryable(error) ? 0 : undefined;
        hanging += 1;
        return retryHanging && hanging < HANGING_ATTEMPTS ? 0 : undefined;
      },
    });
  }

  async #once<T>(
    call: ControllerCall,
    ask: (signal: AbortSignal) => Promise<T>,
    outcome?: (value: T) => CallOutcome,
  ): Promise<T> {
    const { clock, metrics } = this.#options;
    this.#guards.check(call.name);
    const release = call.usesSlot === false ? () => undefined : await this.#slots.acquire(call.priority ?? 0);
    let deadline: Deadline | undefined;
    try {
      // Other calls of the kind may have got no response while this one waited.
      this.#guards.check(call.name);
      deadline = new Deadline(clock, (call.timeoutMs ?? TIMEOUT_MS) * MAX_TIMEOUTS, this.signal);
      const value = await ask(deadline.signal);
      this.#guards.responded(call.name);
      metrics.engineCall(call.name, outcome?.(value) ?? 'ok');
      return value;
    } catch (error) {
      if (error instanceof HangingError) throw error;
      const expired = deadline?.expired === true;
      metrics.engineCall(call.name, expired ? 'timeout' : this.#outcome(error));
      throw this.#failure(call, expired, error);
    } finally {
      deadline?.clear();
      release();
    }
  }

  /** The error of an attempt, with the name of its call; a time-out is recorded. */
  #failure(call: ControllerCall, expired: boolean, error: unknown): Error {
    const timedOut = error instanceof EngineError && error.code === 'timeout';
    if ((expired || timedOut) && !this.signal.aborted) {
      const timeoutMs = call.timeoutMs ?? TIMEOUT_MS;
      const hanging = new HangingError(
        expired
          ? `${titleOf(call)} did not end within ${seconds(timeoutMs * MAX_TIMEOUTS)}`
          : `${titleOf(call)} got no response within ${seconds(timeoutMs)}`,
        true,
      );
      this.#guards.hung(call.name, hanging.message);
      return hanging;
    }
    if (error instanceof StatusError) this.#guards.responded(call.name);
    if (error instanceof StatusError || this.signal.aborted) return asError(error);
    const message = `${titleOf(call)}: ${errorMessage(error)}`;
    if (error instanceof EngineError) return new EngineError(error.code, message, { cause: error });
    return new Error(message, { cause: error });
  }

  #request(call: ControllerCall, signal: AbortSignal): EngineRequest & { readonly signal: AbortSignal } {
    const timeout = call.timeoutMs ?? TIMEOUT_MS;
    return {
      method: call.method ?? 'GET',
      path: call.path,
      headersTimeoutMs: timeout,
      bodyTimeoutMs: timeout,
      signal,
      ...(call.headers === undefined ? {} : { headers: call.headers }),
      ...(call.body === undefined ? {} : { body: call.body }),
    };
  }

  async #text(call: ControllerCall, signal: AbortSignal): Promise<CallResponse> {
    const { status, headers, body } = await call.endpoint.request(this.#request(call, signal));
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
      case 'bad-response':
        return 'bad_answer';
      default:
        return 'unreachable';
    }
  }
}

/** Network errors, 5xx and 429 are retried; other statuses would be the same again. */
function isRetryable(error: unknown): boolean {
  if (error instanceof StatusError) return error.status >= 500 || error.status === 429;
  return !(error instanceof EngineError) || error.code !== 'aborted';
}
