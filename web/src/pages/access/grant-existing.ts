import { call, callTagged, encodeSrn, rbac, type Tagged } from '../../lib/api.ts';
import { LEVEL_ACTIONS } from '../../lib/refusal.ts';
import type { Assignment, Policy, PolicyDocument, PolicySummary, Role, RoleAssignment } from '../../lib/types.ts';
import type { Grant } from './grant-plan.ts';

/** What has the name of a grant already. */
export interface Existing {
  /** Undefined where the policy is to be created. */
  readonly policy: Tagged<Policy> | undefined;
  readonly hasRole: boolean;
  /** Who has the role; undefined where the caller may not read it. */
  readonly subjects: readonly Assignment[] | undefined;
  /** Further roles with the policy, of those that the caller may read. */
  readonly otherRoles: readonly string[];
}

const NOTHING: Existing = { policy: undefined, hasRole: false, subjects: [], otherRoles: [] };

/** Looks for the policy and the role of a grant. The lists leave out what the caller may not read, without a refusal. @throws {ApiError} */
export async function existingOf(name: string, signal: AbortSignal): Promise<Existing> {
  if (name === '') return NOTHING;
  const query = new URLSearchParams({ name }).toString();
  const [policies, roles] = await Promise.all([
    call<PolicySummary[]>(rbac(`/policies?${query}`), { signal }),
    call<Role[]>(rbac(`/roles?${query}`), { signal }),
  ]);
  const hasPolicy = policies.some((policy) => policy.name === name);
  const hasRole = roles.some((role) => role.name === name);
  const [policy, subjects, holders] = await Promise.all([
    hasPolicy ? callTagged<Policy>(policyPath(name), { signal }) : undefined,
    hasRole ? subjectsOf(name, signal) : [],
    hasPolicy ? call<Role[]>(`${policyPath(name)}/roles`, { signal }) : [],
  ]);
  return { policy, hasRole, subjects, otherRoles: holders.map((role) => role.name).filter((role) => role !== name) };
}

const policyPath = (name: string): string => rbac(`/policies/${encodeSrn(`srn2:policy#${name}`)}`);

async function subjectsOf(role: string, signal: AbortSignal): Promise<Assignment[] | undefined> {
  const path = rbac(`/roles/${encodeSrn(`srn2:role#${role}`)}/assignments`);
  return call<Assignment[]>(path, { signal }).catch(() => undefined);
}

/** The assignments of a subject that the caller may read. @throws {ApiError} */
export function assignmentsOf(
  { subject, subjectType }: Grant['subject'],
  signal: AbortSignal,
): Promise<RoleAssignment[]> {
  if (subject === '') return Promise.resolve([]);
  return call<RoleAssignment[]>(rbac(`/assignments?${new URLSearchParams({ subject, subjectType }).toString()}`), {
    signal,
  });
}

/** A document with the access of a grant: in the statement of the same level, or in one more. */
export function extended(document: PolicyDocument, grant: Pick<Grant, 'tables' | 'level'>): PolicyDocument {
  const wanted = grant.tables.map((table) => `srn2:table#${table}`);
  const actions = LEVEL_ACTIONS[grant.level];
  const isSameLevel = (statement: PolicyDocument['statements'][number]): boolean =>
    statement.effect === 'allow' &&
    statement.conditions === undefined &&
    [...(statement.actions ?? ['*'])].toSorted().join() === actions.toSorted().join();
  const at = document.statements.findIndex(isSameLevel);
  if (at < 0)
    return {
      ...document,
      statements: [...document.statements, { effect: 'allow', actions: [...actions], resources: wanted }],
    };
  const statements = document.statements.map((statement, index) =>
    index === at ? { ...statement, resources: [...new Set([...statement.resources, ...wanted])] } : statement,
  );
  return { ...document, statements };
}
