import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forVersions } from '../../support/for-versions.ts';
import { sharedPinot, type PinotClient } from '../../support/pinot.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';

// Each spelling of a table, through the gateway, with a real Pinot: of any version for the first part, of 1.2 and newer (TEST_CONTROLLER) for the second.
const TABLE = 'database_names';
const DATABASE = 'warden_test';
const OTHER = `${DATABASE}.${TABLE}`;

const schema = (name: string) => ({ schemaName: name, dimensionFieldSpecs: [{ name: 'place', dataType: 'STRING' }] });
const config = (name: string) => ({
  tableName: `${name}_OFFLINE`,
  tableType: 'OFFLINE',
  segmentsConfig: { replication: '1', schemaName: name },
  tenants: {},
  tableIndexConfig: { loadMode: 'MMAP' },
  metadata: {},
});

let pinot: PinotClient;
let gateway: Standalone;
let hasDatabases: boolean;
/** Authorization of a caller that may query one table. */
const caller: Record<string, string> = {};

async function createTable(name: string, place: string): Promise<void> {
  await pinot.createTable(schema(name), config(name));
  await pinot.uploadRows(name, [JSON.stringify({ place })]);
  await pinot.awaitRows(name, 1);
}

async function post<T>(path: string, body: unknown): Promise<T> {
  const answer = await gateway.call('POST', `/api/v1/rbac-manager${path}`, body);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** @returns the authorization of a new caller who may query the table and nothing else */
async function allowQueries(role: string, table: string): Promise<string> {
  const statement = { actions: ['Query'], effect: 'allow', resources: [`srn2:table#${table}`] };
  await post('/policies', { name: role, policyDocument: { version: 'v1', statements: [statement] } });
  await post('/roles', { name: role, description: role });
  await post(`/roles/srn2:role%23${role}/attach-policy`, { policySrn: `srn2:policy#${role}` });
  const token = await post<{ accessKey: string; bearerToken: string }>('/service-tokens', { description: role });
  const assignment = { subject: token.accessKey, subjectType: 'service-token' };
  await post(`/roles/srn2:role%23${role}/create-assignment`, assignment);
  return `Bearer ${token.bearerToken}`;
}

beforeAll(async () => {
  pinot = await sharedPinot();
  hasDatabases = (await fetch(`${pinot.controllerUrl}/databases`)).status === 200;
  gateway = await startStandalone({ controllers: pinot.controllerUrl });
  await createTable(TABLE, 'default');
  if (hasDatabases) await createTable(OTHER, 'other');
  caller['table'] = await allowQueries('reads-table', TABLE);
  caller['other'] = await allowQueries('reads-other', OTHER);
});

afterAll(async () => {
  await gateway.stop();
  await pinot.deleteTable(TABLE);
  if (hasDatabases) await pinot.deleteTable(OTHER);
});

/** The place that a query returns, or the status of a response without rows. */
async function place(sql: string, headers: Record<string, string>): Promise<unknown> {
  const answer = await gateway.call('POST', '/query/sql', { sql }, headers);
  const { resultTable } = (await answer.json()) as { resultTable?: { rows: unknown[][] } };
  return resultTable?.rows[0]?.[0] ?? answer.status;
}

describe('the default database', () => {
  it.each([
    `SELECT place FROM ${TABLE}`,
    `SELECT place FROM default.${TABLE}`,
    `SELECT place FROM "default"."${TABLE}"`,
    `SELECT place FROM "default.${TABLE}"`,
    `SELECT place FROM ${TABLE}_OFFLINE`,
  ])('is read with the right to its table alone: %s', async (sql) => {
    expect(await place(sql, { authorization: caller['table']! })).toBe('default');
    expect(await place(sql, { authorization: caller['other']! })).toBe(403);
  });

  it('is not read under a name of another database, except by versions without databases with the right to both names', async () => {
    const sql = `SELECT place FROM nosuch.${TABLE}`;
    expect(await place(sql, {})).toBe(hasDatabases ? 200 : 'default');
    expect(await place(sql, { authorization: caller['table']! })).toBe(403);
  });
});

const MULTISTAGE = 'SET useMultistageEngine=true; ';

const from12 = await forVersions('>=1.2');
const before12 = await forVersions('<1.2');

describe('another database', () => {
  const spellings: readonly [string, Record<string, string>][] = [
    [`SELECT place FROM ${OTHER}`, {}],
    [`SELECT place FROM "${DATABASE}"."${TABLE}"`, {}],
    [`SELECT place FROM "${OTHER}"`, {}],
    [`SELECT ${TABLE}.place FROM ${OTHER}`, {}],
    [`SELECT place FROM ${TABLE}`, { database: DATABASE }],
    [`SELECT ${TABLE}.place FROM ${TABLE}`, { database: DATABASE }],
    [`SELECT place FROM ${OTHER}`, { database: DATABASE }],
    [`${MULTISTAGE}SELECT place FROM ${OTHER}`, {}],
    [`${MULTISTAGE}SELECT place FROM "${OTHER}"`, {}],
    [`${MULTISTAGE}SELECT ${TABLE}.place FROM ${TABLE}`, { database: DATABASE }],
    [`${MULTISTAGE}SET database='${DATABASE}'; SELECT place FROM ${TABLE}`, {}],
  ];
  for (const [sql, headers] of spellings)
    from12(`is read with the right to its table alone: ${sql} ${JSON.stringify(headers)}`, async () => {
      expect(await place(sql, { ...headers, authorization: caller['other']! })).toBe('other');
      expect(await place(sql, { ...headers, authorization: caller['table']! })).toBe(403);
    });

  before12('is an unknown one', async () => {
    expect(await place(`SELECT place FROM ${OTHER}`, { authorization: caller['other']! })).toBe(403);
    expect(await place(`SELECT place FROM ${TABLE}`, { database: DATABASE, authorization: caller['table']! })).toBe(
      403,
    );
  });
});
