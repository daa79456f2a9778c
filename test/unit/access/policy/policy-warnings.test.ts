import { describe, expect, it } from 'vitest';
import { policyWarnings, type KnownNames } from '../../../../src/access/policy/policy-warnings.ts';
import { statement } from '../../../builders/resources.ts';

const KNOWN: KnownNames = {
  deployment: { environment: 'olap', cluster: 'pinot' },
  tables: ['events', 'Orders'],
  namesOf: (kind) => (kind === 'role' ? ['analysts'] : []),
};
const warn = (resources: string[], known = KNOWN) => policyWarnings({ statements: [statement({ resources })] }, known);

describe('the warnings of a policy', () => {
  it.each([
    ['srn2:table#evnets', '`statements[0].resources[0]`: table `evnets` does not exist; did you mean `events`?'],
    ['srn2:table#orders', '`statements[0].resources[0]`: table `orders` does not exist; did you mean `Orders`?'],
    ['srn2:cluster#pinot:table#nosuch', '`statements[0].resources[0]`: table `nosuch` does not exist'],
    ['srn2:role#analyst', '`statements[0].resources[0]`: role `analyst` does not exist; did you mean `analysts`?'],
    ['srn2:policy#read', '`statements[0].resources[0]`: policy `read` does not exist'],
    ['srn2:service-token#x', '`statements[0].resources[0]`: service token `x` does not exist'],
  ])('name %s', (resource, warning) => expect(warn([resource])).toEqual([warning]));

  it.each([
    '*',
    'srn2:table#events',
    'srn2:table#even*',
    'srn2:*#nosuch',
    'srn2:cluster#other:table#nosuch',
    'srn2:environment#elsewhere:table#nosuch',
    'srn2:cluster#nosuch',
    'srn2:user#nobody',
    'srn2:role#analysts',
  ])('do not name %s', (resource) => expect(warn([resource])).toEqual([]));

  it('do not name tables while the existing ones are not known', () => {
    expect(warn(['srn2:table#nosuch'], { ...KNOWN, tables: undefined })).toEqual([]);
    expect(warn(['srn2:table#nosuch'], { ...KNOWN, tables: [] })).toHaveLength(1);
  });

  it('are at most 20, with the number of the others', () => {
    const warnings = warn(Array.from({ length: 25 }, (_, index) => `srn2:table#t${index}`));
    expect(warnings).toHaveLength(21);
    expect(warnings[20]).toBe('and 5 more');
  });
});
