import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { clientError } from '../../../../../src/api/server/app-errors.ts';
import { serveSequentially } from '../../../../../src/api/server/bounds/pipelining.ts';
import { once } from '../../../../support/once.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

interface Running {
  readonly port: number;
  /** Number of parsed requests. */
  readonly parsed: () => number;
  /** Paths of started requests, in order. */
  readonly started: string[];
  readonly openResponses: ServerResponse[];
}

/** Starts a server whose responses the test completes. */
async function start(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Running> {
  let parsed = 0;
  const started: string[] = [];
  const openResponses: ServerResponse[] = [];
  const listener = serveSequentially((request, response) => {
    started.push(request.url ?? '');
    openResponses.push(response);
    handle(request, response);
  });
  const listening = createServer((request, response) => {
    parsed++;
    listener(request, response);
  });
  listening.on('clientError', clientError(new FakeClock()));
  server = listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return { port: (listening.address() as AddressInfo).port, parsed: () => parsed, started, openResponses };
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

async function eventLoopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const requests = (count: number): string =>
  Array.from({ length: count }, (_, i) => `POST /${i} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nab`).join('');

describe('pipelined requests', () => {
  it('are processed one after the other, with responses in order', async () => {
    const running = await start((request) => void request.resume());
    const socket = await open(running.port);
    socket.write(requests(3));
    await expect.poll(running.parsed).toBe(3);
    expect(running.started).toEqual(['/0']);
    running.openResponses[0]?.end('first');
    await expect.poll(() => running.started).toEqual(['/0', '/1']);
    running.openResponses[1]?.end('second');
    await expect.poll(() => running.started).toEqual(['/0', '/1', '/2']);
    running.openResponses[2]?.end('third');
    let text = '';
    for await (const chunk of socket) {
      text += String(chunk);
      if (text.includes('third')) break;
    }
    expect(text).toMatch(/first.*second.*third/s);
  });

  it('are not read while many wait, and are all served afterwards', async () => {
    const release = Promise.withResolvers<void>();
    const running = await start((request, response) => {
      request.resume();
      request.on('end', () => void release.promise.then(() => response.end('.')));
    });
    const socket = await open(running.port);
    socket.write(requests(100));
    await expect.poll(running.parsed).toBe(100);
    await eventLoopTurns(10);
    socket.write(requests(100));
    await eventLoopTurns(100);
    expect([running.parsed(), running.started.length]).toEqual([100, 1]);
    release.resolve();
    await expect.poll(() => running.started.length).toBe(200);
    socket.destroy();
  });

  it('close the connection if there are too many', async () => {
    const running = await start((request) => void request.resume());
    const socket = await open(running.port);
    socket.write(requests(100_000));
    await new Promise((resolve) => socket.resume().once('close', resolve));
    expect(running.started).toHaveLength(1);
    // The limit plus the requests of one socket read.
    expect(running.parsed()).toBeLessThan(4_000);
  });

  it('are dropped with their connection', async () => {
    const running = await start((request) => void request.resume());
    const socket = await open(running.port);
    socket.write(requests(5));
    await expect.poll(running.parsed).toBe(5);
    const closed = once(running.openResponses[0] as ServerResponse, 'close');
    socket.destroy();
    await closed;
    await new Promise((resolve) => setImmediate(resolve));
    expect(running.started).toEqual(['/0']);
  });
});

describe('bytes that are not valid HTTP', () => {
  const GARBAGE = 'no HTTP\r\n\r\n';
  const INVALID_BODY = 'POST /invalid HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nno size\r\n';
  const ERROR = /^HTTP\/1\.1 400 Bad Request\r\n.*"message":"the request is not valid HTTP\/1\.1".*\}$/s;

  async function received(socket: Socket): Promise<string> {
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk)));
    await once(socket, 'close');
    return text;
  }

  it('get their error after the whole response that is being sent', async () => {
    const running = await start((_request, response) => {
      response.writeHead(200, { 'content-length': 6 });
      response.write('abc');
    });
    const socket = await open(running.port);
    const text = received(socket);
    socket.write(requests(1));
    await expect.poll(() => running.started).toEqual(['/0']);
    socket.write(GARBAGE);
    await eventLoopTurns(100);
    running.openResponses[0]?.end('def');
    const [, body = ''] = /\r\n\r\n(.*)$/s.exec(await text) ?? [];
    expect(body.slice(0, 6)).toBe('abcdef');
    expect(body.slice(6)).toMatch(ERROR);
  });

  it.each([GARBAGE, INVALID_BODY])('get their error after the responses to all earlier requests: %j', async (bytes) => {
    const running = await start((request) => void request.resume());
    const socket = await open(running.port);
    const text = received(socket);
    socket.write(requests(2) + bytes);
    await expect.poll(() => running.started).toEqual(['/0']);
    await eventLoopTurns(100);
    running.openResponses[0]?.end('first');
    await expect.poll(() => running.started).toEqual(['/0', '/1']);
    running.openResponses[1]?.end('second');
    const [, first, rest = ''] = /first(.*)second(.*)$/s.exec(await text) ?? [];
    expect(first).toContain('HTTP/1.1 200 OK');
    expect(rest).toMatch(ERROR);
    expect(running.started).toEqual(['/0', '/1']);
  });

  it('in the body of the request in service get their error at once', async () => {
    const running = await start((request) => void request.resume());
    const socket = await open(running.port);
    socket.write(INVALID_BODY);
    expect(await received(socket)).toMatch(ERROR);
  });

  it('in the body of the request in service cut a response that has begun', async () => {
    const running = await start((request, response) => {
      request.on('error', () => undefined).resume();
      response.writeHead(200, { 'content-length': 6 });
      response.write('abc');
    });
    const socket = await open(running.port);
    const text = received(socket);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
    await expect.poll(() => running.started).toEqual(['/']);
    socket.write('no size\r\n');
    expect(await text).toMatch(/\r\n\r\nabc$/);
  });

  it('on an idle connection get their error', async () => {
    const running = await start((request, response) => void request.resume().on('end', () => response.end('whole')));
    const socket = await open(running.port);
    const text = received(socket);
    socket.write(requests(1));
    await expect.poll(() => running.openResponses[0]?.writableFinished).toBe(true);
    await eventLoopTurns(10);
    socket.write(GARBAGE);
    expect(/whole(.*)$/s.exec(await text)?.[1]).toMatch(ERROR);
  });
});
