import { headerOf, responseHeaderList } from '../engine/headers.ts';
import { releasePiece } from '../engine/wire/slabs.ts';
import type { AnswerFlow, AnswerHead, AnswerSink } from '../engine/types.ts';
import { cutAnswer } from './access-log.ts';
import { TablesGuard, UnexpectedTables } from './engine-proxy/tables-guard.ts';
import { HttpError } from './errors.ts';
import type { AnswerStream } from './front/lane.ts';
import { RowCounter, TooManyRows } from './row-limit.ts';

/** Bytes that may wait for a client before the engine is held back. Fewer would stop the reading after each piece, which costs more than the memory. */
const HIGH_WATER_BYTES = 256 * 1024;
/** A client that takes nothing for this long is left, so that it does not keep a connection to the engine for good. */
const STALL_MS = 120_000;
/** For the record of an answer that the engine broke off. */
const BROKEN = 502;

/** What an answer may hold. */
export interface AnswerBounds {
  /** Tables that the answer may say it read; it is not looked at where absent. */
  readonly tables?: readonly string[] | undefined;
  /** Rows; not counted where absent. */
  readonly maxRows?: number | undefined;
}

/** Who an answer goes to. */
export interface AnswerTarget {
  readonly raw: AnswerStream;
  /** Of the request. */
  readonly method: string;
  readonly log: {
    warn(subject: object, message: string): void;
    error(subject: object, message: string): void;
  };
  /** Headers that stand beside those of the engine, names in lower case and values in turn. Asked once, right before the head goes out: from then on the answer is the writer's. */
  take(): readonly string[];
}

/**
 * Writes an answer of the engine to the client as it comes. Head and first bytes go out together; until then nothing is sent, and `begun` may
 * still fail with an error to answer instead. Later on a broken answer breaks the client's connection.
 */
export class AnswerWriter implements AnswerSink {
  readonly #target: AnswerTarget;
  readonly #bounds: AnswerBounds;
  readonly #begun = Promise.withResolvers<void>();
  #guard: TablesGuard | undefined;
  #rows: RowCounter | undefined;
  #flow: AnswerFlow | undefined;
  #head: AnswerHead | undefined;
  #sending = false;
  #held = false;
  #failed = false;

  constructor(target: AnswerTarget, bounds: AnswerBounds) {
    this.#target = target;
    this.#bounds = bounds;
    // Whoever asked may have failed before it waits for this.
    this.#begun.promise.catch(() => undefined);
  }

  /** Settles when the answer is on its way; fails where nothing was sent, and another answer is in place. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  onAsked(flow: AnswerFlow): void {
    this.#flow = flow;
    if (this.#target.raw.destroyed) this.onClosed();
  }

  onHeaders(head: AnswerHead): void {
    this.#head = head;
    if (head.status === 401) {
      // It is about the gateway's credential: the caller's is good, and must not be thrown away for this.
      const why = 'the engine refuses the credential of the gateway: its administrator must set another';
      return this.#fail(new HttpError(502, why));
    }
    const encoding = headerOf(head.rawHeaders, 'content-encoding');
    const { tables, maxRows } = this.#bounds;
    if (maxRows !== undefined && encoding !== undefined && encoding !== 'identity') {
      return this.#fail(new HttpError(502, 'the engine packed its answer, so that its rows cannot be counted'));
    }
    if (maxRows !== undefined && head.status === 200) this.#rows = new RowCounter(maxRows);
    if (tables === undefined || (encoding !== undefined && encoding !== 'gzip')) return;
    this.#guard = new TablesGuard(tables, encoding === 'gzip', () => this.#release());
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
    if (raw.writableLength > HIGH_WATER_BYTES) this.#holdUntilDrained();
    else this.#held = this.#guard?.behind ?? false;
    return !this.#held;
  }

  onEnd(): void {
    if (this.#guard === undefined) return this.#finish([]);
    this.#guard.finish((unexpected, rest) => {
      if (unexpected === undefined) this.#finish(rest);
      else this.#fail(unexpected);
    });
  }

  onBroken(error: Error): void {
    this.#fail(error);
  }

  #holdUntilDrained(): void {
    this.#held = true;
    const { raw } = this.#target;
    const timer = setTimeout(() => raw.destroy(), STALL_MS);
    raw.once('close', () => clearTimeout(timer));
    raw.once('drain', () => {
      clearTimeout(timer);
      this.#release();
    });
  }

  /** Goes on where neither the client nor the unpacking is behind. */
  #release(): void {
    if (!this.#held || this.#guard?.behind || this.#target.raw.writableNeedDrain) return;
    this.#held = false;
    this.#flow?.resume();
  }

  /** @param length of the whole body, where it is known now */
  #begin(length?: number): void {
    if (this.#sending || this.#head === undefined) return;
    this.#sending = true;
    const { status, rawHeaders } = this.#head;
    const headers = responseHeaderList(rawHeaders, this.#target.take());
    // The engine cuts its answers into chunks that are whole by now.
    const { method } = this.#target;
    const told =
      method === 'HEAD' || status === 204 || status === 304 || headerOf(headers, 'content-length') !== undefined;
    if (length !== undefined && !told) headers.push('content-length', String(length));
    this.#target.raw.writeHead(status, headers);
    this.#begun.resolve();
  }

  /** To be told when the client's connection or its answer is over: the engine need not go on with what nobody waits for. */
  onClosed(): void {
    // An answer that was ended is on its way, whatever becomes of the connection.
    if (!this.#target.raw.writableEnded) this.#flow?.abort(new Error('the client went away'));
  }

  #write(chunk: Buffer): void {
    this.#begin();
    this.#target.raw.write(chunk, () => releasePiece(chunk));
  }

  /** Sends the last pieces in one packet where they fit. */
  #finish(rest: readonly Buffer[]): void {
    this.#guard?.close();
    const { raw } = this.#target;
    if (raw.destroyed) return this.#fail(new Error('the client went away'));
    this.#begin(rest.reduce((sum, { length }) => sum + length, 0));
    const last = rest.at(-1);
    if (last === undefined) return void raw.end();
    raw.cork();
    for (const chunk of rest.slice(0, -1)) this.#write(chunk);
    raw.end(last, () => releasePiece(last));
    raw.uncork();
  }

  #fail(error: Error): void {
    // Giving the rest up is told of as a break, too.
    if (this.#failed) return;
    this.#failed = true;
    this.#guard?.close();
    if (error instanceof UnexpectedTables) {
      const tables = { tables: error.tables, allowed: this.#bounds.tables };
      this.#target.log.error(tables, 'defect: a query read tables that its caller was not asked about');
    } else if (error instanceof TooManyRows) {
      this.#target.log.warn({ max: error.max }, 'an answer was cut: it holds more rows than its caller may get');
    } else if (this.#sending && !this.#target.raw.destroyed) {
      this.#target.log.warn({ err: error }, 'the answer of the engine broke off');
    }
    this.#begun.reject(error);
    if (this.#sending && !this.#target.raw.destroyed) {
      cutAnswer(this.#target.raw, error instanceof HttpError ? error.statusCode : BROKEN);
    }
    this.#flow?.abort(error);
  }
}
