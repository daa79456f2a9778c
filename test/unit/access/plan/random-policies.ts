import type { AccessObjects } from '../../../../src/access/plan/policy-set.ts';
import type { Conditions, Statement } from '../../../../src/resources/policy.ts';
import type { Subject } from '../../../../src/resources/role-assignment.ts';
import type { Random } from '../../../fuzz/http/random.ts';
import { policy, role, roleAssignment } from '../../../builders/resources.ts';

const ACTIONS = [
  'Query',
  'Get*',
  '*Table',
  'Update*',
  '*',
  'GetSchema',
  'CreateRole',
  '*Role',
  'BindPolicy',
  'SimulateAccess',
];
const RESOURCES = [
  '*',
  'srn2:table#*',
  'srn2:table#a*',
  'srn2:table#ab*',
  'srn2:table#*b',
  'srn2:table#a*b',
  'srn2:table#*a*',
  'srn2:table#ab',
  'srn2:table#b',
  'srn2:cluster#c1:table#*',
  'srn2:cluster#*1:table#a*',
  'srn2:environment#e:table#b*',
  'srn2:environment#other:table#*',
  'srn2:cluster#*',
  'srn2:cluster#c2',
  'srn2:role#*',
  'srn2:role#a*',
  'srn2:policy#ab',
  'srn2:service-token#*',
  'srn2:*#a*',
  'srn2:t*#ab',
];
const TABLES = RESOURCES.filter((resource) => resource.includes('table#'));
const CONDITIONS: readonly Conditions[] = [
  { rowFilters: ["region = 'eu'"] },
  { rowFilters: ["region = 'us'"] },
  { rowFilters: ['owner = ${subject.email}'] },
  { columns: { allow: ['id', 'region'] } },
  { columns: { deny: ['mail'] } },
  { rowFilters: ["region = 'eu'"], columns: { deny: ['mail'] } },
];
const POLICIES = ['p0', 'p1', 'p2', 'p3'];
const ROLES = ['r0', 'r1', 'r2', 'system-admin'];
export const SUBJECTS: readonly Subject[] = [
  { type: 'user-email', name: 'ann@example.com' },
  { type: 'domain', name: 'example.com' },
  { type: 'group', name: 'team' },
];

/** Names that the globs above match and do not match, in all combinations that there are. */
export const NAMES = ['a', 'b', 'ab', 'aa', 'ba', 'abb', 'c'];

function some<T>(random: Random, all: readonly T[], most: number): T[] {
  return Array.from({ length: 1 + random.below(most) }, () => random.pick(all));
}

function randomStatement(random: Random): Statement {
  if (random.chance(0.25)) {
    const resources = [...new Set(some(random, TABLES, 2))].filter((resource) => !resource.includes('t*#'));
    return { effect: 'allow', actions: ['Query'], resources, conditions: random.pick(CONDITIONS) };
  }
  return {
    effect: random.chance(0.3) ? 'deny' : 'allow',
    actions: [...new Set(some(random, ACTIONS, 2))],
    resources: [...new Set(some(random, RESOURCES, 3))],
  };
}

/** What a set of policies has at random. */
export interface RandomSet {
  readonly policies: Readonly<Record<string, readonly Statement[]>>;
  readonly roles: Readonly<Record<string, readonly string[]>>;
  readonly subjects: Readonly<Record<string, readonly Subject[]>>;
}

export function randomSet(random: Random): RandomSet {
  return {
    policies: Object.fromEntries(POLICIES.map((name) => [name, randomStatements(random)])),
    roles: Object.fromEntries(ROLES.slice(0, 3).map((name) => [name, [...new Set(some(random, POLICIES, 2))]])),
    subjects: Object.fromEntries(ROLES.map((name) => [name, randomSubjects(random, name)])),
  };
}

/** Changes one or two things of a set. */
export function changed(random: Random, set: RandomSet): RandomSet {
  const other = randomSet(random);
  const pick = <T>(from: Readonly<Record<string, T>>): Record<string, T> => {
    const name = random.pick(Object.keys(from));
    return { [name]: from[name]! };
  };
  return {
    policies: { ...set.policies, ...(random.chance(0.6) && pick(other.policies)) },
    roles: { ...set.roles, ...(random.chance(0.4) && pick(other.roles)) },
    subjects: { ...set.subjects, ...(random.chance(0.3) && pick(other.subjects)) },
  };
}

function randomStatements(random: Random): Statement[] {
  // An invalid policy denies everything to those who have it.
  if (random.chance(0.04)) return [{ effect: 'allow', actions: ['Nothing'], resources: ['*'] }];
  return Array.from({ length: 1 + random.below(3) }, () => randomStatement(random));
}

function randomSubjects(random: Random, name: string): Subject[] {
  return SUBJECTS.filter(() => random.chance(name === 'system-admin' ? 0.05 : 0.6));
}

export function objectsOf({ policies, roles, subjects }: RandomSet): AccessObjects {
  return {
    policies: Object.entries(policies).map(([name, statements]) => policy(name, { statements: [...statements] })),
    roles: Object.entries(roles).map(([name, held]) => role(name, { policies: [...held] })),
    assignments: Object.entries(subjects)
      .filter(([, held]) => held.length > 0)
      .map(([name, held]) => roleAssignment(`${name}-subjects`, { role: name, subjects: [...held] })),
    tokens: [],
  };
}
