import type { FastifyReply } from 'fastify';
import { responseHeaders } from '../engine/headers.ts';
import type { AnswerFlow, AnswerSink, EngineResponse } from '../engine/types.ts';
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
  #status = 0;
  #headers: EngineResponse['headers'] = {};
  #sending = false;
  #held = false;
  #failed = false;

  /** @param allowed tables that the answer may say it read; it is not looked at where absent */
  constructor(reply: FastifyReply, allowed: readonly string[] | undefined) {
    this.#reply = reply;
    this.#allowed = allowed;
    // Whoever asked may have failed before it waits for this.
    this.#begun.promise.catch(() => undefined);
  }

  /** Settles when the answer is on its way; fails where nothing was sent, and another answer is in place. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  onHeaders(status: number, headers: EngineResponse['headers'], flow: AnswerFlow): void {
    this.#flow = flow;
    this.#status = status;
    this.#headers = headers;
    if (status === 401) {
      // It is about the gateway's credential: the caller's is good, and must not be thrown away for this.
      const why = 'the engine refuses the credential of the gateway: its administrator must set another';
      return this.#fail(new HttpError(502, why));
    }
    const encoding = headers['content-encoding'];
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

  #begin(): void {
    if (this.#sending) return;
    this.#sending = true;
    const { raw } = this.#reply;
    const own = this.#reply.getHeaders();
    // Its hooks still run when the answer is out.
    this.#reply.hijack();
    raw.writeHead(this.#status, { ...(own as Record<string, string>), ...responseHeaders(this.#headers) });
    this.#begun.resolve();
  }

  #write(chunk: Buffer): void {
    this.#begin();
    this.#reply.raw.write(chunk);
  }

  /** Sends the last pieces in one packet where they fit. */
  #finish(rest: readonly Buffer[]): void {
    this.#guard?.close();
    const { raw } = this.#reply;
    if (raw.destroyed) return this.#fail(new Error('the client went away'));
    this.#begin();
    raw.cork();
    for (const chunk of rest.slice(0, -1)) raw.write(chunk);
    raw.end(rest.at(-1));
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
