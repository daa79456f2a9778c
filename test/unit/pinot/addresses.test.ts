import { afterEach, beforeEach, expect, it } from 'vitest';
import { createEngine, MAX_ENDPOINTS } from '../../../src/pinot/connection.ts';
import { getJson } from '../../../src/pinot/controller.ts';
import type { Engine } from '../../../src/pinot/types.ts';
import { FakeEngine } from '../../support/fake-engine.ts';

let fake: FakeEngine;
let engine: Engine;

beforeEach(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.json('GET /x', 'ok');
  engine = createEngine({ controllerUrls: [fake.url] });
});

afterEach(async () => {
  await engine.close();
  await fake.close();
});

it('of brokers and servers can change without end, and those in use stay', async () => {
  const server = new FakeEngine();
  await server.listen();
  const arrived = Promise.withResolvers<() => void>();
  server.answers.set('GET /slow', (_request, response) => {
    arrived.resolve(() => void response.end('1'));
  });
  const slow = getJson(engine.endpoint(server.url), '/slow');
  const respond = await arrived.promise;
  for (let index = 0; index <= MAX_ENDPOINTS; index++) engine.endpoint(`http://server-${index}:1`);
  respond();
  expect(await slow).toBe(1);
  expect(await getJson(engine.controller, '/x')).toBe('ok');
  await server.close();
});
