import { describe, expect, it } from 'vitest';
import { resolveDatabases } from '../../../../src/access/sql/databases.ts';
import { print } from '../../../../src/access/sql/printer.ts';
import { parseRowFilter } from '../../../../src/access/sql/row-filter.ts';

const DATABASES = resolveDatabases([], [], { header: undefined, options: [], multistage: false });

function printed(filter: string): string {
  const found = parseRowFilter(filter);
  if (!found.ok) return found.reason;
  const value = { kind: 'values', rows: found.condition } as const;
  const rest = { with: undefined, operations: [], orderBy: undefined, limits: undefined, limit: undefined } as const;
  const query = { kind: 'query', first: value, ...rest } as const;
  const statement = { kind: 'statement', explain: undefined, query, options: [] } as const;
  return print({ kind: 'script', statements: [statement], options: [] }, DATABASES, 100).replace('VALUES ', '');
}

describe('a row filter', () => {
  it.each([
    [`customer = 'a'`, `"customer" = 'a'`],
    [`"Customer" <> 'it''s' -- no`, `"Customer" <> 'it''s'`],
    ['a between -1 and 2 or not b is not null', '"a" BETWEEN - 1 AND 2 OR NOT "b" IS NOT NULL'],
    [`region in ('eu', 'us') and name not like 'x%'`, `"region" IN ('eu', 'us') AND "name" NOT LIKE 'x%'`],
    ['not (a + 1) * 2 >= b % 3', 'NOT ("a" + 1) * 2 >= "b" % 3'],
    [`ts > ago('P30D') and lower(mail) = 'x'`, `"ts" > "ago" ('P30D') AND lower ("mail") = 'x'`],
    ['isActive', '"isActive"'],
    ['a = TRUE or b is false', '"a" = TRUE OR "b" IS FALSE'],
  ])('of %s is printed in the form of the SQL check', (filter, expected) => {
    expect(printed(filter)).toBe(expected);
  });

  it('has columns', () => {
    expect(parseRowFilter(`a = 1 AND (b IN (c, 2) OR upper(d) LIKE 'x') AND a < e`)).toMatchObject({
      ok: true,
      columns: ['a', 'b', 'c', 'd', 'e'],
    });
  });

  it.each([
    ['', 'line 1, column 1: the text ends here: a column, a literal or a function was expected'],
    ['a =', 'line 1, column 4: the text ends here: a column, a literal or a function was expected'],
    ['a = 1) OR (b = 2', 'line 1, column 6: `)` is unexpected here: `AND`, `OR` or the end of the filter was expected'],
    ['a = 1; SET x = 1', 'line 1, column 6: `;` is unexpected here: `AND`, `OR` or the end of the filter was expected'],
    ['a = 1 b', 'line 1, column 7: `b` is unexpected here: `AND`, `OR` or the end of the filter was expected'],
    ['a NOT 1', 'line 1, column 7: `1` is unexpected here: `IN`, `LIKE` or `BETWEEN` was expected'],
    ['a BETWEEN 1', 'line 1, column 12: the text ends here: `AND` was expected'],
    ['a LIKE b', 'line 1, column 8: `b` is unexpected here: a plain string as the pattern was expected'],
    ['\na IN (SELECT b FROM t)', 'line 2, column 7: a row filter has no query: compare columns with literals'],
    ['EXISTS (SELECT 1)', 'line 1, column 1: a row filter has no query: compare columns with literals'],
    ['t.a = 1', 'line 1, column 1: a row filter names columns without their table'],
    ['"t.a" = 1', 'line 1, column 1: a row filter names columns without their table'],
    [
      '$segmentName = 1',
      'line 1, column 1: `$segmentName` is not a column of the table, but a property of where a row is stored',
    ],
    [
      'CURRENT_USER = a',
      'line 1, column 1: `CURRENT_USER` is unexpected here: a column, a literal or a function was expected',
    ],
    [`a = 'x`, 'line 1, column 5: the string is not closed'],
    [`${'('.repeat(21)}a`, 'line 1, column 22: the query is nested deeper than 20 levels'],
  ])('of %s is refused with the position', (filter, reason) => {
    expect(printed(filter)).toBe(reason);
  });

  it('of more than 8,192 bytes is refused', () => {
    expect(printed(`a = '${'x'.repeat(8_186)}'`)).toContain(' = ');
    expect(printed(`a = '${'x'.repeat(8_187)}'`)).toBe('line 1, column 1: the filter is longer than 8192 bytes');
  });

  it.each([
    `lookUp('t', 'a', 'b', c) = 1`,
    `"LOOK_UP"('t', 'a', 'b', c) = 1`,
    `in_subquery(a, 'SELECT 1') = 1`,
    'groovy(a) = 1',
    'max(a) = 1',
    'count(*) = 1',
    'id_set(a) = 1',
    '"as"(a, b) = 1',
    'rand() < 1',
  ])('with the function in %s is refused', (filter) => {
    expect(printed(filter)).toContain('is not a function of row filters');
  });
});
