import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ChunkedBody } from './chunked-body.ts';
import type { Exchange, WireFlow, WireRequest } from './exchange.ts';
import { parseResponseHead, WireError, type ResponseHead } from './response-head.ts';
import { releasePiece, retainPiece, type Slab, takeSlab } from './slabs.ts';

export interface ConnectionOptions {
  readonly origin: URL;
  /** Certificates of authorities, PEM; those of the system where absent. */
  readonly ca?: string | undefined;
  readonly connectTimeoutMs: number;
  /** Told when the connection is free for another request. */
  readonly onFree: (connection: WireConnection) => void;
  /** Told once when the connection has ended, with the exchange that nothing was heard for and that may be tried again. */
  readonly onClosed: (connection: WireConnection, again: Exchange | undefined) => void;
}

/** A slab is read into as long as it has room for that much. */
const MIN_READ_BYTES = 64 * 1024;
const MAX_HEAD_BYTES = 64 * 1024;
/** A small body goes out in one piece with the head; copying it costs less than a second one. */
const COPIED_BYTES = 8 * 1024;
const HEAD_END = Buffer.from('\r\n\r\n');
const EMPTY = Buffer.alloc(0);

/** One kept connection to the engine, for one request at a time. HTTP/1.1 by hand: what general clients do for each piece costs more than the rest of the gateway. */
export class WireConnection implements WireFlow {
  /** Of the clock of `performance.now`, when something last came or went. */
  activeAt = performance.now();
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #connecting: NodeJS.Timeout;
  #slab: Slab | undefined;
  #used = 0;
  #exchange: Exchange | undefined;
  /** Bytes of a head that has not come whole. */
  #partial: Buffer = EMPTY;
  #headRead = false;
  #last: { readonly text: string; readonly method: string; readonly head: ResponseHead } | undefined;
  #keepAlive = true;
  #body: number | ChunkedBody | 'until-close' = 0;
  #fresh = true;
  #paused = false;
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#socket = this.#connect();
    this.#connecting = setTimeout(() => {
      this.#socket.destroy(Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' }));
    }, options.connectTimeoutMs);
    const { origin } = options;
    this.#socket.once(origin.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(this.#connecting));
    this.#socket.on('end', () => this.#onEndOfStream());
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(broken()));
  }

  /** What is under way. */
  get exchange(): Exchange | undefined {
    return this.#exchange;
  }

  /** Whether the head of the answer should have been here by now. */
  late(now: number): boolean {
    return this.#exchange !== undefined && !this.#headRead && now > this.#exchange.request.deadline;
  }

  /** Whether the engine has been silent in the middle of an answer for longer than is borne. */
  stalled(now: number): boolean {
    const { request } = this.#exchange ?? {};
    return request !== undefined && this.#headRead && !this.#paused && now - this.activeAt > request.bodyTimeoutMs;
  }

  /** Sends a request; the connection must be free. */
  send(exchange: Exchange): void {
    this.#exchange = exchange;
    this.#headRead = false;
    this.activeAt = performance.now();
    exchange.connection = this;
    const { body } = exchange.request;
    let head: string;
    try {
      head = requestHead(exchange.request, this.#options.origin.host);
    } catch (error) {
      return this.#fail(error as Error);
    }
    if (body === undefined) this.#socket.write(head, 'latin1');
    else if (body.length <= COPIED_BYTES) this.#socket.write(head + latin1(body), 'latin1');
    else {
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#socket.write(body);
      this.#socket.uncork();
    }
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.activeAt = performance.now();
    this.#socket.resume();
  }

  /** Ends the connection, and the exchange with it. */
  destroy(reason: Error): void {
    this.#fail(reason);
  }

  #connect(): Socket {
    const { origin, ca } = this.#options;
    const onread = {
      buffer: () => this.#buffer(),
      callback: (size: number, buffer: Uint8Array) => this.#onRead(buffer as Buffer, size),
    };
    const host = origin.hostname.replace(/^\[|\]$/g, '');
    const secure = origin.protocol === 'https:';
    const to = { host, port: Number(origin.port || (secure ? 443 : 80)), noDelay: true, keepAlive: true, onread };
    if (!secure) return connectPlain(to);
    return connectTls({ ...to, servername: /^[\d.]+$|:/.test(host) ? '' : host, ...(ca !== undefined && { ca }) });
  }

  /** Where the next read goes: never where bytes lie that somebody needs. */
  #buffer(): Buffer {
    let slab = this.#slab;
    // All that was handed on has been given back.
    if (slab?.users === 1) this.#used = 0;
    if (slab === undefined || slab.bytes.length - this.#used < MIN_READ_BYTES) {
      if (slab !== undefined) releasePiece(slab.bytes);
      this.#slab = slab = takeSlab();
      this.#used = 0;
    }
    return this.#used === 0 ? slab.bytes : slab.bytes.subarray(this.#used);
  }

  /** @returns false to be told of nothing more until `resume` */
  #onRead(buffer: Buffer, size: number): boolean {
    this.#used += size;
    this.activeAt = performance.now();
    if (this.#closed) return false;
    try {
      this.#take(buffer.subarray(0, size));
    } catch (error) {
      this.#fail(error as Error);
    }
    return !this.#paused;
  }

  #take(piece: Buffer): void {
    if (this.#exchange === undefined) throw new WireError('something came that nobody had asked for');
    let rest: Buffer | undefined = piece;
    while (!this.#headRead && rest !== undefined) rest = this.#takeHead(rest);
    if (rest !== undefined) this.#takeBody(rest);
  }

  /** @returns what follows the head, or undefined where it is not whole yet */
  #takeHead(piece: Buffer): Buffer | undefined {
    const bytes = this.#partial.length === 0 ? piece : Buffer.concat([this.#partial, piece]);
    const end = bytes.indexOf(HEAD_END);
    if (end < 0 || end > MAX_HEAD_BYTES) {
      if (bytes.length > MAX_HEAD_BYTES) throw new WireError('the head of the answer is too large');
      this.#partial = Buffer.from(bytes);
      return undefined;
    }
    this.#partial = EMPTY;
    const exchange = this.#exchange as Exchange;
    const head = this.#headOf(bytes.toString('latin1', 0, end), exchange.request.method);
    if (head.status === 101) throw new WireError('the answer changes the protocol, which nobody had asked for');
    if (head.status >= 200) {
      this.#headRead = true;
      this.#keepAlive = head.keepAlive;
      this.#body = head.framing === 'chunked' ? new ChunkedBody() : head.framing;
      exchange.onHead(head);
    }
    return bytes.subarray(end + HEAD_END.length);
  }

  /** Most answers of an engine begin alike. */
  #headOf(text: string, method: string): ResponseHead {
    if (this.#last?.text === text && this.#last.method === method) return this.#last.head;
    const head = parseResponseHead(text, method);
    this.#last = { text, method, head };
    return head;
  }

  #takeBody(piece: Buffer): void {
    // What was handed a piece may have given the rest up.
    if (this.#closed) return;
    const body = this.#body;
    let length = piece.length;
    let read = length;
    let done = false;
    if (typeof body === 'number') {
      length = read = Math.min(piece.length, body);
      this.#body = body - length;
      done = this.#body === 0;
    } else if (body !== 'until-close') {
      ({ length, read } = body.compact(piece));
      ({ done } = body);
    }
    // Nothing can come after the last answer that was asked for.
    if (read < piece.length) this.#keepAlive = false;
    const exchange = this.#exchange as Exchange;
    if (length > 0) {
      retainPiece(piece);
      if (!exchange.onData(piece.subarray(0, length)) && !done) this.#paused = true;
    }
    if (done && !this.#closed) this.#finish(exchange);
  }

  #finish(exchange: Exchange): void {
    this.#exchange = undefined;
    exchange.connection = undefined;
    this.#fresh = false;
    if (this.#keepAlive) this.#options.onFree(this);
    else this.#close(undefined);
    exchange.onEnd();
  }

  #onEndOfStream(): void {
    if (this.#exchange !== undefined && this.#headRead && this.#body === 'until-close') {
      this.#keepAlive = false;
      this.#finish(this.#exchange);
    } else this.#fail(broken());
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (exchange !== undefined) exchange.connection = undefined;
    // A kept connection may have been closed by the engine just before the request came: nothing was done with it then.
    const unheard = !this.#fresh && !this.#headRead && this.#partial.length === 0 && isBroken(error);
    const again = unheard && exchange?.request.repeatable ? exchange : undefined;
    this.#close(again);
    if (again === undefined) exchange?.onError(error);
  }

  #close(again: Exchange | undefined): void {
    this.#closed = true;
    clearTimeout(this.#connecting);
    this.#socket.destroy();
    this.#options.onClosed(this, again);
  }
}

function broken(): Error {
  return Object.assign(new Error('the other side closed the connection'), { code: 'ECONNRESET' });
}

function isBroken(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'EPIPE';
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

const TARGET = /^\/[!-~\u0080-\u00ff]*$/;
const FIELD = /^[\t -~\u0080-\u00ff]*$/;

/** @throws {WireError} for what would make more than one request, or another */
function requestHead({ method, path, headers, body }: WireRequest, host: string): string {
  if (!TARGET.test(path)) throw new WireError('the path of the request holds what no path may hold');
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (let i = 0; i < headers.length; i += 2) {
    const field = `${headers[i]}: ${headers[i + 1]}`;
    if (!FIELD.test(field)) throw new WireError(`the header \`${headers[i]}\` of the request holds what no header may`);
    head += `${field}\r\n`;
  }
  return body === undefined ? `${head}\r\n` : `${head}content-length: ${body.length}\r\n\r\n`;
}
