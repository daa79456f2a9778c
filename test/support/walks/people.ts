import { tokenPrincipal } from '../../../src/access/directory.ts';
import type { Principal } from '../../../src/access/principal.ts';
import type { Subject } from '../../../src/resources/role-assignment.ts';

/** Somebody with these subjects. */
export interface Person {
  readonly name: string;
  readonly subjects: readonly Subject[];
}

function user(name: string, groups: readonly string[], domain?: string): Person {
  return {
    name,
    subjects: [
      { type: 'user-email', name },
      ...groups.map((group): Subject => ({ type: 'group', name: group })),
      ...(domain === undefined ? [] : [{ type: 'domain' as const, name: domain }]),
    ],
  };
}

export function tokenPerson(name: string): Person {
  return { name, subjects: [{ type: 'service-token', name }] };
}

/** Those who may make changes, and others who must not gain by them either. */
export const PEOPLE: readonly Person[] = [
  user('u0@example.com', ['g0'], 'example.com'),
  user('u1@example.com', ['g1', 'g0'], 'example.com'),
  user('u2@other.example', ['G0'], 'other.example'),
  // A group with the name of another user, which must not be treated as that user.
  user('ü3@example.com', ['u0@example.com', 'gruppe-ä.1'], undefined),
  user('k@example.com', [], 'example.com'),
  // The Kelvin sign: another mailbox, although its lower case in Unicode is `k`.
  user('\u212a@example.com', ['e\u0301quipe'], undefined),
];
export const TOKENS: readonly Person[] = ['t0', 't.1'].map(tokenPerson);

/** Holds `system-admin` in every walk and is in no group. */
export const KEEPER = user('keeper@ops.example', [], 'ops.example');
/** Holds `system-admin` in some walks. Its groups are those of others, too. */
export const CHIEF = user('chief@example.com', ['g0', 'chiefs'], 'example.com');

/** Subjects to whom roles are assigned, in all spellings that equal a person's subject or nearly do. */
export const SUBJECTS: readonly Subject[] = [
  ...PEOPLE.map(({ name }) => ({ type: 'user-email' as const, name })),
  { type: 'user-email', name: 'U0@Example.COM' },
  { type: 'group', name: 'g0' },
  { type: 'group', name: 'G0' },
  { type: 'group', name: 'g1' },
  { type: 'group', name: 'u0@example.com' },
  { type: 'group', name: 'gruppe-ä.1' },
  { type: 'group', name: 'e\u0301quipe' },
  { type: 'group', name: '\u00e9quipe' },
  { type: 'domain', name: 'Example.com' },
  { type: 'domain', name: 'other.example' },
  { type: 'service-token', name: 't0' },
  { type: 'service-token', name: 't.1' },
];

/** Administrators as targets, so that a deny is aimed at them. */
export const ADMINISTRATORS: readonly Subject[] = [
  { type: 'user-email', name: 'Keeper@ops.example' },
  { type: 'domain', name: 'ops.example' },
  { type: 'user-email', name: 'chief@example.com' },
  { type: 'group', name: 'chiefs' },
];

/** ASCII letters only, as documented. */
function folded({ type, name }: Subject): string {
  return type === 'user-email' || type === 'domain'
    ? name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
    : name;
}

export function isSame(a: Subject, b: Subject): boolean {
  return a.type === b.type && folded(a) === folded(b);
}

export function principalOf({ name, subjects }: Person): Principal {
  if (subjects[0]?.type === 'service-token') return tokenPrincipal(name);
  const groups = subjects.filter(({ type }) => type === 'group').map((subject) => subject.name);
  const domain = subjects.find(({ type }) => type === 'domain')?.name;
  return { kind: 'user', srn: `srn2:user#${name}`, id: name, groups, domain, authenticator: 'test' };
}
