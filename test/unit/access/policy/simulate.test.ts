import { expect, it } from 'vitest';
import { tokenPrincipal, type Directory } from '../../../../src/access/directory.ts';
import { asPrincipal, simulate, subjectTypeOf, type SimulatedRequest } from '../../../../src/access/policy/simulate.ts';
import type { SubjectType } from '../../../../src/resources/role-assignment.ts';
import { atOnce } from '../../../../src/platform/long-work.ts';

const question: SimulatedRequest = { action: 'Query', resources: [{ levels: [{ kind: 'table', id: 'a' }] }] };

/** A directory whose unsaved policy has that many patterns, and the number of decisions so far. */
function counting(patternCount: number) {
  const counted = { decisions: 0 };
  const engine = {
    simulatedGrants: () => ({ patternCount, searchedPatternCount: patternCount }),
    decideWith: () => {
      counted.decisions += 1;
      return { allowed: false };
    },
  };
  return { counted, directory: { engine } as unknown as Directory };
}

it('is done in a part for the unsaved policy, and one for each decision', () => {
  const { counted, directory } = counting(2048);
  const simulated = simulate(directory, [], {}, [question, question]);
  const decisions: number[] = [];
  let part = simulated.next();
  for (; part.done !== true; part = simulated.next()) decisions.push(counted.decisions);
  expect(decisions).toEqual([0, 1, 2]);
  expect(part.value.decisions).toHaveLength(2);
});

it('bounds the questions by the patterns that must be searched', () => {
  const asked = (patternCount: number, questions: number) => {
    const { directory } = counting(patternCount);
    const requests = Array.from({ length: questions }, () => question);
    return atOnce(simulate(directory, [], {}, requests));
  };
  expect(asked(100_000, 2).decisions).toHaveLength(2);
  expect(() => asked(100_000, 3)).toThrow(
    expect.objectContaining({
      code: 'invalid',
      message:
        '`requests` has 3 entries: at most 2 are allowed for the 100000 resources with a `*` before their end that these roles and this policy have',
    }),
  );
  // One question is always allowed.
  expect(asked(200_001, 1).decisions).toHaveLength(1);
  expect(() => asked(200_001, 2)).toThrow('at most 1 are allowed');
});

it.each([
  ['email', 'user-email'],
  ['user-email', 'user-email'],
  ['group', 'group'],
  ['domain', 'domain'],
  ['service-token', 'service-token'],
  ['user', undefined],
])('the type of a subject: %s', (text, type) => expect(subjectTypeOf(text)).toBe(type));

it('a principal has only the subject of which it is made, and the domain of its address', () => {
  const directory = { tokenNameOf: (name: string) => (name === 'key' ? 'loader' : undefined) } as Directory;
  const user = (name: string, fields: object) => ({
    kind: 'user',
    srn: `srn2:user#${name}`,
    authenticator: 'simulation',
    id: '',
    groups: [],
    domain: undefined,
    ...fields,
  });
  const principal = (type: SubjectType, name: string) => asPrincipal(directory, { type, name });
  expect(principal('user-email', 'a@x.org')).toEqual(user('a@x.org', { id: 'a@x.org', domain: 'x.org' }));
  expect(principal('group', 'g')).toEqual(user('g', { groups: ['g'] }));
  expect(principal('domain', 'x.org')).toEqual(user('x.org', { domain: 'x.org' }));
  expect(principal('service-token', 'key')).toEqual(tokenPrincipal('loader'));
  expect(principal('service-token', 'other')).toEqual(tokenPrincipal('other'));
});
