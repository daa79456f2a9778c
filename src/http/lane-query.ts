import type { Principal } from '../access/principal.ts';
import { deliver } from '../engine/delivery.ts';
import type { EngineEndpoint } from '../engine/types.ts';
import { AnswerWriter, type AnswerTarget } from './answer-writer.ts';
import { knownError } from './app-errors.ts';
import { errorBody, HttpError } from './errors.ts';
import type { LaneRequest, LaneResponse } from './front/lane.ts';
import type { LaneHead } from './lane-head.ts';
import type { AdmittedQuery } from './limits.ts';
import type { QueryLaneParts } from './query-lane.ts';
import { tooManyAsked, type AskedRows } from './row-limit.ts';

const ROUTE = '/query/sql';

interface Facts {
  readonly id: string;
  readonly head: LaneHead;
  readonly principal: Principal;
  readonly address: string;
  readonly parts: QueryLaneParts;
}

/** One query on the short way: its record, its limits, its answer. */
export class LaneQuery implements AnswerTarget {
  readonly raw: LaneResponse;
  readonly method = 'POST';
  readonly #request: LaneRequest;
  readonly #facts: Facts;
  readonly #startedAt = performance.now();
  #writer: AnswerWriter | undefined;
  #admitted: AdmittedQuery | undefined;

  constructor(request: LaneRequest, response: LaneResponse, facts: Facts) {
    this.raw = response;
    this.#request = request;
    this.#facts = facts;
  }

  get log(): AnswerTarget['log'] {
    const { id, parts } = this.#facts;
    return {
      warn: (subject, message) => parts.logger.warn({ reqId: id, ...subject }, message),
      error: (subject, message) => parts.logger.error({ reqId: id, ...subject }, message),
    };
  }

  /**
   * Counts it against the caller's limits.
   * @returns false where they leave no room for it
   */
  admit(): boolean {
    const { parts, principal } = this.#facts;
    try {
      this.#admitted = parts.limits?.admitQuery(principal);
    } catch (error) {
      if (error instanceof HttpError) return false;
      throw error;
    }
    this.raw.on('close', this.#onClosed);
    return true;
  }

  /** @returns whether a text asks for no more rows than the caller may get */
  asksForFewEnough(asked: AskedRows): boolean {
    const { maxRows } = this;
    return maxRows === undefined || tooManyAsked(asked, maxRows) === undefined;
  }

  /** Rows that the answer may hold; undefined for any number. */
  get maxRows(): number | undefined {
    const { rowsPerQuery = 0 } = this.#admitted?.limits ?? {};
    return rowsPerQuery > 0 ? rowsPerQuery : undefined;
  }

  /** Leaves the request to somebody else, who counts it anew. */
  leave(): void {
    const { parts, principal } = this.#facts;
    this.raw.off('close', this.#onClosed);
    this.#admitted?.end();
    parts.limits?.uncountRequest(principal);
  }

  /** Passes the query on. Nothing is thrown: what goes wrong is answered. */
  async run(tables: readonly string[], endpoint: EngineEndpoint): Promise<void> {
    const { queryTimeoutMs = 0 } = this.#admitted?.limits ?? {};
    const { maxRows } = this;
    const writer = new AnswerWriter(this, { tables, maxRows });
    this.#writer = writer;
    try {
      const { forwarded } = this.#facts.head;
      const headerList = maxRows === undefined ? forwarded : unpacked(forwarded);
      const { url: path, body } = this.#request;
      const timeout = queryTimeoutMs > 0 ? { headersTimeoutMs: queryTimeoutMs } : {};
      await deliver(endpoint, { method: 'POST', path, headerList, body, repeatable: true, ...timeout }, writer);
      await writer.begun;
    } catch (error) {
      this.#answerError(error);
    }
  }

  take(): readonly string[] {
    const { id, parts } = this.#facts;
    return [...parts.headerList, 'x-request-id', id];
  }

  #answerError(error: unknown): void {
    if (this.raw.destroyed || this.raw.headersSent) return;
    const known = knownError(error);
    if (known.statusCode >= 500) this.log.error({ err: known.cause ?? known }, 'the request failed');
    const body = JSON.stringify(errorBody(known.statusCode, known.message, ROUTE, this.#facts.parts.now()));
    this.raw.writeHead(known.statusCode, {
      ...this.#facts.parts.headers,
      'x-request-id': this.#facts.id,
      ...known.headers,
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    });
    this.raw.end(body);
  }

  readonly #onClosed = (): void => {
    const { id, principal, address, parts } = this.#facts;
    const { url } = this.#request;
    this.#writer?.onClosed();
    this.#admitted?.end();
    parts.record(
      {
        id,
        method: 'POST',
        url,
        route: ROUTE,
        principal: principal.srn,
        clientAddress: address,
        startedAt: this.#startedAt,
      },
      this.raw,
    );
  };
}

/** Rows can be counted only in what is not packed. */
function unpacked(headers: readonly string[]): string[] {
  const kept = headers.filter((_, i) => headers[i - (i % 2)]?.toLowerCase() !== 'accept-encoding');
  return [...kept, 'accept-encoding', 'identity'];
}
