// @module-tag slow
import { createHash } from 'node:crypto';
import { request as httpRequest, Agent, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEngine } from '../../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../../src/pinot/types.ts';
import { memoryQueue } from '../../../../src/api/server/admission/memory.ts';
import type { QueryService } from '../../../../src/app/parts/query-service.ts';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import { authorizerBy, testApp, TEST_HEADERS } from '../../../support/app.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { memoryQueryService } from '../../../support/query-service.ts';

const QUERIES = 400;
const CONCURRENCY = 48;
const ROW_BYTES = 1_000;
const MAX_ROWS = 700;
/** More rows than the socket buffers hold, so that the rest is buffered in the gateway. */
const LARGE_ROWS = 12_000;
const isLarge = (id: number): boolean => id % 40 === 3;
const INCOMPLETE = Symbol('broken');

let fake: FakeEngine;
let engine: Engine & KnownTables;
let service: QueryService;
let app: FastifyInstance;

beforeEach(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['events_OFFLINE']);
  fake.answers.set('POST /query/sql', (request, response) => void answer(idOf(request.body), response));
  engine = createEngine({ controllerUrls: [fake.url] });
  await engine.actualTables([tableNameOf('events')]);
  service = await memoryQueryService(engine);
  const authorizer = authorizerBy(() => true);
  const parts = { dataPlane: { ...service.data, memory: memoryQueue() } };
  app = await testApp({ authorizer, register: service.register, parts });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

afterEach(async () => {
  agent.destroy();
  await app.close();
  await service.close();
  await engine.close();
  await fake.close();
});

const idOf = (body: string): number => Number(/id\W+(\d+)/.exec(body)?.[1]);

/** The rows of a query. Content and number of rows depend only on the id. */
function rowsOf(id: number): string[] {
  const hash = createHash('sha256').update(String(id)).digest();
  if (isLarge(id)) return Array.from({ length: LARGE_ROWS }, (_, row) => rowOf(id, row));
  const count = hash[0]! < 128 ? hash[1]! % 8 : (hash.readUInt16BE(1) % MAX_ROWS) + 1;
  return Array.from({ length: count }, (_, row) => rowOf(id, row));
}

function rowOf(id: number, row: number): string {
  return `["${`${id}.${row};`.repeat(ROW_BYTES / 4).slice(0, ROW_BYTES)}"]`;
}

function textOf(id: number): string {
  const schema = '{"columnNames":["text"],"columnDataTypes":["STRING"]}';
  const rows = rowsOf(id).join(',');
  return `{"resultTable":{"dataSchema":${schema},"rows":[${rows}]},"exceptions":[],"tablesQueried":["events"]}`;
}

/** The engine's response. By id: with or without length, chunks of different sizes, gzip, or incomplete. */
async function answer(id: number, response: Parameters<Parameters<typeof fake.answers.set>[1]>[1]): Promise<void> {
  const gzip = id % 5 === 1;
  const bytes = gzip ? gzipSync(textOf(id), { level: 1 }) : Buffer.from(textOf(id));
  response.setHeader('content-type', 'application/json');
  if (gzip) response.setHeader('content-encoding', 'gzip');
  if (id % 3 === 0) response.setHeader('content-length', bytes.length);
  const end = id % 11 === 10 ? bytes.length >> 1 : bytes.length;
  const step = 1_000 + ((id * 7_919) % 90_000);
  for (let at = 0; at < end; at += step) {
    response.write(bytes.subarray(at, Math.min(end, at + step)));
    if (id % 2 === 0) await turn();
  }
  if (end < bytes.length) response.destroy();
  else response.end();
}

const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });

/** Sends a request. By id, some clients read slowly and some disconnect. */
function sendRequest(method: string, path: string, body: string, id: number): Promise<string | typeof INCOMPLETE> {
  const { port } = app.server.address() as AddressInfo;
  const headers = {
    ...TEST_HEADERS,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'accept-encoding': 'identity',
  };
  return new Promise((resolve) => {
    const request = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent }, (response) => {
      read(response, id).then(resolve, () => resolve(INCOMPLETE));
    });
    request.on('error', () => resolve(INCOMPLETE));
    request.end(body);
  });
}

async function read(response: IncomingMessage, id: number): Promise<string | typeof INCOMPLETE> {
  const chunks: Buffer[] = [];
  let size = 0;
  if (isLarge(id)) await sleep(100);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (id % 7 === 3) await sleep(1);
    if (id % 13 === 12 && size > 20_000) return INCOMPLETE;
  }
  const bytes = Buffer.concat(chunks);
  if (response.headers['content-encoding'] !== 'gzip') return bytes.toString();
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

async function passThrough(id: number): Promise<boolean> {
  const received = await sendRequest(
    'POST',
    '/query/sql',
    JSON.stringify({ sql: `SELECT text FROM events WHERE id = ${id}` }),
    id,
  );
  if (received === INCOMPLETE) return false;
  // A small incomplete engine response becomes an error response.
  if (received.startsWith('{"timestamp"')) return false;
  expect(received === textOf(id), `the answer to query ${id}: ${received.slice(0, 200)}`).toBe(true);
  return true;
}

async function paginated(id: number): Promise<boolean> {
  const sql = JSON.stringify({ sql: `SELECT text FROM events WHERE id = ${id}` });
  const first = await sendRequest('POST', '/query/sql?doPaginate=true&numRows=50', sql, 1);
  if (first === INCOMPLETE) return false;
  const { requestId } = JSON.parse(first) as { requestId?: string };
  if (requestId === undefined) return false;
  const offset = Math.max(0, Math.min(rowsOf(id).length - 1, 3));
  const page = await sendRequest('GET', `/query/${requestId}/results?offset=${offset}&numRows=40`, '', id);
  if (page === INCOMPLETE) return false;
  const rows = JSON.stringify((JSON.parse(page) as { resultTable: { rows: unknown } }).resultTable.rows);
  expect(
    rows ===
      `[${rowsOf(id)
        .slice(offset, offset + 40)
        .join(',')}]`,
    `a page of query ${id}`,
  ).toBe(true);
  return true;
}

describe('concurrent responses', () => {
  it('are not mixed, also when others fail or are aborted', async () => {
    let next = 0;
    let complete = 0;
    const worker = async (): Promise<void> => {
      while (next < QUERIES) {
        const id = next++;
        if (await (id % 4 === 0 ? paginated(id) : passThrough(id))) complete++;
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, worker));
    // One in eleven engine responses is incomplete, and one in thirteen clients disconnects.
    expect(complete).toBeGreaterThan(QUERIES * 0.7);
  });
});
