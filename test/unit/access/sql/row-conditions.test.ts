import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Mask, TableConditions } from '../../../../src/access/conditions.ts';
import { resolveDatabases } from '../../../../src/access/sql/databases.ts';
import { judgeSql } from '../../../../src/access/sql/judge.ts';
import { SQL_LIMITS } from '../../../../src/access/sql/limits.ts';
import { newBudget } from '../../../../src/access/sql/parser/reader.ts';
import { readingScript } from '../../../../src/access/sql/parser/script.ts';
import { print } from '../../../../src/access/sql/printer.ts';
import { SqlRefusal } from '../../../../src/access/sql/refusal.ts';
import { conditioned } from '../../../../src/access/sql/row-conditions.ts';
import { readableTable, type ReadableTable } from '../../../../src/access/sql/readable-table.ts';
import { parseRowFilter } from '../../../../src/access/sql/row-filter.ts';
import type { NamedTable, Part, Script, TableReference } from '../../../../src/access/sql/tree.ts';
import { Leaves } from '../../../../src/access/sql/walk.ts';
import { atOnce } from '../../../../src/platform/long-work.ts';
import { seeded } from '../../../support/seed.ts';

const TEXTS = Number(process.env['SQL_TEXTS'] || 1_000);

const COLUMNS: ReadonlySet<string> = new Set(['owner', 'a', 'b', 'c', 'secret']);

const CONDITIONS = readable({ rows: [[filter(`owner = 'me'`)]] });

/** The table with these conditions, the filter `owner = 'me'` and no rule of columns where absent. */
function readable(conditions: Partial<TableConditions>): ReadableTable {
  const all = { rows: [[filter(`owner = 'me'`)]], columns: undefined, masks: new Map(), key: 'key', ...conditions };
  const found = readableTable(all, COLUMNS);
  if (typeof found === 'string') throw new Error(found);
  return found;
}

function filter(text: string) {
  const found = parseRowFilter(text);
  if (!found.ok) throw new Error(found.reason);
  return found;
}

function conditionsOf({ parts }: TableReference): ReadableTable | undefined {
  return /^(?:default\.)?deals$/i.test(parts.join('.')) ? CONDITIONS : undefined;
}

function parsed(sql: string): Script {
  return atOnce(readingScript(sql, newBudget(SQL_LIMITS, { count: 0 })));
}

interface Request {
  readonly multistage?: boolean;
  readonly conditions?: ReadableTable;
}

/** The printed text, or why it is refused. */
function printed(sql: string, { multistage = false, conditions }: Request = {}): string {
  const databases = resolveDatabases([], [], { header: undefined, options: [], multistage });
  try {
    const script = parsed(sql);
    const of = conditions === undefined ? conditionsOf : () => conditions;
    const rewrite = conditioned(script, { conditionsOf: of, multistage, options: script.options })?.rewrite;
    const text = print(script, databases, 1_000_000, rewrite);
    // Printed once more, it must be the same.
    expect(print(script, databases, 1_000_000, rewrite)).toBe(text);
    return text;
  } catch (error) {
    if (!(error instanceof SqlRefusal)) throw error;
    return error.message;
  }
}

describe('in the single-stage engine', () => {
  it.each([
    ['SELECT a FROM deals', `SELECT "a" FROM "deals" WHERE ("owner" = 'me')`],
    [
      'SELECT a, count(*) FROM deals d WHERE b = 1 OR c = 2 GROUP BY a LIMIT 5',
      `SELECT "a", count (*) FROM "deals" AS "d" WHERE ("owner" = 'me') AND ("b" = 1 OR "c" = 2) GROUP BY "a" LIMIT 5`,
    ],
    [
      'SELECT a FROM (SELECT a FROM deals WHERE b = 1)',
      `SELECT "a" FROM (SELECT "a" FROM "deals" WHERE ("owner" = 'me') AND ("b" = 1))`,
    ],
    ['SELECT owner AS owner FROM deals', `SELECT "owner" AS "owner" FROM "deals" WHERE ("owner" = 'me')`],
    ['SELECT a FROM offers', 'SELECT "a" FROM "offers"'],
    [
      'SELECT "deals"."owner" AS "owner", Deals.a AS x, deals.b FROM deals GROUP BY deals.owner ORDER BY default.deals.owner, deals.x',
      `SELECT "owner" AS "owner", "Deals"."a" AS "x", "deals"."b" FROM "deals" WHERE ("owner" = 'me') GROUP BY "owner" ORDER BY "default"."deals"."owner", "deals"."x"`,
    ],
    ['SELECT d.owner AS owner FROM deals d', `SELECT "owner" AS "owner" FROM "deals" AS "d" WHERE ("owner" = 'me')`],
  ])('%s gets the filter in WHERE', (sql, expected) => {
    expect(printed(sql)).toBe(expected);
  });

  it.each([
    `SELECT 'me' AS owner FROM deals`,
    `SELECT 'me' "OWNER" FROM deals`,
    'SELECT Owner AS owner FROM deals',
    'SELECT other.owner AS owner FROM deals',
    'SELECT "deals.owner" AS owner FROM deals',
    'SELECT deals.a AS owner FROM deals',
    `SELECT "as"('me', owner) FROM deals`,
    `SELECT a FROM deals GROUP BY "A_S"('me', owner)`,
  ])('%s is refused: the alias would replace the column of the filter', (sql) => {
    expect(printed(sql)).toMatch(/`deals` may be read in part only, which is not possible with .*(?:alias|as|A_S)/);
  });

  it('all filters hold', () => {
    const conditions = readable({ rows: [[filter('a = 1 OR b = 2'), filter('c = 3')]] });
    expect(printed('SELECT x FROM t WHERE y OR z', { conditions })).toBe(
      'SELECT "x" FROM "t" WHERE ("a" = 1 OR "b" = 2) AND ("c" = 3) AND ("y" OR "z")',
    );
  });
});

describe('in the multi-stage engine', () => {
  const READABLE = `(SELECT * FROM "deals" WHERE ("owner" = 'me'))`;
  it.each([
    ['SELECT a FROM deals', `SELECT "a" FROM ${READABLE} AS "deals"`],
    [
      'SELECT d.a FROM offers o LEFT JOIN deals AS d (x, y) ON d.b = o.b',
      `SELECT "d"."a" FROM "offers" AS "o" LEFT JOIN ${READABLE} AS "d" ("x", "y") ON "d"."b" = "o"."b"`,
    ],
    [
      `SELECT a FROM deals /*+ tableOptions(partition_key='a') */ WHERE b IN (SELECT b FROM deals)`,
      `SELECT "a" FROM (SELECT * FROM "deals" /*+ "tableOptions"("partition_key"='a') */ WHERE ("owner" = 'me')) AS "deals" WHERE "b" IN (SELECT "b" FROM ${READABLE} AS "deals")`,
    ],
    [
      'WITH deals AS (SELECT a FROM deals) SELECT a FROM deals',
      `WITH "cte 1" AS (SELECT "a" FROM ${READABLE} AS "deals") SELECT "a" FROM "cte 1" AS "deals"`,
    ],
    ['TABLE deals', `SELECT * FROM ${READABLE} AS "deals"`],
    [`SELECT 'me' AS owner FROM deals`, `SELECT 'me' AS "owner" FROM ${READABLE} AS "deals"`],
  ])('%s reads the rows of the filter', (sql, expected) => {
    expect(printed(sql, { multistage: true })).toBe(expected);
  });

  it('only the columns of the conditions can be named', () => {
    const conditions = readable({ columns: { kind: 'allow', names: new Set(['b', 'a']) } });
    expect(printed('SELECT * FROM s.deals', { multistage: true, conditions })).toBe(
      `SELECT * FROM (SELECT "a", "b" FROM "s"."deals" WHERE ("owner" = 'me')) AS "deals"`,
    );
  });
});

/** @param text of an expression over columns */
function mask(text: string): Mask {
  const found = filter(`${text} = 1`).condition.parts;
  return { expression: { kind: 'sequence', parts: found.slice(0, -2) }, text };
}

describe('columns and masks in the single-stage engine', () => {
  const conditions = readable({
    columns: { kind: 'deny', names: new Set(['secret']) },
    masks: new Map([['b', mask('substr(b, 0, 1)')]]),
  });
  const MASK = `(substr ("b", 0, 1))`.replace('substr', '"substr"');
  it.each([
    ['SELECT * FROM deals', `SELECT "a", ${MASK}, "c", "owner" FROM "deals" WHERE ("owner" = 'me')`],
    [
      'SELECT a, count(*) FROM deals d WHERE d.b = 1 GROUP BY a ORDER BY deals.B, "d.c"',
      `SELECT "a", count (*) FROM "deals" AS "d" WHERE ("owner" = 'me') AND (${MASK} = 1) GROUP BY "a" ORDER BY ${MASK}, "c"`,
    ],
    [
      'SELECT sum(a) AS total FROM deals GROUP BY c HAVING total > 3 ORDER BY total',
      `SELECT sum ("a") AS "total" FROM "deals" WHERE ("owner" = 'me') GROUP BY "c" HAVING "total" > 3 ORDER BY "total"`,
    ],
  ])('%s names only columns that may be read', (sql, expected) => {
    expect(printed(sql, { conditions })).toBe(expected);
  });

  it.each([
    ['SELECT secret FROM deals', '`secret` is not one of the columns that may be read: `a`, `b`, `c`, `owner`'],
    ['SELECT secret AS secret FROM deals', 'the alias `secret`'],
    ['SELECT a AS SECRET FROM deals WHERE secret = 1', 'the alias `SECRET`'],
    ['SELECT B AS B FROM deals', 'the alias `B`'],
    ['SELECT upper(b) AS b FROM deals', 'the alias `b`'],
    ['SELECT a FROM deals ORDER BY "deals.secret"', '`deals.secret` is not one of the columns'],
    ['SELECT a FROM deals WHERE Secret = 1', '`Secret` is not one of the columns'],
    ['SELECT a FROM deals GROUP BY deals.secret', '`deals.secret` is not one of the columns'],
    ['SELECT count(*) FROM deals HAVING max(secret) = 1', '`secret` is not one of the columns'],
    ['SELECT deals.* FROM deals', '`deals.*` is not one of the columns'],
    ['SELECT a FROM (SELECT a, secret FROM deals)', 'a query within a query'],
    ['SELECT a FROM deals, offers', 'a query within a query'],
    [
      `SELECT distinctCountThetaSketch(a, '', 'secret = 1', '$1') FROM deals`,
      'the function `distinctCountThetaSketch`',
    ],
    [`SELECT a FROM deals WHERE text_match(a, 'secret:x')`, 'the function `text_match`'],
    ['SELECT "deals.$docId" FROM deals', '`deals.$docId`'],
    ['SELECT a AS "deals.secret", "deals.secret" FROM deals', '`deals.secret` is not one of the columns'],
    ['SELECT a AS added, upper(added) FROM deals', '`added` is not one of the columns'],
    ['SELECT a AS x, sum(c) FILTER (WHERE x = 1) FROM deals', '`x` is not one of the columns'],
    ['SELECT a AS deals FROM deals WHERE (deals).secret = 1', 'a field of an expression'],
  ])('%s is refused', (sql, why) => {
    expect(printed(sql, { conditions })).toContain(why);
  });

  it('an alias that is no column stays', () => {
    expect(printed('SELECT 1 AS x FROM deals ORDER BY x', { conditions })).toContain('ORDER BY "x"');
  });
});

it('in the multi-stage engine masks have the name of their column, and filters read the column itself', () => {
  const conditions = readable({
    rows: [[filter('b = 2')], [filter('c = 1'), filter('a = 1')]],
    masks: new Map([['b', mask('lower(b)')]]),
  });
  expect(printed('SELECT b FROM deals WHERE b = 1', { multistage: true, conditions })).toBe(
    `SELECT "b" FROM (SELECT "a", lower ("b"), "c", "owner", "secret" FROM "deals" WHERE (("b" = 2) OR (("c" = 1) AND ("a" = 1)))) AS "deals" ("a", "b", "c", "owner", "secret") WHERE "b" = 1`,
  );
  expect(
    printed(`SELECT distinctCountThetaSketch(a, '', 'b = 1', '$1') FROM deals`, { multistage: true, conditions }),
  ).toContain('the function');
});

it('a mask is never an alias beside a filter of its column, which the single-stage engine would read instead', () => {
  const conditions = readable({ masks: new Map([['owner', mask(`'me'`)]]) });
  const part = `(SELECT "a", "b", "c", 'me', "secret" FROM "deals" WHERE ("owner" = 'me'))`;
  for (const [sql, alias] of [
    ['TABLE deals', '"deals" ("a", "b", "c", "owner", "secret")'],
    ['SELECT * FROM deals d', '"d" ("a", "b", "c", "owner", "secret")'],
    ['SELECT * FROM deals AS d (v, w, x, y, z)', '"d" ("v", "w", "x", "y", "z")'],
  ] as const)
    expect(printed(sql, { multistage: true, conditions })).toBe(`SELECT * FROM ${part} AS ${alias}`);
});

it.each(['NOT a = 1', "a = 1 OR b NOT LIKE 'x%'"])('FILTER is refused beside the filter %s', (text) => {
  const conditions = readable({ rows: [[filter('c = 1'), filter(text)]] });
  for (const multistage of [false, true])
    for (const sql of [
      'SELECT count(*) FILTER (WHERE b = 1) FROM t',
      'SELECT c FROM t HAVING sum(a) FILTER (WHERE b = 1) > 0',
    ])
      expect(printed(sql, { conditions, multistage })).toContain('not possible with `FILTER`');
  expect(printed('SELECT count(*) FILTER (WHERE b = 1) FROM deals')).toContain('FILTER (WHERE "b" = 1)');
});

it.each([
  'SET useMultistageEngine = true; SET useMultistageEngine = false; SELECT a FROM deals',
  'SET useMultistageEngine = true; SELECT a FROM deals OPTION(useMultistageEngine=false)',
])('%s is refused: the engine could be the other one', (sql) => {
  expect(printed(sql, { multistage: true })).toContain('two values of the option `useMultistageEngine`');
  expect(printed(sql.replace('deals', 'offers'), { multistage: true })).not.toContain('in part only');
});

it.each(['skipUpsert', 'trace', 'enableNullHandling', 'inPredicatePreSorted'])('the option %s is refused', (option) => {
  expect(printed(`SET ${option} = true; SELECT a FROM deals`)).toContain(`the query option \`${option}\``);
  expect(printed(`SET ${option} = true; SELECT a FROM offers`)).not.toContain('in part only');
});

it('conditions of a table whose columns differ in case only allow nothing', () => {
  const all = { rows: [[filter('a = 1')]], columns: undefined, masks: new Map(), key: '' };
  expect(readableTable(all, new Set(['a', 'Secret', 'secret']))).toContain('differ in the case of letters only');
});

it.each([
  [{ columns: { kind: 'deny', names: new Set(['secret']) } }],
  [{ masks: new Map([['secret', mask('upper(secret)')]]) }],
] as const)('a column whose name ends with that of a hidden one allows nothing with %o', (conditions) => {
  const all = { rows: undefined, columns: undefined, masks: new Map(), key: '', ...conditions };
  const columns = new Set(['a', 'deals.Secret', 'secret', 'secret.a']);
  expect(readableTable(all, columns)).toContain('the column `deals.Secret`, which the engine may take for a column');
  columns.delete('deals.Secret');
  expect(readableTable(all, columns)).toBeTypeOf('object');
});

it.each([
  [{ rows: [] }, 'its row filters allow no row'],
  [{ rows: [[filter('gone = 1')]] }, '`gone`, which its schema does not have'],
  [{ columns: { kind: 'deny', names: new Set(['Secret']) } }, '`Secret`, which its schema does not have'],
  [{ columns: { kind: 'allow', names: new Set<string>() } }, 'allow none of its columns'],
] as const)('conditions that the table cannot fulfil allow nothing', (conditions, why) => {
  const all = { rows: undefined, columns: undefined, masks: new Map(), key: '', ...conditions };
  expect(readableTable(all, COLUMNS)).toContain(why);
});

it.each([
  [`SELECT lookUp('deals', 'a', 'b', c) FROM offers`, '`LOOKUP`'],
  [`SELECT a FROM offers WHERE in_subquery(a, 'SELECT a FROM deals') = 1`, 'a query within a string'],
  [`SELECT a FROM deals FOR SYSTEM_TIME AS OF b, offers`, '`FOR SYSTEM_TIME`'],
  [`SELECT a FROM deals FOR SYSTEM_TIME AS OF b`, '`FOR SYSTEM_TIME`'],
  ['SELECT $docId FROM deals', '`$docId`'],
  ['SELECT a FROM deals d ORDER BY d."$segmentName"', '`$segmentName`'],
  ['SELECT a FROM offers JOIN deals USING (a, "$docId")', '`$docId`'],
  ['SELECT ID_SET(a) FROM deals', 'the function `ID_SET`'],
  ['SELECT * FROM deals PIVOT (sum(b) FOR a IN (1))', '`PIVOT`'],
  ['EXPLAIN PLAN FOR SELECT a FROM deals', '`EXPLAIN`'],
  ['DESCRIBE deals', '`DESCRIBE`'],
  [
    `SELECT /*+ joinOptions(join_strategy='lookup') */ a FROM offers JOIN deals ON b = c`,
    'the hint `joinOptions` for a lookup join',
  ],
])('%s is refused in both engines', (sql, what) => {
  for (const multistage of [false, true])
    expect(printed(sql, { multistage })).toContain(
      `\`deals\` may be read in part only, which is not possible with ${what}`,
    );
  expect(printed(sql.replace('deals', 'offers'))).not.toContain('in part only');
});

/** Statements in which tables, common table expressions, aliases and columns have the same few names. */
function statements(random: () => number): () => string {
  const one = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const NAMES = ['deals', 'Deals', '"deals"', 'default.deals', '"default.deals"', 'offers', 'x'];
  const ALIASES = ['', '', ' x', ' AS deals', ' "deals"', ' AS y (deals, owner)'];
  const COLUMNS = ['a', 'owner', 'deals.owner', 'x.a', '*', 'deals.*', "'me'", 'count(*)'];
  const condition = (depth: number): string =>
    depth > 2 || random() < 0.4
      ? one(["owner = 'x'", 'deals.a = 1 OR TRUE', 'a BETWEEN 1 AND 2', 'NOT owner IS NULL'])
      : one([
          () => `a IN (${query(depth + 1)})`,
          () => `EXISTS (${query(depth + 1)})`,
          () => `(a = (${query(depth + 1)}) OR ${condition(depth + 1)})`,
        ])();
  const source = (depth: number): string =>
    depth > 2 || random() < 0.5
      ? one(NAMES) + one(ALIASES)
      : one([
          () => `(${query(depth + 1)}) AS deals`,
          () => `(${source(depth + 1)} JOIN ${source(depth + 2)} ON ${condition(depth + 1)}) x`,
          () => `((${source(depth + 1)}), ${source(depth + 1)})`,
          () => `LATERAL (${query(depth + 1)}) AS deals`,
          () => `UNNEST(ARRAY(${query(depth + 1)})) AS deals`,
        ])();
  const select = (depth: number): string => {
    const items = one(COLUMNS) + (random() < 0.2 ? `, (${query(depth + 1)}) AS deals` : '');
    const more = random() < 0.3 ? one([', ', ' CROSS JOIN ', ' NATURAL JOIN ']) + source(depth + 1) : '';
    const where = random() < 0.5 ? ` WHERE ${condition(depth)}` : '';
    const tail = random() < 0.2 ? ` GROUP BY a HAVING ${condition(depth + 1)}` : '';
    return `SELECT ${items} FROM ${source(depth)}${more}${where}${tail}`;
  };
  const query = (depth: number): string =>
    depth > 3 || random() < 0.5
      ? select(depth)
      : one([
          () => `WITH deals AS (${query(depth + 1)}) ${query(depth + 2)}`,
          () => `WITH RECURSIVE x AS (${query(depth + 1)}), deals AS (TABLE x) SELECT * FROM deals`,
          () => `(${query(depth + 1)}) UNION ALL (${query(depth + 1)})`,
          () => `${select(depth)} ORDER BY (${query(depth + 1)}) LIMIT 3`,
          () => `TABLE ${one(NAMES)}`,
          () => `VALUES (1), ((${query(depth + 1)}))`,
          () => `(${query(depth + 1)}) ORDER BY (${query(depth + 1)})`,
        ])();
  return () => query(0);
}

/** References in a printed text to the table with conditions, and those whose query has the filter as the first condition of WHERE. */
function references(
  text: string,
  isLimited = (table: TableReference): boolean => conditionsOf(table) !== undefined,
): { readonly all: number; readonly filtered: number } {
  const found = { all: 0, filtered: 0 };
  const filtered = new Set<NamedTable>();
  const root = parsed(text);
  const walk = new Leaves(root, (node) => {
    if (node.kind === 'select' && node.from?.first.kind === 'named-table' && node.from.joins.length === 0) {
      if (node.where !== undefined && beginsWithFilter(node.where)) filtered.add(node.from.first);
    } else if (node.kind === 'named-table' && filtered.has(node)) found.filtered++;
    return node;
  });
  for (let leaf = walk.next(); leaf !== undefined; leaf = walk.next())
    if (leaf.kind === 'table' && isLimited(leaf.table)) found.all++;
  return found;
}

/** Whether it is `(owner = 'me')`, or that with AND and one more condition in parentheses. */
function beginsWithFilter(where: Part): boolean {
  const words: string[] = [];
  const walk = new Leaves(where);
  for (let leaf = walk.next(); leaf !== undefined; leaf = walk.next())
    words.push(leaf.kind === 'column' ? leaf.parts.join('.') : 'text' in leaf ? leaf.text : leaf.kind);
  const rest = words.slice(5);
  return (
    words.slice(0, 5).join('') === '(owner=me)' &&
    (rest.length === 0 || (rest[0] === 'AND' && isOneGroup(rest.slice(1))))
  );
}

/** Whether the first parenthesis is closed by the last one, so that no operator stands beside it. */
function isOneGroup(words: readonly string[]): boolean {
  let depth = 0;
  return words.every((word, index) => {
    if (word === '(') depth++;
    if (word === ')') depth--;
    return depth > 0 || index === words.length - 1;
  });
}

it.each([true, false])(
  'no reference is printed without its filter (multi-stage: %s)',
  (multistage) => {
    const random = seeded(26);
    const next = statements(() => random.next());
    let all = 0;
    for (let count = 0; count < TEXTS; count++) {
      const sql = next();
      const text = printed(sql, { multistage });
      if (!/^[(]?(?:SELECT|WITH|VALUES|TABLE|[(])/.test(text)) continue;
      const found = references(text);
      expect(found, sql).toEqual({ all: found.all, filtered: found.all });
      all += found.all;
    }
    expect(all).toBeGreaterThan(TEXTS);
  },
  14_400_000,
);

interface Group {
  readonly texts: readonly string[];
}

it.each(['corpus', 'ordinary'])(
  'the texts of %s, with conditions of all tables, are printed with them or refused',
  (name) => {
    const groups = parse(readFileSync(join(import.meta.dirname, `${name}.yaml`), 'utf8')) as readonly Group[];
    const found = { printed: 0, refused: 0 };
    for (const sql of groups.flatMap(({ texts }) => texts))
      for (const multistage of [false, true]) {
        const judged = judgeSql(sql, { multistage, conditionsOf: () => CONDITIONS });
        const whole = judgeSql(sql, { multistage });
        if (!judged.ok || !whole.ok || whole.tables.length === 0) {
          found.refused++;
          continue;
        }
        const { all, filtered } = references(judged.text, () => true);
        expect([all > 0, filtered], judged.text).toEqual([true, all]);
        found.printed++;
      }
    expect(found.printed).toBeGreaterThan(100);
  },
);

it('no column is printed in the single-stage engine that may not be read', () => {
  const random = seeded(27);
  const one = <T>(values: readonly T[]): T => random.pick(values);
  const NAMES = [
    'a',
    'secret',
    'Secret',
    '"deals.secret"',
    'deals.SECRET',
    'd.secret',
    '"d.secret"',
    'b',
    '*',
    '1',
    'owner',
    'default.deals.secret',
  ];
  const item = (): string =>
    one([
      one(NAMES),
      `max(${one(NAMES)})`,
      `(${one(NAMES)} + 1)`,
      `CASE WHEN ${one(NAMES)} = 1 THEN ${one(NAMES)} END`,
      `${one(NAMES)} AS ${one(['secret', 'x', 'SECRET', 'a'])}`,
    ]);
  const conditions = readable({ columns: { kind: 'deny', names: new Set(['secret']) } });
  let count = 0;
  for (let index = 0; index < TEXTS; index++) {
    const sql = `SELECT ${item()}, ${one(['a', item()])} FROM deals ${one(['', 'd', 'AS "deals"', 'secret'])} WHERE ${one(['a', 'c', item()])} = 1 ${one(['', `GROUP BY ${one(NAMES)}`, `GROUP BY a HAVING ${one(NAMES)} > 1`])} ${one(['', `ORDER BY ${one(NAMES)}`])}`;
    const text = printed(sql, { conditions });
    if (!text.startsWith('SELECT')) continue;
    count++;
    const leaves = new Leaves(parsed(text));
    for (let leaf = leaves.next(); leaf !== undefined; leaf = leaves.next())
      if (leaf.kind === 'column')
        expect(leaf.parts.join('.').toLowerCase().split('.').at(-1), `${sql}: ${text}`).not.toBe('secret');
  }
  expect(count).toBeGreaterThan(TEXTS / 100);
}, 14_400_000);
