import type { ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEngine } from '../../../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../../../src/pinot/types.ts';
import type { DataPlaneDependencies } from '../../../../../src/api/queries/data-plane/dependencies.ts';
import { dataPlaneOf, testApp, TEST_HEADERS, TEST_TOKEN } from '../../../../support/app.ts';
import { FakeEngine } from '../../../../support/fake-engine.ts';
import { once } from '../../../../support/once.ts';

const MB = 1024 * 1024;
const CONNECTIONS = 10;
/** The most that a connection may send at once. */
const REQUESTS = 17;
const ANSWER = `{"rows":["${'x'.repeat(8 * MB)}"],"tablesQueried":["events"]}`;
const BODY = JSON.stringify({ sql: 'SELECT a FROM events' });

let fake: FakeEngine;
let engine: Engine & KnownTables;
let app: FastifyInstance;
let dataPlane: DataPlaneDependencies;
const responses: ServerResponse[] = [];

beforeAll(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['events_OFFLINE'], ANSWER);
  engine = createEngine({ controllerUrls: [fake.url] });
  dataPlane = dataPlaneOf(engine);
  app = await testApp({ register: async () => undefined, parts: { dataPlane } });
  await app.listen({ host: '127.0.0.1', port: 0 });
  app.server.on('request', (_request, response: ServerResponse) => responses.push(response));
});

afterAll(async () => {
  await app.close();
  await engine.close();
  await fake.close();
});

const port = (): number => (app.server.address() as AddressInfo).port;

async function open(): Promise<Socket> {
  const socket = connect(port(), '127.0.0.1').pause();
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const head = `POST /query/sql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TEST_TOKEN}\r\nContent-Length: ${BODY.length}`;
  socket.write(`${head}\r\n\r\n${BODY}`.repeat(REQUESTS));
  return socket;
}

it('pipelined queries hold a small part of one response each while the client reads nothing, and delay no other caller', async () => {
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, open));
  const buffered = (): ServerResponse[] => responses.filter(({ writableLength }) => writableLength > 0);
  await expect.poll(() => buffered().length).toBe(CONNECTIONS);
  const answer = await fetch(`http://127.0.0.1:${port()}/query/sql`, {
    method: 'POST',
    headers: { ...TEST_HEADERS, 'content-type': 'application/json' },
    body: BODY,
  });
  expect([answer.status, (await answer.text()).length]).toEqual([200, ANSWER.length]);
  expect(buffered().length).toBe(CONNECTIONS);
  expect(buffered().reduce((sum, { writableLength }) => sum + writableLength, 0)).toBeLessThan(CONNECTIONS * MB);
  expect(dataPlane.memory.used).toBeLessThan(CONNECTIONS * MB);
  // The engine received one query per connection, and the query of the other caller.
  expect(fake.seen.filter(({ url }) => url === '/query/sql')).toHaveLength(CONNECTIONS + 1);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => dataPlane.memory.used).toBe(0);
});
