import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../src/access/policy/predefined.ts';
import type { Policy, Role, RoleAssignment, ServiceToken } from '../../../src/resources/kinds.ts';
import type { Subject } from '../../../src/resources/role-assignment.ts';
import { policy, role, roleAssignment, serviceToken } from '../../builders/resources.ts';
import type { Random } from '../../fuzz/http/random.ts';
import { POLICIES, PREDEFINED, randomStatements, ROLES } from './changes.ts';
import { CHIEF, KEEPER, SUBJECTS } from './people.ts';
import { randomExpiry } from './times.ts';

/** What a store contains. */
export interface State {
  readonly policies: readonly Policy[];
  readonly roles: readonly Role[];
  readonly assignments: readonly RoleAssignment[];
  readonly tokens: readonly ServiceToken[];
}

export function randomStart(random: Random): State {
  const policies = PREDEFINED_POLICIES.slice();
  const roles = PREDEFINED_ROLES.slice();
  for (const name of POLICIES) {
    if (random.chance(0.8)) policies.push(policy(name, { statements: randomStatements(random) }));
  }
  for (const name of ROLES) {
    // Some roles name a policy that does not exist, as with kubectl.
    if (random.chance(0.9)) roles.push(role(name, { policies: POLICIES.filter(() => random.chance(0.4)) }));
  }
  const assignments = [...ROLES, 'rbac-admin', 'table-reader'].flatMap((name) => {
    const subjects = SUBJECTS.filter(() => random.chance(PREDEFINED.includes(name) ? 0.05 : 0.2));
    const distinct = subjects.filter(({ type }, at) => subjects.findIndex((other) => other.type === type) === at);
    return distinct.map((subject, index) => {
      const until = randomExpiry(random, 0.25);
      return roleAssignment(`a${index}-${name}`, { role: name, subjects: [{ ...subject, ...until }] });
    });
  });
  const [keeper, chief] = [KEEPER, CHIEF].map(({ subjects }) => subjects[0]!);
  assignments.push(roleAssignment('keeper', { role: 'system-admin', subjects: [keeper!] }));
  if (random.chance(0.3)) assignments.push(roleAssignment('chief', { role: 'system-admin', subjects: [chief!] }));
  const tokens = ['t0', 't.1'].map((name) => serviceToken(name, randomExpiry(random, 0.2)));
  return { policies, roles, assignments, tokens };
}

/** The objects of a state by kind. */
export function objectsOf({ policies, roles, assignments, tokens }: State) {
  return { Policy: policies, Role: roles, RoleAssignment: assignments, ServiceToken: tokens, Secret: [] } as const;
}

/** The state in a line, without what is predefined. */
export function describeState({ policies, roles, assignments, tokens }: State): string {
  const own = <T extends { metadata: { name: string } }>(objects: readonly T[]): T[] =>
    objects.filter(({ metadata }) => !PREDEFINED_ROLES.some((other) => other.metadata.name === metadata.name));
  const named = (subject: Subject): string =>
    `${subject.type}:${subject.name}${subject.expiresAt ? ` until ${subject.expiresAt}` : ''}`;
  return JSON.stringify({
    policies: Object.fromEntries(own(policies).map(({ metadata, spec }) => [metadata.name, spec.statements])),
    roles: Object.fromEntries(own(roles).map(({ metadata, spec }) => [metadata.name, spec.policies])),
    assignments: assignments.map(({ spec }) => `${spec.role} ${spec.subjects.map(named).join(' ')}`),
    tokens: tokens.map(({ metadata, spec }) => `${metadata.name} ${spec.expiresAt ?? ''}`),
  });
}
