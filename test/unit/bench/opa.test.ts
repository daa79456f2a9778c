import { describe, expect, it } from 'vitest';
import { opaInput, toRego } from '../../../bench/peers/opa.ts';
import { tableResource } from '../../../src/access/policy/srn.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import type { Statement } from '../../../src/resources/policy.ts';

/** The rules of one statement, without the heads that all modules have. */
function rulesOf(statement: Statement): string[] {
  return toRego('p', [{ statements: [statement] }])
    .split('\n')
    .filter((line) => line.startsWith('permit if') || line.startsWith('forbid if'));
}

const ofTable = (id: string): string =>
  rulesOf({ effect: 'allow', actions: ['Query'], resources: [`srn2:table#${id}`] }).join('\n');

describe('policies for OPA', () => {
  it('compare what has no star', () => {
    expect(ofTable('a')).toBe('permit if { input.action == "query"; input.kind0 == "table"; input.id0 == "a" }');
  });

  it.each([
    ['a_*', 'startswith(input.id0, "a_")'],
    ['*_a', 'endswith(input.id0, "_a")'],
    ['a_*_b', 'startswith(input.id0, "a_"); endswith(input.id0, "_b"); count(input.id0) >= count("a__b")'],
    ['a*b*c', 'glob.match("a*b*c", null, input.id0)'],
    ['*', 'input.id0'],
  ])('compare the ends of %s where that suffices', (id, condition) => {
    expect(ofTable(id)).toContain(`; ${condition} }`);
  });

  it('place the outer levels of a pattern before its last one', () => {
    const rules = rulesOf({ effect: 'deny', resources: ['srn2:cluster#c:table#t'] });
    expect(rules).toHaveLength(3);
    expect(rules[0]).toContain('forbid if { input.action; input.kind1 == "cluster"');
    expect(rules.every((rule) => rule.includes('input.kind0 == "table"'))).toBe(true);
  });

  it('ask with the levels counted from the last one', () => {
    const input = opaInput('Query', tableResource(tableNameOf('t')), { environment: 'e', cluster: 'c' });
    expect(input).toEqual({
      action: 'query',
      kind0: 'table',
      id0: 't',
      kind1: 'cluster',
      id1: 'c',
      kind2: 'environment',
      id2: 'e',
    });
  });
});
