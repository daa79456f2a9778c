import { expect, it } from 'vitest';
import { tokenPrincipal, type Directory } from '../../../../src/access/directory.ts';
import { asPrincipal, subjectTypeOf } from '../../../../src/access/policy/simulate.ts';
import type { SubjectType } from '../../../../src/resources/role-assignment.ts';

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
