import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TableConditions } from '../../../../src/access/conditions.ts';
import { tokenPrincipal } from '../../../../src/access/directory.ts';
import { claimValue } from '../../../../src/access/policy/conditions/caller-values.ts';
import { DecisionEngine } from '../../../../src/access/policy/decision.ts';
import { validatePolicySpec } from '../../../../src/access/policy/policy-document.ts';
import { tableResource } from '../../../../src/access/policy/srn.ts';
import type { Principal } from '../../../../src/access/principal.ts';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import type { Conditions, Statement } from '../../../../src/resources/policy.ts';
import { statement } from '../../../builders/resources.ts';
import { printedExpression } from '../sql/printed-expression.ts';

const ADA: Principal = {
  kind: 'user',
  srn: 'srn2:user#Ada@example.com',
  id: 'Ada@example.com',
  groups: ['eu', "o'us"],
  domain: 'example.com',
  authenticator: 'test',
};
const EVENTS = tableResource(tableNameOf('events'));

const where = (...rowFilters: string[]): Statement => statement({ conditions: { rowFilters } });
const showing = (columns: Conditions['columns'], ...rowFilters: string[]): Statement =>
  statement({ conditions: { ...(columns && { columns }), ...(rowFilters.length > 0 && { rowFilters }) } });

function engineWith(...statements: Statement[]): DecisionEngine {
  const engine = new DecisionEngine(
    { environment: 'olap', cluster: 'pinot' },
    { heldRoles: () => ({ roles: ['r'], validFrom: -Infinity, validUntil: Infinity }) },
  );
  engine.setRole('r', ['p']);
  engine.setPolicy('p', { statements });
  return engine;
}

/** `everything`, `nothing`, or the conditions in a form to compare. */
function readingOf(statements: readonly Statement[], principal = ADA): unknown {
  const reading = engineWith(...statements).reading(principal, EVENTS);
  if (!reading.allowed) return 'nothing';
  return reading.conditions === undefined ? 'everything' : shown(reading.conditions);
}

function shown({ rows, columns, masks }: TableConditions): object {
  return {
    ...(rows && {
      rows: rows.map((all) => all.map(({ condition }) => printedExpression(condition)).join(' & ')).sort(),
    }),
    ...(columns && { [columns.kind]: [...columns.names].sort() }),
    ...(masks.size > 0 && { masks: Object.fromEntries([...masks].map(([name, { text }]) => [name, text])) }),
  };
}

describe('what a caller may read of a table', () => {
  it.each<[Statement[], unknown]>([
    [[], 'nothing'],
    [[statement()], 'everything'],
    [[where('a = 1')], { rows: ['"a" = 1'] }],
    [[where('b = 2', 'a = 1')], { rows: ['"a" = 1 & "b" = 2'] }],
    [[where('a = 1'), where('b = 2'), where('a = 1')], { rows: ['"a" = 1', '"b" = 2'] }],
    [[where('a = 1'), statement()], 'everything'],
    [[where('a = 1'), statement({ effect: 'deny' })], 'nothing'],
    [[where('a = 1'), statement({ effect: 'deny', resources: ['srn2:table#other'] })], { rows: ['"a" = 1'] }],
    [[statement({ resources: ['srn2:table#other'], conditions: { rowFilters: ['a = 1'] } })], 'nothing'],
    [[where('a = 1'), statement({ actions: ['GetSchema'] })], { rows: ['"a" = 1'] }],
    // Columns of any statement.
    [[showing({ allow: ['a'] }), showing({ allow: ['b'] })], { allow: ['a', 'b'] }],
    [[showing({ allow: ['a'] }), showing({ deny: ['b'] })], { deny: ['b'] }],
    [[showing({ allow: ['a', 'b'] }), showing({ deny: ['b', 'c'] })], { deny: ['c'] }],
    [[showing({ deny: ['a', 'b'] }), showing({ deny: ['b', 'c'] })], { deny: ['b'] }],
    [[showing({ deny: ['A'] }), showing({ deny: ['a'] })], { deny: ['A', 'a'] }],
    [[showing({ deny: ['a'] }), showing({ deny: ['b'] })], 'everything'],
    [[showing({ allow: ['a'] }), showing({ deny: ['a'] })], 'everything'],
    // Rows and columns independent of each other.
    [
      [showing({ allow: ['a'] }, 'x = 1'), showing({ allow: ['b'] }, 'x = 2')],
      { rows: ['"x" = 1', '"x" = 2'], allow: ['a', 'b'] },
    ],
    [[showing({ allow: ['a'] }), where('x = 1')], 'everything'],
    // Masks where each statement that shows the column has one.
    [[showing({ mask: { a: 'a * 0' } })], { masks: { a: 'a * 0' } }],
    [[showing({ mask: { a: 'a * 0' } }), showing({ mask: { a: 'a * 1', b: 'b * 1' } })], { masks: { a: 'a * 0' } }],
    [[showing({ mask: { a: 'a * 1', b: 'b * 1' } }), showing({ mask: { a: 'a * 0' } })], { masks: { a: 'a * 0' } }],
    [[showing({ mask: { a: 'a * 0' } }), showing({ allow: ['b'] })], { masks: { a: 'a * 0' } }],
    [[showing({ mask: { a: 'a * 0' } }), showing({ deny: ['a'] })], { masks: { a: 'a * 0' } }],
    [[showing({ mask: { a: 'a * 0' } }), where('x = 1')], 'everything'],
    [
      [showing({ mask: { a: 'a * 0' }, allow: ['a', 'b'] }, 'x = 1')],
      { rows: ['"x" = 1'], allow: ['a', 'b'], masks: { a: 'a * 0' } },
    ],
  ])('by %j', (statements, expected) => {
    expect(readingOf(statements)).toEqual(expected);
    expect(readingOf(statements.toReversed())).toEqual(expected);
  });

  it.each<[string, Principal, string | undefined]>([
    ['a = ${subject.email}', ADA, `"a" = 'ada@example.com'`],
    ['a = ${subject.user}', ADA, `"a" = 'Ada@example.com'`],
    ['a = ${subject.domain}', ADA, `"a" = 'example.com'`],
    ['a IN (${subject.groups})', ADA, `"a" IN ('eu', 'o''us')`],
    ['a = ${subject.token}', tokenPrincipal('loader'), `"a" = 'loader'`],
    ['a = ${subject.token}', ADA, undefined],
    ['a = ${subject.user}', tokenPrincipal('loader'), undefined],
    ['a = ${subject.email}', { ...ADA, domain: undefined }, undefined],
    ['a = ${subject.email}', { ...ADA, domain: 'example.org' }, undefined],
    ['a = ${subject.email}', { ...ADA, id: 'system:admin' }, undefined],
    ['a IN (${subject.groups})', { ...ADA, groups: [] }, undefined],
    ['a IN (${subject.groups})', { ...ADA, groups: ['a\u0007', '\ud800', 'b'] }, `"a" IN ('b')`],
    [
      'a IN (${subject.groups})',
      { ...ADA, groups: Array.from({ length: 999 }, (_, at) => `a-long-group-${at}`) },
      `"a" IN (`,
    ],
    [
      'a IN (${subject.groups})',
      { ...ADA, groups: Array.from({ length: 999 }, (_, at) => `a-much-longer-group-${at}`) },
      undefined,
    ],
    [
      `b = 1 OR a IN ('x', \${subject.user})`,
      { ...ADA, id: "x') OR ('1'='1" },
      `"b" = 1 OR "a" IN ('x', 'x'') OR (''1''=''1')`,
    ],
  ])('by a filter %s', (filter, principal, expected) => {
    const rows = expected === undefined ? 'nothing' : { rows: [expect.stringContaining(expected)] };
    expect(readingOf([where(filter)], principal)).toEqual(rows);
    // A statement that does not apply takes nothing from the others.
    expect(readingOf([where(filter), where('c = 3')], principal)).toMatchObject({
      rows: expect.arrayContaining(['"c" = 3']),
    });
  });

  it.each<[string, unknown, string | undefined]>([
    ['a = ${subject.claims.region}', 'eu', `"a" = 'eu'`],
    ['a = ${subject.claims.region}', "x' OR '1'='1", `"a" = 'x'' OR ''1''=''1'`],
    ['a = ${subject.claims.region}', 7, '"a" = 7'],
    ['a = ${subject.claims.region}', -7, '"a" = - 7'],
    ['a < ${subject.claims.region}', 0.5, '"a" < 0.5'],
    ['a = ${subject.claims.region}', false, '"a" = FALSE'],
    ['a IN (${subject.claims.region})', 'eu', `"a" IN ('eu')`],
    ['a IN (${subject.claims.region})', ['eu', 'us'], `"a" IN ('eu', 'us')`],
    ['a IN (${subject.claims.region})', [1, 2], '"a" IN (1, 2)'],
    ['a = ${subject.claims."https://x.test/region"} AND a = ${subject.claims.region}', 'eu', undefined],
    // Claims of other forms: neither empty nor a part of them.
    ['a = ${subject.claims.region}', ['eu'], undefined],
    ['a IN (${subject.claims.region})', [], undefined],
    ['a IN (${subject.claims.region})', ['eu', 1], undefined],
    ['a IN (${subject.claims.region})', ['eu', ''], undefined],
    ['a IN (${subject.claims.region})', ['eu', 'a\u0007'], undefined],
    ['a IN (${subject.claims.region})', [true], undefined],
    ['a IN (${subject.claims.region})', [['eu']], undefined],
    ['a IN (${subject.claims.region})', Array.from({ length: 1001 }, (_, at) => at), undefined],
    ['a IN (${subject.claims.region})', Array.from({ length: 20 }, () => 'x'.repeat(1000)), undefined],
    ['a = ${subject.claims.region}', '', undefined],
    ['a = ${subject.claims.region}', 'x'.repeat(1025), undefined],
    ['a = ${subject.claims.region}', 2 ** 53, undefined],
    ['a = ${subject.claims.region}', 1e-7, undefined],
    ['a = ${subject.claims.region}', null, undefined],
    ['a = ${subject.claims.region}', { eu: true }, undefined],
    ['a = ${subject.claims.region}', undefined, undefined],
  ])('by a filter %s with the claim %j', (filter, claim, expected) => {
    const value = claimValue(claim);
    const principal = { ...ADA, ...(value && { claims: { region: value } }) };
    expect(readingOf([where(filter)], principal)).toEqual(expected === undefined ? 'nothing' : { rows: [expected] });
    expect(readingOf([where(filter)])).toBe('nothing');
  });

  it('has another key for a claim of another type', () => {
    const keyOf = (claim: unknown): string | undefined => {
      const claims = { id: claimValue(claim)! };
      const reading = engineWith(where('a = ${subject.claims.id}')).reading({ ...ADA, claims }, EVENTS);
      return reading.allowed ? reading.conditions?.key : undefined;
    };
    expect(new Set(['1', 1, true, 'true'].map(keyOf)).size).toBe(4);
  });

  it('has one key for equal conditions and another for others', () => {
    const keyOf = (statements: Statement[], principal = ADA): string | undefined => {
      const reading = engineWith(...statements).reading(principal, EVENTS);
      return reading.allowed ? reading.conditions?.key : undefined;
    };
    const own = where('a = ${subject.email}');
    expect(keyOf([where('a = 1', 'b = 2'), own])).toBe(keyOf([own, where('b = 2', 'a = 1')]));
    expect(keyOf([own])).toContain('ada@example.com');
    const keys = [
      keyOf([own]),
      keyOf([own], { ...ADA, id: 'bob@example.com' }),
      keyOf([where('a = 1', 'b = 2')]),
      keyOf([where('a = 1'), where('b = 2')]),
      keyOf([showing({ allow: ['a'] })]),
      keyOf([showing({ deny: ['a'] })]),
      keyOf([showing({ mask: { a: 'a * 0' } })]),
      keyOf([showing({ mask: { a: 'a * 1' } })]),
      ...['x', 'y'].map((end) => keyOf([where(`a = '${'l'.repeat(2000)}${end}'`)])),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    expect(Math.max(...keys.map((key) => key?.length ?? 0))).toBeLessThanOrEqual(1100);
  });

  it('is kept, and follows a change of the policy', () => {
    const engine = engineWith(where('a = ${subject.user}'));
    const first = engine.reading(ADA, EVENTS);
    expect(engine.reading(ADA, EVENTS)).toBe(first);
    engine.setPolicy('p', { statements: [where('b = 1')] });
    const changed = engine.reading(ADA, EVENTS);
    expect(changed.allowed && changed.conditions && shown(changed.conditions)).toEqual({ rows: ['"b" = 1'] });
    for (let table = 0; table < 40; table++) engine.reading(ADA, tableResource(tableNameOf(`t${table}`)));
    expect(engine.reading(ADA, EVENTS)).toEqual(changed);
  });

  it('has at most 100 statements, and 256 KiB of filters', () => {
    const many = Array.from({ length: 150 }, (_, index) => where(`a = ${index}`));
    expect(readingOf(many)).toEqual({ rows: expect.toSatisfy((rows: string[]) => rows.length === 100) });
  });
});

describe('a statement with conditions', () => {
  const anyConditions = fc
    .record(
      {
        rowFilters: fc.constantFrom<string[][]>(
          ['a = 1'],
          ['a = ${subject.user}', 'b = 1'],
          ['a IN (${subject.groups})'],
        ),
        columns: fc.constantFrom<NonNullable<Conditions['columns']>[]>(
          { allow: ['a'] },
          { deny: ['a'] },
          { mask: { a: 'NULL' } },
        ),
      },
      { requiredKeys: [] },
    )
    .filter((conditions) => Object.keys(conditions).length > 0);

  it('allows nothing for those who do not know conditions', () => {
    const anyAction = fc.constantFrom('Query', 'query', 'GetSchema', '*', 'Other');
    fc.assert(
      fc.property(fc.array(anyConditions, { minLength: 1, maxLength: 4 }), anyAction, (all, action) => {
        const engine = engineWith(...all.map((conditions) => statement({ conditions })));
        expect(engine.isAllowed(ADA, action, EVENTS)).toBe(false);
        expect(engine.wouldAllow(ADA, action, EVENTS)).toBe(false);
        const { allowed, reason } = engine.decide(ADA, action, EVENTS);
        expect([allowed, reason]).toEqual([false, action.toLowerCase() === 'query' ? 'conditional' : 'implicitDeny']);
        expect(engine.grantsOf(ADA).mayAllow('Query', 'table')).toBe(false);
        expect(engine.reading(ADA, EVENTS).allowed).toBe(true);
      }),
    );
  });

  it('takes nothing from what others allow', () => {
    const engine = engineWith(where('a = 1'), statement());
    expect(engine.isAllowed(ADA, 'Query', EVENTS)).toBe(true);
    expect(engine.decide(ADA, 'Query', EVENTS)).toMatchObject({ allowed: true, reason: 'allowed' });
  });

  it('is named by the decision', () => {
    const engine = engineWith(where('a = 1'), where('a = ${subject.token}'), where('b = 1'));
    expect(engine.decide(ADA, 'Query', EVENTS).matchedStatements).toEqual(
      [0, 2].map((statementIndex) => ({ role: 'r', policy: 'p', statementIndex, effect: 'allow' })),
    );
  });

  it.each<[Statement, string]>([
    [
      where('a = '),
      'statements[0].conditions.rowFilters[0]: line 1, column 5: the text ends here: a column, a literal or a function was expected',
    ],
    [
      where('a = 1', 'lookup(b) = 1'),
      'statements[0].conditions.rowFilters[1]: line 1, column 1: `lookup` is not a function',
    ],
    [
      where('a = ${subject.claims}'),
      'statements[0].conditions.rowFilters[0]: line 1, column 5: `${subject.claims}` is not a value',
    ],
    [
      showing({ mask: { a: 'b' } }),
      'statements[0].conditions.columns.mask.a: line 1, column 1: a mask has no other column',
    ],
    [
      showing({ allow: ['b'], mask: { a: 'a * 1' } }),
      'statements[0].conditions.columns.mask.a: the column is not in `allow`',
    ],
    [
      showing({ deny: ['a'], mask: { a: 'a * 1' } }),
      'statements[0].conditions.columns.mask.a: the column is in `deny`',
    ],
    [
      showing({ allow: ['a'], deny: ['b'] }),
      '`conditions` must have `rowFilters`, `columns` or both; `columns` must have `allow` or `deny`',
    ],
    [showing({}), '`conditions` must have `rowFilters`, `columns` or both; `columns` must have `allow` or `deny`'],
    [
      { ...where('a = 1'), effect: 'deny' },
      'a statement with `conditions` must have the effect `allow` and the single action `Query`',
    ],
    [
      { ...where('a = 1'), actions: ['Query', 'GetSchema'] },
      'a statement with `conditions` must have the effect `allow`',
    ],
    [{ ...where('a = 1'), actions: ['*'] }, 'a statement with `conditions` must have the effect `allow`'],
    [statementWithoutActions(), 'a statement with `conditions` must have the effect `allow`'],
    [
      { ...where('a = 1'), resources: ['*'] },
      'statements[0].resources[0]: a statement with `conditions` is for tables',
    ],
    [
      { ...where('a = 1'), resources: ['srn2:*#events'] },
      'statements[0].resources[0]: a statement with `conditions` is for tables',
    ],
    [
      statement({
        conditions: {
          rowFilters: Array.from({ length: 10 }, () => `a = '${'x'.repeat(4000)}'`),
          columns: {
            mask: Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`c${at}`, `'${'x'.repeat(1000)}'`])),
          },
        },
      }),
      'all filters and masks together may have at most 65536 characters: split the policy',
    ],
  ])('is refused when it is written: %#', (written, message) => {
    const check = validatePolicySpec({ statements: [written] });
    const texts = check.ok ? [] : check.errors.map(({ path, message: text }) => (path ? `${path}: ${text}` : text));
    expect(texts[0] ?? 'accepted').toContain(message);
    // Stored by other means, the policy denies everything.
    const engine = engineWith(written, statement());
    expect(engine.reading(ADA, EVENTS)).toEqual({ allowed: false });
    expect(engine.decide(ADA, 'Query', EVENTS).reason).toBe('invalidPolicy');
  });
});

function statementWithoutActions(): Statement {
  const { actions: _none, ...rest } = where('a = 1');
  return rest;
}
