import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { engineProxy } from '../../../../src/api/proxy/index.ts';
import { createEngine } from '../../../../src/pinot/connection.ts';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import type { Engine } from '../../../../src/pinot/types.ts';
import { denyAll, testApp } from '../../../support/app.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';

let fake: FakeEngine;
let app: FastifyInstance;
let engine: Engine;
let clock: FakeClock;

beforeEach(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['events_OFFLINE']);
  clock = new FakeClock();
  const created = createEngine({ controllerUrls: [fake.url], clock, brokerRefreshMs: 600_000 });
  engine = created;
  app = await testApp({
    authorizer: denyAll,
    register: async (scope) => {
      scope.addHook('onClose', () => created.close());
      await engineProxy(scope, { engine: created });
    },
  });
});

afterEach(async () => {
  await app.close();
  await fake.close();
});

const lists = () => fake.seen.filter(({ url }) => url === '/tables/livebrokers').length;

it('do not delay the search for a new broker, however many one caller sends', async () => {
  for (let index = 0; index < 7; index++) {
    clock.jump(2_001);
    expect((await app.inject({ url: `/tables/unknown${index}/size` })).statusCode).toBe(403);
  }
  // The caller backs off: 2, 4 and 8 seconds after a name that does not exist.
  expect(lists()).toBe(4);
  const started = { host: '127.0.0.1', port: 1, instanceName: 'Broker_127.0.0.1_1' };
  fake.json('GET /tables/livebrokers', { events_OFFLINE: [started], new_OFFLINE: [started] });
  clock.jump(2_001);
  expect((await engine.brokerFor([tableNameOf('new')])).url).toBe('http://127.0.0.1:1');
});
