import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { judgeSql } from '../../../../src/access/sql/judge.ts';
import { judgeDebugOptions } from '../../../../src/access/sql/options-field.ts';
import { SQL_LIMITS } from '../../../../src/access/sql/limits.ts';
import { optionProblems, QUERY_OPTIONS } from '../../../../src/access/sql/query-options.ts';
import { readableTable } from '../../../../src/access/sql/readable-table.ts';
import { parseRowFilter } from '../../../../src/access/sql/row-filter.ts';

/** The ways to set an option, each for the same query. */
const WAYS: Readonly<Record<string, (key: string, value: string) => ReturnType<typeof judgeSql>>> = {
  'SET before': (key, value) => judgeSql(`SET ${key} = '${value}'; SELECT a FROM t`),
  'SET after': (key, value) => judgeSql(`SELECT a FROM t; SET "${key}" = '${value}'`),
  OPTION: (key, value) => judgeSql(`SELECT a FROM t OPTION(${key}=${value})`),
  queryOptions: (key, value) => judgeSql('SELECT a FROM t', { queryOptions: `${key}=${value}` }),
  'a query within a string': (key, value) =>
    judgeSql(`SELECT a FROM t WHERE in_subquery(a, 'SET ${key} = ''${value}''; SELECT b FROM t') = 1`),
};

const refused = QUERY_OPTIONS.filter(({ handling }) => handling === 'refused');

describe.each(Object.entries(WAYS))('an option by %s', (_, judge) => {
  it('is passed or refused as the table says, in any case', () => {
    for (const { name, handling } of QUERY_OPTIONS) {
      for (const key of [name, name.toLowerCase(), name.toUpperCase()]) {
        const judged = judge(key, 'x');
        expect([key, judged.ok], judged.ok ? '' : judged.reason).toEqual([key, handling !== 'refused']);
      }
    }
  });

  it('that is refused is named with the reason', () => {
    for (const { name, note } of refused) {
      expect(judge(name.toLowerCase(), 'x')).toMatchObject({
        ok: false,
        reason: expect.stringContaining(`the query option \`${name}\` is not supported. ${note}`),
      });
    }
  });

  it('that has no effect on the checks is passed', () => {
    const accepted = refused.flatMap(({ name, accepts }) => accepts.map((value) => [name, value] as const));
    expect(accepted).not.toHaveLength(0);
    for (const [name, value] of accepted) expect(judge(name, value)).toMatchObject({ ok: true });
  });

  it('that is unknown is refused with its name and the nearest known one', () => {
    expect(judge('timeoutsMs', '5')).toMatchObject({
      ok: false,
      reason: expect.stringContaining('unknown query option `timeoutsMs`: did you mean `timeoutMs`?'),
    });
    expect(judge('ROW_FILTERS-orders', 'x')).toMatchObject({ ok: false });
    expect(judge('colour', 'x')).toMatchObject({
      ok: false,
      reason: expect.stringContaining(
        'unknown query option `colour`: docs/query-options.md lists the known ones; an administrator',
      ),
    });
  });
});

describe('an option that an administrator allows', () => {
  const allowedOptions = new Set(['optionofvendor']);
  const limits = { ...SQL_LIMITS, allowedOptions };

  it('is passed in any case, and its message says how it is allowed', () => {
    const sql = 'SET OptionOfVendor = 1; SELECT a FROM t';
    expect(judgeSql(sql)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('an administrator can allow it with the setting `allowed-query-options`'),
    });
    expect(judgeSql(sql, { limits })).toMatchObject({ ok: true });
    expect(judgeSql('SELECT a FROM t', { limits, queryOptions: 'OPTIONOFVENDOR=x' })).toMatchObject({ ok: true });
    expect(judgeSql('SET OptionOfVendors = 1; SELECT a FROM t', { limits })).toMatchObject({ ok: false });
  });

  it('is refused where a table may be read in part only', () => {
    const rows = parseRowFilter('a = 1');
    if (!rows.ok) throw new Error(rows.reason);
    const readable = readableTable({ rows: [[rows]], columns: undefined, masks: new Map(), key: '' }, new Set(['a']));
    if (typeof readable === 'string') throw new Error(readable);
    const judged = judgeSql('SET OptionOfVendor = 1; SELECT a FROM t', { limits, conditionsOf: () => readable });
    expect(judged).toMatchObject({
      ok: false,
      reason: expect.stringContaining('not possible with the query option `OptionOfVendor`'),
    });
  });

  it('cannot be one that the gateway refuses', () => {
    expect(optionProblems(['OptionOfVendor', 'timeoutMs', 'database'])).toEqual([]);
    expect(optionProblems(['GETCURSOR', 'row-filters', 'a=b'])).toEqual([
      expect.stringMatching(/^the query option `getCursor` cannot be allowed\. Would store/),
      '`row-filters` is not the name of a query option: it has letters and digits',
      '`a=b` is not the name of a query option: it has letters and digits',
    ]);
  });
});

it('the message points at the option', () => {
  expect(judgeSql('SELECT a FROM t;\n  SET getCursor = true')).toMatchObject({ line: 2, column: 7 });
  expect(judgeSql('SELECT a FROM t OPTION(timeoutMs=1, x=2)')).toMatchObject({ line: 1, column: 37 });
});

it('debug options are judged like query options', () => {
  expect(judgeDebugOptions(' routingOptions = FORCE_HLC ;')).toBe('routingOptions=FORCE_HLC');
  expect(judgeDebugOptions(undefined)).toBeUndefined();
  expect(() => judgeDebugOptions('x=1')).toThrow('unknown query option `x`');
  expect(() => judgeDebugOptions('trace')).toThrow('`debugOptions` must be of the form');
});

it('every option is complete', () => {
  const names = QUERY_OPTIONS.map(({ name }) => name.toLowerCase());
  expect(new Set(names).size).toBe(names.length);
  for (const { name, since, note } of QUERY_OPTIONS) {
    expect(name).toMatch(/^[A-Za-z]+$/);
    expect(since).toMatch(/^\d\.\d+$/);
    expect(note).toMatch(/\.$/);
  }
});

it('the documentation lists all of them', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/query-options.md'), 'utf8');
  for (const { name } of QUERY_OPTIONS) expect(page).toContain(`| \`${name}\` |`);
  for (const { note } of refused) expect(page).toContain(note);
});
