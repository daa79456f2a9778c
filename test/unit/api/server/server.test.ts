import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import Fastify from 'fastify';
import { Agent, request } from 'undici';
import { describe, expect, it } from 'vitest';
import { createEngine } from '../../../../src/pinot/connection.ts';
import { drain, listen } from '../../../../src/api/server/server.ts';
import { createLogger } from '../../../../src/platform/logging.ts';
import { dataPlaneOf, testApp, TEST_HEADERS } from '../../../support/app.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { until } from '../../../support/until.ts';

describe('the shutdown of a server', () => {
  it('fails no request of a client with a kept-alive connection', async () => {
    const app = Fastify();
    app.get('/', async () => 'well');
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
    expect(await (await first).text()).toBe('{"rows":[1]}');
    await clock.advance(1_000);
    expect(await ended).toBe(true);
    await engine.close();
    await fake.close();
  });

  it('does not wait without connections', async () => {
    const app = Fastify();
    await listen(app, '127.0.0.1', 0);
    // A clock that does not advance: a wait would not end.
    expect(await drain(app, 10_000, new FakeClock())).toBe(true);
  });
});

describe('a listener', () => {
  it('that cannot accept a connection goes on, with a limited number of log lines', async () => {
    const lines: string[] = [];
    const app = await testApp({
      register: async (scope) => void scope.get('/open', { config: { public: true } }, async () => ({ open: true })),
      parts: { logger: createLogger('warn', { write: (line) => void lines.push(line) }) },
    });
    const port = await listen(app, '127.0.0.1', 0);
    const error = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE', syscall: 'accept' });
    for (let i = 0; i < 100; i++) app.server.emit('error', error);
    expect((await request(`http://127.0.0.1:${port}/open`)).statusCode).toBe(200);
    await app.close();
    expect(lines).toHaveLength(3);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      msg: 'a connection could not be accepted',
      err: { code: 'EMFILE' },
    });
  });

  it('outlives a write to a response after its end', async () => {
    const written = Promise.withResolvers<string | undefined>();
    const app = await testApp({
      register: async (scope) =>
        void scope.get('/late', { config: { public: true } }, async (_request, reply) => {
          reply.hijack();
          reply.raw.end('whole');
          reply.raw.write('more', (failed) => written.resolve((failed as NodeJS.ErrnoException | undefined)?.code));
        }),
    });
    const port = await listen(app, '127.0.0.1', 0);
    const { body } = await request(`http://127.0.0.1:${port}/late`);
    expect(await body.text()).toBe('whole');
    // Without a listener of its `error` event, the test run would fail with an uncaught exception.
    expect(await written.promise).toBe('ERR_STREAM_WRITE_AFTER_END');
    await app.close();
  });
});
