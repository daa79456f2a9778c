import type { ServerResponse } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine } from '../../../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../../../src/pinot/types.ts';
import { listen } from '../../../../../src/api/server/server.ts';
import { dataPlaneOf, testApp, TEST_HEADERS } from '../../../../support/app.ts';
import { FakeEngine } from '../../../../support/fake-engine.ts';

const ANSWER = '{"resultTable":{"rows":[[1]]},"tablesQueried":["events"]}';
const LARGE = 'x'.repeat(1024 * 1024);

let fake: FakeEngine;
let engine: Engine & KnownTables;
let app: FastifyInstance;
let url: string;

beforeAll(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['events_OFFLINE']);
  engine = createEngine({ controllerUrls: [fake.url] });
  app = await testApp({ register: async () => undefined, parts: { dataPlane: dataPlaneOf(engine) } });
  url = `http://127.0.0.1:${await listen(app, '127.0.0.1', 0)}/query/sql`;
});

afterAll(async () => {
  await app.close();
  await engine.close();
  await fake.close();
});

function sendQuery(answer: (response: ServerResponse) => void): Promise<Response> {
  fake.answers.set('POST /query/sql', (_request, response) => answer(response));
  return fetch(url, {
    method: 'POST',
    headers: { ...TEST_HEADERS, 'content-type': 'application/json' },
    body: JSON.stringify({ sql: 'SELECT a FROM events' }),
  });
}

const sendRaw = (response: ServerResponse, text: string | Buffer): void => {
  response.socket?.end(text);
};

describe('a response of the engine that fails before anything was sent', () => {
  it.each<[string, (response: ServerResponse) => void]>([
    [
      'ends before its length',
      (response) => sendRaw(response, `HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n${ANSWER}`),
    ],
    [
      'ends before its last chunk',
      (response) => sendRaw(response, `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":`),
    ],
    [
      'has a broken chunk',
      (response) => sendRaw(response, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{"a":'),
    ],
    [
      'is reset behind its head',
      (response) => {
        response.writeHead(200, { 'content-length': '100' }).flushHeaders();
        setTimeout(() => response.socket?.resetAndDestroy(), 20);
      },
    ],
    ['is no HTTP', (response) => sendRaw(response, 'SSH-2.0-OpenSSH\r\n\r\n')],
    [
      'has two lengths',
      (response) => sendRaw(response, `HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 57\r\n\r\n${ANSWER}`),
    ],
    [
      'is not the gzip that it announces',
      (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(ANSWER),
    ],
    [
      'is gzip that ends early',
      (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(ANSWER).subarray(0, 20)),
    ],
  ])('is 502 if it %s', async (_what, answer) => {
    const response = await sendQuery(answer);
    expect(response.status).toBe(502);
    const { message } = (await response.json()) as { message: string };
    expect(message).not.toMatch(/internal error/);
    // The failure does not affect the next request.
    const next = await sendQuery((response) => response.end(ANSWER));
    expect([next.status, await next.text()]).toEqual([200, ANSWER]);
  });
});

describe('a response of the engine with a table that was not authorized', () => {
  const secret = '{"tablesQueried":["secret"]}';

  it.each<[string, string | Buffer, number]>([
    ['identity', secret, 403],
    ['GZIP', gzipSync(secret), 403],
    ['br', brotliCompressSync(secret), 502],
  ])('is rejected with the content coding %s', async (coding, body, status) => {
    const answered = await sendQuery((response) => response.writeHead(200, { 'content-encoding': coding }).end(body));
    expect(answered.status).toBe(status);
    expect(await answered.text()).not.toContain('tablesQueried');
  });
});

describe('a gzip response of the engine with trailing zeros', () => {
  it.each([ANSWER, '{"tablesQueried":["secret"]}'])('is checked and ends: %s', async (text) => {
    const allowed = text === ANSWER;
    const answered = await sendQuery((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).write(gzipSync(text));
      // Longer than unpacking takes.
      setTimeout(() => response.write(Buffer.alloc(10)), 50);
      setTimeout(() => response.end(), 100);
    });
    expect(answered.status).toBe(allowed ? 200 : 403);
    if (allowed) expect(answered.headers.get('content-encoding')).toBe('gzip');
    await answered.body?.cancel();
  });
});

describe('a response of the engine that fails later', () => {
  it('closes the connection of the client, by length and by chunks', async () => {
    for (const headers of [{ 'content-length': String(2 * LARGE.length) }, {}]) {
      const response = await sendQuery((engineResponse) => {
        engineResponse.writeHead(200, headers).write(LARGE, () => engineResponse.destroy());
      });
      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow();
    }
  });
});
