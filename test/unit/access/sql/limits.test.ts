import { describe, expect, it } from 'vitest';
import { resolveDatabases } from '../../../../src/access/sql/databases.ts';
import { judgeSql, judgingSql } from '../../../../src/access/sql/judge.ts';
import { SQL_LIMITS, type SqlLimits } from '../../../../src/access/sql/limits.ts';
import { print } from '../../../../src/access/sql/printer.ts';
import type { Leaf, Script } from '../../../../src/access/sql/tree.ts';

const IN_SUBQUERY = "in_subquery(a, 'SELECT b FROM t') = 1";

/** The longest text that a limit accepts, and the shortest one that it rejects. */
const LARGEST: readonly {
  readonly limits: Partial<SqlLimits>;
  readonly accepted: string;
  readonly rejected: string;
  readonly reason: string;
}[] = [
  {
    limits: { bytes: 16 },
    accepted: 'SELECT é FROM t',
    rejected: '\nSELECT é FROM t',
    reason: 'line 1, column 1: the text is longer than 16 bytes',
  },
  {
    limits: { tokens: 4 },
    accepted: 'SELECT a FROM t',
    rejected: 'SELECT a, b FROM t',
    reason: 'line 1, column 13: the text has more than 4 tokens',
  },
  {
    limits: { tokens: 13 },
    accepted: "SELECT in_subquery(a, 'SELECT b FROM t') FROM t",
    rejected: "SELECT in_subquery(a, 'SELECT b, c FROM t') FROM t",
    reason: 'line 1, column 23: within this string, at line 1, column 13: the text has more than 13 tokens',
  },
  {
    limits: { nameLength: 6 },
    accepted: 'SELECT abcdef FROM t',
    rejected: 'SELECT "abcdefg" FROM t',
    reason: 'line 1, column 8: a name is longer than 6 characters',
  },
  {
    limits: { tables: 2 },
    accepted: "SELECT LOOKUP('d', 'a', 'b', c) FROM t",
    rejected: "SELECT LOOKUP('d', 'a', 'b', c) FROM t, t",
    reason: 'line 1, column 41: the text names more than 2 tables',
  },
  {
    limits: { commonTables: 2 },
    accepted: 'WITH a AS (SELECT 1), b AS (SELECT 2) SELECT 3',
    rejected: 'WITH a AS (SELECT 1), b AS (WITH c AS (SELECT 2) SELECT 3) SELECT 4',
    reason: 'line 1, column 34: the query has more than 2 common table expressions',
  },
  {
    limits: { texts: 2 },
    accepted: `SELECT a FROM t WHERE ${IN_SUBQUERY} AND ${IN_SUBQUERY}`,
    rejected: `SELECT ${IN_SUBQUERY}, ${IN_SUBQUERY}, ${IN_SUBQUERY} FROM t`,
    reason: 'line 1, column 101: the text has more than 2 queries within strings',
  },
  {
    limits: { statements: 2 },
    accepted: ';SET trace = 1;; SELECT a FROM t;',
    rejected: 'SET trace = 1; SELECT a FROM t; SET sampler = 2',
    reason: 'line 1, column 33: the text has more than 2 statements',
  },
  {
    limits: { nesting: 3 },
    accepted: 'SELECT ((a)), ((b)), (c), CASE (d) END FROM t',
    rejected: 'SELECT ((a)), (((b))) FROM t',
    reason: 'line 1, column 18: the query is nested deeper than 3 levels',
  },
];

it.each(LARGEST)('$reason', ({ limits, accepted, rejected, reason }) => {
  const judge = (sql: string) => judgeSql(sql, { limits: { ...SQL_LIMITS, ...limits } });
  expect(judge(accepted)).toMatchObject({ ok: true });
  expect(judge(rejected)).toMatchObject({ ok: false, reason });
});

it('the length of `queryOptions`', () => {
  const judge = (queryOptions: string) =>
    judgeSql('SELECT a FROM t', { queryOptions, limits: { ...SQL_LIMITS, optionsLength: 7 } });
  expect(judge('trace=1')).toMatchObject({ ok: true, queryOptions: 'trace=1' });
  expect(judge('trace=11')).toMatchObject({
    ok: false,
    reason: 'line 1, column 1: `queryOptions` is longer than 7 characters',
  });
});

it('the length of a printed query within a string', () => {
  const databases = resolveDatabases([], [], { header: undefined, options: [], multistage: false });
  const set = (leaf: Leaf): Script => ({
    kind: 'script',
    options: [],
    statements: [{ kind: 'set', name: ['a'], value: { kind: 'sequence', parts: [leaf] } }],
  });
  const script = set({ kind: 'string', text: "'", prefix: '' });
  const printed = (maxLength: number) =>
    print(set({ kind: 'text', sql: '', depth: 0, script, at: 3 }), databases, maxLength);
  expect(printed(20)).toBe(`SET "a" = 'SET "a" = '''''''''`);
  expect(() => printed(19)).toThrow(
    expect.objectContaining({
      at: 3,
      message: 'this query within a string is longer than 19 characters with its quotes doubled',
    }),
  );
});

it('the defaults', () => {
  expect(SQL_LIMITS).toMatchObject({ bytes: 262_144, optionsLength: 16_384 });
});

describe('the count of steps', () => {
  const steps = (sql: string): number => {
    const counter = { count: 0 };
    expect(judgeSql(sql, {}, counter)).toMatchObject({ ok: true });
    return counter.count;
  };

  it.each([
    ['character of a comment', 'SELECT  a FROM t', (n: number) => `SELECT /*${' '.repeat(n - 4)}*/ a FROM t`],
    ['blank', 'SELECT a FROM t', (n: number) => `SELECT a${' '.repeat(n)} FROM t`],
    ['character of a word', 'SELECT a FROM t', (n: number) => `SELECT a${'a'.repeat(n)} FROM t`],
  ])('has one for each %s', (_, without, text) => {
    expect(steps(text(100)) - steps(without)).toBe(100);
  });

  it('is spread over parts, also where the tokens are in queries within strings', () => {
    const within = `in_subquery(a, 'SELECT ${'b, '.repeat(2_500)}b FROM t')`;
    const counter = { count: 0 };
    const parts: number[] = [];
    const work = judgingSql(`SELECT ${Array.from({ length: 8 }, () => within).join(' + ')} FROM t`, {}, counter);
    for (let before = 0, done = false; !done; before = counter.count) {
      const next = work.next();
      done = next.done === true;
      parts.push(counter.count - before);
    }
    expect(Math.max(...parts)).toBeLessThan(counter.count / 3);
  });

  it('has two more for each doubled quote', () => {
    expect(steps(`SELECT '${"''".repeat(50)}' FROM t`) - steps(`SELECT '${'aa'.repeat(50)}' FROM t`)).toBe(100);
  });
});
