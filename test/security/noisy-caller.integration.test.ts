import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FakeEngine } from '../support/fake-engine.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';

// A caller without any right sends the largest bodies on many connections. The others are served meanwhile, one after the other with its requests, not behind all of them.

const CONNECTIONS = 64;
/** Queries and probes that are sent meanwhile, each after the one before. */
const OTHERS = 20;
/**
 * Requests of the noisy caller that may get a response during each of them. A request takes several turns of the event loop, and each turn may work on
 * one large body. Without turns, all connections were served before it.
 */
const MEANWHILE = 12;
const KB = 1024;

let engine: FakeEngine;
let gateway: GatewayProcess;
beforeAll(async () => {
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE']);
  const answer = {
    resultTable: { dataSchema: { columnNames: ['city'], columnDataTypes: ['STRING'] }, rows: [['Oslo']] },
    exceptions: [],
    numDocsScanned: 1,
  };
  engine.answers.set('POST /query/sql', (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  gateway = await GatewayProcess.start({ controllers: engine.url });
});
afterAll(async () => {
  await gateway?.stop();
  await engine?.close();
});

function columns(bytes: number): string {
  const names: string[] = [];
  for (let length = 0; length < bytes; length += names.at(-1)?.length ?? 0) names.push(`c${names.length},`);
  return names.join('');
}

async function post(path: string, token: string, body: object, dispatcher: Agent): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await request(gateway.url + path, { method: 'POST', dispatcher, headers, body: JSON.stringify(body) });
  await answer.body.dump();
  return answer.statusCode;
}

/** A policy of many patterns, each of which is compared with many long names. */
function simulation(): object {
  const resources = Array.from({ length: 256 }, (_, i) => `srn2:table#*${'a'.repeat(60)}b${i}*c*`);
  const statement = { effect: 'allow', actions: ['Query'], resources };
  return {
    policyDocumentJson: JSON.stringify({ version: 'v1', statements: [statement] }),
    subjectTypeToSubject: { 'user-email': 'ada@example.com' },
    requests: Array.from({ length: 30 }, (_, i) => ({
      resourceSrn2String: `srn2:table#${'a'.repeat(500)}${i}`,
      action: 'Query',
    })),
  };
}

interface Load {
  readonly path: string;
  readonly body: () => object;
  /** Sent by the administrator, because others may not; by a caller without any right otherwise. */
  readonly asAdministrator?: boolean;
}

const LOADS: Readonly<Record<string, Load>> = {
  'texts of SQL': { path: '/query/sql', body: () => ({ sql: `SELECT ${columns(240 * KB)}1 FROM secret` }) },
  'paginated texts of SQL': {
    path: '/query/sql?doPaginate=true',
    body: () => ({ sql: `SELECT ${columns(240 * KB)}1 FROM secret` }),
  },
  simulations: { path: '/api/v1/rbac-manager/simulate-access', body: simulation, asAdministrator: true },
};

it.each(Object.entries(LOADS))('large %s of one caller do not delay the others', async (name, load) => {
  const { path, body, asAdministrator } = load;
  const slug = name.replaceAll(' ', '-').toLowerCase();
  const reader = await gateway.tokenFor(`reader-of-${slug}`, [
    { effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] },
  ]);
  const noisy = await gateway.tokenFor(`sender-of-${slug}`, [
    { effect: 'allow', actions: ['Query'], resources: ['srn2:table#none'] },
  ]);
  const token = asAdministrator === true ? gateway.token : noisy.bearerToken;
  const agent = new Agent({ connections: CONNECTIONS, headersTimeout: WAIT_LIMIT_MS, bodyTimeout: WAIT_LIMIT_MS });
  const other = new Agent();
  const large = body();
  const statuses: number[] = [];
  const over = new AbortController();
  const senders = Array.from({ length: CONNECTIONS }, async () => {
    while (!over.signal.aborted) statuses.push(await post(path, token, large, agent));
  });
  try {
    await expect.poll(() => statuses.length, { timeout: WAIT_LIMIT_MS }).toBeGreaterThan(CONNECTIONS);
    const before = statuses.length;
    for (let query = 0; query < OTHERS; query++) {
      expect(await post('/query/sql', reader.bearerToken, { sql: 'SELECT city FROM orders' }, other)).toBe(200);
      const probe = await fetch(`http://127.0.0.1:${gateway.metricsPort}/livez`);
      expect(probe.status).toBe(200);
      await probe.body?.cancel();
    }
    const served = statuses.length - before;
    expect(served).toBeLessThan(2 * OTHERS * MEANWHILE);
  } finally {
    over.abort();
    await Promise.all(senders);
    await agent.destroy();
    await other.destroy();
  }
  // No request failed for another reason than itself or too many of them.
  expect(statuses.filter((status) => ![asAdministrator === true ? 200 : 400, 429, 503].includes(status))).toEqual([]);
});
