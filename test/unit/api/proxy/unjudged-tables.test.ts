import { createHash } from 'node:crypto';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEngine } from '../../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../../src/pinot/types.ts';
import { createLogger } from '../../../../src/platform/logging.ts';
import { dataPlaneOf, TEST_HEADERS, testApp } from '../../../support/app.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';

// What the decision record on printed SQL says about the engine's own list of tables, for each size of a response: see docs/adr/0014.
const KB = 1024;
const HELD = 64 * KB;

let fake: FakeEngine;
let engine: Engine & KnownTables;
let app: FastifyInstance;
let log = '';
let answer: { readonly text: string; readonly gzip: boolean };

beforeAll(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['events_OFFLINE']);
  fake.answers.set('POST /query/sql', (_request, response) => {
    const { text, gzip } = answer;
    const body = gzip ? gzipSync(text) : Buffer.from(text);
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(gzip && { 'content-encoding': 'gzip' }),
    });
    for (let at = 0; at < body.length; at += 8 * KB) response.write(body.subarray(at, at + 8 * KB));
    response.end();
  });
  engine = createEngine({ controllerUrls: [fake.url] });
  const stream = new Writable({
    write(chunk, _encoding, done) {
      log += String(chunk);
      done();
    },
  });
  app = await testApp({
    register: async () => undefined,
    parts: { dataPlane: dataPlaneOf(engine), logger: createLogger('error', stream) },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

afterAll(async () => {
  await app.close();
  await engine.close();
  await fake.close();
});

beforeEach(() => {
  log = '';
});

const unlike = (seed: number): string => createHash('sha256').update(String(seed)).digest('base64');

/** A response of this size with rows that gzip hardly shortens. */
function answerOf(bytes: number, tables: readonly string[]): string {
  const head = '{"resultTable":{"dataSchema":{"columnNames":["a"],"columnDataTypes":["STRING"]},"rows":[';
  const tail = `]},"exceptions":[],"tablesQueried":${JSON.stringify(tables)},"numServersQueried":1}`;
  let rows = '';
  while (head.length + rows.length + tail.length < bytes) rows += `${rows === '' ? '' : ','}["${unlike(rows.length)}"]`;
  return head + rows + tail;
}

interface Received {
  readonly status: number;
  readonly body: string;
  /** Whether the response ended as HTTP demands. */
  readonly complete: boolean;
}

async function ask(path: string, gzip: boolean): Promise<Received> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { port } = app.server.address() as AddressInfo;
  const headers = { ...TEST_HEADERS, 'content-type': 'application/json', ...(gzip && { 'accept-encoding': 'gzip' }) };
  const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', path, headers, agent: false });
  request.once('response', resolve).once('error', reject);
  request.end('{"sql":"SELECT a FROM events LIMIT 100000"}');
  // A connection that is closed right after the head can end before the client got any of it.
  const response = await promise.catch(() => undefined);
  if (response === undefined) return { status: 0, body: '', complete: false };
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch {
    // Cut by the gateway.
  }
  return {
    status: response.statusCode ?? 0,
    body: Buffer.concat(chunks).toString('latin1'),
    complete: response.complete,
  };
}

const SMALL = [500, HELD - 2 * KB];
const LARGE = [HELD + 16 * KB, 1024 * KB];

describe.each([false, true])('a streamed response with a table that was not judged (gzip: %s)', (gzip) => {
  it.each(SMALL)('of %i bytes is replaced by an error', async (bytes) => {
    answer = { text: answerOf(bytes, ['events', 'secret']), gzip };
    const { status, body } = await ask('/query/sql', gzip);
    expect([status, body.includes('resultTable')]).toEqual([403, false]);
    await expect.poll(() => log).toContain('a query read tables that were not authorized');
  });

  it.each(gzip ? [1024 * KB] : LARGE)('of %i bytes is logged and never ends', async (bytes) => {
    answer = { text: answerOf(bytes, ['secret']), gzip };
    const { complete, body } = await ask('/query/sql', gzip);
    expect([complete, body.includes('tablesQueried'), body.length < bytes]).toEqual([false, false, true]);
    await expect.poll(() => log).toContain('a query read tables that were not authorized');
  });

  it.each([...SMALL, ...LARGE])('of %i bytes is complete if all tables were judged', async (bytes) => {
    answer = { text: answerOf(bytes, ['events']), gzip };
    expect(await ask('/query/sql', gzip)).toMatchObject({ status: 200, complete: true });
    expect(log).toBe('');
  });
});

describe('a stored response with a table that was not judged', () => {
  it.each([...SMALL, ...LARGE])('of %i bytes is never shown', async (bytes) => {
    answer = { text: answerOf(bytes, ['events', 'secret']), gzip: false };
    const { status, body } = await ask('/query/sql?doPaginate=true&numRows=1', false);
    expect([status, body.includes('resultTable')]).toEqual([403, false]);
    expect(log).toContain('a query read tables that were not authorized');
    answer = { text: answerOf(bytes, ['events']), gzip: false };
    expect((await ask('/query/sql?doPaginate=true&numRows=1', false)).status).toBe(200);
  });
});
