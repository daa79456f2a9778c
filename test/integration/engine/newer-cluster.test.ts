import { afterAll, beforeAll, describe, expect } from 'vitest';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import { createGather } from '../../../src/health/gather/gather.ts';
import { runChecks } from '../../../src/health/run/run.ts';
import { resolveSettings } from '../../../src/health/settings.ts';
import { createEngine } from '../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../src/pinot/types.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { forVersions } from '../../support/for-versions.ts';
import { sharedPinot, type PinotClient } from '../../support/pinot.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { until } from '../../support/until.ts';

// Logical tables and health checks of Pinot 1.x, live: on a cluster of that version in TEST_CONTROLLER.
const from1 = await forVersions('>=1.0');
const from14 = await forVersions('>=1.4');

const LOGICAL = 'newer_all';
const PARTS = ['newer_a', 'newer_b'];
const schema = (name: string) => ({ schemaName: name, dimensionFieldSpecs: [{ name: 'place', dataType: 'STRING' }] });

let pinot: PinotClient;
let gateway: Standalone;
let engine: Engine & KnownTables;

beforeAll(async () => {
  pinot = await sharedPinot();
  engine = createEngine({ controllerUrls: [pinot.controllerUrl] });
  gateway = await startStandalone({ controllers: pinot.controllerUrl });
});

afterAll(async () => {
  await engine?.close();
  await gateway?.stop();
});

async function post<T>(path: string, body: unknown): Promise<T> {
  const answer = await gateway.call('POST', path, body);
  expect([path, answer.status, answer.status === 200 ? '' : await answer.clone().text()]).toEqual([path, 200, '']);
  return (await answer.json()) as T;
}

/** @returns the authorization of a new caller with these rights */
async function tokenFor(name: string, actions: readonly string[], resources: readonly string[]): Promise<string> {
  const manager = '/api/v1/rbac-manager';
  const statement = { actions, effect: 'allow', resources };
  await post(`${manager}/policies`, { name, policyDocument: { version: 'v1', statements: [statement] } });
  await post(`${manager}/roles`, { name, description: name });
  await post(`${manager}/roles/srn2:role%23${name}/attach-policy`, { policySrn: `srn2:policy#${name}` });
  const token = await post<{ accessKey: string; bearerToken: string }>(`${manager}/service-tokens`, {
    description: name,
  });
  const assignment = { subject: token.accessKey, subjectType: 'service-token' };
  await post(`${manager}/roles/srn2:role%23${name}/create-assignment`, assignment);
  return `Bearer ${token.bearerToken}`;
}

interface CursorPage {
  readonly requestId: string;
  readonly offset: number;
  readonly numRows: number;
  readonly numRowsResultSet: number;
  readonly resultTable: { readonly rows: readonly unknown[][] };
}

/** The texts of the queries that the brokers run. */
async function running(): Promise<string> {
  const texts = pinot.brokerUrls.map(async (url) => {
    const answer = await fetch(`${url}/queries`, { signal: AbortSignal.timeout(WAIT_LIMIT_MS) });
    return Object.values((await answer.json()) as Record<string, string>).join('\n');
  });
  return (await Promise.all(texts)).join('\n');
}

async function createParts(): Promise<void> {
  for (const name of PARTS) {
    await pinot.createTable(schema(name), {
      tableName: `${name}_OFFLINE`,
      tableType: 'OFFLINE',
      segmentsConfig: { replication: '1', schemaName: name },
      tenants: {},
      tableIndexConfig: { loadMode: 'MMAP' },
      metadata: {},
    });
    await pinot.uploadRows(name, [JSON.stringify({ place: name })]);
    await pinot.awaitRows(name, 1);
  }
}

async function removeTables(): Promise<void> {
  const { controllerUrl } = pinot;
  for (const path of [`/logicalTables/${LOGICAL}`, `/schemas/${LOGICAL}`])
    await fetch(controllerUrl + path, { method: 'DELETE', signal: AbortSignal.timeout(WAIT_LIMIT_MS) });
  for (const name of PARTS) await pinot.deleteTable(name);
}

describe('a cluster of this version', () => {
  from14('has logical tables, which are tables of their own for access', async () => {
    await createParts();
    try {
      const definition = {
        tableName: LOGICAL,
        physicalTableConfigMap: Object.fromEntries(PARTS.map((name) => [`${name}_OFFLINE`, {}])),
        brokerTenant: 'DefaultTenant',
        refOfflineTableName: `${PARTS[0]}_OFFLINE`,
      };
      await post('/schemas', schema(LOGICAL));
      // Whoever creates one must be able to read its tables.
      const creates = ['CreateTable', 'GetTableConfig'];
      const narrow = await tokenFor('creates', creates, [`srn2:table#${LOGICAL}`]);
      const refused = await gateway.call('POST', '/logicalTables', definition, { authorization: narrow });
      expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('newer_a')]);
      await post('/logicalTables', definition);
      await pinot.awaitRows(LOGICAL, 2);

      const reader = await tokenFor('reads-logical', ['Query'], [`srn2:table#${LOGICAL}`]);
      for (const set of ['', 'SET useMultistageEngine=true; ']) {
        const ask = async (table: string) => {
          const sql = `${set}SELECT place FROM ${table} ORDER BY place LIMIT 5`;
          const answer = await gateway.call('POST', '/query/sql', { sql }, { authorization: reader });
          const { resultTable } = (await answer.json()) as { resultTable?: { rows: unknown[][] } };
          return [answer.status, resultTable?.rows];
        };
        expect(await ask(LOGICAL)).toEqual([200, [['newer_a'], ['newer_b']]]);
        expect(await ask('newer_a')).toEqual([403, undefined]);
      }
    } finally {
      await removeTables();
    }
  });

  // Needs `pinot.broker.enable.query.cancellation` and `pinot.server.enable.query.cancellation`.
  from14('stops a query that is cancelled at the gateway', async () => {
    // Would take hours. The broker ends it at once; Pinot 1.5.1 goes on in the servers, because the join has no equality.
    const options = 'SET useMultistageEngine=true; SET timeoutMs=600000; SET maxRowsInJoin=2000000001;';
    const joins = 'JOIN customers b ON a.customerId < b.customerId JOIN customers c ON b.customerId > c.customerId';
    const sql = `${options} SELECT COUNT(*) FROM customers a ${joins}`;
    const isRunning = async (): Promise<boolean> => (await running()).includes('2000000001');
    const submitted = await gateway.call('POST', '/query/sql?doPaginate=true&async=true', { sql });
    const { requestId } = (await submitted.json()) as { requestId: string };
    expect(submitted.status).toBe(202);
    await until('the broker runs the query', isRunning);
    const cancelled = await gateway.call('DELETE', `/query/${requestId}`);
    expect(await cancelled.json()).toMatchObject({ state: 'cancelled' });
    await until('the broker has ended the query', async () => !(await isRunning()));
  });

  from14('serves a result at the paths of its own cursors, with the rows of its own answer', async () => {
    const sql = 'SELECT customerId, name, active, since FROM customers ORDER BY customerId LIMIT 500';
    const answer = await gateway.call('POST', '/query/sql?getCursor=true&numRows=100', { sql });
    const first = (await answer.json()) as CursorPage;
    const rows = [...first.resultTable.rows];
    while (rows.length < first.numRowsResultSet) {
      const path = `/responseStore/${first.requestId}/results?offset=${rows.length}&numRows=100`;
      const page = (await (await gateway.call('GET', path)).json()) as CursorPage;
      expect([page.offset, page.numRows]).toEqual([rows.length, 100]);
      rows.push(...page.resultTable.rows);
    }
    const expected = JSON.parse(await pinot.query(sql)) as CursorPage;
    expect([first.offset, first.numRows, rows]).toEqual([0, 100, expected.resultTable.rows]);
    expect((await gateway.call('DELETE', `/responseStore/${first.requestId}`)).status).toBe(200);
    expect((await gateway.call('GET', `/responseStore/${first.requestId}/results?offset=0`)).status).toBe(404);
  });

  from1('is evaluated by every check', async () => {
    const { results } = await runChecks({
      gather: createGather({ engine, clock: systemClock }),
      settings: resolveSettings({}),
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
      clock: systemClock,
    });
    const unread = results.filter(({ outcome }) => outcome.couldNotEvaluate);
    expect(unread.map(({ name, outcome }) => [name, outcome.findings[0]?.message])).toEqual([]);
    expect(results).toHaveLength(CATALOGUE.length);
  });
});
