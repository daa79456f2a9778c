// @module-tag slow
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { disconnectStalledReaders, RESPONSES } from '../../../../../src/api/server/admission/min-rate.ts';
import { Admission } from '../../../../../src/api/server/admission/admission.ts';
import { trackConnections } from '../../../../../src/api/server/cut-connection.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { Pki } from '../../../../support/kubernetes/pki.ts';
import { WAIT_LIMIT_MS } from '../../../../support/limits.ts';
import { once } from '../../../../support/once.ts';

// The time is that of the test; connections and their buffers are those of the system, which takes megabytes at once. So the rate is high, too.

const RATE = 128 * 1024;
const BYTES = 24 * 1024 * 1024;
const PIECE = 64 * 1024;

let folder: string;
let pki: Pki;
let clock: FakeClock;
let server: Server | undefined;
let refused: string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-reader-'));
  pki = new Pki(folder);
  await pki.createAuthority();
  await pki.issue('tls', [['CN', 'tls']], 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth');
});
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A client that reads as much as it is told. */
class Reader {
  readonly socket: Socket;
  /** Bytes that it has read. */
  read = 0;
  isClosed = false;
  #until = 0;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined).on('close', () => (this.isClosed = true));
    socket.on('data', (bytes: Buffer) => {
      this.read += bytes.length;
      if (this.read >= this.#until) socket.pause();
    });
    socket.pause();
  }

  /** Reads bytes, or what there is of them. Then a second passes. */
  async second(bytes: number): Promise<void> {
    this.#until = Math.max(this.#until, this.read) + bytes;
    const before = this.read;
    if (bytes > 0) this.socket.resume();
    const isRead = (): boolean => this.isClosed || this.read > before || bytes === 0;
    await expect.poll(isRead, { interval: 2, timeout: WAIT_LIMIT_MS }).toBe(true);
    await settle();
    await clock.advance(1_000);
  }

  /** Reads until the connection is closed. */
  async rest(): Promise<void> {
    this.#until = Infinity;
    this.socket.resume();
    await expect.poll(() => this.isClosed, { timeout: WAIT_LIMIT_MS }).toBe(true);
  }
}

describe.each(['HTTP', 'HTTPS'])('the reader of a response of %s', (protocol) => {
  const isTls = protocol === 'HTTPS';

  async function open(respond: (response: ServerResponse) => void, reader = RATE, stallMs = Infinity): Promise<Reader> {
    clock = new FakeClock();
    refused = [];
    const connections = { total: 10, perAddress: 10 };
    const metrics = { watch: () => undefined, onStart: () => undefined };
    const onRefusal = (limit: string): unknown => refused.push(limit);
    const minRates = { body: 0, reader };
    const admission = new Admission({ clock, connections, minRates, metrics: { ...metrics, onRefusal } });
    const listener = admission.listener((_request, response) => respond(response));
    const pem = isTls
      ? { key: await readFile(pki.path('tls.key')), cert: await readFile(pki.path('tls.crt')) }
      : undefined;
    const { serverOptions } = admission;
    const listening =
      pem === undefined
        ? createServer(serverOptions, listener)
        : createTlsServer({ ...pem, ...serverOptions }, listener);
    server = listening;
    trackConnections(listening);
    admission.attach(listening);
    if (stallMs !== Infinity) disconnectStalledReaders(listening, () => refused.push('stalled'), stallMs);
    await once(listening.listen(0, '127.0.0.1'), 'listening');
    const { port } = listening.address() as AddressInfo;
    const socket = isTls ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port);
    await once(socket, isTls ? 'secureConnect' : 'connect');
    const request = once(listening, 'request');
    const client = new Reader(socket);
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await request;
    await settle();
    return client;
  }

  const whole = (response: ServerResponse): void =>
    void response.writeHead(200, { 'content-length': BYTES }).end(Buffer.alloc(BYTES));

  /** As results are streamed: the next piece when there is room for it. */
  const inPieces = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-length': BYTES });
    const pieces = Array.from({ length: BYTES / PIECE }, () => Buffer.alloc(PIECE));
    Readable.from(pieces).pipe(response);
  };

  it('is disconnected if it reads nothing', async () => {
    const client = await open(whole, 0, 50);
    await expect.poll(() => refused, { timeout: WAIT_LIMIT_MS }).toEqual(['stalled']);
    await client.rest();
    expect(client.read).toBeLessThan(BYTES);
  });

  it('is disconnected if it reads a little all the time', async () => {
    const client = await open(inPieces);
    for (let second = 0; second < 90; second++) await client.second(refused.length === 0 ? RATE / 8 : 0);
    expect(refused).toEqual(['reader-rate']);
  });

  it('is disconnected if it reads a little of one large piece', async () => {
    const client = await open(whole);
    const seconds = BYTES / RATE + RESPONSES.graceSeconds;
    for (let second = 0; second < seconds + 1; second++) await client.second(refused.length === 0 ? RATE / 8 : 0);
    expect(refused).toEqual(['reader-rate']);
  });

  it('gets everything if it is slow, but faster than the minimum', async () => {
    const client = await open(whole);
    while (client.read < BYTES && !client.isClosed) await client.second(RATE * 5);
    expect([client.read >= BYTES, refused]).toEqual([true, []]);
  });

  it('gets everything if the response takes its time', async () => {
    let response: ServerResponse | undefined;
    const client = await open((begun) => {
      response = begun;
      begun.write('x');
    });
    for (let second = 0; second < 600; second++) await clock.advance(1_000);
    response?.end(Buffer.alloc(BYTES));
    while (client.read < BYTES && !client.isClosed) await client.second(RATE * 5);
    expect([client.read >= BYTES, refused]).toEqual([true, []]);
  });

  it('may read nothing without a minimum', async () => {
    const client = await open(whole, 0);
    await clock.advance(3_600_000);
    while (client.read < BYTES && !client.isClosed) await client.second(BYTES);
    expect([client.read >= BYTES, refused]).toEqual([true, []]);
  });
});
