import { describe, expect, it } from 'vitest';
import { parseMask, parseRowFilter, type CallerValues } from '../../../../src/access/sql/row-filter.ts';
import { printedExpression } from './printed-expression.ts';

function printed(filter: string, values?: CallerValues): string {
  const found = parseRowFilter(filter, values);
  return found.ok ? printedExpression(found.condition) : found.reason;
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

describe('a value of the caller in a row filter', () => {
  const VALUES: CallerValues = {
    email: { values: ["o'ada@example.com"], isList: false },
    groups: { values: ['a', "b') OR (1 = 1"], isList: true },
  };

  it.each([
    ['owner = ${subject.email}', `"owner" = 'o''ada@example.com'`],
    ['lower(owner) <> upper(${subject.email}) OR a = 1', `lower ("owner") <> upper ('o''ada@example.com') OR "a" = 1`],
    ['team IN (${subject.groups})', `"team" IN ('a', 'b'') OR (1 = 1')`],
    [
      `team NOT IN ('x', \${subject.groups}, \${subject.email})`,
      `"team" NOT IN ('x', 'a', 'b'') OR (1 = 1', 'o''ada@example.com')`,
    ],
  ])('is a literal: %s', (filter, expected) => {
    expect(printed(filter, VALUES)).toBe(expected);
  });

  it('is named', () => {
    expect(parseRowFilter('a = ${subject.email} OR b IN (${subject.groups})', VALUES)).toMatchObject({
      ok: true,
      columns: ['a', 'b'],
      uses: ['email', 'groups'],
    });
  });

  it.each([
    ['a = ${subject.groups}', 'line 1, column 5: `${subject.groups}` is a list: use it as in `IN (${subject.groups})`'],
    [
      'a = ${subject.mail}',
      'line 1, column 5: `${subject.mail}` is not a value of the caller; they are `${subject.email}`, `${subject.groups}`',
    ],
    [
      'a = ${email}',
      'line 1, column 5: `${email}` is not a value of the caller; they are `${subject.email}`, `${subject.groups}`',
    ],
    [
      'REGEXP_LIKE(a, lower(${subject.email}))',
      'line 1, column 22: `${subject.email}` would be a pattern in REGEXP_LIKE: compare it with `=`',
    ],
    ['a = ${subject.email', 'line 1, column 20: the text ends here: `}` was expected'],
    [
      `a = '\${subject.email}'`,
      'line 1, column 5: a value of the caller is written without quotes, as in `owner = ${subject.email}`',
    ],
    ['a LIKE ${subject.email}', 'line 1, column 8: `$` is unexpected here: a plain string as the pattern was expected'],
    [
      '"${subject.email}" = a',
      'line 1, column 1: `${subject.email}` is not a column of the table, but a property of where a row is stored',
    ],
  ])('of %s is refused', (filter, reason) => {
    expect(printed(filter, VALUES)).toBe(reason);
  });
});

describe('a mask', () => {
  const masked = (text: string): string => {
    const found = parseMask(text, 'mail');
    return found.ok ? printedExpression(found.expression) : found.reason;
  };

  it.each([
    ['NULL', 'NULL'],
    [`'hidden'`, `'hidden'`],
    ['mail * 0', '"mail" * 0'],
    ['sha256(toUtf8(mail))', 'sha256 (toUtf8 ("mail"))'],
    ['MD5(toUtf8("mail"))', 'MD5 (toUtf8 ("mail"))'],
    [`concat(substr(mail, 0, 1), '***')`, `concat (substr ("mail", 0, 1), '***')`],
    ['floor(mail / 100) * 100', 'floor ("mail" / 100) * 100'],
  ])('is %s', (text, expected) => {
    expect(masked(text).replaceAll(/"(sha256|toUtf8|MD5|concat|substr|floor)"/gi, '$1')).toBe(expected);
  });

  it.each([
    ['1', 'line 1, column 1: a mask without its column is a string or `NULL`: for a number write `price * 0`'],
    ['-1', 'a mask without its column is a string'],
    ['(1)', 'a mask without its column is a string'],
    ['1 + 1', 'a mask without its column is a string'],
    ['abs(1)', 'a mask without its column is a string'],
    ['mail', 'line 1, column 1: the mask is the column itself, which hides nothing'],
    ['upper(name)', 'line 1, column 1: a mask has no other column than its own, but here is `name`'],
    [
      'substr(mail, 0, 1) OR 1',
      'line 1, column 20: `OR` is unexpected here: an operator or the end of the mask was expected',
    ],
    ['${subject.email}', 'line 1, column 1: `${subject.email}`: a mask has no values of the caller'],
    ['(SELECT 1)', 'line 1, column 2: a mask has no query: compare columns with literals'],
  ])('is not %s', (text, reason) => {
    expect(masked(text)).toContain(reason);
  });

  it('has no function that reads something else', () => {
    expect(masked(`lookup('t', 'a', 'b', mail)`)).toContain('`lookup` is not a function of masks');
  });
});
