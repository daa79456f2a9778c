import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { QUERY_OPTIONS } from '../../../../src/access/sql/query-options.ts';
import { StrictGateway } from '../../../support/strict-gateway.ts';

// Queries of a gateway to a real Pinot 1.5.1, replayed: each request must be one that was recorded.
let gateway: StrictGateway;
beforeAll(async () => {
  gateway = await StrictGateway.start('queries');
});
afterAll(() => gateway.close());
afterEach(() => expect(gateway.pinot.unknown.splice(0)).toEqual([]));

const MULTISTAGE = 'SET useMultistageEngine=true; ';
const queriesSent = () => gateway.pinot.asked.filter((line) => line.startsWith('POST broker')).length;
const rowsOf = (json: Readonly<Record<string, unknown>>) => (json['resultTable'] as { rows: unknown[][] }).rows;
const codesOf = (json: Readonly<Record<string, unknown>>) =>
  (json['exceptions'] as { errorCode: number }[]).map(({ errorCode }) => errorCode);

describe('a query', () => {
  it.each<[sql: string, tables: readonly string[], rows?: readonly unknown[]]>([
    ['SELECT COUNT(*) FROM orders', ['orders'], [[1_000_000]]],
    ['SELECT orderId, city FROM orders ORDER BY orderId LIMIT 2', ['orders']],
    [
      "SELECT country, COUNT(*) FROM customers WHERE active = true AND name LIKE 'Customer 1%' GROUP BY country ORDER BY country LIMIT 3",
      ['customers'],
    ],
    ['SELECT * FROM types ORDER BY id LIMIT 3', ['types']],
    [
      'SELECT line, num FROM alllog ORDER BY line LIMIT 5',
      ['alllog'],
      [
        ['of log_a', 1],
        ['of log_b', 1],
      ],
    ],
    ['SELECT name FROM sales.deals LIMIT 5', ['sales.deals'], [['of deals']]],
    ['EXPLAIN PLAN FOR SELECT COUNT(*) FROM customers', ['customers']],
    [`${MULTISTAGE}SELECT COUNT(*) FROM orders`, ['orders'], [[1_000_000]]],
    [`${MULTISTAGE}SELECT * FROM types ORDER BY id LIMIT 3`, ['types']],
    [
      `${MULTISTAGE}SELECT a.name FROM customers a JOIN orders b ON a.customerId = b.customerId WHERE a.customerId = 7 ORDER BY b.orderId LIMIT 2`,
      ['customers', 'orders'],
      [['Customer 7'], ['Customer 7']],
    ],
    [
      `${MULTISTAGE}WITH x AS (SELECT customerId FROM customers WHERE customerId < 3) SELECT COUNT(*) FROM x`,
      ['customers'],
      [[3]],
    ],
    [
      `${MULTISTAGE}SELECT line, COUNT(*) FROM alllog GROUP BY line ORDER BY line LIMIT 5`,
      ['alllog'],
      [
        ['of log_a', 1],
        ['of log_b', 1],
      ],
    ],
    [
      `${MULTISTAGE}SELECT a.name FROM sales.deals a JOIN sales.customers b ON a.customerId = b.customerId LIMIT 5`,
      ['sales.deals', 'sales.customers'],
      [['of deals']],
    ],
    [`${MULTISTAGE}EXPLAIN PLAN FOR SELECT COUNT(*) FROM customers`, ['customers']],
  ])('is answered with the right to its tables alone: %s', async (sql, tables, rows) => {
    gateway.grant(['Query', ...tables.map((table) => `srn2:table#${table}`)]);
    const { status, json } = await gateway.query(sql);
    expect([status, json['exceptions']]).toEqual([200, []]);
    expect(rowsOf(json).length).toBeGreaterThan(0);
    if (rows !== undefined) expect(rowsOf(json)).toEqual(rows);
    const before = queriesSent();
    for (const missing of tables) {
      const others = tables.filter((table) => table !== missing).map((table) => `srn2:table#${table}`);
      gateway.grant(['Query', 'srn2:table#none', ...others]);
      expect((await gateway.query(sql)).status).toBe(403);
    }
    expect(queriesSent()).toBe(before);
  });

  it('of a logical table needs no right to its physical tables, and theirs are no right to it', async () => {
    gateway.grant(['Query', 'srn2:table#log_a', 'srn2:table#log_b']);
    expect((await gateway.query('SELECT line, num FROM alllog ORDER BY line LIMIT 5')).status).toBe(403);
    expect((await gateway.query('SELECT num FROM log_a LIMIT 5')).status).toBe(200);
  });
});

describe('an error of Pinot', () => {
  it.each<[sql: string, codes: readonly number[]]>([
    ['SELECT nosuch FROM customers', [710]],
    ['SELECT COUNT(*) FROM customers WHERE nosuch = 1', [710]],
    ['SELECT nosuch(name) FROM customers', [700, 700]],
    [`${MULTISTAGE}SELECT nosuch FROM customers LIMIT 1`, [700]],
    [`${MULTISTAGE}SELECT name FROM customers GROUP BY country LIMIT 1`, [700]],
    [`${MULTISTAGE}SELECT nosuch(name) FROM customers LIMIT 1`, [700]],
  ])('is passed on: %s', async (sql, codes) => {
    gateway.grant(['Query', 'srn2:table#customers']);
    const { status, json } = await gateway.query(sql);
    expect([status, codesOf(json)]).toEqual([200, codes]);
  });

  it('is not needed to know that a table does not exist', async () => {
    gateway.grant(['Query', '*']);
    const { status, json } = await gateway.query('SELECT a FROM nosuch');
    expect([status, codesOf(json)]).toEqual([200, [190]]);
    gateway.grant(['Query', 'srn2:table#customers']);
    expect((await gateway.query('SELECT a FROM nosuch')).status).toBe(403);
  });
});

describe('query options', () => {
  /** Than the recorded cluster. */
  const NEWER = '1.6';
  // These need a value that fits the cluster, or end the query.
  const NEED_VALUES = /^(?:skipIndexes|orderedPreferred\w+|sampler|workloadName|dropResults|timeoutMs|database)$/i;
  const optionsWith = (handling: string) =>
    QUERY_OPTIONS.filter(
      ({ handling: found, name, since }) => found === handling && since !== NEWER && !NEED_VALUES.test(name),
    );
  const valueOf = (name: string) => {
    if (name.endsWith('OverflowMode')) return 'BREAK';
    return /^(?:use|skip|is|enable|run|infer)|[a-z](?:Verbose|Servers)$/.test(name) ? 'false' : '10000';
  };

  it.each([false, true])('that are passed reach Pinot, with the multi-stage engine: %s', async (multistage) => {
    gateway.grant(['Query', 'srn2:table#customers']);
    const sets = optionsWith('passed').map(({ name }) => `SET ${name}='${valueOf(name)}'; `);
    const { status, json } = await gateway.query(
      `SET useMultistageEngine=${multistage}; ${sets.join('')}SELECT COUNT(*) FROM customers LIMIT 1`,
    );
    expect([status, codesOf(json)]).toEqual([200, []]);
    for (const { name } of optionsWith('passed')) expect(gateway.pinot.asked.at(-1)).toContain(`SET \\"${name}\\" = `);
  });

  it.each(optionsWith('refused'))('that are refused do not: $name', async ({ name }) => {
    gateway.grant(['*', '*']);
    const before = queriesSent();
    const { status, json } = await gateway.query(`SET ${name}='10'; SELECT COUNT(*) FROM customers`);
    expect([status, json['message'], queriesSent()]).toEqual([400, expect.stringContaining(name), before]);
  });

  it('that are in no table are refused with their name and the nearest one', async () => {
    gateway.grant(['*', '*']);
    const before = queriesSent();
    const { status, json } = await gateway.query('SET skipUpserts=true; SELECT COUNT(*) FROM customers');
    expect([status, json['message']]).toEqual([400, expect.stringMatching(/`skipUpserts`.*`skipUpsert`/)]);
    expect(queriesSent()).toBe(before);
  });
});

describe('the validation of texts', () => {
  const path = 'POST /validateMultiStageQuery';
  it('is answered for each text, with the right to all tables', async () => {
    gateway.grant(['Query', 'srn2:table#customers']);
    const sqls = ['SELECT name FROM customers LIMIT 1', 'SELECT nosuch FROM customers LIMIT 1'];
    const { status, body } = await gateway.call(path, { sqls });
    const answers = JSON.parse(body) as { compiledSuccessfully: boolean }[];
    expect([status, answers.map(({ compiledSuccessfully }) => compiledSuccessfully)]).toEqual([200, [true, false]]);
    expect((await gateway.call(path, { sqls: [...sqls, 'SELECT 1 FROM orders'] })).status).toBe(403);
  });
});
