import { call, encodeSrn, rbac } from '../../lib/api.ts';
import { expiryOf, nameOf } from '../../lib/format.ts';
import { assignmentManifest, policyManifest, roleManifest, yamlOf } from '../../lib/copy.ts';
import type { Assignment, NewServiceToken, Policy, PolicyDocument, Subject } from '../../lib/types.ts';

export type Level = 'read' | 'write' | 'manage';

const READ = ['Query', 'Get*'];
/** The actions on a table that each level allows. */
const LEVEL_ACTIONS: Readonly<Record<Level, readonly string[]>> = {
  read: READ,
  write: [...READ, 'UploadSegment', 'ReplaceSegment', 'ReloadSegment', 'DeleteSegment', 'ForceCommit'],
  manage: ['*'],
};

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

export function documentOf({ tables, level }: Grant): PolicyDocument {
  return {
    version: 'v1',
    statements: [
      { effect: 'allow', actions: LEVEL_ACTIONS[level], resources: tables.map((table) => `srn2:table#${table}`) },
    ],
  };
}

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

/** A name for the role and the policy, such as `analysts-read-orders`. */
export function suggestedName({ subject, level, tables }: Grant): string {
  const who = nameOf(subject.subject).replace(/@.*/, '');
  const text = [who, level, tables[0] ?? '', tables.length > 1 ? `and-${tables.length - 1}-more` : ''].join('-');
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_NAME)
    .replace(/^-+|-+$/g, '');
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
  readonly run: (grant: Grant, name: string, created: Created) => Promise<Created>;
}[] = [
  {
    key: 'policy',
    run: async (grant, name) => {
      const body = { name, description: descriptionOf(grant), policyDocument: documentOf(grant) };
      return { policy: await call<Policy>(rbac('/policies'), { method: 'POST', body }) };
    },
  },
  {
    key: 'role',
    run: async (grant, name) => {
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

const rolePath = (name: string, verb: string): string => rbac(`/roles/${encodeSrn(`srn2:role#${name}`)}/${verb}`);

function descriptionOf({ level, tables, subject }: Grant): string {
  return `${subject.subject} may ${level} ${tables.join(', ')}`.slice(0, 200);
}

async function assign(role: string, subject: Subject, until: string): Promise<void> {
  await call(rolePath(role, 'create-assignment'), { method: 'POST', body: { ...subject, ...expiryOf(until) } });
}

const joined = (before: Created, more: Created): Created => ({ ...before, ...more });

/**
 * Creates what `created` does not have yet.
 * @param onCreated called after each step with everything that exists now
 * @throws {ApiError} of the step that failed
 */
export async function carryOut(
  grant: Grant,
  name: string,
  created: Created,
  onCreated: (created: Created) => void,
): Promise<void> {
  let made = created;
  for (const { key, run } of STEPS) {
    if (made[key] !== undefined) continue;
    made = joined(made, await run(grant, name, made));
    onCreated(made);
  }
}
