// @module-tag slow
import type { FairQueue } from '../../../../src/platform/fair-queue.ts';
import { connect, type AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { engineProxy } from '../../../../src/api/proxy/index.ts';
import { memoryQueue } from '../../../../src/api/server/admission/memory.ts';
import { createEngine } from '../../../../src/pinot/connection.ts';
import { testApp, TEST_HEADERS } from '../../../support/app.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { until } from '../../../support/until.ts';
import { once } from '../../../support/once.ts';

const MB = 1024 * 1024;
/** More than the buffers of a connection. */
const LIST_BYTES = 24 * MB;
let fake: FakeEngine;
let app: FastifyInstance;
let memory: FairQueue;

beforeEach(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve([]);
  fake.json(
    'GET /schemas',
    Array.from({ length: 24 }, (_, index) => `${index}`.padEnd(LIST_BYTES / 24, 'x')),
  );
  const engine = createEngine({ controllerUrls: [fake.url] });
  memory = memoryQueue({ totalBytes: 64 * MB, bytesPerCaller: 32 * MB, maxWaiting: 0 });
  app = await testApp({
    register: async (scope) => {
      scope.addHook('onClose', () => engine.close());
      await engineProxy(scope, { engine, memory });
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

afterEach(async () => {
  await app.close();
  await fake.close();
});

const lists = () => app.inject({ url: '/schemas' });

it('of clients that do not read count against the memory of the caller', async () => {
  expect((await lists()).statusCode).toBe(200);
  await until('the memory is free', () => memory.used === 0);
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  socket.pause();
  const head = ['GET /schemas HTTP/1.1', 'Host: gateway', `Authorization: ${TEST_HEADERS.authorization}`];
  socket.write([...head, '', ''].join('\r\n'));
  await until('the list is in memory', () => memory.used >= LIST_BYTES);
  expect((await lists()).statusCode).toBe(429);
  socket.destroy();
  await until('the memory is free', () => memory.used === 0);
  expect((await lists()).statusCode).toBe(200);
});
