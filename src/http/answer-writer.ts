import type { FastifyReply } from 'fastify';
import { headerOf, responseHeaderList } from '../engine/headers.ts';
import { releasePiece } from '../engine/wire/slabs.ts';
import type { AnswerFlow, AnswerHead, AnswerSink } from '../engine/types.ts';
import { TablesGuard, UnexpectedTables } from './engine-proxy/tables-guard.ts';
import { HttpError } from './errors.ts';

/** Bytes that may wait for a client before the engine is held back. Fewer would stop the reading after each piece, which costs more than the memory. */
const HIGH_WATER_BYTES = 256 * 1024;
/** A client that takes nothing for this long is left, so that it does not keep a connection to the engine for good. */
const STALL_MS = 120_000;

/**
 * Writes an answer of the engine to the client as it comes. Head and first bytes go out together; until then nothing is sent, and `begun` may
 * still fail with an error to answer instead. Later on a broken answer breaks the client's connection.
 */
export class AnswerWriter implements AnswerSink {
  readonly #reply: FastifyReply;
  readonly #allowed: readonly string[] | undefined;
  readonly #begun = Promise.withResolvers<void>();
  #guard: TablesGuard | undefined;
  #flow: AnswerFlow | undefined;
  #head: AnswerHead | undefined;
  #sending = false;
  #held = false;
  #failed = false;

  /** @param allowed tables that the answer may say it read; it is not looked at where absent */
  constructor(reply: FastifyReply, allowed: readonly string[] | undefined) {
    this.#reply = reply;
    this.#allowed = allowed;
    // Whoever asked may have failed before it waits for this.
    this.#begun.promise.catch(() => undefined);
    reply.raw.once('close', () => this.#onClientClosed());
  }

  /** Settles when the answer is on its way; fails where nothing was sent, and another answer is in place. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  onAsked(flow: AnswerFlow): void {
    this.#flow = flow;
    if (this.#reply.raw.destroyed) this.#onClientClosed();
  }

  onHeaders(head: AnswerHead): void {
    this.#head = head;
    if (head.status === 401) {
      // It is about the gateway's credential: the caller's is good, and must not be thrown away for this.
      const why = 'the engine refuses the credential of the gateway: its administrator must set another';
      return this.#fail(new HttpError(502, why));
    }
    const encoding = headerOf(head.rawHeaders, 'content-encoding');
    if (this.#allowed === undefined || (encoding !== undefined && encoding !== 'gzip')) return;
    this.#guard = new TablesGuard(this.#allowed, encoding === 'gzip', () => this.#release());
  }

  onData(chunk: Buffer): boolean {
    if (this.#failed) return true;
    if (this.#guard === undefined) this.#write(chunk);
    else for (const ready of this.#guard.push(chunk)) this.#write(ready);
    const { raw } = this.#reply;
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
    const { raw } = this.#reply;
    const timer = setTimeout(() => raw.destroy(), STALL_MS);
    raw.once('close', () => clearTimeout(timer));
    raw.once('drain', () => {
      clearTimeout(timer);
      this.#release();
    });
  }

  /** Goes on where neither the client nor the unpacking is behind. */
  #release(): void {
    if (!this.#held || this.#guard?.behind || this.#reply.raw.writableNeedDrain) return;
    this.#held = false;
    this.#flow?.resume();
  }

  /** @param length of the whole body, where it is known now */
  #begin(length?: number): void {
    if (this.#sending || this.#head === undefined) return;
    this.#sending = true;
    const { status, rawHeaders } = this.#head;
    const headers = responseHeaderList(rawHeaders, this.#reply.getHeaders() as Record<string, string>);
    // The engine cuts its answers into chunks that are whole by now.
    const { method } = this.#reply.request;
    const told =
      method === 'HEAD' || status === 204 || status === 304 || headerOf(headers, 'content-length') !== undefined;
    if (length !== undefined && !told) headers.push('content-length', String(length));
    // Its hooks still run when the answer is out.
    this.#reply.hijack();
    this.#reply.raw.writeHead(status, headers);
    this.#begun.resolve();
  }

  /** The engine need not go on with what nobody waits for. */
  #onClientClosed(): void {
    // An answer that was ended is on its way, whatever becomes of the connection.
    if (!this.#reply.raw.writableEnded) this.#flow?.abort(new Error('the client went away'));
  }

  #write(chunk: Buffer): void {
    this.#begin();
    this.#reply.raw.write(chunk, () => releasePiece(chunk));
  }

  /** Sends the last pieces in one packet where they fit. */
  #finish(rest: readonly Buffer[]): void {
    this.#guard?.close();
    const { raw } = this.#reply;
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
      const tables = { tables: error.tables, allowed: this.#allowed };
      this.#reply.log.error(tables, 'defect: a query read tables that its caller was not asked about');
    } else if (this.#sending && !this.#reply.raw.destroyed) {
      this.#reply.log.warn({ err: error }, 'the answer of the engine broke off');
    }
    this.#begun.reject(error);
    if (this.#sending) this.#reply.raw.destroy();
    this.#flow?.abort(error);
  }
}
