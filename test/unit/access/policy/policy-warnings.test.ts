import { describe, expect, it } from 'vitest';
import { namedTables, policyWarnings, type KnownNames } from '../../../../src/access/policy/policy-warnings.ts';
import { statement } from '../../../builders/resources.ts';

const KNOWN: KnownNames = {
  deployment: { environment: 'olap', cluster: 'pinot' },
  tables: ['events', 'Orders'],
  namesOf: (kind) => (kind === 'role' ? ['analysts'] : []),
};
const warn = (resources: string[], known = KNOWN) =>
  policyWarnings({ statements: [statement({ actions: ['*'], resources })] }, known);

describe('the warnings of a policy', () => {
  it.each([
    ['srn2:table#evnets', '`statements[0].resources[0]`: table `evnets` does not exist; did you mean `events`?'],
    ['srn2:table#orders', '`statements[0].resources[0]`: table `orders` does not exist; did you mean `Orders`?'],
    ['srn2:cluster#pinot:table#nosuch', '`statements[0].resources[0]`: table `nosuch` does not exist'],
    ['srn2:role#analyst', '`statements[0].resources[0]`: role `analyst` does not exist; did you mean `analysts`?'],
    ['srn2:policy#read', '`statements[0].resources[0]`: policy `read` does not exist'],
    ['srn2:service-token#x', '`statements[0].resources[0]`: service token `x` does not exist'],
    [
      'srn2:cluster#pinnot:table#*',
      '`statements[0].resources[0]`: cluster `pinnot` does not exist; did you mean `pinot`?',
    ],
    ['srn2:environment#olap:cluster#nosuch', '`statements[0].resources[0]`: cluster `nosuch` does not exist'],
  ])('name %s', (resource, warning) => expect(warn([resource])).toEqual([warning]));

  it.each([
    '*',
    'srn2:table#events',
    'srn2:table#even*',
    'srn2:*#nosuch',
    'srn2:environment#elsewhere:table#nosuch',
    'srn2:environment#elsewhere:cluster#nosuch:table#nosuch',
    'srn2:cluster#no*:table#events',
    'srn2:environment#olap:cluster#pinot',
    'srn2:role#analysts',
  ])('do not name %s', (resource) => expect(warn([resource])).toEqual([]));

  it('do not name tables while the existing ones are not known', () => {
    expect(warn(['srn2:table#nosuch'], { ...KNOWN, tables: undefined })).toEqual([]);
    expect(warn(['srn2:table#nosuch'], { ...KNOWN, tables: [] })).toHaveLength(1);
  });

  it('compare tables with those of the clusters that a resource can belong to', () => {
    const known: KnownNames = { ...KNOWN, otherClusters: [{ cluster: 'sales', tables: ['invoices'] }] };
    const missing = (name: string, meant?: string) => [
      `\`statements[0].resources[0]\`: table \`${name}\` does not exist${meant === undefined ? '' : `; did you mean \`${meant}\`?`}`,
    ];
    expect(warn(['srn2:table#events'], known)).toEqual([]);
    expect(warn(['srn2:table#invoices'], known)).toEqual([]);
    expect(warn(['srn2:cluster#sales:table#invoices'], known)).toEqual([]);
    expect(warn(['srn2:table#invoice'], known)).toEqual(missing('invoice', 'invoices'));
    expect(warn(['srn2:cluster#pinot:table#invoices'], known)).toEqual(missing('invoices'));
    expect(warn(['srn2:cluster#sales:table#events'], known)).toEqual(missing('events'));
    expect(warn(['srn2:cluster#elsewhere:table#events'], known)).toEqual([
      '`statements[0].resources[0]`: cluster `elsewhere` does not exist',
    ]);
  });

  it('leave out tables that can belong to a cluster whose tables are not known', () => {
    const known: KnownNames = { ...KNOWN, otherClusters: [{ cluster: 'sales', tables: undefined }] };
    expect(warn(['srn2:table#nosuch'], known)).toEqual([]);
    expect(warn(['srn2:cluster#sales:table#nosuch'], known)).toEqual([]);
    expect(warn(['srn2:cluster#pinot:table#nosuch'], known)).toHaveLength(1);
  });

  it('read the existing names once for each kind, however many resources a policy has', () => {
    let reads = 0;
    /** Counts each time that the list is gone through. */
    const counted = (...names: string[]): readonly string[] => {
      reads++;
      return names;
    };
    const tables = new Proxy(['events'], {
      get(list, key, receiver) {
        if (key === Symbol.iterator) reads++;
        return Reflect.get(list, key, receiver) as unknown;
      },
    });
    const known: KnownNames = { ...KNOWN, tables, namesOf: () => counted('analysts') };
    const resources = Array.from({ length: 500 }, () => ['srn2:table#events', 'srn2:role#analysts']).flat();
    expect(warn([...resources, 'srn2:policy#x', 'srn2:policy#y'], known)).toHaveLength(2);
    expect(reads).toBe(3);
  });

  it('say where a name may only be hidden from the caller', () => {
    const known: KnownNames = { ...KNOWN, filtered: true };
    expect(warn(['srn2:role#other', 'srn2:role#analyst'], known)).toEqual([
      '`statements[0].resources[0]`: role `other` does not exist or is not visible to you',
      '`statements[0].resources[1]`: role `analyst` does not exist or is not visible to you; did you mean `analysts`?',
    ]);
  });

  it('suggest names for the first three only, and not where the search would take long', () => {
    const meant = (known: KnownNames, ...resources: string[]): number =>
      warn(resources, known).filter((text) => text.includes('did you mean')).length;
    expect(meant(KNOWN, ...Array.from({ length: 10 }, () => 'srn2:table#evnets'))).toBe(3);
    const long = 'e'.repeat(49);
    expect(meant({ ...KNOWN, tables: [`${long}x`] }, `srn2:table#${long}`)).toBe(0);
    expect(meant({ ...KNOWN, tables: [long] }, `srn2:table#${long.slice(1)}`)).toBe(1);
    const many = (length: number): string[] => Array.from({ length }, (_, index) => `events${index}`);
    expect(meant({ ...KNOWN, tables: many(2000) }, 'srn2:table#evnets1')).toBe(1);
    expect(meant({ ...KNOWN, tables: many(2001) }, 'srn2:table#evnets1')).toBe(0);
  });

  it('are at most 20, with the number of the others', () => {
    const warnings = warn(Array.from({ length: 25 }, (_, index) => `srn2:table#t${index}`));
    expect(warnings).toHaveLength(21);
    expect(warnings[20]).toBe('and 5 more');
  });
});

it('the tables of a policy are those that it names exactly', () => {
  const resources = ['srn2:table#b', 'srn2:role#r', 'srn2:table#a*', '*', 'srn2:cluster#other:table#x', 'srn2:table#a'];
  const policy = { statements: [statement({ resources }), statement({ resources: ['srn2:table#b'] })] };
  expect(namedTables(policy, KNOWN.deployment)).toEqual(['b', 'a']);
});
