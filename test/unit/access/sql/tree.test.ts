import { describe, expect, it } from 'vitest';
import { SQL_LIMITS } from '../../../../src/access/sql/limits.ts';
import { readingScript } from '../../../../src/access/sql/parser/script.ts';
import type { FromItem, Leaf, NamedTable, Query, Scope, Select } from '../../../../src/access/sql/tree.ts';
import { Leaves } from '../../../../src/access/sql/walk.ts';
import { atOnce } from '../../../../src/platform/long-work.ts';

function parsed(sql: string): { query: Query; leaves: readonly Leaf[] } {
  const counters = { tokens: 0, tokensOfLastPart: 0, depth: 0, texts: 0, tables: 0 };
  const budget = { steps: { count: 0 }, limits: SQL_LIMITS, commonTables: [], ...counters };
  const script = atOnce(readingScript(sql, budget));
  const statement = script.statements.find((one) => one.kind === 'statement');
  if (statement === undefined) throw new Error('no query');
  const walk = new Leaves(script);
  const leaves: Leaf[] = [];
  for (let leaf = walk.next(); leaf !== undefined; leaf = walk.next()) leaves.push(leaf);
  return { query: statement.query, leaves };
}

function nameOf(item: FromItem): string {
  if (item.alias !== undefined) return item.alias.name;
  if (item.kind === 'named-table' && item.name.kind === 'table') return item.name.table.parts.join('.');
  return item.kind;
}

/** Names in a scope, then those around it. */
function namesIn(scope: Scope | undefined): string {
  if (scope === undefined) return '-';
  const own = scope.sources.map(nameOf).join(' ');
  return scope.outer === undefined ? own : `${own} < ${namesIn(scope.outer)}`;
}

function columns(sql: string): Record<string, string> {
  const found = parsed(sql).leaves.filter((leaf) => leaf.kind === 'column');
  return Object.fromEntries(
    found.map(({ parts, isAll, scope }) => [[...parts, ...(isAll ? ['*'] : [])].join('.'), namesIn(scope)]),
  );
}

describe('the scope of a column', () => {
  it('has the items of FROM, and those of the queries around it', () => {
    expect(
      columns(
        'SELECT a, t.*, * FROM t JOIN u x ON b = c, LATERAL (SELECT d FROM v) AS y, UNNEST(e) AS z WHERE f IN (SELECT g FROM w WHERE EXISTS (SELECT h FROM s.q))',
      ),
    ).toEqual({
      a: 't x y z',
      't.*': 't x y z',
      '*': 't x y z',
      b: 't x y z',
      c: 't x y z',
      d: 'v < t x y z',
      e: 't x y z',
      f: 't x y z',
      g: 'w < t x y z',
      h: 's.q < w < t x y z',
    });
  });

  it('has the written names of common table expressions', () => {
    expect(columns('WITH c AS (SELECT a FROM t) SELECT b FROM c, c AS d')).toEqual({ a: 't', b: 'c d' });
  });

  it('has the items of tables in parentheses', () => {
    expect(columns('SELECT a FROM ((t JOIN u ON TRUE) AS v CROSS JOIN w)')).toEqual({ a: 't u v w derived-table' });
  });

  it('is that of the SELECT in ORDER BY, if it is the only one', () => {
    expect(columns('SELECT a FROM t ORDER BY b')).toMatchObject({ b: 't' });
    expect(columns('SELECT a FROM t UNION SELECT a FROM u ORDER BY b')).toMatchObject({ b: '-' });
    expect(columns('SELECT c FROM s WHERE a IN ((SELECT a FROM t) ORDER BY b)')).toMatchObject({ b: 's' });
    expect(columns('VALUES (1) ORDER BY b')).toEqual({ b: '-' });
  });
});

describe('a query', () => {
  const selectOf = (query: Query): Select => {
    if (query.first.kind !== 'select') throw new Error(query.first.kind);
    return query.first;
  };

  it('has its clauses', () => {
    const { query } = parsed(
      "SELECT DISTINCT a AS b, f(c) FROM t WHERE d = 1 GROUP BY a HAVING MAX(c) > 2 WINDOW w AS (ORDER BY c) QUALIFY x = 3 UNION ALL SELECT 'y' ORDER BY b LIMIT 7",
    );
    expect(query).toMatchObject({
      operations: [{ operator: 'UNION', quantifier: 'ALL', term: { kind: 'select', from: undefined } }],
      limit: 7,
    });
    expect(query.orderBy?.parts).toMatchObject([{ kind: 'column', parts: ['b'] }]);
    expect(selectOf(query)).toMatchObject({
      quantifier: 'DISTINCT',
      items: [
        { expression: { kind: 'column', parts: ['a'] }, alias: { name: 'b' } },
        { expression: { kind: 'call', name: { parts: ['f'] } }, alias: undefined },
      ],
      where: { parts: [{ parts: ['d'] }, { text: '=' }, { text: '1' }] },
      groupBy: { parts: [{ parts: ['a'] }] },
      having: { parts: [{ kind: 'call', name: { kind: 'bare', text: 'MAX' } }, { text: '>' }, { text: '2' }] },
      qualify: { parts: [{ parts: ['x'] }, { text: '=' }, { text: '3' }] },
    });
  });

  it('has table references with name, alias, hints, point in time and scope', () => {
    const { query } = parsed(
      "SELECT 1 FROM s.t /*+ h(a='b') */ FOR SYSTEM_TIME AS OF c AS x (y) LEFT OUTER JOIN u USING (k), v",
    );
    const { from, scope } = selectOf(query);
    const [first, ...others] = [from?.first, ...(from?.joins ?? []).map(({ item }) => item)] as NamedTable[];
    expect(first).toMatchObject({
      name: { kind: 'table', table: { parts: ['s', 't'], at: 14 } },
      hints: { hints: [{ name: 'h' }] },
      systemTime: { kind: 'column', parts: ['c'] },
      alias: { name: 'x', columns: ['y'] },
    });
    for (const table of [first, ...others]) expect(table?.scope).toBe(scope);
    expect(from?.joins).toMatchObject([{ words: ['LEFT', 'OUTER', 'JOIN'], using: ['k'] }, { words: [] }]);
  });
});
