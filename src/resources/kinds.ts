import { clusterHealthReportKind, type ClusterHealthReportSpec } from './cluster-health-report.ts';
import type { ClusterHealthReportStatus } from './health-status.ts';
import type { ObjectMeta } from './meta.ts';
import { policyKind, type PolicySpec, type PolicyStatus } from './policy.ts';
import { roleAssignmentKind, type RoleAssignmentSpec, type RoleAssignmentStatus } from './role-assignment.ts';
import { roleKind, type RoleSpec, type RoleStatus } from './role.ts';
import { serviceTokenKind, type ServiceTokenSpec, type ServiceTokenStatus } from './service-token.ts';

/** An object of a custom resource. Objects are shared by all readers and must not be modified. */
export interface CustomResource<K extends string, Spec, Status> {
  readonly apiVersion: string;
  readonly kind: K;
  readonly metadata: Readonly<ObjectMeta>;
  readonly spec: Readonly<Spec>;
  readonly status?: Readonly<Status>;
}

export type Policy = CustomResource<'Policy', PolicySpec, PolicyStatus>;
export type Role = CustomResource<'Role', RoleSpec, RoleStatus>;
export type RoleAssignment = CustomResource<'RoleAssignment', RoleAssignmentSpec, RoleAssignmentStatus>;
export type ServiceToken = CustomResource<'ServiceToken', ServiceTokenSpec, ServiceTokenStatus>;
export type ClusterHealthReport = CustomResource<
  'ClusterHealthReport',
  ClusterHealthReportSpec,
  ClusterHealthReportStatus
>;

/** A Kubernetes Secret; values of `data` are base64. */
export interface Secret {
  readonly apiVersion: 'v1';
  readonly kind: 'Secret';
  readonly metadata: Readonly<ObjectMeta>;
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

export interface CustomResourceByKind {
  Policy: Policy;
  Role: Role;
  RoleAssignment: RoleAssignment;
  ServiceToken: ServiceToken;
  ClusterHealthReport: ClusterHealthReport;
}

/** The kinds in a ResourceStore: the custom resources, and the Secrets of service tokens. */
export interface ResourceByKind extends CustomResourceByKind {
  Secret: Secret;
}

export type CustomKind = keyof CustomResourceByKind;
export type ResourceKind = keyof ResourceByKind;

/** Definitions of all custom resources, in the order of the documentation. */
export const KINDS = {
  Policy: policyKind,
  Role: roleKind,
  RoleAssignment: roleAssignmentKind,
  ServiceToken: serviceTokenKind,
  ClusterHealthReport: clusterHealthReportKind,
} as const;

export const CUSTOM_KINDS = Object.keys(KINDS) as CustomKind[];
