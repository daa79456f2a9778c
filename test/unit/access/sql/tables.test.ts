import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeSql } from '../../../../src/access/sql/judge.ts';
import { tableNames } from '../../../../src/access/sql/table-names.ts';

const tables = (...question: Parameters<typeof judgeSql>) => {
  const found = judgeSql(...question);
  return found.ok ? found.tables : found.reason;
};

describe('names elsewhere', () => {
  it('are returned without type suffix and default database', () => {
    expect(tableNames('a_OFFLINE')).toEqual(['a']);
    expect(tableNames('default.a_REALTIME')).toEqual(['a']);
    expect(tableNames('a', 'sales')).toEqual(['sales.a']);
    expect(tableNames('a_realtime')).toEqual(['a', 'a_realtime']);
    for (const name of ['', '.', 'a.b.c', 'a.', '.a', ' ']) expect(tableNames(name)).toBeUndefined();
  });
});

// Random texts from a grammar that records the names it uses.
interface Text {
  readonly sql: string;
  readonly names: readonly string[];
}
const blank = fc.constantFrom(' ', '\n', '\t ', ' /* FROM hidden */ ', ' -- , hidden\n');
const name = fc.constantFrom('a', 'b', 'events', 'Orders', 'x1');
const join2 = (parts: readonly (Text | string)[]): Text => ({
  sql: parts.map((part) => (typeof part === 'string' ? part : part.sql)).join(''),
  names: parts.flatMap((part) => (typeof part === 'string' ? [] : part.names)),
});
const { query } = fc.letrec<{ query: Text; source: Text; expression: Text }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'sql' },
    fc
      .constantFrom("'FROM hidden'", '1', 'x', '"FROM"', 'left(y, 2)', 'extract(YEAR FROM t)')
      .map((sql) => ({ sql, names: [] })),
    tie('query').map((inner) => join2(['(', inner, ')'])),
    fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => join2(['f(', a, ', ', b, ')'])),
    tie('query').map((inner) => join2(['x IN (', inner, ')'])),
    fc.tuple(name, blank).map(([table, gap]) => ({ sql: `lookUp(${gap}'${table}', 'c', 'd', e)`, names: [table] })),
    fc.tuple(name).map(([table]) => ({ sql: `inSubquery(x, 'SELECT ID_SET(y) FROM ${table}')`, names: [table] })),
  ),
  source: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'sql' },
    fc
      .tuple(name, fc.constantFrom('', ' AS q', ' q', ' q(c)', '_OFFLINE'))
      .map(([table, tail]) => ({ sql: table + tail, names: [table] })),
    name.map((table) => ({ sql: `"${table}"`, names: [table] })),
    tie('query').map((inner) => join2(['(', inner, ') s'])),
    fc
      .tuple(tie('source'), fc.constantFrom(' JOIN ', ' left join ', ' CROSS JOIN ', ', '), tie('source'))
      // A join as right operand needs parentheses.
      .map(([a, how, b]) => join2([a, how, '(', b, / join /i.test(how) && !/cross/i.test(how) ? ') ON 1 = 1' : ')'])),
    fc.tuple(tie('source'), tie('source')).map(([a, b]) => join2(['(', a, ' NATURAL JOIN ', b, ')'])),
  ),
  query: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'sql' },
    fc
      .tuple(blank, tie('expression'), tie('source'), blank)
      .map(([gap, column, from, gap2]) => join2(['SELECT', gap, column, ' FROM', gap2, from])),
    fc
      .tuple(tie('source'), tie('expression'), tie('expression'))
      .map(([from, where, order]) =>
        join2(['select * from ', from, ' where ', where, ' = 1 order by ', order, ' limit 5']),
      ),
    fc
      .tuple(tie('query'), tie('query'))
      .map(([inner, after]) => join2(['WITH hidden_cte AS (', inner, ') SELECT * FROM hidden_cte, (', after, ') t'])),
    fc
      .tuple(tie('source'), tie('source'))
      .map(([a, b]) => join2(['SELECT 1 FROM ', a, ' UNION ALL SELECT 2 FROM ', b])),
  ),
}));

describe('random texts', () => {
  it('are parsed, with exactly the tables that they name', () => {
    fc.assert(
      fc.property(query, ({ sql, names }) => {
        expect(tables(sql)).toSatisfy((found) => Array.isArray(found), sql);
        expect(new Set(tables(sql))).toEqual(new Set(names));
      }),
      { numRuns: 500 },
    );
  });

  it('cut, joined and mutated cause no exception, and hide no table directly after FROM or JOIN', () => {
    const mangled = fc
      .tuple(query, query, fc.nat(200), fc.nat(200), fc.string({ maxLength: 4 }))
      .map(([a, b, from, to, bit]) => {
        const cut = a.sql.slice(0, from) + bit + a.sql.slice(to);
        return `SELECT * FROM (${cut}) q JOIN secret ON x IN (${b.sql})`;
      });
    fc.assert(
      fc.property(mangled, (sql) => {
        const found = judgeSql(sql);
        // An accepted text must contain the table that cannot be commented out or quoted.
        if (found.ok && !/['"]|--|\/\*/.test(sql)) expect(found.tables).toContain('secret');
      }),
      { numRuns: 500 },
    );
  });
});
