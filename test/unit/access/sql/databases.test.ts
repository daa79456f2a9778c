import { describe, expect, it } from 'vitest';
import { judgeSql, type SqlContext } from '../../../../src/access/sql/judge.ts';
import { readRecording } from '../../../support/replay-engine.ts';

const SALES = { database: 'sales' };
const MULTISTAGE = 'SET useMultistageEngine=true; ';

interface Case {
  /** Recording of Pinot 1.5.1 in `databases/` with the request as the client wrote it. */
  readonly recording: string;
  /** The tables that the gateway judges; a text is a part of the reason of a refusal. */
  readonly judged: readonly string[] | string;
  /** The request to the engine. */
  readonly text?: string;
  readonly header?: string;
  /** Recording of the request to the engine, where its spelling is another one than the client's. */
  readonly sentAs?: string;
}

/**
 * Every spelling of a table in both query engines, with what the engine answers to it. `customers` is in both databases; the engine finds the
 * table of `sales` in each spelling with the prefix, so the gateway sends the header that makes this so in the multi-stage engine, too.
 */
const CASES: readonly Case[] = [
  { recording: 'query_v1_plain', judged: ['customers'], text: '"customers"' },
  { recording: 'query_v1_prefixed', judged: ['sales.customers'], text: '"sales"."customers"', header: 'sales' },
  { recording: 'query_v1_quoted_parts', judged: ['sales.customers'], text: '"sales"."customers"', header: 'sales' },
  { recording: 'query_v1_quoted_whole', judged: ['sales.customers'], text: '"sales.customers"', header: 'sales' },
  { recording: 'query_v1_suffix', judged: ['sales.customers'], text: '"sales"."customers_OFFLINE"', header: 'sales' },
  { recording: 'query_v1_header', judged: ['sales.customers'], text: '"sales"."customers"', header: 'sales' },
  { recording: 'query_v1_header_prefixed', judged: ['sales.customers'], text: '"sales"."customers"', header: 'sales' },
  {
    recording: 'query_v1_header_other_prefix',
    judged: 'is in the database `default`, but the header `Database` names `sales`',
  },
  { recording: 'query_v1_set_database', judged: ['customers', 'sales.customers'], text: '"customers"' },
  { recording: 'query_v1_unknown_db', judged: ['nosuch.customers'], text: '"nosuch"."customers"', header: 'nosuch' },
  { recording: 'query_logical', judged: ['alllog'], text: '"alllog"' },
  { recording: 'query_mse_plain', judged: ['customers'], text: '"customers"' },
  { recording: 'query_mse_header', judged: ['sales.customers'], text: '"sales"."customers"', header: 'sales' },
  { recording: 'query_mse_header_prefixed', judged: ['sales.customers'], text: '"sales"."customers"', header: 'sales' },
  {
    recording: 'query_mse_header_other_prefix',
    judged: 'is in the database `default`, but the header `Database` names `sales`',
  },
  { recording: 'query_mse_set_database', judged: ['sales.customers'], text: '"sales"."customers"', header: 'sales' },
  { recording: 'query_mse_two_databases', judged: 'tables of one database in a query, not of `default` and `sales`' },
  // The engine refuses these without the header, and reads the table with it.
  {
    recording: 'query_mse_prefixed',
    judged: ['sales.customers'],
    text: '"sales"."customers"',
    header: 'sales',
    sentAs: 'query_mse_header_prefixed',
  },
  {
    recording: 'query_mse_quoted_parts',
    judged: ['sales.customers'],
    text: '"sales"."customers"',
    header: 'sales',
    sentAs: 'query_mse_header_prefixed',
  },
  {
    recording: 'query_mse_quoted_whole',
    judged: ['sales.customers'],
    text: '"sales"."customers"',
    header: 'sales',
    sentAs: 'query_mse_header_prefixed',
  },
  {
    recording: 'query_mse_suffix',
    judged: ['sales.customers'],
    text: '"sales"."customers_OFFLINE"',
    header: 'sales',
    sentAs: 'query_mse_header_prefixed',
  },
  { recording: 'query_mse_unknown_db', judged: ['nosuch.customers'], text: '"nosuch"."customers"', header: 'nosuch' },
];

/** The request and the answer of a recording. */
function recorded(name: string): { sql: string; context: SqlContext; tablesQueried: string[]; failed: boolean } {
  const { requestBody = '', requestHeaders, body } = readRecording('1.5.1', `databases/${name}`);
  const { sql } = JSON.parse(requestBody) as { sql: string };
  const database = requestHeaders?.['database'];
  const { tablesQueried, exceptions } = JSON.parse(body) as { tablesQueried: string[]; exceptions: unknown[] };
  return { sql, context: { database }, tablesQueried, failed: exceptions.length > 0 };
}

describe('each spelling of a table', () => {
  it.each(CASES)('of $recording means to the gateway what it means to the engine', (one) => {
    const { sql, context, tablesQueried, failed } = recorded(one.recording);
    const judged = judgeSql(sql, context);
    if (typeof one.judged === 'string') {
      // Only what the engine refuses is refused.
      expect([failed, tablesQueried]).toEqual([true, []]);
      expect(judged).toMatchObject({ ok: false, reason: expect.stringContaining(one.judged) });
      return;
    }
    expect(judged).toMatchObject({ ok: true, tables: one.judged, database: one.header });
    expect(judged.ok && judged.text).toContain(`FROM ${one.text} `);
    const sent = recorded(one.sentAs ?? one.recording);
    if (!sent.failed) expect(one.judged).toEqual(expect.arrayContaining(sent.tablesQueried));
    if (one.sentAs !== undefined) expect([failed, sent.context.database]).toEqual([true, one.header]);
  });

  it('covers every recording of a query', () => {
    const spellings = CASES.map(({ recording }) => recording);
    expect(new Set(spellings).size).toBe(22);
  });
});

const judge = (sql: string, context?: SqlContext) => {
  const judged = judgeSql(sql, context);
  return judged.ok ? [judged.tables, judged.database, judged.text] : judged.reason;
};

describe('the database of names', () => {
  it('is the default one in any spelling of its name', () => {
    for (const database of [undefined, 'default', 'Default'])
      expect(judge('SELECT 1 FROM default.t, DEFAULT.u, v', { database })).toEqual([
        ['t', 'u', 'v'],
        undefined,
        'SELECT 1 FROM "default"."t", "DEFAULT"."u", "v"',
      ]);
  });

  it('is printed with every name, also in queries within strings', () => {
    expect(judge("SELECT 1 FROM t WHERE in_subquery(a, 'SELECT b FROM u') = 1", SALES)).toEqual([
      ['sales.t', 'sales.u'],
      'sales',
      `SELECT 1 FROM "sales"."t" WHERE "in_subquery" ("a", 'SELECT "b" FROM "sales"."u"') = 1`,
    ]);
  });

  it('may differ between names only in the single-stage engine and without the header, and then none is sent', () => {
    const sql = "SELECT 1 FROM sales.t WHERE in_subquery(a, 'SELECT b FROM u') = 1";
    expect(judge(sql)).toEqual([['sales.t', 'u'], undefined, expect.stringContaining('"sales"."t"')]);
    expect(judge(MULTISTAGE + sql)).toContain('one database in a query');
    expect(judge(sql, { multistage: true })).toContain('one database in a query');
    expect(judge(sql, SALES)).toEqual([['sales.t', 'sales.u'], 'sales', expect.any(String)]);
    expect(judge(sql, { database: 'other' })).toContain('line 1, column 15: `sales.t` is in the database `sales`');
  });

  it('is never that of the request for the first argument of LOOKUP, which the servers resolve', () => {
    const sql = "SELECT lookUp('d', 'a', 'b', c), lookUp('x.d', 'a', 'b', c), lookUp('default.d', 'a', 'b', c) FROM t";
    expect(judge(sql, SALES)).toEqual([
      ['sales.t', 'd', 'x.d'],
      'sales',
      expect.stringMatching(/\('d', .*\('x\.d', .*\('d', .*FROM "sales"."t"/),
    ]);
  });

  it('is not that of a common table expression', () => {
    expect(judge('WITH x AS (SELECT 1 FROM t) SELECT 1 FROM x, X', SALES)).toEqual([
      ['sales.t', 'sales.X'],
      'sales',
      'WITH "cte 1" AS (SELECT 1 FROM "sales"."t") SELECT 1 FROM "cte 1" AS "x", "sales"."X"',
    ]);
  });
});

describe('the option database', () => {
  it('selects the database of the multi-stage engine; in the single-stage engine, which ignores it, both are judged', () => {
    const sql = "SET database='sales'; SELECT 1 FROM t";
    expect(judge(sql)).toEqual([['t', 'sales.t'], undefined, `SET "database" = 'sales'; SELECT 1 FROM "t"`]);
    expect(judge(sql, { database: 'x' })).toEqual([
      ['x.t', 'sales.t'],
      'x',
      `SET "database" = 'sales'; SELECT 1 FROM "x"."t"`,
    ]);
    expect(judge('SELECT 1 FROM t, x.u OPTION(database=sales)')).toEqual([
      ['t', 'sales.t', 'x.u'],
      undefined,
      expect.any(String),
    ]);
    const printed = `SET "database" = 'sales'; SELECT 1 FROM "sales"."t"`;
    expect(judge(sql, { multistage: true })).toEqual([['sales.t'], 'sales', printed]);
    expect(judge('SELECT 1 FROM t', { queryOptions: 'useMultistageEngine=true;database=sales' })).toEqual([
      ['sales.t'],
      'sales',
      'SELECT 1 FROM "sales"."t"',
    ]);
  });

  it('keeps the gateway from sending a header that contradicts it', () => {
    expect(judge("SET database='sales'; SELECT 1 FROM x.t")).toEqual([['x.t'], undefined, expect.any(String)]);
    expect(judge("SET database='x'; SELECT 1 FROM x.t")).toEqual([['x.t'], 'x', expect.any(String)]);
  });

  it.each([
    ['two values', "SET database='a'; SET database='b'; SELECT 1 FROM t", {}],
    ['two values', "SET database='a'; SELECT 1 FROM t", { queryOptions: 'DATABASE=b' }],
    ['one name of at most 128', "SET database='a.b'; SELECT 1 FROM t", {}],
    ['one name of at most 128', "SET database=''; SELECT 1 FROM t", {}],
    ['one name of at most 128', `SET database='${'d'.repeat(129)}'; SELECT 1 FROM t`, {}],
    [
      'the header `Database` names `a`, but the option `database` names `b`',
      `${MULTISTAGE}SET database='b'; SELECT 1`,
      { database: 'a' },
    ],
    ['but the option `database` names `sales`', `${MULTISTAGE}SET database='sales'; SELECT 1 FROM x.t`, {}],
  ] as const)('is refused: %s', (reason, sql, context) => {
    expect(judge(sql, context)).toContain(reason);
  });
});

describe('the first argument of LOOKUP', () => {
  it.each([
    ['dim', 'dim'],
    ['dim_OFFLINE', 'dim'],
    // The servers append `_OFFLINE`.
    ['dim_REALTIME', 'dim_REALTIME'],
    ['dim_offline', 'dim_offline'],
  ])('%s is the table %s', (written, table) => {
    expect(judgeSql(`SELECT lookUp('${written}', 'a', 'b', c) FROM deals`)).toMatchObject({ tables: ['deals', table] });
  });
});

it.each(['"ſales".x', '"a+b".x', '"a b".x'])('a database that cannot be requested is rejected: %s', (name) => {
  expect(judgeSql(`SELECT 1 FROM ${name}`)).toMatchObject({ ok: false, reason: expect.stringContaining('table name') });
});
