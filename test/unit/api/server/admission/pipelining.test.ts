// @module-tag slow
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Admission } from '../../../../../src/api/server/admission/admission.ts';
import { Rejects } from '../../../../../src/api/server/admission/rejects.ts';
import { systemClock } from '../../../../../src/platform/clock.ts';
import { createLogger } from '../../../../../src/platform/logging.ts';
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
  /** Limits that refused a connection. */
  readonly refused: readonly string[];
}

/** Starts a server whose responses the test completes. */
async function start(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Running> {
  let parsed = 0;
  const started: string[] = [];
  const openResponses: ServerResponse[] = [];
  const connections = { total: 1_000, perAddress: 1_000 };
  const refused: string[] = [];
  const onRefusal = (limit: string): unknown => refused.push(limit);
  const metrics = { watch: () => undefined, onStart: () => undefined, onRefusal };
  const admission = new Admission({ clock: systemClock, connections, minRates: { body: 0, reader: 0 }, metrics });
  const listener = admission.listener((request, response) => {
    started.push(request.url ?? '');
    openResponses.push(response);
    handle(request, response);
  });
  const listening = createServer(admission.serverOptions, (request, response) => {
    parsed++;
    listener(request, response);
  });
  const rejects = new Rejects({ clock: systemClock, log: createLogger('silent') });
  admission.attach(listening);
  rejects.attach(listening);
  listening.on('clientError', rejects.clientError);
  server = listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return { port: (listening.address() as AddressInfo).port, parsed: () => parsed, started, openResponses, refused };
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

  it.each([18, 3_000])('are not parsed if too many wait, and their connection is closed: %i', async (count) => {
    const running = await start((request) => void request.resume());
    const sockets = await Promise.all(Array.from({ length: 20 }, () => open(running.port)));
    const closed = sockets.map((socket) => new Promise((resolve) => socket.resume().once('close', resolve)));
    for (const socket of sockets) socket.write(requests(count));
    await Promise.all(closed);
    // One in service and 16 that wait.
    expect(running.parsed()).toBe(20 * 17);
    expect(running.refused).toEqual(Array.from(sockets, () => 'pipelined-requests'));
  });

  it('are not parsed if too many wait that came one by one', async () => {
    const running = await start((request) => void request.resume());
    const socket = await open(running.port);
    const closed = new Promise((resolve) => socket.resume().once('close', resolve));
    for (let i = 1; i <= 17; i++) {
      socket.write(requests(1));
      await expect.poll(running.parsed).toBe(i);
    }
    socket.write(requests(1));
    await closed;
    expect([running.parsed(), running.started.length]).toEqual([17, 1]);
  });

  it('are all served while no more wait than may', async () => {
    const running = await start((request, response) => void request.resume().on('end', () => response.end('.')));
    const socket = await open(running.port);
    for (let i = 1; i <= 3; i++) {
      socket.resume().write(requests(17));
      await expect.poll(() => running.openResponses.filter((one) => one.writableFinished).length).toBe(17 * i);
    }
    socket.destroy();
  });

  it('do not change what a request for an upgrade is: any other request', async () => {
    const running = await start((_request, response) => response.end('no upgrade'));
    const socket = await open(running.port);
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    socket.destroy();
  });

  it('of a long body are separated from it wherever its parts end', async () => {
    let bytes = 0;
    const running = await start((request, response) => {
      request.on('data', (chunk: Buffer) => (bytes += chunk.length));
      request.on('end', () => response.end('.'));
    });
    const socket = await open(running.port);
    // Each of these looks like the end of a head.
    const body = '\r\n\r\n'.repeat(50_000);
    const upload = `POST /long HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    socket.resume().write((upload + requests(3)).repeat(2));
    await expect
      .poll(() => running.started, { timeout: 20_000 })
      .toEqual(['/long', '/0', '/1', '/2', '/long', '/0', '/1', '/2']);
    await expect.poll(() => running.openResponses.every(({ writableFinished }) => writableFinished)).toBe(true);
    expect(bytes).toBe(2 * (body.length + 6));
    socket.destroy();
  });

  it('start one in each turn of the event loop where one takes the time of a turn, whichever the number of connections', async () => {
    const running = await start((request, response) => {
      const until = performance.now() + 5;
      while (performance.now() < until);
      request.resume().on('end', () => response.end('.'));
    });
    const sockets = await Promise.all(Array.from({ length: 50 }, () => open(running.port)));
    let before = 0;
    let most = 0;
    let isOver = false;
    const turn = (): void => {
      most = Math.max(most, running.started.length - before);
      before = running.started.length;
      if (!isOver) setImmediate(turn);
    };
    turn();
    for (const socket of sockets) socket.resume().write(requests(4));
    await expect.poll(() => running.started.length, { timeout: 20_000 }).toBe(200);
    isOver = true;
    expect(most).toBe(1);
    for (const socket of sockets) socket.destroy();
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
