import { describe, expect, it } from 'vitest';
import { parseMask } from '../../../src/access/sql/row-filter.ts';
import {
  changed,
  errorsByPath,
  formOf,
  kindsOf,
  MASKS,
  mayHaveConditions,
  NO_CONDITIONS,
  otherErrors,
  queryOf,
  readDocument,
  tablesIn,
  valuesIn,
  withConditions,
  withStatements,
  type Fields,
  type ReadDocument,
} from '../../../web/src/pages/access/policy-form/document.ts';

const ALLOW: Fields = { effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] };

function read(document: object): ReadDocument {
  const found = readDocument(JSON.stringify(document));
  if (typeof found === 'string') throw new Error(found);
  return found;
}

describe('a document in the form', () => {
  it('keeps every field that the form does not show', () => {
    const conditions = { rowFilters: ['a = 1'], later: 1, columns: { deny: ['b'], other: { c: [1] } } };
    const document = {
      version: 'v1',
      note: { by: 'ada' },
      statements: [{ ...ALLOW, tag: 'x', conditions }, { odd: true }],
    };
    const found = read(document);
    const [first = {}, second = {}] = found.statements;
    const form = formOf(first);
    expect(form?.others).toEqual(['tag', 'conditions.later', 'conditions.columns.other']);
    expect(formOf(second)).toBeUndefined();

    const columns = { rule: 'allow', names: ['d'], mask: { d: "'x'" } } as const;
    const edited = withConditions(changed(first, { effect: 'deny' }), { rowFilters: ['a = 2'], columns });
    expect(JSON.parse(withStatements(found, [edited, second]))).toEqual({
      ...document,
      statements: [
        {
          ...ALLOW,
          effect: 'deny',
          tag: 'x',
          conditions: {
            rowFilters: ['a = 2'],
            later: 1,
            columns: { other: { c: [1] }, allow: ['d'], mask: { d: "'x'" } },
          },
        },
        { odd: true },
      ],
    });
  });

  it('has no conditions when the last one is removed', () => {
    const limited = withConditions(ALLOW, { ...NO_CONDITIONS, rowFilters: ['a = 1'] });
    expect(limited).toEqual({ ...ALLOW, conditions: { rowFilters: ['a = 1'] } });
    expect(withConditions(limited, NO_CONDITIONS)).toEqual(ALLOW);
  });

  it.each([
    ['{"statements": [', 'not valid JSON'],
    ['{"version": "v1"}', 'no list `statements`'],
    ['{"statements": [1]}', 'not an object'],
    ['{"statements": [{"effect": "deny", "effect": "allow", "resources": ["*"]}]}', 'a field twice'],
  ])('is not shown where a change could lose something: %s', (text, why) => {
    expect(readDocument(text)).toContain(why);
  });

  it('is not mistaken for one with a field twice because of its texts', () => {
    const filter = 'a = "b": ${subject.email} AND "c":';
    expect(readDocument(JSON.stringify({ statements: [{ ...ALLOW, description: filter }] }))).toBeTypeOf('object');
  });

  it.each<[Fields]>([
    [{ effect: 'maybe', resources: [] }],
    [{ effect: 'allow', resources: 'srn2:table#a' }],
    [{ ...ALLOW, actions: [1] }],
    [{ ...ALLOW, conditions: null }],
    [{ ...ALLOW, conditions: { columns: { allow: ['a'], deny: ['b'] } } }],
    [{ ...ALLOW, conditions: { columns: { mask: { a: null } } } }],
  ])('leaves a statement to JSON that it cannot show as it is: %j', (statement) => {
    expect(formOf(statement)).toBeUndefined();
  });
});

describe('conditions', () => {
  it('are offered only where the gateway accepts them', () => {
    const may = (statement: Fields): boolean => mayHaveConditions(formOf(statement)!);
    expect(may(ALLOW)).toBe(true);
    expect(may({ ...ALLOW, resources: ['srn2:table#sales_*'] })).toBe(true);
    for (const other of [
      { effect: 'deny' },
      { actions: ['Query', 'GetSchema'] },
      { actions: undefined },
      { resources: [] },
      { resources: ['*'] },
      { resources: ['srn2:table#a', 'srn2:cluster#b'] },
    ])
      expect(may({ ...ALLOW, ...other })).toBe(false);
  });

  it.each(['mail', 'order', 'e mail', 'Größe'])('have masks that the gateway accepts: %s', (column) => {
    expect(MASKS.map((mask) => parseMask(mask.of(column), column)).filter(({ ok }) => !ok)).toEqual([]);
  });

  it('name the values that their filters use', () => {
    const filtered = (...rowFilters: string[]) => formOf(withConditions(ALLOW, { ...NO_CONDITIONS, rowFilters }));
    expect(
      valuesIn([
        filtered('a = ${subject.email}', 'b IN (${ subject.groups })'),
        undefined,
        filtered('c = ${subject.email}'),
      ]),
    ).toEqual(['subject.email', 'subject.groups']);
  });
});

describe('the errors of a message', () => {
  it('are found by their path', () => {
    const message =
      '`policyDocumentJson`: statements[0].conditions.rowFilters[1]: line 1, column 4: the text ends here; a value is missing; ' +
      'statements[1].conditions.columns.mask.mail: line 1, column 1: a mask has no other column';
    expect([...errorsByPath(message)]).toEqual([
      ['statements[0].conditions.rowFilters[1]', 'line 1, column 4: the text ends here; a value is missing'],
      ['statements[1].conditions.columns.mask.mail', 'line 1, column 1: a mask has no other column'],
    ]);
    expect(errorsByPath('the name is taken').size).toBe(0);
    expect(errorsByPath('statements[0]: must be an object').get('statements[0]')).toBe('must be an object');
  });

  it('are those of the statement where no field shows them', () => {
    const errors = new Map([
      ['statements[1]', 'a'],
      ['statements[1].ticket', 'b'],
      ['statements[1].actions[0]', 'c'],
      ['statements[1].conditions.rowFilters[0]', 'd'],
      ['statements[1].conditions.rowFilters', 'e'],
      ['statements[11].ticket', 'f'],
    ]);
    expect(otherErrors(errors, 1, true)).toEqual(['a', '`ticket`: b', '`conditions.rowFilters`: e']);
    expect(otherErrors(errors, 1, false)).toHaveLength(5);
  });
});

describe('the tables of a document', () => {
  const forms = (...resources: string[]) => [formOf({ ...ALLOW, resources })];
  const KNOWN = ['orders', 'sales_eu', 'sales_us', 'sales.deals'];

  it('are those that it names, and the known ones that its patterns match', () => {
    expect(tablesIn(forms('srn2:table#gone', 'srn2:cluster#*:table#sales_*'), KNOWN)).toEqual([
      'gone',
      'sales_eu',
      'sales_us',
    ]);
    expect(tablesIn(forms('srn2:table#*s'), KNOWN)).toEqual(['orders', 'sales_us', 'sales.deals']);
    expect(tablesIn(forms('*'), KNOWN)).toEqual(KNOWN);
    expect(tablesIn(forms('srn2:role#*', 'srn2:cluster#orders'), KNOWN)).toEqual([]);
    expect(
      tablesIn([formOf({ ...ALLOW, effect: 'deny' }), formOf({ ...ALLOW, actions: ['GetSchema'] })], KNOWN),
    ).toEqual([]);
  });

  it('are queried by their names in quotes', () => {
    expect(queryOf('order')).toBe('SELECT * FROM "order" LIMIT 10');
    expect(queryOf('sales.deals')).toBe('SELECT * FROM "sales"."deals" LIMIT 10');
  });
});

it('the kinds of resources are those of their last level', () => {
  expect(kindsOf(['srn2:cluster#*:table#a', 'srn2:table#b', 'srn2:role#c', '*'])).toEqual(['table', 'role', '*']);
});
