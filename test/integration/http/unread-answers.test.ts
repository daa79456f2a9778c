import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { type RawAnswer, RawClient, type RawRequest, requestBytes } from '../../support/raw-client.ts';
import { StubEngine } from '../../support/stub-engine.ts';
import { digest, KB, MB, noise } from './answers.ts';

// A caller that sends many requests and reads no response uses little memory of the gateway and does not delay other callers.

const CONNECTIONS = 10;
/** The most that a connection may send at once. */
const REQUESTS = 17;
const MEMORY_LIMIT = 256 * MB;
/** Seconds of the processor for the request of another caller, which takes some hundredths. */
const OTHER_CALLER_LIMIT_SECONDS = 1;
const ROWS = Array.from({ length: 600 }, (_, i) => `[${i},"${noise(`row ${i}`, KB)}"]`);
const ANSWER = `{"resultTable":{"dataSchema":{"columnNames":["a","b"],"columnDataTypes":["INT","STRING"]},"rows":[${ROWS.join(',')}]},"exceptions":[],"tablesQueried":["orders"]}`;

let engine: StubEngine;
let gateway: GatewayProcess;
let requestId: string;
let folder: string;

beforeAll(async () => {
  engine = new StubEngine(['orders_OFFLINE']);
  engine.responder = () => ({ body: ANSWER });
  await engine.listen();
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-unread-'));
  const properties = [
    'olap.broker.pagination.protocol=file',
    `olap.broker.pagination.file.data.dir=${join(folder, 'results')}`,
  ];
  gateway = await GatewayProcess.start({ controllers: engine.url, properties });
  const { body } = await gateway.once(query('/query/sql?doPaginate=true&numRows=1'));
  ({ requestId } = JSON.parse(body.toString()) as { requestId: string });
});
afterAll(async () => {
  await gateway?.stop();
  await engine?.close();
  await rm(folder, { recursive: true, force: true });
});

function query(target = '/query/sql'): RawRequest {
  const headers = [gateway.authorization(), ['Content-Type', 'application/json']] as const;
  return { target, headers, body: JSON.stringify({ sql: 'SELECT * FROM orders' }) };
}

const REQUESTS_OF: Readonly<Record<string, () => RawRequest>> = {
  pages: () => ({
    target: `/query/${requestId}/results?offset=0&numRows=${ROWS.length}`,
    headers: [gateway.authorization()],
  }),
  'passed answers': () => query(),
};

/** Waits until the resident memory stops growing. @returns its maximum, in bytes */
async function settledMemory(): Promise<number> {
  let most = 0;
  for (let steady = 0, round = 0; steady < 10 && round < 200; round++) {
    const now = await gateway.residentBytes();
    steady = now <= most + MB ? steady + 1 : 0;
    most = Math.max(most, now);
    await sleep(100);
  }
  return most;
}

describe.runIf(process.platform === 'linux').each(Object.entries(REQUESTS_OF))('unread %s', (_name, request) => {
  it(`of ${CONNECTIONS} connections with ${REQUESTS} requests each use little memory, delay no other caller, and are complete when read`, async () => {
    // The same work with responses read at once, so that memory that the process keeps is not counted.
    const warm = await RawClient.open(gateway.port);
    const expected = digest((await warm.request(request())).body);
    for (let i = 0; i < REQUESTS; i++) await warm.request(request());
    warm.destroy();
    const before = await gateway.residentBytes();

    const bytes = Buffer.concat(Array.from({ length: REQUESTS }, () => requestBytes(request())));
    const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => RawClient.open(gateway.port)));
    for (const client of clients) {
      client.pause();
      client.send(bytes);
    }
    const grown = (await settledMemory()) - before;
    const begun = await gateway.cpuSeconds();
    const other = await gateway.once(request()).then(describeAnswer, String);
    const used = (await gateway.cpuSeconds()) - begun;
    expect(other, 'the answer to another caller').toBe(`200 ${expected}`);

    const wrong = await Promise.all(clients.map((client) => readAll(client, expected)));
    expect(wrong.flat()).toEqual([]);
    expect(Math.round(grown / MB)).toBeLessThanOrEqual(MEMORY_LIMIT / MB);
    expect(used).toBeLessThan(OTHER_CALLER_LIMIT_SECONDS);
  });
});

function describeAnswer({ status, body }: RawAnswer): string {
  return status === 200 ? `200 ${digest(body)}` : `${status} ${body.subarray(0, 200).toString()}`;
}

/** Reads every response. @returns all differences */
async function readAll(client: RawClient, expected: string): Promise<string[]> {
  const wrong: string[] = [];
  client.resume();
  for (let i = 0; i < REQUESTS && wrong.length === 0; i++) {
    const { status, body } = await client.answer();
    if (status !== 200 || digest(body) !== expected) wrong.push(`answer ${i}: ${status}, ${body.length} bytes`);
  }
  client.destroy();
  return wrong;
}
