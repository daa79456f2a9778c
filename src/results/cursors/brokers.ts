import { errorMessage } from '../../platform/plain-error.ts';
import type { MonotonicClock } from '../../platform/clock.ts';
import { readBody } from '../../pinot/controller.ts';
import { requestPieces } from '../../pinot/pieces.ts';
import { EngineError, type Engine, type EngineEndpoint, type EngineResponse } from '../../pinot/types.ts';
import { QueryError, type QueryErrorCode } from '../errors.ts';
import type { CursorOperation, QueryMetrics } from '../metrics.ts';
import type { PageRequest } from '../page.ts';
import type { EngineCursor, ResultRecord } from '../result-store.ts';
import type { RawField } from '../scanner/fields.ts';
import { decoded, scanInto } from '../submit.ts';
import { cursorIn, isSame, noCursors, shown } from './answer.ts';

export interface CursorBrokersOptions {
  readonly engine: Pick<Engine, 'brokerFor' | 'brokerAt'>;
  readonly metrics: QueryMetrics;
  readonly clock: MonotonicClock;
  /** Called with errors that are not reported to a caller. */
  readonly onProblem: (message: string) => void;
}

/** Record of a result whose rows are kept by the engine. */
export type CursorRecord = ResultRecord & { readonly cursor: EngineCursor };

export function isCursorRecord(record: ResultRecord): record is CursorRecord {
  return record.cursor !== undefined;
}

/** The engine reads the whole result for each page. */
const PAGE_TIMEOUT_MS = 60_000;
const SHORT_TIMEOUT_MS = 10_000;
/** Maximum bytes read from an error response. */
const MAX_REFUSAL_BYTES = 64 * 1024;
/** Compression costs both sides more than it saves on the internal network. */
const HEADERS = { 'accept-encoding': 'identity' };

/** Errors that are not failures of a broker. */
const EXPECTED_ERRORS = new Set<QueryErrorCode>(['not-found', 'bad-page', 'aborted']);

interface Ask {
  readonly method: 'GET' | 'DELETE';
  /** Path after `/responseStore/<id>`. */
  readonly path: string;
  readonly headersTimeoutMs: number;
}

/** Client for the brokers' `/responseStore` API. */
export class CursorBrokers {
  readonly #options: CursorBrokersOptions;

  constructor(options: CursorBrokersOptions) {
    this.#options = options;
  }

  /**
   * Requests a page of a result. The body of the response must be read to its end or destroyed.
   * @throws {QueryError} not-found, bad-page, bad-answer, no-cursors, store-unavailable, aborted; {EngineError} timeout, overloaded
   */
  page(record: CursorRecord, { offset, numRows }: PageRequest, signal: AbortSignal): Promise<EngineResponse> {
    const path = `/results?offset=${offset}&numRows=${numRows}`;
    return this.#timed('cursor_page', () =>
      this.#askOk(record, { method: 'GET', path, headersTimeoutMs: PAGE_TIMEOUT_MS }, signal),
    );
  }

  /** Metadata of a result, without rows. @throws as `page` */
  metadata(record: CursorRecord, signal: AbortSignal): Promise<readonly RawField[]> {
    return this.#timed('cursor_metadata', async () => {
      const ask: Ask = { method: 'GET', path: '', headersTimeoutMs: SHORT_TIMEOUT_MS };
      const fields = await fieldsOf(await this.#askOk(record, ask, signal), signal);
      const reported = cursorIn(fields, record.cursor.url);
      if (reported === undefined || !isSame(record.cursor, reported)) throw notFoundAtEngine(record);
      return fields;
    });
  }

  /**
   * Deletes a result at the engine; an absent result is not an error.
   * @throws {QueryError} store-unavailable, bad-answer, aborted; {EngineError} timeout, overloaded
   */
  async delete(record: CursorRecord, signal: AbortSignal): Promise<void> {
    try {
      // The engine may have reused the id for another query, whose result must not be deleted.
      await this.metadata(record, signal);
      const ask: Ask = { method: 'DELETE', path: '', headersTimeoutMs: SHORT_TIMEOUT_MS };
      const { body } = await this.#timed('cursor_delete', () => this.#askOk(record, ask, signal));
      await readBody(body, MAX_REFUSAL_BYTES, 'the deletion');
    } catch (error) {
      if (!(error instanceof QueryError) || (error.code !== 'not-found' && error.code !== 'no-cursors')) throw error;
    }
  }

  /** Tries to delete an unused result at the engine. If that fails, the engine deletes it when it expires. */
  async forget(record: CursorRecord): Promise<void> {
    // Not aborted with the request that caused it.
    await this.delete(record, AbortSignal.timeout(SHORT_TIMEOUT_MS)).catch((error: unknown) => {
      this.#options.onProblem(
        `failed to delete an unused result at the engine, where it expires later: ${errorMessage(error)}`,
      );
    });
  }

  /** A response with status 200. */
  async #askOk(record: CursorRecord, ask: Ask, signal: AbortSignal): Promise<EngineResponse> {
    const response = await this.#ask(record, ask, signal);
    if (response.status === 200) return response;
    const text = (await readBody(response.body, MAX_REFUSAL_BYTES, record.cursor.url)).toString();
    throw refusal(record, response.status, text);
  }

  async #ask(record: CursorRecord, ask: Ask, signal: AbortSignal): Promise<EngineResponse> {
    const { url } = record.cursor;
    let cause: unknown;
    try {
      const holder = await this.#options.engine.brokerAt?.(url, signal);
      if (holder !== undefined) return await send(holder, record, ask, signal);
    } catch (error) {
      if (!isUnreachable(error)) throw signal.aborted ? abortedByCaller(error) : error;
      cause = error;
    }
    const answer = await this.#askOther(record, ask, signal);
    if (answer !== undefined) return answer;
    if (signal.aborted) throw abortedByCaller(cause);
    throw new QueryError(
      'store-unavailable',
      `the broker ${url} with the result is ${cause === undefined ? 'not live' : 'unreachable'}: ` +
        'try again later, or run the query again',
      { cause },
    );
  }

  /** Brokers may share their response store: then another broker can replace one that is unreachable. */
  async #askOther(record: CursorRecord, ask: Ask, signal: AbortSignal): Promise<EngineResponse | undefined> {
    try {
      const other = await this.#options.engine.brokerFor(record.tables, signal);
      if (other.url === record.cursor.url) return undefined;
      const answer = await send(other, record, ask, signal);
      if (answer.status === 200) return answer;
      answer.body.destroy();
    } catch (error) {
      // The caller reports the error of the first broker; only unexpected errors are thrown here.
      if (!(error instanceof EngineError)) throw error;
    }
    return undefined;
  }

  async #timed<T>(operation: CursorOperation, call: () => Promise<T>): Promise<T> {
    const { metrics, clock } = this.#options;
    const started = clock.monotonic();
    let failed = false;
    try {
      return await call();
    } catch (error) {
      failed = !(error instanceof QueryError) || !EXPECTED_ERRORS.has(error.code);
      throw error;
    } finally {
      metrics.storeCall(operation, (clock.monotonic() - started) / 1000, failed);
    }
  }
}

function send(endpoint: EngineEndpoint, record: CursorRecord, ask: Ask, signal: AbortSignal): Promise<EngineResponse> {
  const { method, headersTimeoutMs } = ask;
  const path = `/responseStore/${record.cursor.requestId}${ask.path}`;
  return requestPieces(endpoint, { method, path, headers: HEADERS, signal, headersTimeoutMs });
}

async function fieldsOf(response: EngineResponse, signal: AbortSignal): Promise<readonly RawField[]> {
  const body = decoded(response);
  try {
    return (await scanInto(IGNORED_ROWS, body, signal)).fields;
  } finally {
    body.destroy();
  }
}

const IGNORED_ROWS = { push: async (): Promise<void> => undefined, flush: async (): Promise<void> => undefined };

/** Maps an error response of the engine to a QueryError. */
function refusal(record: CursorRecord, status: number, text: string): QueryError {
  const { url } = record.cursor;
  if (status === 404) return text.startsWith('Query results for') ? notFoundAtEngine(record) : noCursors(url);
  if (status === 401 || status === 403) {
    return new QueryError(
      'bad-answer',
      `the broker ${url} rejects the gateway's credential with status ${status}: the credential in \`engine-credential-file\` ` +
        'must have access to the tables of the query, and be allowed to get and delete response stores',
    );
  }
  if (/^Offset \d+ should be lesser than/.test(text)) {
    return new QueryError('bad-page', `\`offset\` is outside the result: ${shown(text)}`);
  }
  return new QueryError('bad-answer', `the broker ${url} responded with status ${status}: ${shown(text)}`);
}

export function notFoundAtEngine({ requestId }: ResultRecord): QueryError {
  return new QueryError('not-found', `no query results for \`${requestId}\` at the engine: expired or deleted there`);
}

function isUnreachable(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'unreachable';
}

function abortedByCaller(cause: unknown): QueryError {
  return new QueryError('aborted', 'request aborted by the client', { cause });
}
