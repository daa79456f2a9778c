import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine } from '../../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../../src/pinot/types.ts';
import { engineProxy } from '../../../../src/api/proxy/index.ts';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import { dataPlaneOf, testApp, TEST_HEADERS } from '../../../support/app.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';

const SQL = 'SELECT text FROM events';
const KB = 1024;
/** Sizes around the 64 KB that the gateway holds back of each response, and other sizes. */
const SIZES = [200, 63 * KB, 64 * KB, 65 * KB, 100 * KB, KB * KB];

const REQUESTS = {
  'GET /query/sql': { method: 'GET', path: `/query/sql?sql=${encodeURIComponent(SQL)}` },
  'POST /query/sql': { method: 'POST', path: '/query/sql', body: JSON.stringify({ sql: SQL }) },
  'POST /query': { method: 'POST', path: '/query', body: JSON.stringify({ sql: SQL }) },
  'POST /sql': { method: 'POST', path: '/sql', body: JSON.stringify({ sql: SQL }) },
} as const;

let fake: FakeEngine;
let engine: Engine & KnownTables;
let app: FastifyInstance;
let answer: string;

beforeAll(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['events_OFFLINE']);
  for (const call of Object.keys(REQUESTS)) {
    fake.answers.set(call, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      // Like the engine: chunked, without `Content-Length`.
      for (let at = 0; at < answer.length; at += 8 * KB) response.write(answer.slice(at, at + 8 * KB));
      response.end();
    });
  }
  engine = createEngine({ controllerUrls: [fake.url] });
  await engine.actualTables([tableNameOf('events')]);
  app = await testApp({
    register: (scope) => engineProxy(scope, { engine }),
    parts: { dataPlane: dataPlaneOf(engine) },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

afterAll(async () => {
  await app.close();
  await engine.close();
  await fake.close();
});

function answerOf(bytes: number): string {
  const tail = '"],"tablesQueried":["events"]}';
  const head = '{"rows":["';
  return head + 'x'.repeat(bytes - head.length - tail.length) + tail;
}

async function send(target: (typeof REQUESTS)[keyof typeof REQUESTS], agent: Agent | false): Promise<string> {
  const { port } = app.server.address() as AddressInfo;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { ...TEST_HEADERS, 'content-type': 'application/json' };
  const request = httpRequest({ host: '127.0.0.1', port, method: target.method, path: target.path, headers, agent });
  request.once('response', resolve).once('error', reject);
  request.end('body' in target ? target.body : undefined);
  const chunks: Buffer[] = [];
  for await (const chunk of await promise) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Avoids a diff of a megabyte in the test output. */
function expectSame(received: string, expected: string): void {
  expect(received.length).toBe(expected.length);
  expect(received === expected).toBe(true);
}

describe.each(Object.entries(REQUESTS))('a response to %s', (_name, target) => {
  it.each(SIZES)('of %i bytes is complete when the connection closes after it', async (bytes) => {
    answer = answerOf(bytes);
    expectSame(await send(target, false), answer);
  });

  it('is complete on a reused connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      for (const bytes of [...SIZES, ...SIZES.toReversed()]) {
        answer = answerOf(bytes);
        expectSame(await send(target, agent), answer);
      }
    } finally {
      agent.destroy();
    }
  });
});
