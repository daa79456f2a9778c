import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createEngine } from '../../../../src/pinot/connection.ts';
import { TableSchemas } from '../../../../src/pinot/table-schemas.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import type { Conditions } from '../../../../src/resources/policy.ts';
import { policy, role, statement } from '../../../builders/resources.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { type Answer, testGateway, type TestGateway } from './gateway.ts';

let fake: FakeEngine;
let engine: ReturnType<typeof createEngine>;

beforeAll(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['deals_OFFLINE', 'offers_OFFLINE'], '{"resultTable":null,"exceptions":[]}');
  const specs = ['mail', 'name', 'owner', 'phone'].map((name) => ({ name, dataType: 'STRING' }));
  for (const table of ['deals', 'offers']) fake.json(`GET /tables/${table}/schema`, { dimensionFieldSpecs: specs });
  engine = createEngine({ controllerUrls: [fake.url] });
});
afterAll(async () => {
  await engine.close();
  await fake.close();
});
beforeEach(() => {
  fake.seen.length = 0;
});

/** A gateway whose caller has one policy with these statements, or is an administrator. */
async function gatewayFor(...statements: ReturnType<typeof statement>[]): Promise<TestGateway> {
  const queries = { engine, schemas: new TableSchemas(engine.controller, () => systemClock.monotonic()) };
  if (statements.length === 0) return testGateway({ queries });
  const gateway = await testGateway({ queries, roles: ['own'] });
  gateway.store.seed(policy('own', { statements }), role('own', { policies: ['own'] }));
  return gateway;
}

const part = (conditions: Conditions): object => ({
  version: 'v1',
  statements: [statement({ resources: ['srn2:table#deals'], actions: ['Query'], conditions })],
});

const ask = async (gateway: TestGateway, policyDocument: object, more: object = {}): Promise<Answer> =>
  gateway.call('POST', '/preview-policy', { policyDocument, sql: 'SELECT * FROM deals LIMIT 10', ...more });

const CONDITIONS: Conditions = {
  rowFilters: ['owner IN (${subject.groups})'],
  columns: { deny: ['phone'], mask: { mail: 'lower(mail)' } },
};

describe('the preview of a policy', () => {
  it('is the text that the engine would get, with the values that are tried, and reads no rows', async () => {
    const gateway = await gatewayFor();
    const { status, body } = await ask(gateway, part(CONDITIONS), { values: { 'subject.groups': ['eu', "o'brien"] } });
    expect([status, body]).toEqual([
      200,
      {
        sql: `SELECT (lower ("mail")), "name", "owner" FROM "deals" WHERE ("owner" IN ('eu', 'o''brien')) LIMIT 10`,
        columnNames: { 0: 'mail' },
        mayRun: true,
      },
    ]);
    expect(fake.seen.filter(({ url }) => url.startsWith('/query'))).toEqual([]);
  });

  it.each<[string, object, object, string]>([
    [
      'a value that the caller does not have',
      part(CONDITIONS),
      {},
      'does not have the values that its row filters use',
    ],
    [
      'another table',
      part(CONDITIONS),
      { sql: 'SELECT 1 FROM offers' },
      'does not allow `Query` on `srn2:table#offers`',
    ],
    ['a text that is no query', part(CONDITIONS), { sql: 'SELEC' }, 'the query is rejected: '],
    [
      'a denied column',
      part({ columns: { deny: ['phone'] } }),
      { sql: 'SELECT phone FROM deals' },
      '`phone` is not one of',
    ],
    [
      'a column that the table does not have',
      part({ rowFilters: ['gone = 1'] }),
      {},
      '`gone`, which its schema does not',
    ],
    ['EXPLAIN', part({ rowFilters: ["name = 'a'"] }), { sql: 'EXPLAIN PLAN FOR SELECT * FROM deals' }, '`EXPLAIN`'],
  ])('says why the query would be rejected: %s', async (_what, document, more, why) => {
    const { status, body } = await ask(await gatewayFor(), document, more);
    expect([status, Object.keys(body as object)]).toEqual([200, ['refusal']]);
    expect(body.refusal).toContain(why);
  });

  it('is the query as it is for a policy without conditions', async () => {
    const document = { version: 'v1', statements: [statement({ resources: ['srn2:table#*'], actions: ['Query'] })] };
    expect((await ask(await gatewayFor(), document)).body).toEqual({
      sql: 'SELECT * FROM "deals" LIMIT 10',
      mayRun: true,
    });
  });

  it('checks a document alone, and names the place of an error', async () => {
    const gateway = await gatewayFor();
    const check = (document: object): Promise<Answer> =>
      gateway.call('POST', '/preview-policy', { policyDocument: document });
    expect(await check(part(CONDITIONS))).toMatchObject({ status: 200, body: {} });
    const { status, body } = await check(part({ rowFilters: ['a = 1', 'b ='] }));
    expect([status, body.message]).toEqual([400, expect.stringContaining('statements[0].conditions.rowFilters[1]: ')]);
  });
});

describe('who may see a preview', () => {
  const asks = async (...statements: ReturnType<typeof statement>[]): Promise<unknown[]> => {
    const { status, body } = await ask(await gatewayFor(...statements), part({ rowFilters: ["name = 'a'"] }));
    return [status, body.message ?? body.sql, body.mayRun];
  };
  const writes = statement({ actions: ['UpdatePolicy'], resources: ['srn2:policy#team-*'] });
  const simulates = statement({ actions: ['SimulateAccess'], resources: ['srn2:cluster#pinot'] });
  const queries = statement({ actions: ['Query'], resources: ['srn2:table#deals'] });
  const sees = statement({ actions: ['GetSchema'], resources: ['srn2:table#deals'] });

  it('is who writes policies or simulates, for tables whose columns they may know', async () => {
    const text = `SELECT * FROM "deals" WHERE ("name" = 'a') LIMIT 10`;
    const partly = statement({ ...queries, conditions: { columns: { allow: ['name'] } } });
    expect(await asks(writes, queries)).toEqual([200, text, true]);
    expect(await asks(writes, sees)).toEqual([200, text, false]);
    expect(await asks(simulates, sees, partly)).toEqual([200, text, true]);
  });

  it('is nobody else', async () => {
    expect(await asks(queries, sees)).toEqual([403, expect.stringContaining('`SimulateAccess`'), undefined]);
    const partly = statement({ ...queries, conditions: { columns: { allow: ['name'] } } });
    for (const held of [[writes], [writes, partly]])
      expect(await asks(...held)).toEqual([
        403,
        expect.stringContaining('`GetSchema` on `srn2:table#deals`'),
        undefined,
      ]);
  });
});

it('does not tell which tables a logical table consists of to who may not see them', async () => {
  const other = new FakeEngine();
  await other.listen();
  other.serve(['deals_OFFLINE', 'secret_OFFLINE'], '{}');
  other.json('GET /logicalTables', ['view']);
  other.json('GET /logicalTables/view', { physicalTableConfigMap: { deals_OFFLINE: {}, secret_OFFLINE: {} } });
  const logical = createEngine({ controllerUrls: [other.url] });
  const queries = { engine: logical, schemas: new TableSchemas(logical.controller, () => systemClock.monotonic()) };
  const ofTables = async (...seen: string[]): Promise<unknown[]> => {
    const gateway = await testGateway({ queries, roles: ['own'] });
    const statements = [
      statement({ actions: ['UpdatePolicy'], resources: ['srn2:policy#team-*'] }),
      statement({ actions: ['GetSchema'], resources: seen }),
    ];
    gateway.store.seed(policy('own', { statements }), role('own', { policies: ['own'] }));
    const refusals: unknown[] = [];
    for (const guessed of ['s*', 'x*']) {
      const conditions = { rowFilters: ['a = 1'] };
      const document = {
        version: 'v1',
        statements: [
          statement({ resources: ['srn2:table#view'], actions: ['Query'] }),
          statement({ resources: [`srn2:table#${guessed}`], actions: ['Query'], conditions }),
        ],
      };
      refusals.push((await ask(gateway, document, { sql: 'SELECT 1 FROM view' })).body.refusal);
    }
    return refusals;
  };
  const [hit, miss] = await ofTables('srn2:table#view', 'srn2:table#deals');
  expect(hit).toContain('a table, which you may not see');
  expect(hit).toBe(miss);
  expect(await ofTables('srn2:table#*')).toEqual([expect.stringContaining('`srn2:table#secret`'), undefined]);
  await logical.close();
  await other.close();
});

it('does not repeat a list of values without end', async () => {
  const list = Array.from({ length: 90 }, () => '${subject.claims.c}').join(', ');
  const rowFilters = Array.from({ length: 10 }, (_, index) => `owner IN (${list}, '${index}')`);
  const values = { 'subject.claims.c': Array.from({ length: 1000 }, (_, index) => `v${index}`) };
  const { status, body } = await ask(await gatewayFor(), part({ rowFilters }), { values });
  expect([status, body.refusal]).toEqual([200, expect.stringContaining('more of them than a query can have')]);
});

it('lets others take turns between the tables of a query', async () => {
  const gateway = await gatewayFor();
  let turns = 0;
  vi.spyOn(gateway.app.work, 'turns').mockReturnValue(() => {
    turns++;
    return undefined;
  });
  const names = Array.from({ length: 500 }, (_, index) => `none${index}`);
  const statements = [
    statement({ resources: ['srn2:table#none*'], actions: ['Query'], conditions: { rowFilters: ['a = 1'] } }),
  ];
  const { body } = await ask(gateway, { version: 'v1', statements }, { sql: `SELECT 1 FROM ${names.join(', ')}` });
  expect(body.message).toContain('`none0`');
  // Each table is authorized twice.
  expect(turns).toBeGreaterThanOrEqual(2 * (names.length - 1));
});
