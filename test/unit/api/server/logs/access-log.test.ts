// @module-tag slow
import { connect, type AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { engineProxy } from '../../../../../src/api/proxy/index.ts';
import { createEngine } from '../../../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../../../src/pinot/types.ts';
import { createLogger } from '../../../../../src/platform/logging.ts';
import { authorizerBy, dataPlaneOf, testApp, TEST_HEADERS } from '../../../../support/app.ts';
import { FakeEngine } from '../../../../support/fake-engine.ts';
import { once } from '../../../../support/once.ts';
import { until } from '../../../../support/until.ts';

// The records of the access log of a listening server, in front of a broker and a controller.

type AccessRecord = Readonly<Record<string, unknown>>;

let controller: FakeEngine;
let broker: FakeEngine;
let engine: Engine & KnownTables;
let app: FastifyInstance;
let lines: AccessRecord[] = [];

beforeEach(async () => {
  [controller, broker] = [new FakeEngine(), new FakeEngine()];
  await Promise.all([controller.listen(), broker.listen()]);
  controller.serve(['orders_OFFLINE']);
  const at = (port: number) => ({ host: '127.0.0.1', port, instanceName: 'b' });
  controller.json('GET /tables/livebrokers', { orders_OFFLINE: [at(broker.port)] });
  broker.json('POST /query/sql', { resultTable: { rows: [] }, exceptions: [], tablesQueried: ['orders'] });
  engine = createEngine({ controllerUrls: [controller.url] });
  lines = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().trim().split('\n')) lines.push(JSON.parse(line) as AccessRecord);
      done();
    },
  });
  app = await testApp({
    authorizer: authorizerBy((_principal, _action, { levels }) => levels.every(({ id }) => id !== 'secret')),
    register: (scope) => engineProxy(scope, { engine }),
    parts: { logger: createLogger('info', sink), dataPlane: dataPlaneOf(engine) },
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
});
afterEach(async () => {
  await app.close();
  await engine.close();
  await Promise.all([controller.close(), broker.close()]);
});

const port = (): number => (app.server.address() as AddressInfo).port;

async function logged(count = 1): Promise<AccessRecord> {
  const found = () => lines.filter(({ msg }) => msg === 'answered' || msg === 'broken off');
  await until('the access record', () => found().length >= count);
  return found()[count - 1] as AccessRecord;
}

function post(sql: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${port()}/query/sql`, {
    method: 'POST',
    headers: { ...TEST_HEADERS, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ sql }),
  });
}

describe('the access record of a query', () => {
  it('has the broker, its time, the tables and the client', async () => {
    const answer = await post('SELECT id FROM orders LIMIT 1', { 'user-agent': 'superset/4.1' });
    await answer.text();
    expect(await logged()).toMatchObject({
      status: 200,
      upstream: `127.0.0.1:${broker.port}`,
      upstreamMs: expect.any(Number),
      tables: ['orders'],
      userAgent: 'superset/4.1',
    });
    expect(await logged()).not.toHaveProperty('retries');
  });

  it('has the tables of a denied query, and no broker', async () => {
    expect((await post('SELECT a.id FROM orders a JOIN secret b ON a.id = b.id')).status).toBe(403);
    const record = await logged();
    expect(record['tables']).toContain('secret');
    expect(record).not.toHaveProperty('upstream');
  });

  it('counts how often it was sent again', async () => {
    const at = (to: number) => ({ host: '127.0.0.1', port: to, instanceName: `b${to}` });
    controller.json('GET /tables/livebrokers', { orders_OFFLINE: [at(1), at(broker.port)] });
    for (let i = 1; i <= 2; i++) await (await post('SELECT id FROM orders LIMIT 1')).text();
    await logged(2);
    // One of both was sent to the broker that refuses connections first.
    expect(lines.filter(({ retries }) => retries === 1)).toHaveLength(1);
    expect(lines.filter(({ upstream }) => upstream === `127.0.0.1:${broker.port}`)).toHaveLength(2);
  });

  it('names some of many tables', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `t${i}`);
    await (await post(names.map((name) => `SELECT id FROM ${name}`).join(' UNION ALL '))).text();
    const { tables } = (await logged()) as { tables: string[] };
    expect(tables).toHaveLength(9);
    expect(tables.at(-1)).toMatch(/^and \d+ more$/);
  });
});

describe('each access record', () => {
  it('has the bytes that the connection got, of each response on it', async () => {
    const socket = connect(port(), '127.0.0.1');
    const received: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    const request = `GET /cluster/info HTTP/1.1\r\nhost: x\r\nauthorization: ${TEST_HEADERS.authorization}\r\n\r\n`;
    socket.write(request);
    const first = await logged(1);
    await until('the first response', () => Buffer.concat(received).length === first['bytes']);
    socket.write(request.replace('/cluster/info', '/nowhere/at/all'));
    const second = await logged(2);
    await until(
      'both responses',
      () => Buffer.concat(received).length === Number(first['bytes']) + Number(second['bytes']),
    );
    socket.end();
    await once(socket, 'close');
    expect(first).toMatchObject({ upstream: `127.0.0.1:${controller.port}` });
  });

  it('has the user agent without control characters and credentials, and not more than a part of a long one', async () => {
    const token = `svc-${'a'.repeat(16)}-${'b'.repeat(32)}`;
    const socket = connect(port(), '127.0.0.1');
    const agent = `bad\u00e9\t${token} ${'x'.repeat(1_000)}`;
    socket.write(`GET /nowhere HTTP/1.1\r\nhost: x\r\nuser-agent: ${agent}\r\n\r\n`, 'latin1');
    const { userAgent } = (await logged()) as { userAgent: string };
    socket.destroy();
    expect(userAgent).toMatch(/^bad\?\?svc-a{16}-\[redacted\] x+\[\d+ more characters\]$/);
    expect(userAgent.length).toBeLessThan(320);
  });
});
