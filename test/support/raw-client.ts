import { connect, type Socket } from 'node:net';
import { WAIT_LIMIT_MS } from './limits.ts';
import { once } from './once.ts';

/** How a client knows where a body ends. */
export type BodyFraming = 'none' | 'length' | 'chunks' | 'close';

export interface RawAnswer {
  readonly status: number;
  readonly version: string;
  /** Lower-case names; the values of repeated ones are joined by `, `. */
  readonly headers: ReadonlyMap<string, string>;
  /** Without the framing; a `Content-Encoding` is not undone. */
  readonly body: Buffer;
  readonly framing: BodyFraming;
  /** Statuses of the 1xx answers before it. */
  readonly interim: readonly number[];
}

export interface RawRequest {
  /** `GET`, or `POST` where there is a body. */
  readonly method?: string;
  readonly target: string;
  /** `1.1` by default. */
  readonly version?: '1.0' | '1.1';
  /** Sent in this order and spelling, after `Host`. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Sent with a `Content-Length`, unless the headers frame it. */
  readonly body?: string | Uint8Array;
}

/** The bytes received are not an HTTP answer. */
export class MalformedAnswer extends Error {
  override name = 'MalformedAnswer';
}

/** The connection stayed open, but nothing more came on it. */
export class AnswerStalled extends Error {
  override name = 'AnswerStalled';
}

/** The connection ended before an answer was complete. */
export class ConnectionEnded extends Error {
  override name = 'ConnectionEnded';
  /** Bytes of the incomplete answer. */
  readonly received: number;

  constructor(message: string, received: number) {
    super(message);
    this.received = received;
  }
}

/** The bytes of a request. Nothing is checked, so that a test can send what no client library sends. */
export function requestBytes(request: RawRequest): Buffer {
  const { target, version = '1.1', headers = [], body } = request;
  const content = body === undefined ? undefined : Buffer.from(body);
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  const lines = [`${request.method ?? (body === undefined ? 'GET' : 'POST')} ${target} HTTP/${version}`];
  if (!names.has('host')) lines.push('Host: gateway');
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  const framed = names.has('content-length') || names.has('transfer-encoding');
  if (content !== undefined && !framed) lines.push(`Content-Length: ${content.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return content === undefined ? head : Buffer.concat([head, content]);
}

const MAX_HEAD_BYTES = 256 * 1024;
const SLOW_READ_BYTES = 4 * 1024;
/** Far more than a busy machine needs; below a test's own time-out. */
const STALL_MS = WAIT_LIMIT_MS;
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;
// oxlint-disable-next-line no-control-regex -- control characters, which RFC 9110 forbids
const FORBIDDEN_IN_VALUE = /[\0-\x08\x0a-\x1f\x7f]/;

export interface RawClientOptions {
  /** Reads 4 KB a millisecond at most. */
  readonly slow?: boolean;
}

/**
 * A TCP connection that sends any bytes and reads HTTP/1.x answers strictly: no bare line feeds, no unknown framing, nothing after the end.
 * Open it with `RawClient.open`; end it with `destroy`.
 */
export class RawClient {
  readonly #socket: Socket;
  #buffered: Buffer[] = [];
  #size = 0;
  #ended = false;
  #wake: (() => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    // A reset is an end as well: what came before it is still judged.
    socket.on('error', () => undefined);
    socket.on('end', () => this.#end());
    socket.on('close', () => this.#end());
  }

  /** @throws the socket's error where nothing listens */
  static async open(port: number, options: RawClientOptions = {}): Promise<RawClient> {
    const at = { host: '127.0.0.1', port, allowHalfOpen: true };
    if (options.slow !== true) {
      const client = new RawClient(connect(at));
      client.#socket.on('data', (bytes) => client.#receive(bytes));
      await once(client.#socket, 'connect');
      return client;
    }
    const onread = slowReads(
      () => client.#socket,
      (bytes) => client.#receive(bytes),
    );
    const client: RawClient = new RawClient(connect({ ...at, onread }));
    await once(client.#socket, 'connect');
    return client;
  }

  /** Bytes that came and were not read. */
  get unread(): number {
    return this.#size;
  }

  /** Whether the other side has ended the connection. */
  get ended(): boolean {
    return this.#ended;
  }

  send(bytes: string | Uint8Array): void {
    if (!this.#socket.destroyed) this.#socket.write(bytes);
  }

  /** Sends a request and reads its answer. */
  async request(request: RawRequest): Promise<RawAnswer> {
    this.send(requestBytes(request));
    return this.answer(request.method);
  }

  /** Ends this side; answers can still be read. */
  halfClose(): void {
    this.#socket.end();
  }

  /** Takes nothing from the connection until `resume`. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Ends the connection with a reset. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /**
   * Reads the next answer, 1xx answers before it included.
   * @param method of its request: an answer to HEAD has no body
   * @throws {MalformedAnswer | ConnectionEnded | AnswerStalled}
   */
  async answer(method = 'GET'): Promise<RawAnswer> {
    const interim: number[] = [];
    for (;;) {
      const { version, status, headers } = parseHead(await this.#head());
      if (status < 200 && status !== 101) {
        interim.push(status);
        continue;
      }
      const framing = framingOf(method, status, headers);
      const body = await this.#body(framing, headers);
      return { status, version, headers, body, framing, interim };
    }
  }

  /**
   * Waits for the next byte.
   * @param limitMs how long
   * @returns false where the connection ended, or the time was over, before it came @throws {AnswerStalled} where there is no limit
   */
  async hasMore(limitMs?: number): Promise<boolean> {
    try {
      while (this.#size === 0 && !this.#ended) await this.#more(limitMs);
    } catch (error) {
      if (limitMs === undefined || !(error instanceof AnswerStalled)) throw error;
    }
    return this.#size > 0;
  }

  /** Resolves when the other side has ended the connection. @returns the bytes that were not read */
  async end(): Promise<Buffer> {
    while (!this.#ended) await this.#more();
    return this.#take(this.#size);
  }

  async #head(): Promise<string> {
    const bytes = await this.#until('\r\n\r\n', MAX_HEAD_BYTES, 'the head of an answer');
    return bytes.toString('latin1');
  }

  #body(framing: BodyFraming, headers: ReadonlyMap<string, string>): Promise<Buffer> {
    switch (framing) {
      case 'none':
        return Promise.resolve(Buffer.alloc(0));
      case 'length':
        return this.#exactly(Number(headers.get('content-length')), 'a body');
      case 'chunks':
        return this.#chunks();
      case 'close':
        return this.end();
    }
  }

  async #chunks(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for (;;) {
      const line = (await this.#until('\r\n', 1024, 'the size of a chunk')).toString('latin1');
      if (!/^[0-9a-fA-F]{1,8}(;.*)?$/.test(line)) throw new MalformedAnswer(`size of a chunk: ${JSON.stringify(line)}`);
      const size = Number.parseInt(line, 16);
      if (size === 0) break;
      chunks.push(await this.#exactly(size, 'a chunk'));
      const end = await this.#exactly(2, 'the end of a chunk');
      if (end.toString('latin1') !== '\r\n') throw new MalformedAnswer(`${size} bytes of a chunk end without CRLF`);
    }
    while ((await this.#until('\r\n', MAX_HEAD_BYTES, 'a trailer')).length > 0);
    return Buffer.concat(chunks);
  }

  /** The bytes before `mark`, which is taken too. */
  async #until(mark: string, limit: number, what: string): Promise<Buffer> {
    for (;;) {
      const joined = this.#join();
      const at = joined.indexOf(mark);
      if (at >= 0) {
        const found = this.#take(at);
        this.#take(mark.length);
        return found;
      }
      if (joined.length > limit) throw new MalformedAnswer(`${what} exceeds ${limit} bytes`);
      if (this.#ended) throw new ConnectionEnded(`the connection ended within ${what}`, joined.length);
      await this.#more();
    }
  }

  async #exactly(size: number, what: string): Promise<Buffer> {
    while (this.#size < size) {
      if (this.#ended) throw new ConnectionEnded(`${this.#size} of ${size} bytes of ${what}`, this.#size);
      await this.#more();
    }
    return this.#take(size);
  }

  #join(): Buffer {
    if (this.#buffered.length > 1) this.#buffered = [Buffer.concat(this.#buffered)];
    return this.#buffered[0] ?? Buffer.alloc(0);
  }

  #take(size: number): Buffer {
    const joined = this.#join();
    this.#size -= size;
    this.#buffered = size === joined.length ? [] : [joined.subarray(size)];
    return joined.subarray(0, size);
  }

  async #more(limitMs = STALL_MS): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const stalled = () =>
      reject(new AnswerStalled(`nothing came for ${limitMs} ms; ${this.#size} bytes wait for more`));
    const timer = setTimeout(stalled, limitMs);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#wake = undefined;
    }
  }

  #receive(bytes: Buffer): void {
    this.#buffered.push(bytes);
    this.#size += bytes.length;
    this.#wake?.();
  }

  #end(): void {
    this.#ended = true;
    this.#wake?.();
  }
}

/** Reads a little at a time, so that the sender's buffers fill up. */
function slowReads(socket: () => Socket, receive: (bytes: Buffer) => void) {
  return {
    buffer: Buffer.alloc(SLOW_READ_BYTES),
    callback: (count: number, bytes: Uint8Array) => {
      receive(Buffer.from(bytes.subarray(0, count)));
      setTimeout(() => socket().resume(), 1);
      return false;
    },
  };
}

function parseHead(head: string): { version: string; status: number; headers: Map<string, string> } {
  const [first = '', ...lines] = head.split('\r\n');
  const line = /^HTTP\/(1\.[01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/.exec(first);
  if (line === null) throw new MalformedAnswer(`status line: ${JSON.stringify(first.slice(0, 100))}`);
  const headers = new Map<string, string>();
  for (const text of lines) {
    const [, name = '', value = ''] = HEADER_LINE.exec(text) ?? [];
    if (name === '' || FORBIDDEN_IN_VALUE.test(value)) {
      throw new MalformedAnswer(`header: ${JSON.stringify(text.slice(0, 100))}`);
    }
    const before = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), before === undefined ? value : `${before}, ${value}`);
  }
  return { version: line[1] ?? '', status: Number(line[2]), headers };
}

function framingOf(method: string, status: number, headers: ReadonlyMap<string, string>): BodyFraming {
  const [length, coding] = [headers.get('content-length'), headers.get('transfer-encoding')];
  if (length !== undefined && coding !== undefined) throw new MalformedAnswer('both a length and chunks');
  if (length !== undefined && !/^\d{1,15}$/.test(length)) throw new MalformedAnswer(`Content-Length: ${length}`);
  if (coding !== undefined && coding !== 'chunked') throw new MalformedAnswer(`Transfer-Encoding: ${coding}`);
  if (method === 'HEAD' || status === 101 || status === 204 || status === 304) return 'none';
  if (coding !== undefined) return 'chunks';
  return length === undefined ? 'close' : 'length';
}
