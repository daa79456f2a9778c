import type { Policy, Role } from '../../resources/kinds.ts';
import { ANNOTATIONS, PLATFORM_AUTHOR, UNKNOWN_AUTHOR, type ObjectMeta } from '../../resources/meta.ts';
import type { SubjectType } from '../../resources/role-assignment.ts';
import { toPolicyDocument, type PolicyDocument } from '../policy-document.ts';
import { isPredefined } from '../predefined.ts';
import { srnText } from '../srn.ts';

/** Name and resource name of a role or policy. */
export interface Reference {
  readonly name: string;
  readonly srn: string;
}

/** The fields that the spec gives a role; a policy has them too. Times are RFC 3339. */
export interface RoleView extends Reference {
  readonly description: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly createdBy: string;
  readonly lastUpdatedBy: string;
  /** What else writes the resource, such as `kubectl` or `argocd-controller`; absent where nothing does. */
  readonly managedBy?: readonly string[];
}

export interface PolicyView extends RoleView {
  readonly policyDocumentJson: string;
  readonly policyDocument: PolicyDocument;
}

export interface PolicySummary extends Reference {
  readonly description: string;
}

export interface AssignmentView {
  readonly subject: string;
  readonly subjectType: SubjectType;
  /** Absent where the assignment that was to be deleted did not exist. */
  readonly createdAt?: string;
  readonly createdBy?: string;
  /** As for a role. */
  readonly managedBy?: readonly string[];
}

/** An assignment in the list of all. */
export interface RoleAssignmentView extends AssignmentView {
  /** Name of the role. */
  readonly role: string;
}

export type TokenStatus = 'UNASSIGNED' | 'ACTIVE' | 'EXPIRED';

export interface TokenView {
  readonly srn: string;
  /** Absent while the operator has not made the token yet. */
  readonly accessKey?: string;
  readonly description: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string | null;
  readonly roles: readonly Reference[];
  readonly status: TokenStatus;
  /** As for a role. */
  readonly managedBy?: readonly string[];
}

export function reference(kind: 'role' | 'policy', name: string): Reference {
  return { name, srn: srnText(kind, name) };
}

export function roleView(role: Role): RoleView {
  return { ...reference('role', role.metadata.name), ...history(role) };
}

export function policyView(policy: Policy): PolicyView {
  const policyDocument = toPolicyDocument(policy.spec);
  return {
    ...reference('policy', policy.metadata.name),
    ...history(policy),
    policyDocumentJson: JSON.stringify(policyDocument),
    policyDocument,
  };
}

export function policySummary(policy: Policy): PolicySummary {
  return { ...reference('policy', policy.metadata.name), description: policy.spec.description ?? '' };
}

export function createdAt(metadata: Readonly<ObjectMeta>): string {
  return metadata.creationTimestamp ?? new Date(0).toISOString();
}

export function createdBy(metadata: Readonly<ObjectMeta>): string {
  return metadata.annotations?.[ANNOTATIONS.createdBy] ?? UNKNOWN_AUTHOR;
}

/** Operator and gateway name themselves so to the API server, by their user agent. */
const OWN_MANAGER = /^olap-warden(?:-|$)/u;

type Described = Role | Policy;

function history({ metadata, spec }: Described): Omit<RoleView, keyof Reference> {
  const created = createdAt(metadata);
  const platform = isPredefined(metadata.name);
  return {
    description: spec.description ?? '',
    createdAt: created,
    lastUpdatedAt: lastUpdatedAt(metadata, created),
    createdBy: platform ? PLATFORM_AUTHOR : createdBy(metadata),
    lastUpdatedBy: platform
      ? PLATFORM_AUTHOR
      : (metadata.annotations?.[ANNOTATIONS.lastUpdatedBy] ?? createdBy(metadata)),
    ...managedBy(metadata),
  };
}

/** The field managers but olap-warden's own, each once. */
export function managedBy(metadata: Readonly<ObjectMeta>): { managedBy?: string[] } {
  const managers = new Set<string>();
  for (const { manager, subresource } of metadata.managedFields ?? []) {
    if (manager !== undefined && !subresource && !OWN_MANAGER.test(manager)) managers.add(manager);
  }
  return managers.size === 0 ? {} : { managedBy: [...managers].sort() };
}

/** The newest of what is known: the annotation of REST writes, and Kubernetes' own record of writes that were not to the status. */
function lastUpdatedAt(metadata: Readonly<ObjectMeta>, created: string): string {
  const times = (metadata.managedFields ?? []).filter((entry) => !entry.subresource).map((entry) => entry.time);
  const known = [metadata.annotations?.[ANNOTATIONS.lastUpdatedAt], ...times, created];
  let newest = created;
  for (const time of known) {
    if (time !== undefined && Date.parse(time) > Date.parse(newest)) newest = time;
  }
  return newest;
}
