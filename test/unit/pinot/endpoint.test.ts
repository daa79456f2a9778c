import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer as createTlsServer } from 'node:https';
import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { NO_CREDENTIAL } from '../../../src/pinot/credential.ts';
import { DEFAULT_ENDPOINT_LIMITS, type EndpointLimits, PooledEndpoint } from '../../../src/pinot/endpoint.ts';
import type { ResponseFlow, ResponseHead, ResponseSink, EngineRequest } from '../../../src/pinot/types.ts';
import { Pki } from '../../support/kubernetes/pki.ts';
import { once } from '../../support/once.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A server that passes each read, with the number of its connection, to a handler that writes the raw response. */
async function serve(answer: (socket: Socket, text: string, connection: number) => void): Promise<string> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const number = sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => answer(socket, bytes.toString('latin1'), number));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function endpointOf(url: string, limits: Partial<EndpointLimits> = {}): PooledEndpoint {
  const endpoint = new PooledEndpoint(url, NO_CREDENTIAL, {
    ...DEFAULT_ENDPOINT_LIMITS,
    connections: 2,
    share: 1,
    ...limits,
  });
  closers.push(() => endpoint.close());
  return endpoint;
}

/** Collects a response. */
class Collected implements ResponseSink {
  head: ResponseHead | undefined;
  flow: ResponseFlow | undefined;
  body = '';
  bytes = 0;
  /** Number of bytes after which the sink applies backpressure. */
  holdAfter = Infinity;
  readonly #over = Promise.withResolvers<string>();

  /** The body, or the error. */
  get over(): Promise<string> {
    return this.#over.promise;
  }
  fail(error: Error): void {
    const { code = error.message } = error as { code?: string };
    this.#over.resolve(`error: ${code}`);
  }
  onAsked(flow: ResponseFlow): void {
    this.flow = flow;
  }
  onHeaders(head: ResponseHead): void {
    this.head = head;
  }
  onData(piece: Buffer): boolean {
    if (this.body.length < 1000) this.body += piece.toString('latin1');
    this.bytes += piece.length;
    return this.bytes < this.holdAfter;
  }
  onEnd(): void {
    this.#over.resolve(this.body);
  }
  onBroken(error: Error): void {
    this.fail(error);
  }
}

function send(endpoint: PooledEndpoint, request: Partial<EngineRequest> = {}, sink = new Collected()): Collected {
  const asked = { method: 'POST', path: '/query/sql', body: '{}', repeatable: true, ...request };
  endpoint.deliver(asked, sink).catch((error: unknown) => sink.fail(error as Error));
  return sink;
}

const OK = 'HTTP/1.1 200 OK\r\n';
const HI = `${OK}Content-Length: 2\r\n\r\nhi`;

describe('requests to an endpoint', () => {
  it('send path, headers and body as they are', async () => {
    const texts: string[] = [];
    const url = await serve((socket, text) => {
      texts.push(text);
      socket.write(HI);
    });
    const request = { path: '/query/sql?x=%20', headerList: ['X-A', 'b'], body: Buffer.from('{"é":1}') };
    expect(await send(endpointOf(url), request).over).toBe('hi');
    expect(texts.join('')).toBe(
      `POST /query/sql?x=%20 HTTP/1.1\r\nhost: ${new URL(url).host}\r\nconnection: keep-alive\r\nX-A: b\r\ncontent-length: 8\r\n\r\n` +
        Buffer.from('{"é":1}').toString('latin1'),
    );
  });

  it.each([
    ['in memory', () => Buffer.alloc(300_000, 'x')],
    ['as a stream', () => Readable.from([Buffer.alloc(150_000, 'x'), Buffer.alloc(150_000, 'x')])],
  ])('send a large body, %s', async (_what, body) => {
    let got = '';
    const url = await serve((socket, text) => {
      got += text;
      if (got.split('x').length > 300_000) socket.write(`${OK}Content-Length: 0\r\n\r\n`);
    });
    expect(await send(endpointOf(url), { body: body() }).over).toBe('');
    expect(got.split('x').length - 1).toBe(300_000);
  });

  it.each([
    ['a line end in a header', { headerList: ['a', 'b\r\nc: d'] }],
    ['a letter that is a line end in Latin-1', { headerList: ['a', 'b\u010ac: d'] }],
    ['a line end in the name of a header', { headerList: ['a\r\nb', 'c'] }],
    ['a space in the path', { path: '/query sql' }],
    ['a line end in the path', { path: '/query\r\nsql' }],
    ['the address of another server as the path', { path: 'http://elsewhere/' }],
  ])('are not sent with %s', async (_what, request) => {
    let asked = 0;
    const url = await serve(() => asked++);
    const endpoint = endpointOf(url);
    expect(await send(endpoint, request).over).toBe('error: bad-response');
    expect(asked).toBe(0);
    expect(endpoint.outstanding).toBe(0);
  });

  it('reuse one connection in sequence, and use several up to the limit in parallel', async () => {
    const used: number[] = [];
    const waiting: Socket[] = [];
    const url = await serve((socket, _text, connection) => {
      used.push(connection);
      waiting.push(socket);
    });
    const endpoint = endpointOf(url, { connections: 2 });
    const first = send(endpoint);
    await expect.poll(() => waiting.length).toBe(1);
    waiting.pop()?.write(HI);
    await first.over;
    const three = [send(endpoint), send(endpoint), send(endpoint)];
    await expect.poll(() => waiting.length).toBe(2);
    expect(endpoint.outstanding).toBe(3);
    for (const socket of waiting.splice(0)) socket.write(HI);
    await expect.poll(() => waiting.length).toBe(1);
    waiting.pop()?.write(HI);
    expect(await Promise.all(three.map(({ over }) => over))).toEqual(['hi', 'hi', 'hi']);
    expect(new Set(used)).toEqual(new Set([1, 2]));
    expect(endpoint.outstanding).toBe(0);
  });

  it.each([
    ['again after a kept-alive connection was closed, if repeatable', true, 'hi', [1, 1, 2]],
    ['only once if not repeatable', false, 'error: unreachable', [1, 1]],
  ])('are sent %s', async (_what, repeatable, seen, connections) => {
    const used: number[] = [];
    const url = await serve((socket, _text, connection) => {
      used.push(connection);
      if (connection === 1 && used.length > 1) socket.destroy();
      else socket.write(HI);
    });
    const endpoint = endpointOf(url, { connections: 1 });
    await send(endpoint).over;
    expect(await send(endpoint, { repeatable }).over).toBe(seen);
    expect(used).toEqual(connections);
    expect(endpoint.outstanding).toBe(0);
  });

  it('are not sent again after a new connection was closed, or part of a response arrived', async () => {
    const used: number[] = [];
    const url = await serve((socket, _text, connection) => {
      used.push(connection);
      if (used.length === 2) socket.write(HI);
      else socket.end(used.length === 3 ? 'HTTP/1.1 200' : '');
    });
    const endpoint = endpointOf(url, { connections: 1 });
    expect(await send(endpoint).over).toBe('error: unreachable');
    expect(await send(endpoint).over).toBe('hi');
    expect(await send(endpoint).over).toBe('error: unreachable');
    expect(used).toEqual([1, 2, 2]);
  });

  it('are aborted while they wait or run, which closes their connection', async () => {
    let asked = 0;
    let closed = 0;
    const url = await serve((socket) => {
      asked++;
      socket.once('close', () => closed++);
    });
    const endpoint = endpointOf(url, { connections: 1 });
    const first = send(endpoint);
    const second = send(endpoint);
    await expect.poll(() => asked).toBe(1);
    second.flow?.abort(new Error('left'));
    expect(await second.over).toBe('error: aborted');
    expect(endpoint.outstanding).toBe(1);
    first.flow?.abort(new Error('left, too'));
    expect(await first.over).toBe('error: aborted');
    await expect.poll(() => closed).toBe(1);
    expect([asked, endpoint.outstanding]).toEqual([1, 0]);
  });

  it('leave nothing behind when many are aborted while the engine does not respond', async () => {
    let asked = 0;
    const url = await serve(() => asked++);
    const endpoint = endpointOf(url, { connections: 1, queue: 1 });
    send(endpoint);
    await expect.poll(() => asked).toBe(1);
    for (let i = 0; i < 100; i++) {
      const signal = AbortSignal.abort(new Error('left'));
      expect(await send(endpoint, i % 2 === 0 ? { signal } : { headersTimeoutMs: 1 }).over).toMatch(/aborted|timeout/);
    }
    const waits = send(endpoint);
    await expect.poll(() => endpoint.outstanding).toBe(2);
    expect(await send(endpoint).over).toBe('error: overloaded');
    waits.flow?.abort(new Error('left'));
    expect(endpoint.outstanding).toBe(1);
  });

  it('are counted before they are sent', async () => {
    const url = await serve(() => undefined);
    const endpoint = endpointOf(url, { connections: 1, queue: 2 });
    const all = Array.from({ length: 5 }, () => send(endpoint));
    const refused = await Promise.all(all.slice(3).map(({ over }) => over));
    expect(refused).toEqual(['error: overloaded', 'error: overloaded']);
    expect(endpoint.outstanding).toBe(3);
  });

  it('fail without a listener, and at their time-out, also while they wait', async () => {
    const nobody = endpointOf('http://127.0.0.1:1');
    expect(await send(nobody).over).toBe('error: unreachable');
    const endpoint = endpointOf(await serve(() => undefined), { connections: 1, headersTimeoutMs: 60 });
    const both = [send(endpoint), send(endpoint)];
    expect(await Promise.all(both.map(({ over }) => over))).toEqual(['error: timeout', 'error: timeout']);
    await expect.poll(() => [nobody.outstanding, endpoint.outstanding]).toEqual([0, 0]);
  });

  it('fail when the endpoint is closed, also while they wait', async () => {
    let asked = 0;
    const endpoint = endpointOf(await serve(() => asked++), { connections: 1 });
    const both = [send(endpoint), send(endpoint)];
    await expect.poll(() => asked).toBe(1);
    await endpoint.close();
    expect(await Promise.all(both.map(({ over }) => over))).toEqual(['error: unreachable', 'error: unreachable']);
    expect(await send(endpoint).over).toBe('error: unreachable');
    expect(endpoint.outstanding).toBe(0);
  });
});

describe('responses of an endpoint', () => {
  it('keep spelling and order of the engine’s headers', async () => {
    const url = await serve((socket) => {
      socket.write(
        `${OK}X-B: 1\r\nx-a:  two \r\nSet-Cookie: c\r\nSet-Cookie: d\xe9\r\nContent-Length: 0\r\n\r\n`,
        'latin1',
      );
    });
    const asked = send(endpointOf(url));
    await asked.over;
    expect(asked.head).toMatchObject({
      status: 200,
      rawHeaders: ['X-B', '1', 'x-a', 'two', 'Set-Cookie', 'c', 'Set-Cookie', 'd\xe9', 'Content-Length', '0'],
    });
  });

  it.each(['content-length: 20000000', 'transfer-encoding: chunked'])(
    'are held back by the sink (%s)',
    { tags: 'slow' },
    async (framing) => {
      const LENGTH = 20_000_000;
      const chunked = framing.endsWith('chunked');
      let server: Socket | undefined;
      const url = await serve((socket) => {
        server = socket;
        socket.write(`${OK}${framing}\r\n\r\n${chunked ? `${LENGTH.toString(16)}\r\n` : ''}`);
        socket.write(Buffer.alloc(LENGTH, 'y'));
        if (chunked) socket.write('\r\n0\r\n\r\n');
      });
      const sink = new Collected();
      sink.holdAfter = 1;
      const asked = send(endpointOf(url), {}, sink);
      await expect.poll(() => asked.bytes).toBeGreaterThan(0);
      // The buffers of the system are full, so the remaining bytes wait in the server.
      const left = (): number => server?.writableLength ?? 0;
      let before = -1;
      await expect.poll(() => before === (before = left())).toBe(true);
      expect(left()).toBeGreaterThan(LENGTH / 4);
      expect(asked.bytes).toBeLessThan(LENGTH / 4);
      sink.holdAfter = Infinity;
      asked.flow?.resume();
      await asked.over;
      expect(asked.bytes).toBe(LENGTH);
    },
  );

  it('can be aborted by the sink, which closes the connection', async () => {
    let closed = 0;
    const url = await serve((socket) => {
      socket.once('close', () => closed++);
      socket.write(`${OK}Content-Length: 100\r\n\r\nbegin`);
    });
    const endpoint = endpointOf(url);
    const asked = send(endpoint);
    await expect.poll(() => asked.body).toBe('begin');
    asked.flow?.abort(new Error('enough'));
    expect(await asked.over).toBe('error: enough');
    await expect.poll(() => closed).toBe(1);
    expect(endpoint.outstanding).toBe(0);
  });

  it('fail with the caller’s signal as a stream', async () => {
    const url = await serve((socket) => void socket.write(`${OK}Content-Length: 100\r\n\r\nbegin`));
    const leaving = new AbortController();
    const { body } = await endpointOf(url).request({ method: 'GET', path: '/', signal: leaving.signal });
    const reading = (async () => {
      for await (const _ of body) leaving.abort();
    })();
    await expect(reading).rejects.toMatchObject({ name: 'EngineError', code: 'aborted' });
  });
});

describe('an endpoint with TLS', () => {
  it('is requested only with a certificate of the configured authority', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-endpoint-'));
    closers.push(() => rm(folder, { recursive: true }));
    const pki = new Pki(folder);
    await pki.createAuthority();
    await pki.issue('engine', [['CN', 'engine']], 'subjectAltName=IP:127.0.0.1');
    const read = (name: string): Promise<string> => readFile(pki.path(name), 'utf8');
    const [key, cert, ca] = await Promise.all([read('engine.key'), read('engine.crt'), read('ca.crt')]);
    const server = createTlsServer({ key, cert }, (_, response) => response.end('x'.repeat(300_000)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(
      () => server.close(),
      () => server.closeAllConnections(),
    );
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const trusting = new PooledEndpoint(url, NO_CREDENTIAL, DEFAULT_ENDPOINT_LIMITS, { ca });
    const other = new PooledEndpoint(url, NO_CREDENTIAL, DEFAULT_ENDPOINT_LIMITS);
    closers.push(() => Promise.all([trusting.close(), other.close()]));
    const asked = send(trusting);
    await asked.over;
    expect(asked.bytes).toBe(300_000);
    expect(await send(other).over).toBe('error: unreachable');
  });
});
