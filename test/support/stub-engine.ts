import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { BodyFraming } from './raw-client.ts';
import { once } from './once.ts';

/** A request, parsed without interpretation. */
export interface EngineRequest {
  readonly method: string;
  readonly target: string;
  /** Of the target, decoded once. */
  readonly path: string;
  readonly version: string;
  /** In their order and spelling. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

export interface StubAnswer {
  /** 200 by default. */
  readonly status?: number;
  /** `Content-Type: application/json` alone by default. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array;
  /** `length` by default; `close` ends the connection. */
  readonly framing?: Exclude<BodyFraming, 'none'>;
}

/** Handles one request: returns a response, or undefined if it writes to the socket itself or does not respond. */
export type StubResponder = (request: EngineRequest, socket: Socket) => StubAnswer | undefined;

const JSON_TYPE = [['Content-Type', 'application/json']] as const;
/** Chunks of different sizes, also one byte, that fall on no boundary of the gateway's buffers. */
const CHUNK_BYTES = [1, 16_383, 7, 65_537, 4_096, 131_071];
const MAX_HEAD_BYTES = 1024 * 1024;

/** The value of a header, or undefined. @throws {Error} where it is repeated */
export function headerOf({ headers }: Pick<EngineRequest, 'headers'>, name: string): string | undefined {
  const values = headers.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value);
  if (values.length > 1) throw new Error(`the header \`${name}\` is repeated: ${values.join(' | ')}`);
  return values[0];
}

/** The bytes of an answer in its framing. */
export function answerBytes(answer: StubAnswer): Buffer {
  const { status = 200, headers = JSON_TYPE, framing = 'length' } = answer;
  const body = Buffer.from(answer.body);
  const lines = [`HTTP/1.1 ${status} Status`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  if (framing === 'length') lines.push(`Content-Length: ${body.length}`);
  if (framing === 'chunks') lines.push('Transfer-Encoding: chunked');
  if (framing === 'close') lines.push('Connection: close');
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return Buffer.concat([head, ...(framing === 'chunks' ? chunked(body) : [body])]);
}

function chunked(body: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < body.length; turn++) {
    const piece = body.subarray(at, at + (CHUNK_BYTES[turn % CHUNK_BYTES.length] ?? 1));
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
    at += piece.length;
  }
  pieces.push(Buffer.from('0\r\n\r\n'));
  return pieces;
}

/**
 * A controller and broker over plain TCP: the test decides every byte of an answer. It knows the tables it is created with; all other requests go to
 * `responder`.
 */
export class StubEngine {
  /** Every request except those for the lists of tables and brokers. */
  readonly requests: EngineRequest[] = [];
  /** Violations of HTTP in requests. */
  readonly malformed: string[] = [];
  responder: StubResponder = () => ({ body: '{"exceptions":[]}' });
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #tables: readonly string[];

  /** @param tables with their types, such as `orders_OFFLINE` */
  constructor(tables: readonly string[]) {
    this.#tables = tables;
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
      this.#serve(socket);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#sockets.size;
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server.close(), 'close');
  }

  #serve(socket: Socket): void {
    let pending = Buffer.alloc(0);
    socket.on('data', (bytes) => {
      pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
      try {
        for (let parsed = parseRequest(pending); parsed !== undefined; parsed = parseRequest(pending)) {
          pending = pending.subarray(parsed.length);
          this.#answer(parsed.request, socket);
        }
      } catch (error) {
        this.malformed.push(String(error));
        socket.destroy();
      }
    });
  }

  #answer(request: EngineRequest, socket: Socket): void {
    const answer = this.#listing(request) ?? this.#respond(request, socket);
    if (answer === undefined || socket.destroyed) return;
    const bytes = answerBytes(answer);
    socket.write(request.method === 'HEAD' ? bytes.subarray(0, bytes.indexOf('\r\n\r\n') + 4) : bytes);
    if (answer.framing === 'close') socket.end();
  }

  #respond(request: EngineRequest, socket: Socket): StubAnswer | undefined {
    this.requests.push(request);
    return this.responder(request, socket);
  }

  #listing({ method, path }: EngineRequest): StubAnswer | undefined {
    if (method !== 'GET') return undefined;
    if (['/logicalTables', '/databases', '/cluster/info'].includes(path)) return { status: 404, body: '{"code":404}' };
    if (path !== '/tables/livebrokers') return undefined;
    const broker = { host: '127.0.0.1', port: this.port, instanceName: `Broker_127.0.0.1_${this.port}` };
    return { body: JSON.stringify(Object.fromEntries(this.#tables.map((table) => [table, [broker]]))) };
  }
}

/** @returns undefined while bytes are missing @throws {Error} for what no HTTP client may send */
function parseRequest(bytes: Buffer): { readonly request: EngineRequest; readonly length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) {
    if (bytes.length > MAX_HEAD_BYTES) throw new Error('a head without an end');
    return undefined;
  }
  const [first = '', ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n');
  const [, method = '', target = '', version = ''] = /^([A-Z]+) (\S+) HTTP\/(1\.1)$/.exec(first) ?? [];
  if (method === '') throw new Error(`request line: ${JSON.stringify(first)}`);
  const headers = lines.map(parseHeader);
  const body = bodyOf(bytes.subarray(headEnd + 4), headers);
  if (body === undefined) return undefined;
  const path = decodeURIComponent(target.split('?')[0] ?? '');
  return {
    request: { method, target, path, version, headers, body: body.content },
    length: headEnd + 4 + body.length,
  };
}

function parseHeader(line: string): readonly [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`header: ${JSON.stringify(line)}`);
  return [name, value.trimEnd()];
}

function bodyOf(rest: Buffer, headers: EngineRequest['headers']): { content: Buffer; length: number } | undefined {
  const length = headerOf({ headers }, 'content-length');
  const coding = headerOf({ headers }, 'transfer-encoding');
  if (length !== undefined && coding !== undefined) throw new Error('a length and chunks in one request');
  if (coding !== undefined) return unchunked(rest, coding);
  if (length === undefined) return { content: Buffer.alloc(0), length: 0 };
  if (!/^\d+$/.test(length)) throw new Error(`Content-Length: ${length}`);
  if (rest.length < Number(length)) return undefined;
  return { content: rest.subarray(0, Number(length)), length: Number(length) };
}

function unchunked(rest: Buffer, coding: string): { content: Buffer; length: number } | undefined {
  if (coding !== 'chunked') throw new Error(`Transfer-Encoding: ${coding}`);
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = rest.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const line = rest.subarray(at, lineEnd).toString('latin1');
    if (!/^[0-9a-fA-F]+$/.test(line)) throw new Error(`size of a chunk: ${JSON.stringify(line)}`);
    const size = Number.parseInt(line, 16);
    const end = lineEnd + 2 + size + 2;
    if (rest.length < end) return undefined;
    if (rest.subarray(end - 2, end).toString() !== '\r\n') throw new Error('a chunk does not end with CRLF');
    if (size === 0) return { content: Buffer.concat(pieces), length: end };
    pieces.push(rest.subarray(lineEnd + 2, end - 2));
    at = end;
  }
}
