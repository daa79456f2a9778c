// @module-tag slow
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { StrictGateway } from '../../../support/strict-gateway.ts';

// Calls of a gateway to the controller of a real Pinot 1.5.1, replayed: each request must be one that was recorded.
let gateway: StrictGateway;
beforeAll(async () => {
  gateway = await StrictGateway.start('controller');
});
afterAll(() => gateway.close());
afterEach(() => expect(gateway.pinot.unknown.splice(0)).toEqual([]));

const file = new URL('../../../fixtures/controller-calls.txt', import.meta.url);
/** The paths of the controller's OpenAPI document that only read. */
const READS = readFileSync(file, 'utf8')
  .split('\n')
  .map((line) => /^GET (\S+) \[[^\]]*1\.5\](?: (.*))?$/.exec(line))
  .filter((found) => found !== null)
  .map(([, path = '', parameters = '']) => ({ path, parameters }));

/** Values of other parameters, such that Pinot has them or answers that it has not. */
const VALUES: Readonly<Record<string, string>> = {
  tableType: 'OFFLINE',
  type: 'OFFLINE',
  tableNameWithType: 'TABLE_OFFLINE',
  segmentName: 'none',
  jobId: 'none',
  taskType: 'none',
  tableName: 'TABLE',
  schemaName: 'TABLE',
};

/** The path for a table; undefined where it has a parameter of another kind. */
function filled(path: string, table: string): string | undefined {
  let known = true;
  const value = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    known &&= VALUES[name] !== undefined;
    return (VALUES[name] ?? '').replace('TABLE', table);
  });
  return known ? value : undefined;
}

const OF_TABLE = READS.filter(
  ({ path }) => /\{(?:tableName|tableNameWithType|schemaName)\}/.test(path) && filled(path, 't') !== undefined,
);
// Properties of the recorded machine are in no recording.
const OF_CLUSTER = READS.filter(({ path }) => !path.includes('{') && path !== '/appconfigs');
/** Pinot requires the action on the cluster for these. */
const TABLE_OF_CLUSTER = /^\/tasks\//;
/** The gateway names itself as the broker. */
const NAMES_BROKERS = /brokers/;
/** Filtered lists, for every caller. */
const LISTS = new Set([
  '/brokers/tables',
  '/v2/brokers/tables',
  '/logicalTables',
  '/schemas',
  '/tableConfigs',
  '/tables',
  '/tables/livebrokers',
]);

const wasSent = (path: string, from: number) => gateway.pinot.asked.slice(from).includes(`GET controller ${path}`);

describe('a call that reads a table', () => {
  it.each(OF_TABLE)('is answered as by Pinot with the right to it alone: $path', async ({ path, parameters }) => {
    const required = /query:(type|tableType)\b/.exec(parameters)?.[1];
    for (const table of ['customers', 'sales.deals']) {
      const url = `${filled(path, table)}${required === undefined ? '' : `?${required}=OFFLINE`}`;
      gateway.grant(['*', 'srn2:table#orders', 'srn2:table#deals', 'srn2:table#sales'], ['Query', 'srn2:table#*']);
      const before = gateway.pinot.asked.length;
      expect([(await gateway.call(`GET ${url}`)).status, wasSent(url, before)]).toEqual([403, false]);
      gateway.grant(['*', TABLE_OF_CLUSTER.test(path) ? 'srn2:cluster#*' : `srn2:table#${table}`]);
      const answer = await gateway.call(`GET ${url}`);
      const direct = await fetch(gateway.pinot.controllerUrl + url);
      const text = await direct.text();
      expect([table, answer.status]).toEqual([table, direct.status]);
      if (!NAMES_BROKERS.test(path)) expect(answer.body).toBe(text);
    }
  });
});

describe('a call that reads the cluster', () => {
  it.each(OF_CLUSTER)('needs a right to the cluster, or is filtered: $path', async ({ path }) => {
    gateway.grant(['Query GetTableConfig GetSchema GetMetadata GetTable', 'srn2:table#sales.deals']);
    const before = gateway.pinot.asked.length;
    const narrow = await gateway.call(`GET ${path}`);
    if (LISTS.has(path) || path === '/databases') {
      expect([narrow.status, narrow.body]).toEqual([200, expect.not.stringMatching(/customers|orders|log_|secret/)]);
    } else {
      expect([narrow.status, wasSent(path, before)]).toEqual([403, false]);
    }
    gateway.grant(['*', '*']);
    await gateway.call(`GET ${path}`);
    expect(wasSent(path, before)).toBe(true);
  });

  it.each([...LISTS])('has the tables of the database that is asked for: %s', async (path) => {
    gateway.grant(['Query GetTableConfig GetSchema GetMetadata GetTable', 'srn2:table#sales.*']);
    const { status, body } = await gateway.call(`GET ${path}`, undefined, { database: 'sales' });
    expect([status, body]).toEqual([200, expect.not.stringMatching(/orders|log_/)]);
    if (path !== '/logicalTables') expect(body).toContain('sales.deals');
  });
});

describe('a call that no statement for tables covers', () => {
  it.each([
    ['GET', '/timeseries/api/v1/query_range?language=m3ql&query=fetch&start=1&end=2'],
    ['GET', '/timeseries/api/v1/query?language=m3ql&query=fetch'],
    ['GET', '/timeseries/languages'],
    ['GET', '/queryLog'],
  ])('needs every action on everything: %s %s', async (method, path) => {
    gateway.grant(['*', 'srn2:table#*'], ['Query GetResponseStore GetTable', 'srn2:cluster#*']);
    const before = gateway.pinot.asked.length;
    expect([(await gateway.call(`${method} ${path}`)).status, wasSent(path, before)]).toEqual([403, false]);
    gateway.grant(['*', '*']);
    const direct = await fetch(gateway.pinot.controllerUrl + path);
    expect((await gateway.call(`${method} ${path}`)).status).toBe(direct.status);
  });
});

describe('the list of stored results', () => {
  it('has the results of the gateway, for callers with the right to all of them, and is never requested from the engine', async () => {
    gateway.grant(['*', 'srn2:table#*'], ['Query GetTable DeleteResponseStore', 'srn2:cluster#*']);
    const before = gateway.pinot.asked.length;
    expect((await gateway.call('GET /responseStore')).status).toBe(403);
    gateway.grant(['GetResponseStore', 'srn2:cluster#*']);
    expect(await gateway.call('GET /responseStore')).toMatchObject({ status: 200, body: '[]' });
    expect(gateway.pinot.asked.slice(before)).toEqual([]);
  });
});
