import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FakeEngine } from '../support/fake-engine.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { FAULT_MS } from './support/figures.ts';

// Far more clients than the gateway serves: it rejects the surplus, keeps probes and revocations working, uses bounded memory, and recovers by itself.

const CLIENTS = 300;
/** Beyond the memory at rest: `max-answer-bytes` (128 MiB), connections and garbage. */
const MEMORY_BYTES = 512 * 1024 * 1024;
const ENGINE_MS = 200;
const SQL = JSON.stringify({ sql: 'SELECT city FROM orders' });
const ANSWER = JSON.stringify({
  resultTable: {
    dataSchema: { columnNames: ['city'], columnDataTypes: ['STRING'] },
    rows: Array.from({ length: 5_000 }, () => ['Oslo']),
  },
  exceptions: [],
  tablesQueried: ['orders'],
  numDocsScanned: 5_000,
});

let engine: FakeEngine;
let gateway: GatewayProcess;
const agent = new Agent({ connections: CLIENTS, headersTimeout: WAIT_LIMIT_MS, bodyTimeout: WAIT_LIMIT_MS });

beforeAll(async () => {
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE']);
  engine.answers.set('POST /query/sql', (_request, response) => {
    setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER), ENGINE_MS);
  });
  // The limits of production.
  gateway = await GatewayProcess.start({
    controllers: engine.url,
    flags: { 'max-requests-per-second': 200, 'max-concurrent-queries': 64 },
  });
});
afterAll(async () => {
  await agent.destroy();
  await gateway?.stop();
  await engine?.close();
});

interface Seen {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

async function query(token: string, dispatcher: Agent = agent): Promise<Seen> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await request(`${gateway.url}/query/sql`, { method: 'POST', dispatcher, headers, body: SQL });
  const retryAfter = answer.headers['retry-after'];
  return { status: answer.statusCode, retryAfter: retryAfter?.toString(), text: await answer.body.text() };
}

async function probe(path: string): Promise<number> {
  const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
  return (await fetch(`http://127.0.0.1:${gateway.metricsPort}/${path}`, { signal })).status;
}

it(`${CLIENTS} clients at once get responses or 429 and 503 with Retry-After`, async () => {
  const load = await gateway.tokenFor('load', [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#*'] }]);
  const revoked = await gateway.tokenFor('revoked', [
    { effect: 'allow', actions: ['Query'], resources: ['srn2:table#*'] },
  ]);
  expect((await query(revoked.bearerToken)).status).toBe(200);
  const atRest = await gateway.residentBytes();
  const seen: Seen[] = [];
  const over = new AbortController();
  const client = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const answer = await query(load.bearerToken);
      // The text of a 200 is large.
      seen.push(answer.status === 200 ? { ...answer, text: '' } : answer);
      if (answer.status === 200) expect(answer.text).toBe(ANSWER);
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  const ownAgent = new Agent();
  try {
    await delay(FAULT_MS / 2);
    const deleted = await gateway.call(
      'DELETE',
      `/api/v1/rbac-manager/service-tokens/srn2:service-token%23${revoked.accessKey}`,
    );
    expect(deleted.status).toBe(200);
    expect((await query(revoked.bearerToken, ownAgent)).status).toBe(401);
    for (const path of ['livez', 'readyz', 'metrics']) expect(await probe(path), path).toBe(200);
    await delay(FAULT_MS / 2);
    expect((await gateway.residentBytes()) - atRest).toBeLessThan(MEMORY_BYTES);
  } finally {
    over.abort();
    await Promise.all(clients);
    await ownAgent.destroy();
  }
  const rejected = seen.filter(({ status }) => status !== 200);
  expect(rejected.length).toBeGreaterThan(0);
  expect(seen.length).toBeGreaterThan(rejected.length);
  expect(rejected.filter(({ status }) => status !== 429 && status !== 503)).toEqual([]);
  expect(rejected.filter(({ retryAfter }) => !/^[1-9]\d*$/.test(retryAfter ?? '')).slice(0, 3)).toEqual([]);
  for (const { text } of rejected) expect(JSON.parse(text)).toHaveProperty('message');
  await expect.poll(async () => (await query(load.bearerToken)).status, { timeout: WAIT_LIMIT_MS }).toBe(200);
});
