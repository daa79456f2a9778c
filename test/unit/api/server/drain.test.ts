import type { ServerResponse } from 'node:http';
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
    expect(await (await first).text()).toBe('{"rows":[1]}');
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
});
