import type { Policy, Role } from '../../resources/kinds.ts';
import { ANNOTATIONS, LABELS, PLATFORM_AUTHOR, UNKNOWN_AUTHOR, type ObjectMeta } from '../../resources/meta.ts';
import type { SubjectType } from '../../resources/role-assignment.ts';
import { toPolicyDocument, type PolicyDocument } from '../policy/policy-document.ts';
import { isPredefined } from '../policy/predefined.ts';
import { srnText } from '../policy/srn.ts';

/** Not part of the body of a response, but its `ETag`. */
export interface Versioned {
  /** The resource version of the object. */
  readonly version: string;
}

/** Name and SRN of a role or policy. */
export interface Reference {
  readonly name: string;
  readonly srn: string;
}

/** Role fields of the specification; policies have them too. Times are RFC 3339. */
export interface RoleView extends Reference, Versioned {
  readonly description: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly createdBy: string;
  readonly lastUpdatedBy: string;
  /** Other writers of the resource, such as `kubectl` or `argocd-controller`; absent if there are none. */
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
  /** Absent if the assignment to delete did not exist. */
  readonly createdAt?: string;
  readonly createdBy?: string;
  /** RFC 3339; null if the assignment does not expire. Absent if the assignment to delete did not exist. */
  readonly expiresAt?: string | null;
  readonly status?: 'ACTIVE' | 'EXPIRED';
  /** See RoleView. */
  readonly managedBy?: readonly string[];
}

/** An assignment in the list of all assignments. */
export interface RoleAssignmentView extends AssignmentView {
  /** Name of the role. */
  readonly role: string;
}

export type TokenStatus = 'UNASSIGNED' | 'ACTIVE' | 'EXPIRED';

export interface TokenView extends Versioned {
  readonly srn: string;
  /** Absent until the operator has created the token. */
  readonly accessKey?: string;
  readonly description: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string | null;
  readonly roles: readonly Reference[];
  readonly status: TokenStatus;
  /** Time of the last rotation; absent before the first one. */
  readonly rotatedAt?: string;
  /** Former secret keys that are still accepted; absent if there are none. */
  readonly formerSecrets?: readonly { readonly validUntil: string }[];
  /** See RoleView. */
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

/** Field manager names of operator and gateway, derived from their user agents. */
const OWN_MANAGER = /^olap-warden(?:-|$)/u;

type DescribedResource = Role | Policy;

function history({ metadata, spec }: DescribedResource): Omit<RoleView, keyof Reference> {
  const created = createdAt(metadata);
  const platform = isPredefined(metadata.name);
  return {
    version: versionOf(metadata),
    description: spec.description ?? '',
    createdAt: created,
    lastUpdatedAt: lastUpdatedAt(metadata),
    createdBy: platform ? PLATFORM_AUTHOR : createdBy(metadata),
    lastUpdatedBy: platform
      ? PLATFORM_AUTHOR
      : (metadata.annotations?.[ANNOTATIONS.lastUpdatedBy] ?? createdBy(metadata)),
    ...managedBy(metadata),
  };
}

/** Whether the object was created through REST. */
export function isManagedByRest({ labels, annotations }: Readonly<ObjectMeta>): boolean {
  return (
    labels?.[LABELS.managedBy] === 'olap-warden' && annotations?.[ANNOTATIONS.createdBy]?.startsWith('srn2:') === true
  );
}

export function versionOf({ resourceVersion }: Readonly<ObjectMeta>): string {
  return resourceVersion ?? '';
}

/** Field managers other than olap-warden, without duplicates. */
export function managedBy(metadata: Readonly<ObjectMeta>): { managedBy?: string[] } {
  const managers = new Set<string>();
  for (const { manager, subresource } of metadata.managedFields ?? []) {
    if (manager !== undefined && !subresource && !OWN_MANAGER.test(manager)) managers.add(manager);
  }
  return managers.size === 0 ? {} : { managedBy: [...managers].sort() };
}

/** The latest known time: the annotation of REST writes, or Kubernetes' managed fields except status updates. */
export function lastUpdatedAt(metadata: Readonly<ObjectMeta>): string {
  const created = createdAt(metadata);
  const times = (metadata.managedFields ?? []).filter((entry) => !entry.subresource).map((entry) => entry.time);
  const known = [metadata.annotations?.[ANNOTATIONS.lastUpdatedAt], ...times, created];
  let newest = created;
  for (const time of known) {
    if (time !== undefined && Date.parse(time) > Date.parse(newest)) newest = time;
  }
  return newest;
}
