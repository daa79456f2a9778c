import { EventEmitter } from 'node:events';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FileRows } from '../../query/result-store.ts';
import { FileBody, type FileBodyEnds } from './file-body.ts';
import { Gathered } from './gathered.ts';
import type { LaneResponse } from './lane.ts';
import { isPlain, type FileSender } from './file-sender.ts';

const WITHOUT_BODY = new Set([204, 304]);
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const UNPRINTABLE = /[^\t\x20-\x7e\x80-\xff]/;

/** What answers have of their connection. */
export interface ConnectionTimes {
  /** After how long it is closed that is idle: later than clients are told, so that who believes that never meets the end. */
  readonly idleMs: number;
  /** The lines of an answer's head about it. */
  readonly said: string;
}

/**
 * An answer on a connection that stays open, written as its bytes: as Node's own, without what that does for requests of any kind. Tells `close` once, when the last byte
 * is with the system or the connection has gone.
 */
export class DirectResponse extends EventEmitter implements LaneResponse {
  statusCode = 200;
  headersSent = false;
  destroyed = false;
  writableEnded = false;
  writableFinished = false;
  readonly #socket: Socket;
  readonly #released: () => void;
  readonly #times: ConnectionTimes;
  readonly #fileSender: FileSender | undefined;
  #expired: (() => void) | undefined;
  readonly #out: Gathered;
  #head = '';
  #corked = 0;
  #chunked = false;
  #bodiless = false;
  #waitsForDrain = false;

  /**
   * @param released told when the connection is free for another request
   * @param fileSender sends files, where the connection lets it
   */
  constructor(socket: Socket, times: ConnectionTimes, released: () => void, fileSender?: FileSender) {
    super();
    this.#fileSender = fileSender;
    this.#socket = socket;
    this.#times = times;
    this.#released = released;
    this.#out = new Gathered(socket);
  }

  get writableLength(): number {
    return this.#socket.writableLength;
  }

  get writableNeedDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  cork(): void {
    this.#corked++;
  }

  uncork(): void {
    if (this.#corked > 0) this.#corked--;
    this.#flush();
  }

  /** The head goes out with the first bytes of the body. @throws {TypeError} for what cannot stand in a header */
  writeHead(status: number, headers: readonly string[] | Readonly<Record<string, string | number>>): this {
    const list = Array.isArray(headers) ? (headers as readonly string[]) : Object.entries(headers).flat().map(String);
    return this.#begin(status, linesOf(list));
  }

  writeHeadOf(status: number, constant: readonly string[], own: readonly string[]): this {
    let ready = constants.get(constant);
    if (ready === undefined) constants.set(constant, (ready = linesOf(constant)));
    const more = linesOf(own);
    return this.#begin(status, { text: ready.text + more.text, hasLength: ready.hasLength || more.hasLength });
  }

  #begin(status: number, { text, hasLength }: Lines): this {
    if (this.headersSent) throw new TypeError('the head of this answer was sent already');
    this.#bodiless = WITHOUT_BODY.has(status);
    this.#chunked = !hasLength && !this.#bodiless;
    const framing = this.#chunked ? 'Transfer-Encoding: chunked\r\n' : '';
    const reason = STATUS_CODES[status] ?? 'unknown';
    this.#head = `HTTP/1.1 ${status} ${reason}\r\n${text}Date: ${httpDate()}\r\n${this.#times.said}${framing}\r\n`;
    this.statusCode = status;
    this.headersSent = true;
    return this;
  }

  write(chunk: Uint8Array, done?: () => void): boolean {
    if (this.destroyed || this.writableEnded || chunk.length === 0 || this.#bodiless) {
      if (done) process.nextTick(done);
      return !this.destroyed;
    }
    this.#putChunk(chunk, done);
    this.#flush();
    return !this.writableNeedDrain;
  }

  get sendsFiles(): boolean {
    return this.#fileSender !== undefined && isPlain(this.#socket);
  }

  writeFile(rows: FileRows, ends: FileBodyEnds): void {
    const sender = this.#fileSender;
    if (sender === undefined || this.#chunked || this.#bodiless) {
      throw new TypeError('no file can be sent with this answer');
    }
    if (this.destroyed) return;
    this.#putHead();
    this.#out.flushPast((bytes) => sender.head(this.#socket, bytes));
    new FileBody(this.#socket, rows, sender, ends).send();
  }

  end(chunk?: Uint8Array | string, done?: () => void): this {
    if (this.destroyed || this.writableEnded) {
      if (done) process.nextTick(done);
      return this;
    }
    this.writableEnded = true;
    this.#corked = 0;
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (bytes !== undefined && bytes.length > 0 && !this.#bodiless) this.#putChunk(bytes, done);
    else {
      this.#putHead();
      if (done) this.#out.onceOut(done);
    }
    if (this.#chunked) this.#out.text('0\r\n\r\n');
    this.#out.onceOut((error) => {
      // After a failure the end of the connection is told of in a moment.
      if (!error) this.#finish();
    });
    this.#flush();
    return this;
  }

  destroy(): this {
    this.#socket.destroy();
    return this;
  }

  setTimeout(ms: number, expired: () => void): this {
    if (this.destroyed) return this;
    if (this.#expired) this.#socket.off('timeout', this.#expired);
    this.#expired = expired;
    this.#socket.setTimeout(ms).once('timeout', expired);
    return this;
  }

  /** The connection has gone, whatever was sent. */
  abandon(): void {
    if (this.destroyed) return;
    this.#close();
    // Pieces that were held back go where all others go whose connection has gone.
    this.#out.flush();
  }

  #putHead(): void {
    if (!this.headersSent) throw new TypeError('the head of an answer goes before its body');
    if (this.#head === '') return;
    this.#out.text(this.#head);
    this.#head = '';
  }

  #putChunk(chunk: Uint8Array, done?: () => void): void {
    this.#putHead();
    if (this.#chunked) this.#out.text(`${chunk.length.toString(16)}\r\n`);
    this.#out.bytes(chunk, done);
    if (this.#chunked) this.#out.text('\r\n');
  }

  #flush(): void {
    if (this.#corked > 0) return;
    this.#out.flush();
    if (this.#waitsForDrain || this.destroyed || !this.writableNeedDrain) return;
    this.#waitsForDrain = true;
    this.#socket.once('drain', this.#onDrain);
  }

  #finish(): void {
    if (this.destroyed) return;
    this.writableFinished = true;
    this.#close();
    this.#released();
  }

  #close(): void {
    this.destroyed = true;
    if (this.#expired) this.#socket.off('timeout', this.#expired).setTimeout(this.#times.idleMs);
    if (this.#waitsForDrain) this.#socket.off('drain', this.#onDrain);
    this.emit('close');
  }

  readonly #onDrain = (): void => {
    this.#waitsForDrain = false;
    this.emit('drain');
  };
}

/** Lines of a head. */
interface Lines {
  readonly text: string;
  readonly hasLength: boolean;
}

const constants = new WeakMap<readonly string[], Lines>();

/** @throws {TypeError} for what cannot stand in a header */
function linesOf(headers: readonly string[]): Lines {
  let text = '';
  let hasLength = false;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1] as string;
    if (!NAME.test(name) || UNPRINTABLE.test(value)) throw new TypeError('a header of the answer cannot be sent');
    if (name.length === 14 && name.toLowerCase() === 'content-length') hasLength = true;
    text += `${name}: ${value}\r\n`;
  }
  return { text, hasLength };
}

let date = '';
let dateOf = -1;

/** As RFC 9110 has it; made once a second. */
function httpDate(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateOf) {
    dateOf = second;
    date = new Date(second * 1000).toUTCString();
  }
  return date;
}
