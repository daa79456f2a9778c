import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { Agent, request } from 'undici';
import { describe, expect, it } from 'vitest';
import { createEngine } from '../../../../src/pinot/connection.ts';
import { drain } from '../../../../src/api/server/drain.ts';
import { listen } from '../../../../src/api/server/server.ts';
import { dataPlaneOf, testApp, TEST_HEADERS } from '../../../support/app.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { once } from '../../../support/once.ts';
import { until } from '../../../support/until.ts';

const wellApp = (): Promise<FastifyInstance> =>
  testApp({ register: async (app) => void app.get('/', { config: { public: true } }, async () => 'well') });

describe('the shutdown of a server', () => {
  it('fails no request of a client with a kept-alive connection', async () => {
    const app = await wellApp();
    const url = `http://127.0.0.1:${await listen(app, '127.0.0.1', 0)}/`;
    const dispatcher = new Agent({ connections: 1, pipelining: 1 });
    const ask = async (): Promise<unknown> => {
      const { statusCode, headers, body } = await request(url, { dispatcher });
      await body.dump();
      return [statusCode, headers['connection']];
    };
    try {
      expect(await ask()).toEqual([200, 'keep-alive']);
      const clock = new FakeClock();
      const ended = drain(app, 10_000, clock);
      await until('the drain waits for connections', () => clock.timers === 1);
      expect(await ask()).toEqual([200, 'close']);
      const connections = promisify(app.server.getConnections.bind(app.server));
      await until('the client has closed its connection', async () => (await connections()) === 0);
      await clock.advance(50);
      expect(await ended).toBe(true);
    } finally {
      await dispatcher.destroy();
    }
  });

  it('completes a running query with `Connection: close`', async () => {
    const fake = new FakeEngine();
    await fake.listen();
    fake.serve(['events_OFFLINE']);
    const received = Promise.withResolvers<ServerResponse>();
    fake.answers.set('POST /query/sql', (_request, response) => received.resolve(response));
    const engine = createEngine({ controllerUrls: [fake.url] });
    const app = await testApp({ register: async () => undefined, parts: { dataPlane: dataPlaneOf(engine) } });
    const url = `http://127.0.0.1:${await listen(app, '127.0.0.1', 0)}/query/sql?sql=SELECT+a+FROM+events`;
    const first = fetch(url, { headers: TEST_HEADERS });
    const response = await received.promise;
    const clock = new FakeClock();
    const ended = drain(app, 20_000, clock);
    await until('the drain waits for connections', () => clock.timers === 1);
    fake.serve(['events_OFFLINE'], '{"rows":[2]}');
    const second = await fetch(url, { headers: TEST_HEADERS });
    expect([second.headers.get('connection'), await second.text()]).toEqual(['close', '{"rows":[2]}']);
    response.end('{"rows":[1]}');
    const firstAnswer = await first;
    expect([firstAnswer.headers.get('connection'), await firstAnswer.text()]).toEqual(['close', '{"rows":[1]}']);
    await clock.advance(1_500);
    expect(await ended).toBe(true);
    await engine.close();
    await fake.close();
  });

  it('does not wait without connections', async () => {
    const app = await wellApp();
    await listen(app, '127.0.0.1', 0);
    // A clock that does not advance: a wait would not end.
    expect(await drain(app, 10_000, new FakeClock())).toBe(true);
  });

  it('completes a response whose client reads slowly', async () => {
    const bytes = 32 * 1024 * 1024;
    const app = await testApp({
      register: async (scope) =>
        void scope.get('/large', { config: { public: true } }, async () => Buffer.alloc(bytes, 'x')),
    });
    const socket = connect(await listen(app, '127.0.0.1', 0), '127.0.0.1');
    socket.write('GET /large HTTP/1.1\r\nHost: gateway\r\n\r\n');
    await once(socket, 'readable');
    const clock = new FakeClock();
    const ended = drain(app, 20_000, clock);
    await clock.advance(5_000);
    let received = 0;
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received += chunk.length;
      if (received > bytes) break;
    }
    expect(received).toBeGreaterThan(bytes);
    await clock.advance(50);
    expect(await ended).toBe(true);
  });

  it('closes connections without a request a second later', async () => {
    const app = await wellApp();
    const port = await listen(app, '127.0.0.1', 0);
    const silent = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
    silent[1]?.write('GET / HTTP/1.1\r\n');
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    const clock = new FakeClock();
    const ended = drain(app, 60_000, clock);
    await clock.advance(3_000);
    expect(await ended).toBe(true);
    for (const socket of silent) socket.destroy();
  });

  it('ends within its time while clients connect in each turn of the event loop', async () => {
    const app = await wellApp();
    const port = await listen(app, '127.0.0.1', 0);
    const clock = new FakeClock();
    const refused = Promise.withResolvers<unknown>();
    let isEnded = false;
    const connectAgain = (): void => {
      if (isEnded) return;
      const socket = connect(port, '127.0.0.1', () => socket.destroy()).on('error', refused.resolve);
      setImmediate(connectAgain);
    };
    connectAgain();
    const ended = drain(app, 4_000, clock);
    await until('the listener is closed', async () => {
      await clock.advance(10);
      return !app.server.listening;
    });
    expect(clock.monotonic()).toBeLessThan(4_000);
    await refused.promise;
    isEnded = true;
    await clock.advance(1_100);
    expect(await ended).toBe(true);
  });
});
