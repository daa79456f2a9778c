import { call, encodeSrn, rbac, type Tagged } from '../../lib/api.ts';
import { expiryOf, nameOf } from '../../lib/format.ts';
import { matchesGlob } from '../../lib/glob.ts';
import type { Level } from '../../lib/refusal.ts';
import { assignmentManifest, policyManifest, roleManifest, yamlOf } from '../../lib/copy.ts';
import type { Assignment, NewServiceToken, Policy, PolicyDocument, Subject } from '../../lib/types.ts';
import { extended, type Existing } from './grant-existing.ts';

/** Access for a subject, and for an app of it. */
export interface Grant {
  readonly subject: Subject;
  readonly tables: readonly string[];
  readonly level: Level;
  /** Value of an UntilField; empty for no end. */
  readonly until: string;
  /** Whether an app gets a new service token with the same access. */
  readonly withToken: boolean;
}

const EMPTY: PolicyDocument = { version: 'v1', statements: [] };

/** The policy with the grant. @param existing the policy of this name, if there is one */
export const documentOf = (grant: Grant, existing?: Pick<Policy, 'policyDocument'>): PolicyDocument =>
  extended(existing?.policyDocument ?? EMPTY, grant);

/** The policy, the role and the assignment as YAML for `kubectl apply`; without a service token, whose secret only a response has. */
export function manifestOf(grant: Grant, name: string): Promise<string> {
  const { subject, subjectType } = grant.subject;
  const assignment = { subject, subjectType: subjectType as Assignment['subjectType'], ...expiryOf(grant.until) };
  const described = { name, description: descriptionOf(grant) };
  return yamlOf([
    policyManifest({ ...described, policyDocument: documentOf(grant) }),
    roleManifest(described, [described]),
    assignmentManifest(name, [assignment]),
  ]);
}

const MAX_NAME = 60;

const asName = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_NAME)
    .replace(/^-+|-+$/g, '');

/**
 * A name for the role and the policy, such as `analysts-read-orders`.
 * @param held the roles of the subject: one of an earlier grant of this level is extended, so that a second table makes no second role
 * @param allowed patterns of the names that the caller may create
 */
export function suggestedName(
  { subject, level, tables }: Grant,
  held: readonly string[] = [],
  allowed: readonly string[] = [],
): string {
  const who = nameOf(subject.subject).replace(/@.*/, '');
  const before = asName(`${who}-${level}`);
  const earlier = held.find((role) => role.startsWith(`${before}-`) || role === before);
  if (earlier !== undefined && who !== '') return earlier;
  const name = asName(
    [who, level, tables[0] ?? '', tables.length > 1 ? `and-${tables.length - 1}-more` : ''].join('-'),
  );
  const [pattern] = allowed;
  if (pattern === undefined || allowed.some((one) => matchesGlob(one, name))) return name;
  return pattern.replace('*', name);
}

/** What has been created so far. A repeated attempt continues after it. */
export interface Created {
  readonly policy?: Policy;
  readonly role?: true;
  readonly attached?: true;
  readonly assigned?: true;
  readonly token?: NewServiceToken;
  readonly tokenAssigned?: true;
}

/** Each step of a grant. Access begins with the assignments, which come last. */
const STEPS: readonly {
  readonly key: keyof Created;
  readonly run: (grant: Grant, name: string, created: Created, existing: Existing) => Promise<Created>;
}[] = [
  {
    key: 'policy',
    run: async (grant, name, _created, { policy }) => {
      if (policy !== undefined) return { policy: await extendPolicy(grant, policy) };
      const body = { name, description: descriptionOf(grant), policyDocument: documentOf(grant) };
      return { policy: await call<Policy>(rbac('/policies'), { method: 'POST', body }) };
    },
  },
  {
    key: 'role',
    run: async (grant, name, _created, { hasRole }) => {
      if (hasRole) return { role: true };
      await call(rbac('/roles'), { method: 'POST', body: { name, description: descriptionOf(grant) } });
      return { role: true };
    },
  },
  {
    key: 'attached',
    run: async (_grant, name) => {
      const body = { policySrn: `srn2:policy#${name}` };
      await call(rolePath(name, 'attach-policy'), { method: 'POST', body });
      return { attached: true };
    },
  },
  {
    key: 'token',
    run: async (grant) => {
      if (!grant.withToken) return {};
      const body = { description: `App of ${grant.subject.subject}`, ...expiryOf(grant.until) };
      return { token: await call<NewServiceToken>(rbac('/service-tokens'), { method: 'POST', body }) };
    },
  },
  {
    key: 'tokenAssigned',
    run: async (grant, name, { token }) => {
      if (!token) return {};
      await assign(name, { subjectType: 'service-token', subject: token.accessKey }, grant.until);
      return { tokenAssigned: true };
    },
  },
  {
    key: 'assigned',
    run: async (grant, name) => {
      await assign(name, grant.subject, grant.until);
      return { assigned: true };
    },
  },
];

/** @throws {ApiError} 412 where somebody changed the policy meanwhile */
function extendPolicy(grant: Grant, policy: Tagged<Policy>): Promise<Policy> {
  const { srn, description, etag } = policy;
  const body = { description, policyDocument: documentOf(grant, policy) };
  return call<Policy>(rbac(`/policies/${encodeSrn(srn)}`), { method: 'PUT', body, headers: { 'if-match': etag } });
}

const rolePath = (name: string, verb: string): string => rbac(`/roles/${encodeSrn(`srn2:role#${name}`)}/${verb}`);

function descriptionOf({ level, tables, subject }: Grant): string {
  return `${subject.subject} may ${level} ${tables.join(', ')}`.slice(0, 200);
}

async function assign(role: string, subject: Subject, until: string): Promise<void> {
  await call(rolePath(role, 'create-assignment'), { method: 'POST', body: { ...subject, ...expiryOf(until) } });
}

const joined = (before: Created, more: Created): Created => ({ ...before, ...more });

/**
 * Creates what `created` does not have yet, and extends what exists.
 * @param onCreated called after each step with everything that exists now
 * @throws {ApiError} of the step that failed
 */
export async function carryOut(
  { grant, name, existing }: { readonly grant: Grant; readonly name: string; readonly existing: Existing },
  created: Created,
  onCreated: (created: Created) => void,
): Promise<void> {
  let made = created;
  for (const { key, run } of STEPS) {
    if (made[key] !== undefined) continue;
    made = joined(made, await run(grant, name, made, existing));
    onCreated(made);
  }
}
