import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TableSchemas } from '../../../src/pinot/table-schemas.ts';
import { createEngine } from '../../../src/pinot/connection.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import type { Engine, KnownTables } from '../../../src/pinot/types.ts';
import { Controller } from '../../../src/operator/controller/controller-loop.ts';
import { policyReconciler } from '../../../src/operator/reconcilers/policy.ts';
import type { Principal } from '../../../src/access/principal.ts';
import { policy, role, roleAssignment, statement } from '../../builders/resources.ts';
import { dataPlaneOf, testApp } from '../../support/app.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { eventually } from '../../support/operator.ts';
import { type PinotClient, sharedPinot } from '../../support/pinot.ts';
import { startStandalone } from '../../support/service.ts';
import { FakeRecorder, FakeStore, metrics, silent } from '../../unit/operator/fakes.ts';
import { inPath, testGateway, type TestGateway } from '../../unit/api/rbac/gateway.ts';

const TABLE = 'fit_deals';
const BOB: Principal = {
  kind: 'user',
  srn: 'srn2:user#bob@example.com',
  id: 'bob@example.com',
  groups: [],
  domain: 'example.com',
  authenticator: 'test',
};

let pinot: PinotClient;
let engine: Engine & KnownTables;
let gateway: TestGateway;
let app: FastifyInstance;
/** Of the cache of schemas, which lasts for seconds. */
let now = 0;

const schemaOf = (...columns: string[]) => ({
  schemaName: TABLE,
  dimensionFieldSpecs: columns.map((name) => ({ name, dataType: 'STRING' })),
});

async function create(...columns: string[]): Promise<void> {
  await pinot.createTable(schemaOf(...columns), {
    tableName: TABLE,
    tableType: 'OFFLINE',
    segmentsConfig: { schemaName: TABLE, replication: '1', segmentPushType: 'APPEND' },
    tenants: { broker: 'DefaultTenant', server: 'DefaultTenant' },
    tableIndexConfig: { loadMode: 'MMAP' },
    metadata: {},
  });
  const rows = [
    { name: 'Ada', region: 'eu' },
    { name: 'Bob', region: 'us' },
  ];
  const kept = rows.map((row) =>
    JSON.stringify(Object.fromEntries(columns.map((name) => [name, row[name as 'name']]))),
  );
  await pinot.uploadRows(TABLE, kept);
  await pinot.awaitRows(TABLE, rows.length);
}

beforeAll(async () => {
  pinot = await sharedPinot();
  await create('name');
  engine = createEngine({ controllerUrls: [pinot.controllerUrl] });
  const schemas = new TableSchemas(engine.controller, () => now);
  gateway = await testGateway({ tables: engine, schemas });
  gateway.store.seed(
    role('readers', { policies: ['part'] }),
    roleAssignment('readers', { role: 'readers', subjects: [{ type: 'user-email', name: BOB.id }] }),
  );
  app = await testApp({
    authorizer: gateway.directory,
    principal: BOB,
    register: async () => undefined,
    parts: { dataPlane: { ...dataPlaneOf(engine), schemas } },
  });
  await engine.actualTables([tableNameOf(TABLE)]);
});

afterAll(async () => {
  await app?.close();
  await gateway?.app.close();
  await engine?.close();
  await pinot?.deleteTable(TABLE);
});

const part = statement({ resources: [`srn2:table#${TABLE}`], conditions: { rowFilters: ["region = 'eu'"] } });

async function read(): Promise<[number, unknown]> {
  const payload = { sql: `SELECT name FROM ${TABLE} ORDER BY name LIMIT 10` };
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/query/sql', payload });
  const found = JSON.parse(body) as { resultTable?: { rows: unknown }; message?: string };
  return [statusCode, found.resultTable?.rows ?? found.message];
}

/** The condition `Ready` of the policy by an operator that starts now. */
async function readyNow(): Promise<string> {
  const store = new FakeStore(policy('part', { statements: [part] }));
  const clock = new FakeClock();
  const ports = { store, recorder: new FakeRecorder(), clock, metrics: metrics(), log: silent };
  const controller = new Controller(
    policyReconciler({
      deployment: { environment: 'olap', cluster: 'pinot' },
      tableNames: () => engine.tableNames(),
      schemas: {
        tableNames: (signal) => engine.currentTables(0, signal),
        columnsOf: (table, signal) =>
          new TableSchemas(engine.controller, () => 0).columnsOf(tableNameOf(table), signal),
      },
    }),
    ports,
  );
  controller.start();
  let ready;
  while ((ready = store.get('Policy', 'part')?.status?.conditions?.find(({ type }) => type === 'Ready')) === undefined)
    await new Promise((resolve) => setImmediate(resolve));
  await controller.stop();
  return `${ready.status} ${ready.reason}`;
}

it('a policy follows the schema of its table: added columns, and one that is gone', async () => {
  const body = { name: 'part', policyDocument: { version: 'v1', statements: [part] } };
  const refused = await gateway.call('POST', '/policies', body);
  expect([refused.status, refused.body.message]).toEqual([
    400,
    `\`statements[0].conditions.rowFilters[0]\`: the column \`region\` does not exist in \`${TABLE}\``,
  ]);
  expect(await readyNow()).toBe('False ColumnNotFound');

  const added = await fetch(`${pinot.controllerUrl}/schemas/${TABLE}?reload=true`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(schemaOf('name', 'region')),
    signal: AbortSignal.timeout(30_000),
  });
  expect(added.status).toBe(200);
  now += 10_000;
  expect((await gateway.call('POST', '/policies', body)).status).toBe(200);
  expect(await readyNow()).toBe('True Ready');

  await pinot.deleteTable(TABLE);
  await create('name', 'region');
  now += 10_000;
  expect(await read()).toEqual([200, [['Ada']]]);

  await pinot.deleteTable(TABLE);
  await create('name');
  now += 10_000;
  const [status, message] = await read();
  expect([status, message]).toEqual([403, expect.stringContaining('`region`, which its schema does not have')]);
  expect(await readyNow()).toBe('False ColumnNotFound');
  // What the policy has already may be written again.
  const { body: again } = await gateway.call('PUT', `/policies/${inPath('policy', 'part')}`, body);
  expect(again.warnings).toEqual([expect.stringContaining('the column `region` does not exist')]);
});

it('a process compares policies of REST and of manifests with the schemas of its cluster', async () => {
  const service = await startStandalone({ controllers: pinot.controllerUrl });
  try {
    const other = { ...part, conditions: { rowFilters: ['nam = 1'] } };
    const sent = { name: 'other', policyDocument: { version: 'v1', statements: [other] } };
    const refused = await service.call('POST', '/api/v1/rbac-manager/policies', sent);
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('did you mean `name`?')]);

    const manifest = JSON.stringify(policy('by-hand', { statements: [other] }));
    await writeFile(join(service.dataDir, 'policies/by-hand.yaml'), manifest);
    const metrics = async (): Promise<string> => (await fetch(`${service.metricsUrl}/metrics`)).text();
    await eventually(metrics, (text) => text.includes('olap_warden_policy_conditions_invalid 1'));
    await service.call('GET', '/periodictask/run?taskName=ClusterHealthCheckTask&wait=true');
    const found = await (await service.call('GET', '/clusterHealth?check=POLICY_CONDITIONS_CHECK')).text();
    expect(found).toContain('by-hand');
    expect(found).toContain('ColumnNotFound');
  } finally {
    await service.stop();
  }
});
