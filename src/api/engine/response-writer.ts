import type { ServerResponse } from 'node:http';
import { headerOf, responseHeaderList } from '../../pinot/headers.ts';
import { EngineError, type ResponseFlow, type ResponseHead, type ResponseSink } from '../../pinot/types.ts';
import { cutResponse } from '../server/logs/access-log.ts';
import { type AuthorizedTables, TablesGuard, UnexpectedTables } from './tables-guard.ts';
import { credentialRefused, HttpError, unexplainedFailure } from '../server/errors.ts';
import { RowCounter, TooManyRows } from './row-limit.ts';

/** Reading from the engine pauses above this many buffered bytes. A lower value would pause after almost every chunk, which costs CPU. */
export const HIGH_WATER_BYTES = 256 * 1024;
/** Status in the access record of a response that the engine did not complete. */
const BAD_GATEWAY = 502;

/** Limits on the content of a response. */
export interface ResponseBounds {
  /** Tables that `tablesQueried` may name; not checked where absent. */
  readonly tables?: AuthorizedTables | undefined;
  /** Maximum rows; not counted where absent. */
  readonly maxRows?: number | undefined;
}

/** The client side of a response. */
export interface ResponseTarget {
  readonly raw: ServerResponse;
  /** Request method. */
  readonly method: string;
  readonly log: {
    warn(subject: object, message: string): void;
    error(subject: object, message: string): void;
  };
  /**
   * Called once, right before the writer sends the response head; only the writer may use the response afterwards.
   * @returns the gateway's own headers: lower-case name, value, name, value, …
   */
  beginResponse(): readonly string[];
}

/**
 * Streams a response of the engine to the client. The head is sent together with the first bytes. Until then `started` may reject, and the caller
 * can send an error response. After that, a failure closes the client's connection.
 */
export class ResponseWriter implements ResponseSink {
  readonly #target: ResponseTarget;
  readonly #bounds: ResponseBounds;
  readonly #started = Promise.withResolvers<void>();
  #guard: TablesGuard | undefined;
  #rows: RowCounter | undefined;
  #flow: ResponseFlow | undefined;
  #head: ResponseHead | undefined;
  #sending = false;
  #paused = false;
  #failed = false;
  /** True until the client has read what it was sent. */
  #isDraining = false;

  constructor(target: ResponseTarget, bounds: ResponseBounds) {
    this.#target = target;
    this.#bounds = bounds;
    // Avoids an unhandled rejection where the caller fails before it awaits this.
    this.#started.promise.catch(() => undefined);
  }

  /** Resolves when the response head is written. Rejects where nothing was sent; the caller can then send an error response. */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  onAsked(flow: ResponseFlow): void {
    this.#flow = flow;
    if (this.#target.raw.destroyed) this.onClosed();
  }

  onHeaders(head: ResponseHead): void {
    this.#head = head;
    if (head.status === 401) return this.#fail(credentialRefused());
    const { tables, maxRows } = this.#bounds;
    const coding = codingOf(head);
    if (maxRows !== undefined && coding !== 'identity') {
      return this.#fail(new HttpError(502, 'the engine compressed its response, so its rows cannot be counted'));
    }
    if (maxRows !== undefined) this.#rows = new RowCounter(maxRows, head.status);
    if (tables === undefined) return;
    if (coding !== 'identity' && coding !== 'gzip') {
      const why =
        'the engine sent a content coding that was not requested, so the tables in its response cannot be checked';
      return this.#fail(new HttpError(502, why));
    }
    this.#guard = new TablesGuard(tables, coding === 'gzip', () => this.#resume());
  }

  onData(chunk: Buffer): boolean {
    if (this.#failed) return true;
    const tooMany = this.#rows?.push(chunk);
    if (tooMany !== undefined) {
      this.#fail(tooMany);
      return true;
    }
    if (this.#guard === undefined) this.#write(chunk);
    else for (const ready of this.#guard.push(chunk)) this.#write(ready);
    const { raw } = this.#target;
    if (raw.writableLength > HIGH_WATER_BYTES) this.#pauseUntilDrained();
    else this.#paused = this.#guard?.needsDrain ?? false;
    return !this.#paused;
  }

  onEnd(): void {
    // A response that was held back ends although this writer refused it.
    if (this.#failed) return;
    if (this.#guard === undefined) return this.#finish([]);
    this.#guard.finish((unexpected, rest) => {
      if (unexpected === undefined) this.#finish(rest);
      else this.#fail(unexpected);
    });
  }

  onBroken(error: Error): void {
    if (this.#sending || error instanceof HttpError || error instanceof EngineError) return this.#fail(error);
    const why = `the engine's response ended unexpectedly: ${error.message}`;
    this.#fail(new HttpError(BAD_GATEWAY, why, { cause: error }));
  }

  #pauseUntilDrained(): void {
    this.#paused = true;
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#target.raw.once('drain', () => {
      this.#isDraining = false;
      this.#resume();
    });
  }

  /** Resumes reading from the engine once both the client and the decompression have drained. */
  #resume(): void {
    if (!this.#paused || this.#guard?.needsDrain || this.#isDraining) return;
    this.#paused = false;
    this.#flow?.resume();
  }

  /** @param length body length, if known */
  #begin(length?: number): void {
    if (this.#sending || this.#head === undefined) return;
    this.#sending = true;
    const { status, rawHeaders } = this.#head;
    const headers = responseHeaderList(rawHeaders, this.#target.beginResponse());
    // Chunked engine responses that are complete by now get a `Content-Length`.
    const { method } = this.#target;
    const announced =
      method === 'HEAD' || status === 204 || status === 304 || headerOf(headers, 'content-length') !== undefined;
    if (length !== undefined && !announced) headers.push('content-length', String(length));
    this.#target.raw.writeHead(status, headers);
    this.#started.resolve();
  }

  /** Call it when the response closes. Aborts the engine request if the response is incomplete. */
  onClosed(): void {
    // After end() Node has the whole response.
    if (!this.#target.raw.writableEnded) this.#flow?.abort(new Error('the client disconnected'));
  }

  #write(chunk: Buffer): void {
    this.#begin();
    this.#target.raw.write(chunk);
  }

  #finish(rest: readonly Buffer[]): void {
    this.#guard?.close();
    const { raw } = this.#target;
    if (raw.destroyed) return this.#fail(new Error('the client disconnected'));
    const length = rest.reduce((sum, part) => sum + part.length, 0);
    const { status = 0 } = this.#head ?? {};
    if (!this.#sending && length === 0 && status >= 500 && this.#target.method !== 'HEAD') {
      return this.#fail(unexplainedFailure(status));
    }
    this.#begin(length);
    const last = rest.at(-1);
    if (last === undefined) return void raw.end();
    // Not corked: Node 24 ends a corked chunked response before its last chunk.
    for (const chunk of rest.slice(0, -1)) this.#write(chunk);
    raw.end(last);
  }

  #fail(error: Error): void {
    // The abort below is reported through onBroken() again.
    if (this.#failed) return;
    this.#failed = true;
    this.#guard?.close();
    if (error instanceof UnexpectedTables) {
      const tables = { tables: error.tables, allowed: this.#bounds.tables?.names };
      this.#target.log.error(tables, 'a query read tables that were not authorized');
    } else if (error instanceof TooManyRows) {
      this.#target.log.warn({ max: error.max }, 'response aborted: more rows than the limit of the caller');
    } else if (this.#sending && !this.#target.raw.destroyed) {
      this.#target.log.warn({ err: error }, "the engine's response ended unexpectedly");
    }
    this.#started.reject(error);
    if (this.#sending && !this.#target.raw.destroyed) {
      cutResponse(this.#target.raw, error instanceof HttpError ? error.statusCode : BAD_GATEWAY);
    }
    this.#flow?.abort(error);
  }
}

function codingOf({ rawHeaders }: ResponseHead): string {
  return headerOf(rawHeaders, 'content-encoding')?.trim().toLowerCase() ?? 'identity';
}
