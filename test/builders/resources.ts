import type { ClusterHealthReportSpec } from '../../src/resources/cluster-health-report.ts';
import type {
  ClusterHealthReport,
  Policy,
  Role,
  RoleAssignment,
  Secret,
  ServiceToken,
} from '../../src/resources/kinds.ts';
import type { TokenHashes } from '../../src/access/service-token.ts';
import { API_VERSION, type ObjectMeta } from '../../src/resources/meta.ts';
import type { PolicySpec, Statement } from '../../src/resources/policy.ts';
import type { RoleAssignmentSpec } from '../../src/resources/role-assignment.ts';
import type { RoleSpec } from '../../src/resources/role.ts';
import type { ServiceTokenSpec } from '../../src/resources/service-token.ts';

/**
 * Builders of valid objects: `role('analysts', { policies: ['read'] }, stored({ generation: 2 }))`.
 * Fields that are not given have valid defaults; modifiers change the object from left to right.
 */
export type Modifier<T> = (object: T) => T;

function build<T>(object: T, modifiers: readonly Modifier<T>[]): T {
  return modifiers.reduce((current, modify) => modify(current), object);
}

export function statement(fields: Partial<Statement> = {}): Statement {
  return { effect: 'allow', actions: ['Query'], resources: ['srn2:table#events'], ...fields };
}

export function policy(name: string, spec: Partial<PolicySpec> = {}, ...modifiers: Modifier<Policy>[]): Policy {
  const object: Policy = {
    apiVersion: API_VERSION,
    kind: 'Policy',
    metadata: { name },
    spec: { statements: [statement()], ...spec },
  };
  return build(object, modifiers);
}

export function role(name: string, spec: RoleSpec = {}, ...modifiers: Modifier<Role>[]): Role {
  return build<Role>({ apiVersion: API_VERSION, kind: 'Role', metadata: { name }, spec }, modifiers);
}

export function roleAssignment(
  name: string,
  spec: Partial<RoleAssignmentSpec> = {},
  ...modifiers: Modifier<RoleAssignment>[]
): RoleAssignment {
  const object: RoleAssignment = {
    apiVersion: API_VERSION,
    kind: 'RoleAssignment',
    metadata: { name },
    spec: { role: 'analysts', subjects: [{ type: 'user-email', name: 'ada@example.com' }], ...spec },
  };
  return build(object, modifiers);
}

export function serviceToken(
  name: string,
  spec: ServiceTokenSpec = {},
  ...modifiers: Modifier<ServiceToken>[]
): ServiceToken {
  return build<ServiceToken>({ apiVersion: API_VERSION, kind: 'ServiceToken', metadata: { name }, spec }, modifiers);
}

export function clusterHealthReport(
  name = 'cluster',
  spec: ClusterHealthReportSpec = {},
  ...modifiers: Modifier<ClusterHealthReport>[]
): ClusterHealthReport {
  const object: ClusterHealthReport = {
    apiVersion: API_VERSION,
    kind: 'ClusterHealthReport',
    metadata: { name },
    spec,
  };
  return build(object, modifiers);
}

/** @param values plain text by key; encoded to base64 as on the wire */
export function secret(name: string, values: Record<string, string> = {}, ...modifiers: Modifier<Secret>[]): Secret {
  const data = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
  return build<Secret>({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, type: 'Opaque', data }, modifiers);
}

/** The status of a ServiceToken with a token. */
export function withHashes(hashes: Partial<TokenHashes> & { readonly accessKey: string }): Modifier<ServiceToken> {
  const { accessKey, secretHash = `sha256:${'0'.repeat(64)}`, previousHashes = [] } = hashes;
  return (object) => ({
    ...object,
    status: { ...object.status, accessKey, secretHash, previousHashes: [...previousHashes] },
  });
}

/** The Secret in which version 0.1 stored the hash of a token, as it wrote it. */
export function legacyHashSecret(
  owner: ServiceToken,
  values: { accessKey: string; secretHash: string; previousHash?: string; previousExpiresAt?: string },
): Secret {
  const labels = { 'olapwarden.io/part': 'service-token', 'app.kubernetes.io/managed-by': 'olap-warden' };
  return secret(`${owner.metadata.name}-hash`, values, withLabels(labels), ownedBy(owner));
}

interface HasMeta {
  readonly metadata: Readonly<ObjectMeta>;
}

/** Adds to the metadata. */
export function withMeta<T extends HasMeta>(metadata: Partial<ObjectMeta>): Modifier<T> {
  return (object) => ({ ...object, metadata: { ...object.metadata, ...metadata } });
}

/** Sets the fields of a stored object: uid, resourceVersion, generation, creationTimestamp. */
export function stored<T extends HasMeta>(metadata: Partial<ObjectMeta> = {}): Modifier<T> {
  return (object) =>
    withMeta<T>({
      namespace: 'olap',
      uid: `uid-of-${object.metadata.name}`,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    })(object);
}

export function withLabels<T extends HasMeta>(labels: Record<string, string>): Modifier<T> {
  return (object) => withMeta<T>({ labels: { ...object.metadata.labels, ...labels } })(object);
}

export function withAnnotations<T extends HasMeta>(annotations: Record<string, string>): Modifier<T> {
  return (object) => withMeta<T>({ annotations: { ...object.metadata.annotations, ...annotations } })(object);
}

/** Adds to the status. */
export function withStatus<S extends object, T extends { readonly status?: S }>(status: Partial<S>): Modifier<T> {
  return (object) => ({ ...object, status: { ...object.status, ...status } });
}

/** An owner reference to a stored object. */
export function ownedBy<T extends HasMeta>(owner: {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<ObjectMeta>;
}): Modifier<T> {
  const { apiVersion, kind, metadata } = owner;
  const reference = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true };
  return withMeta<T>({ ownerReferences: [reference] });
}
