import type { RbacManager } from '../../../src/access/manager/manager.ts';
import { unmatchable } from '../../../src/access/policy/unmatchable.ts';
import type { Principal } from '../../../src/access/principal.ts';
import type { Statement } from '../../../src/resources/policy.ts';
import type { Subject } from '../../../src/resources/role-assignment.ts';
import type { Random } from '../../fuzz/http/random.ts';
import { MISSPELT } from './oracle.ts';
import { randomExpiry } from './times.ts';

export const POLICIES = ['p0', 'p.1', 'p2-x', 'p3'];
export const ROLES = ['r0', 'r.1', 'r2-x'];
export const PREDEFINED = ['system-admin', 'rbac-admin', 'table-reader'];

const ACTIONS: readonly (string[] | undefined)[] = [
  ['Query'],
  ['Query', 'GetSize'],
  ['Get*'],
  ['*'],
  undefined,
  ['*e*'],
  ['Delete*', 'GetSize'],
  ['*Policy', '*Role'],
  ['UpdatePolicy', 'DetachPolicy', 'CreateAssignment'],
  ['BindPolicy'],
  ['AssignRole', 'Query'],
  ['qUERY', '**'],
  ['G*t*z*', '*Health'],
  ['assignrole'],
];
const RESOURCES = [
  'srn2:table#a*',
  'srn2:table#a1',
  'srn2:table#*',
  'srn2:table#*1',
  'srn2:cluster#*',
  'srn2:cluster#*:*#*',
  'srn2:cluster#pinot:table#*',
  'srn2:environment#*:*#*',
  'srn2:*#*:table#b*',
  'srn2:*#a1',
  'srn2:policy#p*',
  'srn2:policy#p0',
  'srn2:policy#p.*',
  'srn2:role#r*',
  'srn2:role#r.1',
  'srn2:role#system-admin',
  'srn2:role#*',
  'srn2:table#*a*1*',
  'srn2:table#a**1',
  'srn2:table#a.*',
  'srn2:table#?1',
  'srn2:table#ä*',
  'srn2:table#*\u0308*',
  'srn2:table#\u{1f4a5}*',
  'srn2:table#a\u200b1',
  'srn2:tab*#*',
  'srn2:*#*',
  'srn2:**#**',
  '*',
];
/** What no policy and no name may contain. */
const REFUSED_RESOURCES = ['srn2:table#a\u0000', 'srn2:table#a\u0085*', 'srn2:table#a\n', 'srn2:table#', '**', 'a1'];
const REFUSED_NAMES = ['P0', 'p0\u0000', 'p0/../p3', '..', 'r0 ', '\u212a', 'ｐ0', ''];

/** A statement of which every part can match: others are refused, whoever writes them. */
export function randomStatement(random: Random, denies = 0.3): Statement {
  for (;;) {
    const statement = anyStatement(random, denies);
    if (random.chance(0.02) || unmatchable([statement]).errors.length === 0) return statement;
  }
}

function anyStatement(random: Random, denies: number): Statement {
  const escalates = random.chance(0.01);
  const actions = escalates ? ['EscalatePolicy'] : random.pick(ACTIONS);
  return {
    effect: random.chance(denies) ? 'deny' : 'allow',
    ...(actions && { actions: actions.slice() }),
    resources: Array.from({ length: random.chance(0.2) ? 2 : 1 }, () => random.pick(RESOURCES)),
  };
}

export function randomStatements(random: Random): Statement[] {
  if (random.chance(0.02)) return [{ effect: 'allow', actions: [MISSPELT], resources: ['*'] }];
  return Array.from({ length: 1 + random.below(3) }, () => randomStatement(random));
}

export interface Change {
  readonly what: string;
  readonly run: (manager: RbacManager, caller: Principal) => Promise<unknown>;
}

/** A random write of the manager. Documents are often made of what is stored, so that many of them are accepted. */
export function randomChange(random: Random, stored: readonly Statement[], subjects: readonly Subject[]): Change {
  const policy = randomName(random, POLICIES);
  const role = randomName(random, ROLES);
  const subject = { ...random.pick(subjects), ...randomExpiry(random, 0.2) };
  const statements = documentOf(random, stored);
  const policyDocument = { version: 'v1', statements };
  const to = `${subject.type}:${subject.name}${subject.expiresAt === undefined ? '' : ` until ${subject.expiresAt}`}`;
  const choices: (() => Change)[] = [
    () => ({
      what: `create policy ${policy} ${JSON.stringify(statements)}`,
      run: (manager, caller) => manager.policies.create(caller, { name: policy, policyDocument }),
    }),
    () => ({
      what: `update policy ${policy} ${JSON.stringify(statements)}`,
      run: (manager, caller) => manager.policies.update(caller, policy, { policyDocument }),
    }),
    () => ({ what: `delete policy ${policy}`, run: (manager) => manager.policies.remove(policy) }),
    () => ({ what: `create role ${role}`, run: (manager, caller) => manager.roles.create(caller, { name: role }) }),
    () => ({ what: `delete role ${role}`, run: (manager) => manager.roles.remove(role) }),
    () => ({
      what: `attach ${policy} to ${role}`,
      run: (manager, caller) => manager.roles.attach(caller, role, policy),
    }),
    () => ({
      what: `detach ${policy} from ${role}`,
      run: (manager, caller) => manager.roles.detach(caller, role, policy),
    }),
    () => ({
      what: `assign ${role} to ${to}`,
      run: (manager, caller) => manager.assignments.create(caller, role, subject),
    }),
    () => ({
      what: `unassign ${role} from ${to}`,
      run: (manager, caller) => manager.assignments.delete(caller, role, subject),
    }),
    () => ({
      what: `delete token ${subject.name}`,
      run: (manager, caller) => manager.serviceTokens.remove(caller, subject.name),
    }),
    () => ({ what: 'create token', run: (manager, caller) => manager.serviceTokens.create(caller, {}) }),
  ];
  // Creating, attaching and assigning more often than deleting, so that there is something to gain.
  const weights = [4, 5, 1, 2, 1, 6, 5, 6, 4, 1, 1];
  const weighted = choices.flatMap((choice, at) => Array.from({ length: weights[at]! }, () => choice));
  return random.pick(weighted)();
}

function randomName(random: Random, names: readonly string[]): string {
  if (random.chance(0.01)) return random.pick(REFUSED_NAMES);
  return random.chance(0.8) ? random.pick(names) : random.pick(PREDEFINED);
}

function documentOf(random: Random, stored: readonly Statement[]): Statement[] {
  if (random.chance(0.01)) return [{ ...randomStatement(random), resources: [random.pick(REFUSED_RESOURCES)] }];
  if (stored.length === 0 || random.chance(0.3)) return randomStatements(random);
  const statements = Array.from({ length: 1 + random.below(3) }, (): Statement => {
    const base = random.pick(stored);
    if (random.chance(0.6)) return { ...base };
    const narrower = randomStatement(random, 0);
    return random.chance(0.5)
      ? { ...base, resources: narrower.resources }
      : { effect: base.effect, resources: base.resources, ...(narrower.actions && { actions: narrower.actions }) };
  });
  return random.chance(0.2) ? statements.concat(randomStatement(random, 1)) : statements;
}
