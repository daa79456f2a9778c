import { describe, expect, it } from 'vitest';
import { judgeSql, type SqlContext } from '../../../../src/access/sql/judge.ts';
import { SQL_LIMITS } from '../../../../src/access/sql/limits.ts';
import { resolveDatabases } from '../../../../src/access/sql/databases.ts';
import { print } from '../../../../src/access/sql/printer.ts';

function printed(sql: string, context?: SqlContext): string {
  const found = judgeSql(sql, context);
  return found.ok ? found.text : found.reason;
}

function tables(sql: string, context?: SqlContext): readonly string[] | string {
  const found = judgeSql(sql, context);
  return found.ok ? found.tables : found.reason;
}

describe('the printed text', () => {
  it.each([
    ['select a from t', 'SELECT "a" FROM "t"'],
    ['SELECT a total FROM t x', 'SELECT "a" AS "total" FROM "t" AS "x"'],
    ['SELECT t.*,*FROM t', 'SELECT "t".*, * FROM "t"'],
    ["SELECT 'it''s', N'x', x'1f' FROM t", `SELECT 'it''s', N'x', X'1f' FROM "t"`],
    ['SELECT "a""b".c FROM "d.e"', 'SELECT "a""b"."c" FROM "d.e"'],
    ['SELECT a/* x */-- y\n,b // z\n FROM t', 'SELECT "a", "b" FROM "t"'],
    ['SELECT a--1\n- -1 FROM t', 'SELECT "a" - - 1 FROM "t"'],
    ['SELECT count(*), f(a) FROM t', 'SELECT count (*), "f" ("a") FROM "t"'],
    ['SELECT lag(a IGNORE nulls) FROM t', 'SELECT lag ("a" IGNORE NULLS) FROM "t"'],
    ['SELECT CAST(a AS long), a IS not NULL FROM t', 'SELECT CAST ("a" AS long), "a" IS NOT NULL FROM "t"'],
    ['SELECT timestampadd(day, 1, day) FROM t', 'SELECT timestampadd (day, 1, "day") FROM "t"'],
    ["SELECT /*+ a(b='c', d) */ e FROM t /*+ f */", `SELECT /*+ "a"("b"='c', "d") */ "e" FROM "t" /*+ "f" */`],
    ['SELECT U&\'\\0027\', U&"\\0061" FROM t', `SELECT U&'''', "a" FROM "t"`],
    ["SELECT U&'!00e9!!' UESCAPE '!' FROM t", `SELECT U&'\\00e9!' FROM "t"`],
    ["SELECT {d '2024-01-01'}, {fn abs(a)} FROM t", `SELECT DATE '2024-01-01', {FN abs ("a") } FROM "t"`],
    [
      "set timeoutms=1;;select 1 from t option(sampler = 'c', workloadName=e.f);",
      `SET "timeoutms" = 1; SELECT 1 FROM "t" OPTION(sampler='c', workloadName=e.f)`,
    ],
    [
      "SELECT in_subquery(a, 'select b from u -- x') FROM t",
      `SELECT "in_subquery" ("a", 'SELECT "b" FROM "u"') FROM "t"`,
    ],
    ['SELECT 5xx, 1e5, 2e, 1.5x FROM t', 'SELECT "5xx", 1e5, "2e", 1.5 AS "x" FROM "t"'],
  ])('of %s', (sql, expected) => {
    expect(printed(sql)).toBe(expected);
  });

  it('has only unquoted words from closed lists', () => {
    const bare = (text: string) => () =>
      print(
        {
          kind: 'script',
          options: [],
          statements: [{ kind: 'set', name: ['a'], value: { kind: 'sequence', parts: [{ kind: 'bare', text }] } }],
        },
        resolveDatabases([], [], { header: undefined, options: [], multistage: false }),
        100,
      );
    expect(bare('YEAR')()).toBe('SET "a" = YEAR');
    for (const text of ['secret', 'YEAR x', 'yeaR;', 'ſecond', '']) expect(bare(text)).toThrow('without quotes');
  });
});

describe('common table expressions', () => {
  it('have names that no table can have, so that another scope of the engine cannot turn one into a table', () => {
    const found = judgeSql(
      "WITH customers AS (SELECT 1 AS a) SELECT customers.a FROM customers WHERE in_subquery(a, 'WITH customers AS (SELECT 2 AS a) SELECT a FROM customers') = 1 ORDER BY (SELECT max(a) FROM customers c)",
    );
    expect(found).toMatchObject({
      ok: true,
      tables: [],
      commonTables: ['customers', 'customers'],
      text: `WITH "cte 1" AS (SELECT 1 AS "a") SELECT "customers"."a" FROM "cte 1" AS "customers" WHERE "in_subquery" ("a", 'WITH "cte 2" AS (SELECT 2 AS "a") SELECT "a" FROM "cte 2" AS "customers"') = 1 ORDER BY (SELECT max ("a") FROM "cte 1" AS "c")`,
    });
  });

  it('cannot be read under their printed name', () => {
    expect(judgeSql('WITH c AS (SELECT 1) SELECT * FROM "cte 1"')).toMatchObject({
      ok: false,
      reason: 'line 1, column 36: invalid table name `cte 1`: it must be `table` or `database.table`',
    });
  });
});

describe('words that an engine parses as aliases', () => {
  // Regression tests: each was once read as the end of the query or as an operator, so that the following table was missed.
  it.each([
    'for',
    'and',
    'or',
    'not',
    'extend',
    'option(x)',
    'match_condition',
    'qualify',
    'asof',
    'apply',
    'pivot(x)',
  ])('%s', (alias) => {
    expect(tables(`SELECT a FROM t WHERE EXISTS (SELECT 1 FROM t ${alias}, secret)`)).toEqual(['t', 'secret']);
    expect(tables(`SELECT a FROM t ${alias}, secret`)).toEqual(['t', 'secret']);
  });

  it('are rejected where an alias is not possible', () => {
    for (const rest of ['for secret', 'and secret', 'extend (b INT), secret', 'x y, secret', 'as x y']) {
      expect(tables(`SELECT a FROM t WHERE EXISTS (SELECT 1 FROM t ${rest})`)).toContain('is unexpected here');
    }
  });
});

describe('letters outside ASCII', () => {
  it('are never folded to ASCII letters', () => {
    const sql = 'SELECT c.x, t.ıs dıstinct FROM secret AS c, (SELECT y AS ıs FROM t) AS t';
    expect(tables(sql)).toEqual(['secret', 't']);
    expect(printed(sql)).toContain('"t"."ıs" AS "dıstinct" FROM "secret" AS "c"');
    expect(tables('ſELECT a FROM secret')).toContain('`ſELECT` is unexpected');
    expect(tables('SELECT a FROM t unıon, secret')).toEqual(['t', 'secret']);
    expect(tables('SELECT a FROM t uniſn SELECT b FROM secret')).toContain('is unexpected');
  });

  it('are rejected in names of functions, which the engine folds', () => {
    for (const name of ['loo\u212aUp', '"loo\u212aUp"', 'ınSubquery', '"GROOVY "', '"look up"']) {
      expect(tables(`SELECT ${name}('secret', 'a', 'b', c) FROM t`)).toMatch(
        /the name of a function|the character `\u212a`/,
      );
    }
  });

  it('and characters that are not letters are rejected outside quotes, with their code', () => {
    for (const char of ['\u0000', '\u00a0', '\u2028', '\ufeff', '\uff0c', '\u2018', '`', '\\', '😀']) {
      expect(judgeSql(`SELECT a FROM t ${char} x`)).toMatchObject({ ok: false, line: 1, column: 17 });
      expect(tables(`SELECT a FROM t ${char} x`)).toContain('U+');
    }
    expect(tables("SELECT '\ud800' FROM t")).toContain('surrogate');
    expect(tables("SELECT '\u0007' FROM t")).toContain('control character');
    expect(tables('SELECT "a\u0007b" FROM t')).toContain('control character');
  });
});

describe('an error', () => {
  it('names position, problem and what would be right', () => {
    expect(judgeSql('SELECT a\nFROM t\n  WHERE b c')).toEqual({
      ok: false,
      reason:
        'line 3, column 11: `c` is unexpected here: an operator, a clause, `;` or the end of the text was expected',
      line: 3,
      column: 11,
    });
    expect(printed("SELECT a FROM t WHERE in_subquery(a, 'SELECT b\nFROM') = 1")).toBe(
      'line 1, column 38: within this string, at line 2, column 5: the text ends here: the name of a table was expected',
    );
    expect(judgeSql("SELECT a FROM t WHERE in_subquery(a, 'SELECT b FROM x.y.z') = 1")).toMatchObject({
      line: 1,
      column: 38,
    });
    expect(printed('SELECT date FROM t')).toBe(
      'line 1, column 8: `date` is unexpected here: an expression was expected (a reserved word needs double quotes where it is a name)',
    );
    expect(printed('SELECT a FROM t WHERE b = (1')).toContain('the text ends here: `)` was expected');
  });
});

describe('tables', () => {
  it('of a common table expression are those of its query', () => {
    expect(tables('WITH x AS (SELECT * FROM t), y AS (SELECT * FROM x) SELECT * FROM x, y')).toEqual(['t']);
    expect(tables('WITH x AS (SELECT * FROM x) SELECT * FROM x')).toEqual(['x']);
    expect(tables('SELECT * FROM (WITH x AS (SELECT 1) SELECT * FROM x) q, x')).toEqual(['x']);
    expect(tables('WITH a AS (SELECT 1), b AS (WITH a AS (SELECT 2) SELECT * FROM a) SELECT * FROM a')).toEqual([]);
    expect(tables('WITH x AS (SELECT 1) SELECT * FROM X, default.x, "default.x"')).toEqual(['X', 'x']);
  });

  it('after a set operator include those of a query in parentheses that begins with WITH', () => {
    expect(tables('SELECT 1 FROM x UNION (WITH a AS (SELECT 1) SELECT * FROM a) UNION SELECT * FROM a')).toEqual([
      'x',
      'a',
    ]);
    expect(tables('SELECT 1 FROM x UNION WITH a AS (SELECT 1) SELECT * FROM a')).toContain('`WITH` is unexpected');
  });

  it('have no blanks around their names', () => {
    for (const name of ['" t"', '"t "', '"a. t"', '"\u3000t"'])
      expect(tables(`SELECT * FROM ${name}`)).toContain('invalid table name');
  });
});

describe('the limit', () => {
  it.each([
    ['SELECT a FROM t', undefined],
    ['SELECT a FROM t LIMIT 7', 7],
    ['SELECT a FROM t LIMIT 3, 7', 7],
    ['SELECT a FROM t LIMIT 7 OFFSET 3', 7],
    ['SELECT a FROM t FETCH FIRST 7 ROWS ONLY', 7],
    ['(SELECT a FROM t LIMIT 7)', 7],
    ['((SELECT a FROM t LIMIT 7)) OFFSET 1', 7],
    ['(SELECT a FROM t LIMIT 7) LIMIT 5', 5],
    ['SELECT a FROM t UNION SELECT b FROM t LIMIT 7', 7],
    ['(SELECT a FROM t LIMIT 7) UNION (SELECT b FROM t LIMIT 8)', undefined],
    ['SELECT a FROM (SELECT a FROM t LIMIT 7) x', undefined],
    ['SELECT a FROM t WHERE a IN (SELECT a FROM t LIMIT 7) LIMIT 5', 5],
    ["SELECT a FROM t WHERE in_subquery(a, 'SELECT a FROM t LIMIT 7') = 1", undefined],
    ['SELECT a FROM t LIMIT ALL', undefined],
    ['SELECT a FROM t; SET timeoutMs = 1', undefined],
  ])('of %s', (sql, limit) => {
    expect(judgeSql(sql)).toMatchObject({ ok: true, limit });
  });
});

describe('options', () => {
  it('outside the text are printed again', () => {
    const options = (queryOptions: string) => {
      const found = judgeSql('SELECT 1', { queryOptions });
      return found.ok ? found.queryOptions : found.reason;
    };
    expect(options(' timeoutMs = 1 ;; sampler=x=y; ')).toBe('timeoutMs=1;sampler=x=y');
    expect(options('')).toBeUndefined();
    expect(judgeSql('SELECT 1', { queryOptions: 'useMultistageEngine=TRUE' })).toMatchObject({ multistage: true });
    for (const wrong of ['a', '=1', 'trace=1;TRACE=2', 'trace\u0000=1', 'ſ=1', 'a b=1']) {
      expect(options(wrong)).toContain('`queryOptions`');
    }
    expect(options('trace=1\n')).toBe('trace=1');
  });

  it('in the text select the multi-stage engine', () => {
    for (const sql of [
      'SET useMultistageEngine=true; SELECT 1',
      "SELECT 1; SET USEMULTISTAGEENGINE = 'True'",
      'SELECT 1 OPTION(useMultistageEngine=true)',
    ]) {
      expect(judgeSql(sql)).toMatchObject({ ok: true, multistage: true });
    }
    expect(judgeSql('SET useMultistageEngine=false; SELECT 1')).toMatchObject({ multistage: false });
  });

  it('have keys and values of plain characters', () => {
    for (const sql of [
      'SET "a;b"=1; SELECT 1',
      'SET "ſ"=1; SELECT 1',
      "SELECT 1 OPTION(trace=')')",
      'SELECT 1 OPTION(trace=--)',
      'SELECT 1 OPTION("a b"=1)',
      'SET trace = b; SELECT 1',
    ]) {
      expect(judgeSql(sql)).toMatchObject({ ok: false });
    }
  });
});

describe('the option database', () => {
  it.each(['02024', '1e3', '+1', '-1', 'TRUE', 'NULL'])(
    'is rejected with %s, which the engine prints differently',
    (value) => {
      expect(printed(`SET "database" = ${value}; SELECT 1 FROM t`)).toContain('a string was expected');
    },
  );
});

it('rejects a field of a number, which would be printed as another number', () => {
  expect(judgeSql('SELECT 1 .a FROM t')).toMatchObject({ ok: false, line: 1, column: 10 });
  expect(judgeSql('SELECT (1).a, 1.5, 1. FROM t')).toMatchObject({ ok: true });
});

describe('limits', () => {
  const many = (count: number, text: (index: number) => string, between = ', ') =>
    Array.from({ length: count }, (_, index) => text(index)).join(between);

  const NESTING = [
    ['f(', ')'],
    ['a[', ']'],
    ['CASE WHEN ', ' THEN 1 END'],
    ['(SELECT ', ')'],
    ['CAST(', ' AS INT)'],
    ['x IN (', ')'],
    ['{fn f(', ')}'],
  ] as const;

  it.each([
    ['bytes', `SELECT '${'é'.repeat(SQL_LIMITS.bytes / 2)}' FROM t`],
    ['tokens', `SELECT ${many(SQL_LIMITS.tokens, () => '1', ',')} FROM t`],
    ['nested', `SELECT ${'('.repeat(SQL_LIMITS.nesting + 1)}1`],
    ['common table expressions', `WITH ${many(SQL_LIMITS.commonTables + 1, (n) => `c${n} AS (SELECT 1)`)} SELECT 1`],
    ['the text names more than', `SELECT 1 FROM ${many(SQL_LIMITS.tables + 1, () => 't')}`],
    ['statements', `${'SET trace=1;'.repeat(SQL_LIMITS.statements)} SELECT 1`],
    ['queries within strings', `SELECT ${many(SQL_LIMITS.texts + 1, () => "in_subquery(a, 'SELECT 1')")}`],
    ['name is longer', `SELECT ${'a'.repeat(SQL_LIMITS.nameLength + 1)} FROM t`],
  ])('of %s', (reason, sql) => {
    expect(printed(sql)).toContain(reason);
  });

  it('of nesting prevent a stack overflow of the parser at the maximum setting', () => {
    const limits = { ...SQL_LIMITS, nesting: 200 };
    for (const [open, close] of NESTING) {
      const sql = `SELECT ${open.repeat(190)}1${close.repeat(190)} FROM t`;
      const judged = judgeSql(sql, { limits });
      if (!judged.ok) expect(judged.reason).toContain('nested deeper');
    }
  });

  it('of the printed text apply when each level doubles the quotes of the inner one', () => {
    const nested = (depth: number): string =>
      depth === 0
        ? `SELECT U&'${'\\0027'.repeat(20_000)}' FROM t`
        : `SELECT 1 FROM t WHERE in_subquery(a, '${nested(depth - 1).replaceAll("'", "''")}') = 1`;
    expect(judgeSql(nested(2))).toMatchObject({ ok: true });
    expect(printed(nested(SQL_LIMITS.texts))).toContain('longer than 1048576 characters');
  });

  it('of nesting apply to nested texts together, and prevent a stack overflow', () => {
    const brackets = (depth: number, inner: string) => `SELECT ${'('.repeat(depth)}${inner}${')'.repeat(depth)}`;
    const within = (depth: number, inner: string) =>
      `in_subquery(a, '${brackets(depth, inner).replaceAll("'", "''")}')`;
    expect(printed(brackets(60, within(60, '1')))).toContain('"in_subquery"');
    expect(printed(brackets(60, within(60, within(60, '1'))))).toContain('nested deeper');
    for (const [open, close] of NESTING) {
      const depth = 5_000;
      expect(
        printed(`SELECT ${open.repeat(depth)}1${close.repeat(depth)} FROM t`.slice(0, SQL_LIMITS.bytes)),
      ).toContain('nested deeper');
    }
    expect(printed(`SELECT a FROM ${'('.repeat(30_000)}t`)).toContain('nested deeper');
    expect(printed(`${'('.repeat(30_000)}SELECT 1`)).toContain('nested deeper');
    expect(printed(`SELECT CAST(a AS ${'MAP<INT, '.repeat(5_000)}`)).toContain('nested deeper');
    expect(judgeSql(`SELECT ${'- + NOT '.repeat(10_000)}1 FROM t`)).toMatchObject({ ok: true });
  });
});

describe('the work', () => {
  const steps = (sql: string): number => {
    const counter = { count: 0 };
    judgeSql(sql, {}, counter);
    return counter.count;
  };

  it.each<[string, (n: number) => string]>([
    ['a list', (n) => `SELECT ${'a, '.repeat(n)}1 FROM t`],
    ['operators', (n) => `SELECT 1${' + 1 AND x IS NULL OR y'.repeat(n)} FROM t`],
    [
      'common table expressions',
      (n) =>
        `WITH ${Array.from({ length: n / 10 }, (_, i) => `c${i} AS (SELECT * FROM t)`).join(', ')} SELECT * FROM c0`,
    ],
    ['nested WITH', (n) => `${'WITH a AS (SELECT 1) SELECT * FROM ('.repeat(n / 50)}t${')'.repeat(n / 50)}`],
    [
      'tables of a database',
      (n) =>
        `SET useMultistageEngine=true; SET database='a'; SELECT 1 FROM ${Array.from({ length: n / 5 }, (_, i) => `t${i}`).join(', ')}`,
    ],
    ['brackets', (n) => `SELECT ${'('.repeat(n / 40)}1${')'.repeat(n / 40)}, 1`],
    ['brackets of tables', (n) => `SELECT 1 FROM ${'('.repeat(n / 40)}t${')'.repeat(n / 40)}`],
    ['calls with a query as text', (n) => `SELECT in_subquery(f(${'a, '.repeat(n)}1), 'SELECT ${'a, '.repeat(n)}1')`],
    ['a string', (n) => `SELECT '${"''".repeat(n)}' FROM t`],
    ['a string that is not closed', (n) => `SELECT 'a${"''".repeat(n)}`],
    ['comments', (n) => `SELECT ${'/* x */'.repeat(n)}1${'-- x\n'.repeat(n)} FROM t`],
    ['openings of comments', (n) => `SELECT '${'/*'.repeat(n)}' ${'/* /*'.repeat(n)}`],
    ['hints', (n) => `SELECT /*+ ${"a(b='c'), ".repeat(n)}d */ 1 FROM t`],
    ['joins', (n) => `SELECT 1 FROM t${' JOIN t ON a = b'.repeat(n / 5)}`],
    ['set operations', (n) => `SELECT 1 FROM t${' UNION SELECT 1'.repeat(n)}`],
    ['cases', (n) => `SELECT CASE${' WHEN a THEN b'.repeat(n)} END FROM t`],
    ['names with many parts', (n) => `SELECT a${'.a'.repeat(n)} FROM t`],
    ['arguments of JSON functions', (n) => `SELECT JSON_OBJECT(${'KEY a VALUE b, '.repeat(n)}KEY a VALUE b) FROM t`],
    ['options', (n) => `SELECT 1 FROM t OPTION(${'trace=b, '.repeat(n)}trace=b)`],
    ['strings in a chain', (n) => `SELECT ${"'a' ".repeat(n)} FROM t`],
    ['numbers that go on as names', (n) => `SELECT ${'1e5 '.repeat(1)}${'1'.repeat(n)} FROM t`],
  ])('of %s is linear', (_, text) => {
    const [one, two, four] = [400, 800, 1600].map((n) => steps(text(n))) as [number, number, number];
    expect(two - one).toBeGreaterThan(0);
    expect((four - two) / (two - one)).toBeLessThan(2.2);
  });
});
